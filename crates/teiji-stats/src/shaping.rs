//! A shaped class against its reservation (IEEE 802.1Q, credit-based shaper).
//!
//! The credit grows by the idle slope, but for the time of sending, when it changes by
//! the send slope, which is the idle slope minus the port's rate; where it is set to
//! zero or held at a limit it only loses (8.6.8.2; Annex L). Over any time t in which
//! the class sends b bits it therefore changes by at most idleSlope · t − b, and since
//! it stays between loCredit and hiCredit,
//!
//! b ≤ idleSlope · t + hiCredit − loCredit.
//!
//! So a shaped class conforms to a bucket of hiCredit − loCredit that fills with the
//! idle slope. Bits are counted as the port's rate counts them: with preamble, FCS and
//! gap (34.4).

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;

use crate::frame::{self, WireFrame};

/// What is reserved for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Idle slope.
    pub idle: Rate,
    /// hiCredit − loCredit, in bytes.
    pub credit_bytes: u64,
}

/// What a class took, beside what is reserved for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapingStatistics {
    /// Frames of the class, of all its flows.
    pub frames: u64,
    /// Bits per second from the first frame to the last.
    pub bandwidth_bps: u64,
    /// The idle slope.
    pub reserved_bps: u64,
    /// The smallest bucket, in bytes, that fills at the idle slope and that the class
    /// conforms to.
    pub burst_bytes: u64,
    /// The bucket that the shaper guarantees: hiCredit − loCredit.
    pub bound_bytes: u64,
    /// The case whose reservation this is, if it is not the frames' own.
    pub reserved_in: Option<String>,
}

impl ShapingStatistics {
    /// Whether the class kept to its reservation.
    pub const fn holds(&self) -> bool {
        self.burst_bytes <= self.bound_bytes
    }
}

/// Judges the frames of a class, ascending; `None` for less than two.
pub fn of(
    frames: &[WireFrame],
    rate: Rate,
    reservation: &Reservation,
) -> Option<ShapingStatistics> {
    Some(ShapingStatistics {
        frames: frames.len() as u64,
        bandwidth_bps: frame::rate_bps(frames)?,
        reserved_bps: reservation.idle.as_bps(),
        burst_bytes: bucket_bytes(frames, rate, reservation.idle),
        bound_bytes: reservation.credit_bytes,
        reserved_in: None,
    })
}

/// The least depth of a bucket that fills with `idle` and gives each frame its bits
/// while it is sent: the largest excess of b over idle · t, from the start of any frame
/// to the end of any later one. Stamps are whole nanoseconds, so it is rounded down to
/// whole bytes.
fn bucket_bytes(frames: &[WireFrame], rate: Rate, idle: Rate) -> u64 {
    // In bit · 10⁻⁹, so that bits per second times nanoseconds need no division.
    const BYTE: i128 = 8_000_000_000;
    let mut deepest: i128 = 0;
    // What a bucket that is full at first lacks.
    let mut lacking: i128 = 0;
    let mut at = frames.first().map_or(0, |frame| frame.start_ns);
    let filled = |ns: i64| i128::from(idle.as_bps()) * i128::from(ns);
    for frame in frames {
        lacking = (lacking - filled(frame.start_ns - at)).max(0);
        at = frame.free_ns(rate).max(frame.start_ns);
        lacking += i128::from(frame.octets) * BYTE - filled(at - frame.start_ns);
        deepest = deepest.max(lacking);
    }
    u64::try_from(deepest / BYTE).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Rate = Rate::from_bps(100_000_000);
    /// hiCredit 308, loCredit −1 231 bytes: those of `cbs` for 20 of 100 Mbit/s with
    /// 1538 bytes of others, and of its own, in the way.
    const FIFTH: Reservation =
        Reservation { idle: Rate::from_bps(20_000_000), credit_bytes: 308 + 1_231 };

    /// 1250 bytes: 100 µs of the wire, of which the idle slope gives 250 bytes back.
    fn frame(start_us: i64) -> WireFrame {
        WireFrame { flow: 0, planned_ns: 0, start_ns: start_us * 1_000, octets: 1_250 }
    }

    #[test]
    fn frames_at_the_reserved_rate_need_a_bucket_of_one_frame_less_what_fills_meanwhile() {
        // 1250 bytes at 20 Mbit/s are 500 µs.
        let frames: Vec<WireFrame> = (0..10).map(|i| frame(500 * i)).collect();
        let statistics = of(&frames, PORT, &FIFTH).unwrap();
        assert_eq!((statistics.bandwidth_bps, statistics.burst_bytes), (20_000_000, 1_000));
        assert!(statistics.holds());
    }

    #[test]
    fn a_frame_that_comes_early_makes_the_burst_longer() {
        // The second begins 100 µs after the first instead of 500: back to back. Each
        // takes 1000 bytes more than the slope gives; the third finds it all refilled.
        let frames = [frame(0), frame(100), frame(1_100)];
        let statistics = of(&frames, PORT, &FIFTH).unwrap();
        assert_eq!(statistics.burst_bytes, 2_000);
        assert!(!statistics.holds());
        // 200 µs later the slope has given 500 bytes back of the first 1000.
        let statistics = of(&[frame(0), frame(300), frame(1_100)], PORT, &FIFTH).unwrap();
        assert_eq!(statistics.burst_bytes, 1_000 - 500 + 1_000);
        assert!(statistics.holds());
    }

    #[test]
    fn a_rate_above_the_reserved_one_adds_up() {
        // Every 400 µs 1250 bytes, and the slope fills 1000.
        let frames: Vec<WireFrame> = (0..101).map(|i| frame(400 * i)).collect();
        let statistics = of(&frames, PORT, &FIFTH).unwrap();
        assert_eq!(
            (statistics.bandwidth_bps, statistics.burst_bytes),
            (25_000_000, 1_000 + 100 * 250)
        );
        assert!(!statistics.holds());
        assert_eq!(of(&frames[..1], PORT, &FIFTH), None);
    }
}
