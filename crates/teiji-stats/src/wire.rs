//! What only a wire whose time is computed can tell: when each frame was on it, to
//! the nanosecond, and what it had to do with the frames beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;

use crate::Deviation;
use crate::gates::GateStatistics;
use crate::shaping::ShapingStatistics;
use crate::silence::SilenceStatistics;
use crate::waits::Wait;

/// Preamble and start delimiter, in bytes (IEEE 802.3).
pub const PREAMBLE: u64 = 8;
/// Inter-frame gap, in bytes.
pub const GAP: u64 = 12;

/// A frame on its way over a wire, one direction of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFrame {
    /// Index of its flow in the scenario.
    pub flow: u16,
    /// When it was meant to leave, in ns of the schedule's clock.
    pub planned_ns: i64,
    /// When its preamble began, in ns of the wire's clock.
    pub start_ns: i64,
    /// Bytes that it occupies the wire for: preamble, frame, FCS and gap.
    pub octets: u64,
}

impl WireFrame {
    /// When the last bit of its FCS was sent.
    pub fn end_ns(&self, rate: Rate) -> i64 {
        self.start_ns + rate.serialisation(self.octets.saturating_sub(GAP)).as_ns()
    }

    /// When the wire was free again, the gap included.
    pub fn free_ns(&self, rate: Rate) -> i64 {
        self.start_ns + rate.serialisation(self.octets).as_ns()
    }

    /// From its planned departure to its real one, in ns: both clocks' offset is
    /// in it.
    pub const fn late_ns(&self) -> i64 {
        self.start_ns - self.planned_ns
    }
}

/// A stretch of a frame's way from the program that woke for it to the one that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Station {
    /// From the sender's wake-up to the beginning of the frame on the wire: send call, qdisc,
    /// ring, and the wait for a launch time.
    ToWire,
    /// In the qdisc: from its entry to the driver. Needs transmit stamps.
    Qdisc,
    /// In the card: from the driver to the wire. Needs transmit stamps.
    Card,
    /// From the frame's last bit at the receiver to its kernel's stamp.
    Receive,
    /// Of that, to the card's interrupt. Needs a trace, as the next two, and an interrupt for
    /// this frame: one that comes while others are taken from the card needs none.
    Interrupt,
    /// From the interrupt to the softirq that takes frames from the card.
    Softirq,
    /// From the softirq's beginning, or the frame's last bit if that was later, to the stamp.
    Polling,
    /// From the kernel's stamp until the program has it.
    Deliver,
    /// Of that, to the program's waking. Needs a trace, as the next one.
    Socket,
    /// From the waking until the program has it.
    WakeUp,
}

impl Station {
    /// All of them, in the order they pass.
    pub const ALL: [Self; 10] = [
        Self::ToWire,
        Self::Qdisc,
        Self::Card,
        Self::Receive,
        Self::Interrupt,
        Self::Softirq,
        Self::Polling,
        Self::Deliver,
        Self::Socket,
        Self::WakeUp,
    ];
}

/// One flow on such a wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireStatistics {
    /// Bits per second from its first frame to its last, with preamble, FCS and gap;
    /// `None` for less than two frames.
    pub rate_bps: Option<u64>,
    /// Departure on the wire minus planned departure.
    pub departure: Option<Deviation>,
    /// How finely a card keeps its launch times and the wire is stamped, in ns: a
    /// smaller deviation from the plan is none.
    pub resolution_ns: i64,
    /// Frames that waited for the wire at their launch time, by the flow they waited
    /// for.
    pub waits: Vec<Wait>,
    /// Its frames against the gates of its class.
    pub gates: Option<GateStatistics>,
    /// Its class against the bandwidth and burst reserved for it.
    pub shaping: Option<ShapingStatistics>,
    /// What still came of it after silence was asked for, where that was traced.
    #[serde(default)]
    pub silence: Option<SilenceStatistics>,
    /// How long the stretches of its frames' way took, where both ends have stamps of one clock.
    #[serde(default)]
    pub stations: BTreeMap<Station, Deviation>,
}

/// Bits per second that `frames` (ascending) took, from the start of the first to the
/// start of the last, which is not counted.
pub fn rate_bps(frames: &[WireFrame]) -> Option<u64> {
    let (last, before) = frames.split_last()?;
    let ns = u128::try_from(last.start_ns - before.first()?.start_ns).ok().filter(|ns| *ns > 0)?;
    let bits: u128 = before.iter().map(|frame| u128::from(frame.octets) * 8).sum();
    u64::try_from(bits * 1_000_000_000 / ns).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_64_bytes_at_100_mbit_takes_576_byte_times_of_10_ns_and_the_gap_more() {
        // 8 + 64 bytes of 80 ns, then 12 bytes of gap.
        let frame = WireFrame { flow: 0, planned_ns: 0, start_ns: 1_000, octets: 84 };
        let rate = Rate::from_bps(100_000_000);
        assert_eq!((frame.end_ns(rate), frame.free_ns(rate)), (6_760, 7_720));
    }

    #[test]
    fn the_rate_is_that_of_the_intervals() {
        // 1250 bytes are 10 000 bits, one every millisecond.
        let frames: Vec<WireFrame> = (0_i64..11)
            .map(|i| WireFrame { flow: 0, planned_ns: 0, start_ns: i * 1_000_000, octets: 1_250 })
            .collect();
        assert_eq!(rate_bps(&frames), Some(10_000_000));
        assert_eq!(rate_bps(&frames[..1]), None);
    }
}
