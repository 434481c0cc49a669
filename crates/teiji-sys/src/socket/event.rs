//! What the kernel says about frames: receive stamps beside a message, and
//! reports about sent frames from the error queue.
//!
//! Sources: `Documentation/networking/timestamping.rst`,
//! `include/uapi/linux/errqueue.h`, `net/sched/sch_etf.c`.
//!
//! Assumptions, because no document promises them:
//!
//! * a report carries its `sock_extended_err` and its time stamp in one
//!   message (`timestamping.rst` shows both together);
//! * a frame's stamp "entered the qdisc" is taken inside the send call;
//! * a stamp of zero means "none", in every field;
//! * ETF's reports name the frame only by its launch time: two frames of one
//!   socket with the same launch time cannot be distinguished.

use teiji_core::time::{Instant, Phc, Realtime, Tai};

use super::control::{Control, Controls};

/// `SCM_TIMESTAMPING_NEW`: `scm_timestamping64`, three pairs of 64-bit numbers.
const SCM_TIMESTAMPING_NEW: i32 = 65;
const ORIGIN_TIMESTAMPING: u8 = 4;
const ORIGIN_TXTIME: u8 = 6;
const CODE_TXTIME_INVALID_PARAM: u8 = 1;
const CODE_TXTIME_MISSED: u8 = 2;
const SCM_TSTAMP_SND: u32 = 0;
const SCM_TSTAMP_SCHED: u32 = 1;
/// Linux's `PACKET_TX_TIMESTAMP`, the control message of `AF_PACKET`'s error
/// queue for reports of every origin.
const PACKET_TX_TIMESTAMP: i32 = 16;

/// Stamps that came with a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// By the kernel.
    pub software: Option<Instant<Realtime>>,
    /// By the NIC.
    pub hardware: Option<Instant<Phc>>,
}

/// Which point of its way a stamp marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxStampKind {
    /// The frame entered the qdisc.
    Scheduled,
    /// The driver handed it to the NIC (software) or it left the NIC
    /// (hardware).
    Sent,
}

/// Why a frame was dropped because of its launch time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// Refused on entry: in the past, before a frame that has left already,
    /// or with another clock or mode than the qdisc's.
    Invalid,
    /// It waited in the qdisc until its time had passed.
    Missed,
}

/// A report about a frame that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxEvent {
    /// A time stamp.
    Stamp {
        /// Of which point.
        kind: TxStampKind,
        /// The socket's frame counter (`SOF_TIMESTAMPING_OPT_ID`), wrapping.
        key: u32,
        /// The stamp.
        stamps: Stamps,
    },
    /// The frame was dropped because of its launch time.
    Dropped {
        /// Why.
        error: LaunchError,
        /// The launch time that the frame carried.
        launch: Instant<Tai>,
    },
    /// Something that Teiji did not request, for example an ICMP error.
    Other {
        /// `SO_EE_ORIGIN_*`.
        origin: u8,
        /// The error number.
        errno: u32,
    },
}

#[inline]
fn number<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

/// The stamps among a message's control messages.
#[inline]
pub(super) fn stamps(area: &[u8]) -> Stamps {
    Controls(area).find(is_stamps).map(|control| read_stamps(control.data)).unwrap_or_default()
}

#[inline]
fn is_stamps(control: &Control<'_>) -> bool {
    control.level == libc::SOL_SOCKET && control.kind == SCM_TIMESTAMPING_NEW
}

/// Reads `struct scm_timestamping64`: software, unused, hardware.
#[inline]
fn read_stamps(data: &[u8]) -> Stamps {
    let stamp = |at: usize| -> Option<i64> {
        let seconds = i64::from_ne_bytes(number(data, at)?);
        let nanoseconds = i64::from_ne_bytes(number(data, at + 8)?);
        let ns = seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)?;
        (ns != 0).then_some(ns)
    };
    Stamps { software: stamp(0).map(Instant::from_ns), hardware: stamp(32).map(Instant::from_ns) }
}

#[inline]
fn is_extended_error(control: &Control<'_>) -> bool {
    matches!(
        (control.level, control.kind),
        (libc::SOL_IP, libc::IP_RECVERR)
            | (libc::SOL_IPV6, libc::IPV6_RECVERR)
            | (libc::SOL_PACKET, PACKET_TX_TIMESTAMP)
    )
}

/// The report in the control messages of one error-queue message; `None` if
/// there is none, or one too short to read.
#[inline]
pub(super) fn tx_event(area: &[u8]) -> Option<TxEvent> {
    // One pass: this runs for every frame that is sent.
    let (mut error, mut stamps) = (None, Stamps::default());
    for control in Controls(area) {
        if is_stamps(&control) {
            stamps = read_stamps(control.data);
        } else if is_extended_error(&control) {
            error = Some(control.data);
        }
    }
    // struct sock_extended_err: errno (4), origin, type, code, pad, info (4),
    // data (4).
    let error = error?;
    let [_, _, _, _, origin, _, code, _] = number(error, 0)?;
    let errno = u32::from_ne_bytes(number(error, 0)?);
    let info = u32::from_ne_bytes(number(error, 8)?);
    let data = u32::from_ne_bytes(number(error, 12)?);
    let other = TxEvent::Other { origin, errno };
    Some(match (origin, code) {
        (ORIGIN_TIMESTAMPING, _) => {
            let kind = match info {
                SCM_TSTAMP_SCHED => TxStampKind::Scheduled,
                SCM_TSTAMP_SND => TxStampKind::Sent,
                _ => return Some(other),
            };
            TxEvent::Stamp { kind, key: data, stamps }
        }
        (ORIGIN_TXTIME, CODE_TXTIME_INVALID_PARAM | CODE_TXTIME_MISSED) => {
            let ns = (u64::from(data) << 32) | u64::from(info);
            let ns = i64::from_ne_bytes(ns.to_ne_bytes());
            let error =
                if code == CODE_TXTIME_MISSED { LaunchError::Missed } else { LaunchError::Invalid };
            TxEvent::Dropped { error, launch: Instant::from_ns(ns) }
        }
        _ => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::control::emit;

    fn extended_error(errno: u32, origin: u8, code: u8, info: u32, data: u32) -> Vec<u8> {
        let mut error = errno.to_ne_bytes().to_vec();
        error.extend_from_slice(&[origin, 0, code, 0]);
        error.extend_from_slice(&info.to_ne_bytes());
        error.extend_from_slice(&data.to_ne_bytes());
        error.extend_from_slice(&[0; 16]); // the offender's address
        error
    }

    fn timestamping(stamps: [(i64, i64); 3]) -> Vec<u8> {
        let numbers = stamps.iter().flat_map(|&(s, ns)| [s, ns]);
        numbers.flat_map(i64::to_ne_bytes).collect()
    }

    #[test]
    fn a_software_stamp_names_its_point_and_its_frame() {
        let mut area = Vec::new();
        emit(1, 65, &timestamping([(5, 7), (0, 0), (0, 0)]), &mut area);
        emit(libc::SOL_IP, libc::IP_RECVERR, &extended_error(42, 4, 0, 1, 99), &mut area);
        let stamps = Stamps { software: Some(Instant::from_ns(5_000_000_007)), hardware: None };
        let expected = TxEvent::Stamp { kind: TxStampKind::Scheduled, key: 99, stamps };
        assert_eq!(tx_event(&area), Some(expected));
    }

    #[test]
    fn a_hardware_stamp_stands_in_the_third_place() {
        let mut area = Vec::new();
        emit(libc::SOL_IPV6, libc::IPV6_RECVERR, &extended_error(42, 4, 0, 0, 3), &mut area);
        emit(1, 65, &timestamping([(0, 0), (0, 0), (1, 2)]), &mut area);
        let stamps = Stamps { software: None, hardware: Some(Instant::from_ns(1_000_000_002)) };
        let expected = TxEvent::Stamp { kind: TxStampKind::Sent, key: 3, stamps };
        assert_eq!(tx_event(&area), Some(expected));
    }

    #[test]
    fn etf_names_the_frame_by_its_launch_time() {
        let launch = Instant::from_ns(0x1886_8AF1_F3AD_4D15);
        let (high, low) = (0x1886_8AF1, 0xF3AD_4D15);
        for (code, error) in [(1, LaunchError::Invalid), (2, LaunchError::Missed)] {
            let mut area = Vec::new();
            let report = extended_error(125, 6, code, low, high);
            emit(libc::SOL_PACKET, PACKET_TX_TIMESTAMP, &report, &mut area);
            assert_eq!(tx_event(&area), Some(TxEvent::Dropped { error, launch }));
        }
    }

    #[test]
    fn reports_of_other_origins_are_not_mistaken_for_stamps() {
        let mut area = Vec::new();
        emit(libc::SOL_IP, libc::IP_RECVERR, &extended_error(111, 2, 3, 0, 0), &mut area);
        assert_eq!(tx_event(&area), Some(TxEvent::Other { origin: 2, errno: 111 }));
        let mut area = Vec::new();
        emit(libc::SOL_IP, libc::IP_RECVERR, &extended_error(0, 6, 9, 0, 0), &mut area);
        assert_eq!(tx_event(&area), Some(TxEvent::Other { origin: 6, errno: 0 }));
    }

    #[test]
    fn short_or_missing_reports_are_none() {
        assert_eq!(tx_event(&[]), None);
        let mut area = Vec::new();
        emit(libc::SOL_IP, libc::IP_RECVERR, &[0; 15], &mut area);
        assert_eq!(tx_event(&area), None);
        assert_eq!(stamps(&area), Stamps::default());
        let mut area = Vec::new();
        emit(1, 65, &timestamping([(i64::MAX, 0), (0, 0), (0, 0)])[..20], &mut area);
        assert_eq!(stamps(&area), Stamps::default());
    }
}
