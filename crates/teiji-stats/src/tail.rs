//! The far end of a latency: which value is exceeded with a small probability,
//! and how much of that rests on samples and how much on a model.
//!
//! Two answers stand side by side:
//!
//! * [`order`] – order statistics: no assumption about the distribution, but
//!   about 3 / p samples are needed for a probability p,
//! * [`pareto`] – a generalised Pareto distribution fitted to the exceedances of
//!   a threshold (peaks over threshold: Pickands 1975; Coles 2001, chapter 4):
//!   reaches beyond the samples, if the tail goes on as it began.
//!
//! Both assume that the machine stays as it was while it was measured. Latencies
//! of neighbouring cycles depend on each other, so both count clusters of large
//! values instead of samples: [`clusters`] estimates how many there are.

pub mod clusters;
mod fitness;
pub mod order;
pub mod pareto;

use serde::{Deserialize, Serialize};

use pareto::Pareto;

/// The error probability of every bound is 1 − this.
pub const CONFIDENCE: f64 = 0.95;
/// A fit is accepted if data drawn from it look worse at least this often
/// (Anderson–Darling): the usual caution of threshold selection (Bader, Yan and
/// Zhang 2018).
const FITNESS: f64 = 0.10;
/// The numbers of exceedances that are tried, most first.
const EXCEEDANCES: [usize; 6] = [2_000, 1_000, 500, 250, 125, 60];
/// At most this share of all samples is called the tail.
const TAIL_SHARE: usize = 10;
/// Below this number of different values a sample says nothing of a shape.
const DISTINCT: usize = 20;

/// What is known about the value that is exceeded with probability
/// [`TailBound::probability`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TailBound {
    /// The probability of exceeding the bound, for each sample.
    pub probability: f64,
    /// Samples it rests on.
    pub samples: u64,
    /// Large values per cluster of large values, inverted: 1 if they come
    /// independently of each other, less if they come in groups (the extremal
    /// index).
    pub extremal_index: f64,
    /// The largest sample, in nanoseconds.
    pub worst_ns: i64,
    /// Upper bound by order statistics, in nanoseconds; `None` if there are too
    /// few samples for the probability.
    pub order_ns: Option<i64>,
    /// The probability for which the largest sample is an upper bound, whatever
    /// the distribution.
    pub supported: f64,
    /// The fit of the tail.
    pub fit: Result<TailFit, NoFit>,
}

/// A generalised Pareto distribution fitted to the largest samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TailFit {
    /// Samples above this value were fitted, in nanoseconds.
    pub threshold_ns: i64,
    /// How many they are.
    pub exceedances: u64,
    /// ξ: below 0 the tail ends, at 0 it is exponential, above it is heavy.
    pub shape: f64,
    /// σ, in nanoseconds.
    pub scale_ns: f64,
    /// The share of samples drawn from this distribution that fit it worse than
    /// the measured ones (Anderson–Darling).
    pub fitness: f64,
    /// The most likely value at the probability, in nanoseconds.
    pub estimate_ns: i64,
    /// Its upper bound, in nanoseconds, from the profile likelihood; `None` if
    /// the samples bound it nowhere.
    pub upper_ns: Option<i64>,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoFit {
    /// Too few samples, or too few different ones.
    TooFew,
    /// The samples reach the probability without a model.
    NotNeeded,
    /// No threshold above which the samples look like a generalised Pareto
    /// distribution: several causes overlap, or one of them is not in the tail.
    NoThreshold,
}

/// What a bound rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Enough samples.
    OrderStatistics,
    /// A model of the tail.
    TailFit,
}

impl TailBound {
    /// Examines samples, in nanoseconds and in the order in which they were
    /// taken. `None` if there is none, or `probability` is not between 0 and 1.
    pub fn of(samples_ns: &[i64], probability: f64) -> Option<Self> {
        if !(probability > 0.0 && probability < 1.0) {
            return None;
        }
        let mut sorted = samples_ns.to_vec();
        sorted.sort_unstable();
        let worst_ns = *sorted.last()?;
        let extremal_index =
            clusters::extremal_index(samples_ns, threshold(&sorted, tail(&sorted)));
        let effective = sorted.len() as f64 * extremal_index;
        let order_ns = by_order(&sorted, effective, probability);
        let fit = match order_ns {
            Some(_) => Err(NoFit::NotNeeded),
            None => fit(&sorted, probability, extremal_index),
        };
        Some(Self {
            probability,
            samples: sorted.len() as u64,
            extremal_index,
            worst_ns,
            order_ns,
            supported: order::supported(effective, CONFIDENCE),
            fit,
        })
    }

    /// The upper bound in nanoseconds and what it rests on: order statistics
    /// where there are enough samples, else the fit, never below the worst
    /// sample then. `None` if neither reaches the probability.
    pub fn upper_ns(&self) -> Option<(i64, Evidence)> {
        if let Some(order) = self.order_ns {
            return Some((order, Evidence::OrderStatistics));
        }
        let upper = self.fit.as_ref().ok()?.upper_ns?;
        Some((upper.max(self.worst_ns), Evidence::TailFit))
    }
}

/// The upper bound by order statistics alone, as [`TailBound::order_ns`].
pub fn order_bound(samples_ns: &[i64], probability: f64) -> Option<i64> {
    let mut sorted = samples_ns.to_vec();
    sorted.sort_unstable();
    let index = clusters::extremal_index(samples_ns, threshold(&sorted, tail(&sorted)));
    by_order(&sorted, sorted.len() as f64 * index, probability)
}

fn by_order(sorted: &[i64], effective: f64, probability: f64) -> Option<i64> {
    let above = order::samples_above(effective, probability, CONFIDENCE)?;
    sorted.len().checked_sub(above + 1).map(|rank| sorted[rank])
}

/// The largest number of samples that may be called the tail.
fn tail(sorted: &[i64]) -> usize {
    (sorted.len() / TAIL_SHARE).min(EXCEEDANCES[0])
}

/// The value above which at most `count` samples lie.
fn threshold(sorted: &[i64], count: usize) -> i64 {
    sorted.len().checked_sub(count + 1).map_or(i64::MIN, |at| sorted[at])
}

/// The lowest threshold above which the samples are acceptably Pareto.
fn fit(sorted: &[i64], probability: f64, extremal_index: f64) -> Result<TailFit, NoFit> {
    let mut reason = NoFit::TooFew;
    for count in EXCEEDANCES.into_iter().filter(|count| *count <= tail(sorted)) {
        let threshold_ns = threshold(sorted, count);
        let above = &sorted[sorted.partition_point(|value| *value <= threshold_ns)..];
        let distinct = 1 + above.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if above.is_empty() || distinct < DISTINCT {
            continue;
        }
        let excesses: Vec<f64> =
            above.iter().map(|value| value.abs_diff(threshold_ns) as f64).collect();
        reason = NoFit::NoThreshold;
        let Some(pareto) = Pareto::fit(&excesses) else { continue };
        let fitness = fitness::of(&pareto, &excesses);
        if fitness < FITNESS {
            continue;
        }
        // How much rarer than an exceedance the wanted event is.
        let rarity = above.len() as f64 / sorted.len() as f64 / probability;
        #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
        let in_ns = |excess: f64| threshold_ns.saturating_add(excess.ceil() as i64);
        return Ok(TailFit {
            threshold_ns,
            exceedances: above.len() as u64,
            shape: pareto.shape,
            scale_ns: pareto.scale,
            fitness,
            estimate_ns: in_ns(pareto.level(rarity)),
            upper_ns: pareto.upper_level(&excesses, rarity, CONFIDENCE, extremal_index).map(in_ns),
        });
    }
    Err(reason)
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
