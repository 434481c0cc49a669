//! The difference between another machine's `CLOCK_TAI` and this one's, measured by messages.

use std::fmt;

use teiji_core::time::{Instant, Span, Tai};

/// Clocks whose readings differ by less than that beyond what the messages explain may be one: a
/// machine answers when its scheduler lets it.
const DOUBT: Span = Span::from_millis(1);

/// What another clock shows more than this machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference {
    ahead: Span,
    /// It is wrong by this much at most.
    uncertainty: Span,
}

impl ClockDifference {
    /// From one reading `there` of the other clock, made between `before` and `after` of this one.
    pub fn read(before: Instant<Tai>, there: Instant<Tai>, after: Instant<Tai>) -> Self {
        let half = Span::from_ns((after - before).as_ns() / 2);
        Self { ahead: Span::from_ns(there.as_ns() - (before + half).as_ns()), uncertainty: half }
    }

    /// The one that is known better.
    pub fn better(self, other: Self) -> Self {
        if other.uncertainty < self.uncertainty { other } else { self }
    }

    /// What the other clock shows when this one shows `here`.
    pub fn there(&self, here: Instant<Tai>) -> Instant<Tai> {
        here + self.ahead
    }

    /// What this clock shows when the other one shows `there`.
    pub fn here(&self, there: Instant<Tai>) -> Instant<Tai> {
        there - self.ahead
    }

    /// How far this one is from `other`.
    pub fn from(&self, other: &Self) -> Self {
        Self { ahead: self.ahead - other.ahead, uncertainty: self.uncertainty + other.uncertainty }
    }

    /// Whether both may show the same.
    pub fn may_equal(&self, other: &Self) -> bool {
        let apart = self.from(other);
        apart.ahead.as_ns().abs() <= (apart.uncertainty + DOUBT).as_ns()
    }
}

impl fmt::Display for ClockDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // More digits than that say nothing.
        let rounded = |span: Span| Span::from_micros((span.as_ns() + 500).div_euclid(1_000));
        write!(f, "{} ± {}", rounded(self.ahead), rounded(self.uncertainty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant<Tai> {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_difference_is_known_to_half_of_the_time_of_the_question() {
        let slow = ClockDifference::read(at(10), at(1_015), at(30));
        let quick = ClockDifference::read(at(10), at(1_012), at(14));
        assert_eq!(slow.better(quick), quick);
        assert_eq!(quick.better(slow), quick);
        assert_eq!((quick.ahead, quick.uncertainty), (Span::from_secs(1), Span::from_millis(2)));
        assert_eq!(quick.here(quick.there(at(5))), at(5));
        assert_eq!(quick.to_string(), "1 s ± 2 ms");
    }

    #[test]
    fn clocks_differ_if_messages_cannot_explain_the_offset() {
        let here = ClockDifference::read(at(0), at(0), at(0));
        let may = |there| ClockDifference::read(at(10), at(there), at(14)).may_equal(&here);
        assert!(may(12) && may(14) && may(9));
        assert!(!may(20) && !may(3_600_000));
    }
}
