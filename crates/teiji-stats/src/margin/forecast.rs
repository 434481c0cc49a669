//! How many frames would be late with a margin, foretold from measured frames.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

use super::{Passage, Stations};
use crate::tail::CONFIDENCE;

/// Late frames to expect in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// The share of all measured frames.
    pub likely: u64,
    /// If the run is like the best member, and lucky.
    pub least: u64,
    /// If the run is like the worst member, and unlucky.
    pub most: u64,
}

/// How many of `frames` frames will not be on time with this margin and delta,
/// foretold from members that were measured. The interval is 95 % wide about the
/// shares of the best and the worst member, as if late frames came independently
/// of each other (a Poisson distribution).
pub fn forecast(members: &[Stations], margin: Span, delta: Span, frames: u64) -> Forecast {
    let frames = frames as f64;
    let late = |members: &[Stations]| {
        let count: u64 = members.iter().map(Stations::count).sum();
        let late: u64 = members.iter().map(|member| member.late_at(margin, delta)).sum();
        late as f64 / (count.max(1)) as f64 * frames
    };
    let each = || members.iter().map(std::slice::from_ref).map(late);
    let (best, worst) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
    let tail = (1.0 - CONFIDENCE) / 2.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most frames")]
    Forecast {
        likely: late(members).round() as u64,
        least: poisson_quantile(best.min(worst), tail),
        most: poisson_quantile(worst, 1.0 - tail).min(frames as u64),
    }
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
/// with a probability above 1 − `share`.
fn poisson_quantile(mean: f64, share: f64) -> u64 {
    // The first term, e^−mean, is 0 to a computer from a mean of 745 on.
    if mean > 600.0 {
        // Normal from here on (the error is about one count).
        let normal = if share < 0.5 { -1.959_964 } else { 1.959_964 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        return (mean + normal * mean.sqrt()).round() as u64;
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
        for (mean, low, high) in [(10.0, 4, 17), (0.5, 0, 2), (500.0, 457, 544)] {
            assert_eq!((poisson_quantile(mean, 0.025), poisson_quantile(mean, 0.975)), (low, high));
        }
        // The terms give 3877; the normal distribution is one beside it.
        assert_eq!(poisson_quantile(4_000.0, 0.025), 3_876);
        for mean in 1..2_000_u32 {
            let at = |share| poisson_quantile(mean.into(), share);
            assert!(at(0.025) < mean.into() && at(0.975) > mean.into(), "{mean}");
        }
        assert_eq!((poisson_quantile(0.0, 0.025), poisson_quantile(0.0, 0.975)), (0, 0));
    }
}
