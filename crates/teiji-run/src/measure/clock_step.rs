//! Where `CLOCK_TAI` is against `CLOCK_MONOTONIC`, and whether somebody set it during a measurement.

use teiji_core::time::{Instant, Monotonic, Span, Tai};
use teiji_sys::clock;

/// Looks at both clocks; the one that took the least time says the most.
const LOOKS: usize = 8;

/// Where `CLOCK_TAI` is against `CLOCK_MONOTONIC`. Both are slewed alike (`ntp_adjtime`), so
/// that only a step changes it, or another number of leap seconds.
#[derive(Clone, Copy, Debug)]
pub struct TaiOffset {
    offset: Span,
    /// It is this much less at most.
    uncertainty: Span,
}

impl TaiOffset {
    /// Where it is now.
    pub fn now() -> Self {
        let look = || {
            let before = clock::now::<Monotonic>();
            let tai = clock::now::<Tai>();
            let after = clock::now::<Monotonic>();
            Self {
                offset: Span::from_ns(tai.as_ns() - before.as_ns()),
                uncertainty: after - before,
            }
        };
        let first = look();
        (1..LOOKS)
            .map(|_| look())
            .fold(first, |best, next| if next.uncertainty < best.uncertainty { next } else { best })
    }

    /// When that was by `CLOCK_TAI`.
    pub fn tai(self, at: Instant<Monotonic>) -> Instant<Tai> {
        Instant::from_ns(at.as_ns()) + self.offset
    }

    /// By how much `CLOCK_TAI` was set since `before`, if it was.
    pub fn step_since(self, before: Self) -> Option<Span> {
        let moved = (self.offset - before.offset).as_ns();
        let explained = self.uncertainty.as_ns().max(before.uncertainty.as_ns());
        (moved.abs() > explained).then_some(Span::from_ns(moved))
    }
}

/// What a step means for the figures, and what to do.
pub fn warning(step: Span) -> String {
    format!(
        "CLOCK_TAI was set by {step} during the measurement: departures and wake-ups are planned \
         on \
         it, so the figures around that instant are not valid; prevent NTP, PTP or other \
         programs from stepping the clock, and run it again."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_was_set_has_a_step() {
        let before = TaiOffset::now();
        let after = TaiOffset::now();
        assert_eq!(after.step_since(before), None);
        let set = |ns| TaiOffset { offset: after.offset + Span::from_ns(ns), ..after };
        let step = after.uncertainty.as_ns() + before.uncertainty.as_ns() + 1_000_000;
        for sign in [1, -1] {
            let found = set(sign * step).step_since(before).expect("more than looking explains");
            assert!((found.as_ns() - sign * step).abs() <= step, "{found}");
            assert!(warning(found).contains("CLOCK_TAI was set by"), "{}", warning(found));
        }
    }
}
