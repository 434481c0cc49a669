//! How much was done when: amounts in equal steps of time, as many as fit a picture.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

/// The first step.
const STEP: Span = Span::from_millis(100);
/// With more steps than this, two become one.
const MOST: usize = 600;

/// Amounts over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// How long a step is.
    #[serde(rename = "step_ns")]
    pub step: Span,
    /// What was done in each step, from the load's beginning.
    pub amounts: Vec<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { step: STEP, amounts: Vec::new() }
    }
}

impl Timeline {
    /// Adds what was done `at` this time after the beginning.
    pub(super) fn add(&mut self, at: Span, amount: u64) {
        let index = |step: Span| usize::try_from(at.as_ns() / step.as_ns()).unwrap_or(0);
        while index(self.step) >= MOST {
            self.coarsen();
        }
        let index = index(self.step);
        if self.amounts.len() <= index {
            self.amounts.resize(index + 1, 0);
        }
        self.amounts[index] += amount;
    }

    /// Adds what another thread did in the same time.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.step < other.step {
            self.coarsen();
        }
        while other.step < self.step {
            other.coarsen();
        }
        if self.amounts.len() < other.amounts.len() {
            self.amounts.resize(other.amounts.len(), 0);
        }
        for (sum, amount) in self.amounts.iter_mut().zip(other.amounts) {
            *sum += amount;
        }
    }

    fn coarsen(&mut self) {
        self.step = self.step + self.step;
        self.amounts = self.amounts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_has_longer_steps_and_nothing_is_lost() {
        let mut long = Timeline::default();
        for second in 0..10_000 {
            long.add(Span::from_secs(second), 3);
        }
        assert!(long.amounts.len() <= MOST && long.amounts.len() > MOST / 4, "{long:?}");
        assert_eq!(long.amounts.iter().sum::<u64>(), 30_000);
        let mut short = Timeline::default();
        short.add(Span::from_millis(250), 7);
        assert_eq!(short, Timeline { step: STEP, amounts: vec![0, 0, 7] });
        let before = long.amounts[0];
        for (mut one, other) in [(long.clone(), short.clone()), (short, long)] {
            one.merge(other);
            assert_eq!(one.amounts[0], before + 7);
            assert_eq!(one.amounts.iter().sum::<u64>(), 30_007);
        }
    }
}
