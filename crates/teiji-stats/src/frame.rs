//! One frame on a wire whose time is computed.

use teiji_core::quantity::Rate;
use teiji_core::wire::ethernet;

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
        self.start_ns + rate.serialisation(self.octets.saturating_sub(ethernet::GAP.into())).as_ns()
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
