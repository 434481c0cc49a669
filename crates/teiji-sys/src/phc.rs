//! How far a NIC's PTP hardware clock (PHC, `/dev/ptpN`) is ahead of `CLOCK_TAI`.
#![expect(unsafe_code, reason = "ioctl and clock_gettime take pointers")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use teiji_core::time::{Instant, Phc as PhcClock, Realtime, Span, Tai};

use crate::clock;
use crate::error::{SysError, check};
use crate::time64::{self, Timespec};

/// Pairs of readings that are tried where the driver cannot read both clocks at once.
const ATTEMPTS: u8 = 8;

/// A NIC's clock.
#[derive(Debug)]
pub struct Phc(File);

/// What a NIC's clock shows beyond `CLOCK_TAI`, at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// PHC − `CLOCK_TAI`.
    pub ahead: Span,
    /// `ahead` is wrong by this at most; zero if the NIC read both clocks at once.
    pub within: Span,
}

/// `struct ptp_clock_time` (`linux/ptp_clock.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ClockTime {
    seconds: i64,
    nanoseconds: u32,
    reserved: u32,
}

impl ClockTime {
    fn as_ns(self) -> i64 {
        self.seconds.saturating_mul(1_000_000_000).saturating_add(self.nanoseconds.into())
    }
}

/// `struct ptp_sys_offset_precise`.
#[repr(C)]
#[derive(Default)]
struct Precise {
    device: ClockTime,
    realtime: ClockTime,
    monotonic_raw: ClockTime,
    reserved: [u32; 4],
}

/// `_IOWR('=', 8, struct ptp_sys_offset_precise)`.
const PTP_SYS_OFFSET_PRECISE: libc::c_ulong = 0xc040_3d08;

impl Phc {
    /// Opens `/dev/ptp<index>` for reading.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EACCES` without the right.
    pub fn open(index: u32) -> Result<Self, SysError> {
        let failed = |error| SysError::new("open /dev/ptp", error);
        File::open(format!("/dev/ptp{index}")).map(Self).map_err(failed)
    }

    /// Compares it with `CLOCK_TAI`: at one instant where the NIC can
    /// (`PTP_SYS_OFFSET_PRECISE`), else between two readings of the latter.
    ///
    /// # Errors
    /// What the kernel says of reading the clock.
    pub fn offset(&self) -> Result<Offset, SysError> {
        match self.precise() {
            Ok(offset) => Ok(offset),
            Err(_) => self.between_readings(),
        }
    }

    fn precise(&self) -> Result<Offset, SysError> {
        let mut both = Precise::default();
        // SAFETY: `both` is the structure that this request writes.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), PTP_SYS_OFFSET_PRECISE as _, &raw mut both) };
        check("ioctl PTP_SYS_OFFSET_PRECISE", result)?;
        let tai: Instant<Tai> =
            Instant::<Realtime>::from_ns(both.realtime.as_ns()).on(clock::tai_offset());
        Ok(Offset { ahead: Span::from_ns(both.device.as_ns() - tai.as_ns()), within: Span::ZERO })
    }

    fn between_readings(&self) -> Result<Offset, SysError> {
        let mut best: Option<Offset> = None;
        for _ in 0..ATTEMPTS {
            let before = clock::now::<Tai>();
            let phc = self.now()?;
            let half = Span::from_ns((clock::now::<Tai>() - before).as_ns() / 2);
            let ahead = Span::from_ns(phc.as_ns() - (before + half).as_ns());
            if best.is_none_or(|best| half < best.within) {
                best = Some(Offset { ahead, within: half });
            }
        }
        best.ok_or_else(|| SysError::new("clock_gettime", io::ErrorKind::Other.into()))
    }

    fn now(&self) -> Result<Instant<PhcClock>, SysError> {
        // FD_TO_CLOCKID of linux/posix-timers.h.
        let clock = (!self.0.as_raw_fd() << 3) | 3;
        time64::gettime(clock).map(Timespec::instant).ok_or_else(|| SysError::last("clock_gettime"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_size_in_its_number() {
        assert_eq!(size_of::<Precise>(), 0x40);
    }

    #[test]
    fn a_clock_that_is_not_there_says_so() {
        assert_eq!(Phc::open(4_000_000).unwrap_err().errno(), libc::ENOENT);
    }
}
