//! How many frames would be late with a margin, at most, predicted from measured frames.

use teiji_core::time::Span;

use super::{Passage, Stations};
use crate::tail::CONFIDENCE;
use crate::tail::pareto::normal_quantile;

/// How many of `frames` frames will not be on time with this margin and delta, at most:
/// the share in the worst of the measured members, and 95 % of the runs as if late
/// frames came independently of each other (a Poisson distribution).
///
/// It is a bound, because the ways are added up as they were measured, with time to
/// spare: a frame that enters the qdisc shortly before it is due finds the CPU awake,
/// and its way to the NIC is shorter (docs/margin.md).
pub fn late_at_most(members: &[Stations], margin: Span, delta: Span, frames: u64) -> u64 {
    let share =
        |member: &Stations| member.late_at(margin, delta) as f64 / member.count().max(1) as f64;
    let worst = members.iter().map(share).fold(0.0, f64::max);
    poisson_quantile(worst * frames as f64, CONFIDENCE).min(frames)
}

/// The longest margin below `from`, in whole microseconds, at which at least
/// `misses` of the members' frames would not have been on time, with the delta to
/// go with it: the same share of the margin as before. `None` if there is none.
pub fn just_below(
    members: &[Stations],
    from: Span,
    delta: Span,
    misses: u64,
) -> Option<(Span, Span)> {
    let at = |us: i64| {
        let margin = Span::from_micros(us);
        let share = i128::from(delta.as_ns()) * i128::from(margin.as_ns());
        let with = share / i128::from(from.as_ns().max(1));
        (margin, Span::from_ns(i64::try_from(with).unwrap_or(i64::MAX)))
    };
    let enough = |us: i64| {
        let (margin, delta) = at(us);
        members.iter().map(|one| one.late_at(margin, delta)).sum::<u64>() >= misses.max(1)
    };
    let (mut most, mut least) = (from.as_ns() / 1_000, 1);
    if !enough(least) {
        return None;
    }
    // The misses only grow as the margin shrinks.
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        if enough(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    Some(at(least))
}

impl Stations {
    /// How many of these frames would not have been on time with this margin and
    /// delta.
    pub fn late_at(&self, margin: Span, delta: Span) -> u64 {
        let begin = (margin - delta).as_ns();
        let late = |p: &&Passage| {
            p.to_qdisc().max(begin).saturating_add(p.release.unwrap_or(0)) > margin.as_ns()
        };
        self.passages.iter().filter(late).count() as u64
    }
}

/// The smallest count that a Poisson distribution of this mean does not exceed
/// with a probability of `share`.
fn poisson_quantile(mean: f64, share: f64) -> u64 {
    // The first term, e^−mean, is 0 to a computer from a mean of 745 on.
    if mean > 600.0 {
        // Normal from here on (the error is about one count).
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        return (mean + normal_quantile(share) * mean.sqrt()).round() as u64;
    }
    let (mut term, mut count) = ((-mean).exp(), 0_u32);
    let mut sum = term;
    while sum < share && term > f64::MIN_POSITIVE {
        count += 1;
        term *= mean / f64::from(count);
        sum += term;
    }
    count.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_quantiles_are_those_of_the_tables() {
        // Computed by adding up the terms, in logarithms.
        for (mean, quantile) in [(0.0, 0), (10.0, 17), (0.5, 2), (500.0, 544)] {
            assert_eq!(poisson_quantile(mean, 0.975), quantile);
        }
        // The terms give 4124; the normal distribution is at most one beside it.
        assert!(poisson_quantile(4_000.0, 0.975).abs_diff(4_124) <= 1);
        for mean in 1..2_000_u32 {
            assert!(poisson_quantile(mean.into(), CONFIDENCE) > mean.into(), "{mean}");
        }
    }
}
