//! Axes: how values become places, and where the ticks stand.

/// How values become distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// Evenly between these bounds.
    Linear(f64, f64),
    /// By powers of ten between these bounds, both above zero.
    Log(f64, f64),
}

/// Labels that fit beside each other.
const TICKS: f64 = 6.0;

impl Axis {
    /// 0 at the lower bound, 1 at the upper; values beyond stay at the bounds.
    pub fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear(low, high) => (value - low) / (high - low).max(f64::MIN_POSITIVE),
            Self::Log(low, high) => {
                let span = (high / low).log10().max(f64::MIN_POSITIVE);
                (value.max(low) / low).log10() / span
            }
        };
        share.clamp(0.0, 1.0)
    }

    /// Both bounds.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Linear(low, high) | Self::Log(low, high) => (low, high),
        }
    }

    /// Round values inside.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear(low, high) => linear_ticks(low, high, TICKS),
            Self::Log(low, high) => log_ticks(low, high),
        }
    }
}

/// Fewer ticks do not tell a scale.
const FEWEST: usize = 3;

/// Multiples of 1, 2 or 5 times a power of ten, about `wanted` of them and at
/// least three.
pub fn linear_ticks(low: f64, high: f64, wanted: f64) -> Vec<f64> {
    let raw = (high - low) / wanted;
    if raw <= 0.0 || !raw.is_finite() {
        return vec![low];
    }
    let magnitude = 10_f64.powf(raw.log10().floor());
    let nice = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2].map(|n| n * magnitude);
    let coarsest = nice.iter().rposition(|step| *step >= raw).unwrap_or(0);
    let mut tries = nice[coarsest..].iter().map(|step| multiples(low, high, *step));
    let enough = tries.find(|ticks| ticks.len() >= FEWEST);
    enough.unwrap_or_else(|| multiples(low, high, raw))
}

/// The multiples of `step` from `low` to `high`.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let mut ticks = Vec::new();
    let mut tick = (low / step).ceil() * step;
    while tick <= high + step * 1e-6 {
        ticks.push(if tick.abs() < step * 1e-6 { 0.0 } else { tick });
        tick += step;
    }
    ticks
}

/// Powers of ten; with 2 and 5 in between where there are few, fewer where
/// there are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10().floor(), high.log10().ceil());
    let decades = (high / low).log10();
    let within: &[f64] = if decades <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let step = (decades / TICKS).ceil().max(1.0);
    let mut ticks = Vec::new();
    let mut exponent = (from / step).ceil() * step;
    while exponent <= to {
        ticks.extend(within.iter().map(|n| n * 10_f64.powf(exponent)));
        exponent += step;
    }
    ticks.retain(|tick| *tick >= low * (1.0 - 1e-9) && *tick <= high * (1.0 + 1e-9));
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(linear_ticks(-43.0, 19.0, 6.0), [-40.0, -20.0, 0.0]);
        assert_eq!(linear_ticks(0.0, 0.0, 6.0), [0.0]);
        assert_eq!(linear_ticks(-43.7, 43.6, 4.0), [-40.0, -20.0, 0.0, 20.0, 40.0]);
    }

    #[test]
    fn a_linear_axis_has_at_least_three_ticks() {
        for low in [-1e6, -43.7, -1.0, 0.0, 0.1, 7.3] {
            for span in [0.3, 1.0, 9.99, 87.3, 101.0, 2.6e6] {
                let ticks = linear_ticks(low, low + span, 4.0);
                assert!((3..=12).contains(&ticks.len()), "{low} + {span}: {ticks:?}");
            }
        }
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(Axis::Log(0.5, 2000.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((Axis::Log(1.0, 100.0).share(10.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_short_logarithmic_axis_has_ticks_between_the_powers() {
        assert_eq!(Axis::Log(900.0, 50_000.0).ticks(), [1e3, 2e3, 5e3, 1e4, 2e4, 5e4]);
    }

    #[test]
    fn a_value_beyond_the_bounds_stays_on_the_plot() {
        assert!((Axis::Linear(0.0, 1.0).share(7.0) - 1.0).abs() < 1e-12);
        assert!(Axis::Log(1.0, 10.0).share(0.0).abs() < 1e-12);
    }
}
