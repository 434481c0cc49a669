//! Finding a flow's period from the intervals between its first frames.

/// What the intervals tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeriodEstimate {
    /// The mean of the typical intervals, in nanoseconds.
    pub measured_ns: f64,
    /// The period that was probably meant: a round number within 0.1 % of the
    /// measured one if there is one, else the measured one in whole
    /// nanoseconds.
    pub period_ns: i64,
    /// True if it was rounded.
    pub round: bool,
    /// The share of typical intervals, 0 to 1: those within a quarter of the
    /// median.
    pub regularity: f64,
}

/// A flow is periodic if at least this share of its intervals is typical.
/// Intervals of random (Poisson) traffic are to 17 %.
pub const REGULAR: f64 = 0.5;

impl PeriodEstimate {
    /// The estimate from some intervals, in nanoseconds; `None` if there are
    /// none, or if the typical one is not positive. Losses and outliers move
    /// the median little and the mean of what lies around it less.
    pub fn from_intervals(mut intervals_ns: Vec<i64>) -> Option<Self> {
        let median = teiji_stats::median(&mut intervals_ns).filter(|median| *median > 0)?;
        let near = intervals_ns.iter().filter(|i| i.abs_diff(median) <= median.unsigned_abs() / 4);
        let (count, sum) =
            near.fold((0_u32, 0_i128), |(count, sum), i| (count + 1, sum + i128::from(*i)));
        let measured_ns = sum as f64 / f64::from(count);
        let rounded = round_period(measured_ns);
        #[expect(clippy::cast_possible_truncation, reason = "a mean of positive i64 values")]
        let whole = (measured_ns.round() as i64).max(1);
        Some(Self {
            measured_ns,
            period_ns: rounded.unwrap_or(whole),
            round: rounded.is_some(),
            regularity: f64::from(count) / intervals_ns.len() as f64,
        })
    }

    /// True if the flow is periodic.
    pub fn is_regular(&self) -> bool {
        self.regularity >= REGULAR
    }
}

/// The round number within 0.1 % of `ns`: two significant digits, or the
/// binary fractions of a millisecond that TSN and audio use.
fn round_period(ns: f64) -> Option<i64> {
    const FRACTIONS: [i64; 3] = [31_250, 62_500, 125_000];
    let mut unit = 1_i64;
    while ns >= unit as f64 * 100.0 {
        unit = unit.checked_mul(10)?;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the quotient is below 100")]
    let two_digits = (ns / unit as f64).round() as i64 * unit;
    [two_digits]
        .into_iter()
        .chain(FRACTIONS)
        .find(|round| *round > 0 && (ns - *round as f64).abs() <= *round as f64 * 0.001)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_losses_and_outliers_leave_the_round_period() {
        let mut intervals: Vec<i64> = (0..200).map(|i| 999_602 + (i * 7_919) % 901 - 450).collect();
        intervals[10] = 2_000_100;
        intervals[20] = 3_000_050;
        intervals[30] = 12;
        let estimate = PeriodEstimate::from_intervals(intervals).unwrap();
        assert_eq!((estimate.period_ns, estimate.round), (1_000_000, true));
        assert!((estimate.measured_ns - 999_602.0).abs() < 50.0);
        assert!(estimate.is_regular() && estimate.regularity < 1.0);
    }

    #[test]
    fn round_means_two_digits_or_a_binary_fraction_of_a_millisecond() {
        let round = |ns| round_period(ns);
        assert_eq!(round(1_000_990.0), Some(1_000_000));
        assert_eq!(round(31_251.0), Some(31_250));
        assert_eq!(round(125_010.0), Some(125_000));
        assert_eq!(round(9_995_000.0), Some(10_000_000));
        assert_eq!(round(16_683_350.0), None);
        assert_eq!(round(1_002_000.0), None);
        assert_eq!(round(0.2), None);
    }

    #[test]
    fn an_odd_period_is_kept_as_measured() {
        let estimate = PeriodEstimate::from_intervals(vec![16_683_350; 9]).unwrap();
        assert_eq!((estimate.period_ns, estimate.round), (16_683_350, false));
    }

    #[test]
    fn random_traffic_is_not_regular() {
        let mut state = 1_u64;
        let mut exponential = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let uniform = ((state >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "at most 37 million")]
            let interval = (-1e6 * uniform.ln()) as i64;
            interval
        };
        let intervals = (0..1_000).map(|_| exponential()).collect();
        let estimate = PeriodEstimate::from_intervals(intervals).unwrap();
        assert!(!estimate.is_regular(), "{estimate:?}");
    }

    #[test]
    fn no_interval_or_one_that_stands_still_is_no_period() {
        assert_eq!(PeriodEstimate::from_intervals(vec![]), None);
        assert_eq!(PeriodEstimate::from_intervals(vec![0, 0, 5]), None);
    }
}
