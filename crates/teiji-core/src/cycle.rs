//! The arithmetic of a periodic schedule: which instant belongs to which cycle.

use serde::{Deserialize, Serialize};

use crate::time::{Instant, Span, Tai};

/// A periodic schedule on TAI: frame `k` departs at `base + k · period`, and
/// its sender wakes `margin` earlier.
///
/// Pure numbers; the thing that sleeps is `teiji::Cycle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Departure of frame 0.
    pub base: Instant<Tai>,
    /// Distance between two departures.
    pub period: Span,
    /// How long before its departure a frame is prepared (the transmission
    /// margin of the ETF study, §3). Zero when frames leave on wake-up.
    pub margin: Span,
}

impl Schedule {
    /// When frame `k` should be on the wire.
    pub fn departure(&self, k: u64) -> Instant<Tai> {
        self.base + self.period * i64::try_from(k).unwrap_or(i64::MAX)
    }

    /// When the sender of frame `k` should wake.
    pub fn wake(&self, k: u64) -> Instant<Tai> {
        self.departure(k) - self.margin
    }

    /// The first base at or after `earliest` that lies `phase` after a whole
    /// multiple of the period, so that runs start at the same phase.
    pub fn aligned_base(earliest: Instant<Tai>, period: Span, phase: Span) -> Instant<Tai> {
        let since = (earliest - phase).as_ns().rem_euclid(period.as_ns().max(1));
        if since == 0 { earliest } else { earliest + period - Span::from_ns(since) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_wakes_one_margin_before_it_departs() {
        let schedule = Schedule {
            base: Instant::from_ns(1_000_000_000),
            period: Span::from_millis(1),
            margin: Span::from_micros(400),
        };
        assert_eq!(schedule.departure(3).as_ns(), 1_003_000_000);
        assert_eq!(schedule.wake(3).as_ns(), 1_002_600_000);
    }

    proptest! {
        #[test]
        fn an_aligned_base_is_the_first_with_its_phase(
            earliest in 0_i64..10_i64.pow(15), period in 1_i64..10_i64.pow(9), phase in 0_i64..10_i64.pow(9),
        ) {
            let base = Schedule::aligned_base(
                Instant::from_ns(earliest), Span::from_ns(period), Span::from_ns(phase)).as_ns();
            prop_assert!(base >= earliest && base - earliest < period);
            prop_assert_eq!((base - phase).rem_euclid(period), 0);
        }
    }
}
