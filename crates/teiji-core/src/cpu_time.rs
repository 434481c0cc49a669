//! How long a CPU was idle, out of how long: its utilisation.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// One CPU during one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// The period.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// How long the CPU was idle in it.
    #[serde(rename = "idle_ns")]
    pub idle: Span,
}

impl CpuTime {
    /// The share of the period in which the CPU was not idle, 0 to 1.
    pub fn utilisation(self) -> f64 {
        if self.elapsed <= Span::ZERO {
            return 0.0;
        }
        (1.0 - self.idle.as_secs_f64() / self.elapsed.as_secs_f64()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisation_is_what_is_not_idle_and_never_outside_0_to_1() {
        let of = |elapsed, idle| {
            CpuTime { elapsed: Span::from_millis(elapsed), idle: Span::from_millis(idle) }
                .utilisation()
        };
        assert!((of(1_000, 250) - 0.75).abs() < 1e-12);
        // The kernel counts idle time in steps, which may end after the period.
        assert!(of(1_000, 1_010).abs() < 1e-12);
        assert!((of(1_000, -10) - 1.0).abs() < 1e-12);
        assert!(of(0, 0).abs() < 1e-12);
    }
}
