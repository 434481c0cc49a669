//! Two series side by side, and the spread of one figure over an ensemble.
//!
//! Ratios of figures say how much; what they leave open is how sure one may
//! be. For one pair of runs that is answered by the share of pairs in which B
//! is nearer to its time (Vargha and Delaney 2000, "A critique and improvement
//! of the CL common language effect size statistics") and by an interval from
//! the moving-block bootstrap (Künsch 1989, "The jackknife and the bootstrap
//! for general stationary observations"), which respects that neighbouring
//! frames resemble each other. Neither assumes a distribution. For ensembles
//! the members themselves are the independent samples: look at [`Ensemble`].

use serde::{Deserialize, Serialize};

use crate::Deviation;

/// B relative to A: below 1 means that B deviates less. `None` where A's
/// figure is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Range of B divided by range of A.
    pub range: Option<f64>,
    /// Standard deviation of B divided by that of A.
    pub stddev: Option<f64>,
    /// Percentile of B divided by the same percentile of A, for those that
    /// both have: (percent, ratio).
    pub percentiles: Vec<(f64, Option<f64>)>,
}

impl Comparison {
    /// Compares B with A.
    pub fn of(a: &Deviation, b: &Deviation) -> Self {
        let percentiles = a
            .percentiles
            .iter()
            .zip(&b.percentiles)
            .map(|(a, b)| (a.p, ratio(a.ns as f64, b.ns as f64)))
            .collect();
        Self {
            range: ratio(a.range_ns as f64, b.range_ns as f64),
            stddev: ratio(a.stddev_ns, b.stddev_ns),
            percentiles,
        }
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a != 0.0).then(|| b / a)
}

/// The share of all pairs (one deviation of A, one of B) in which B's is
/// smaller by magnitude, ties counted half: 0.5 means no difference, 1 that
/// every frame of B is nearer to its time than every frame of A. `None` if
/// one is empty.
pub fn probability_b_is_nearer(a: &[i64], b: &[i64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let sorted = |values: &[i64]| {
        let mut magnitudes: Vec<u64> = values.iter().map(|v| v.unsigned_abs()).collect();
        magnitudes.sort_unstable();
        magnitudes
    };
    let (a, b) = (sorted(a), sorted(b));
    let (mut below, mut up_to) = (0, 0);
    let mut halves: u128 = 0;
    for magnitude in &a {
        while b.get(below).is_some_and(|v| v < magnitude) {
            below += 1;
        }
        while b.get(up_to).is_some_and(|v| v <= magnitude) {
            up_to += 1;
        }
        halves += (below + up_to) as u128;
    }
    Some(halves as f64 / (2.0 * a.len() as f64 * b.len() as f64))
}

/// An interval that would hold the true figure in 95 of 100 repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Resamples drawn for an interval: its ends are order statistics 5 and 196 of
/// 200, the 2.5 % and 97.5 % points.
const RESAMPLES: usize = 200;

/// A 95 % interval for the ratio of B's to A's 99th percentile of the absolute
/// deviation, from a moving-block bootstrap with blocks of n^(1/3) frames.
/// The draws come from a fixed generator: equal data give equal intervals.
/// `None` below 100 frames a side, or if A's percentile is 0 in a resample.
pub fn p99_ratio_interval(a: &[i64], b: &[i64]) -> Option<Interval> {
    if a.len() < 100 || b.len() < 100 {
        return None;
    }
    let mut random = SplitMix64(0x7465_696A);
    let mut ratios = Vec::with_capacity(RESAMPLES);
    let mut scratch = Vec::new();
    for _ in 0..RESAMPLES {
        let denominator = resampled_p99(a, &mut scratch, &mut random);
        let numerator = resampled_p99(b, &mut scratch, &mut random);
        ratios.push(ratio(denominator as f64, numerator as f64)?);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: ratios[RESAMPLES / 40 - 1], high: ratios[RESAMPLES - RESAMPLES / 40] })
}

fn resampled_p99(values: &[i64], scratch: &mut Vec<u64>, random: &mut SplitMix64) -> u64 {
    let block = (1..values.len()).find(|b| b * b * b >= values.len()).unwrap_or(1);
    scratch.clear();
    while scratch.len() < values.len() {
        let start = random.below(values.len() - block + 1);
        scratch.extend(values[start..start + block].iter().map(|v| v.unsigned_abs()));
    }
    scratch.truncate(values.len());
    let rank = (values.len() * 99).div_ceil(100);
    *scratch.select_nth_unstable(rank - 1).1
}

/// Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
/// generators".
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let scaled = (u128::from(z) * bound as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }
}

/// One figure over the members of an ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The middle one; the mean of the two middle ones if they are even.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { min, median: f64::midpoint(low, high), max })
    }
}

/// The spread of each figure over the members of an ensemble, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ensemble {
    /// How many members there are.
    pub members: usize,
    /// Of the members' means.
    pub mean_ns: Spread,
    /// Of their smallest deviations.
    pub min_ns: Spread,
    /// Of their largest deviations.
    pub max_ns: Spread,
    /// Of their ranges.
    pub range_ns: Spread,
    /// Of their standard deviations.
    pub stddev_ns: Spread,
    /// Of each percentile that all members have: (percent, spread).
    pub percentiles: Vec<(f64, Spread)>,
}

impl Ensemble {
    /// The spread over `members`; `None` if there are none.
    pub fn of<'a>(members: impl IntoIterator<Item = &'a Deviation>) -> Option<Self> {
        let members: Vec<&Deviation> = members.into_iter().collect();
        let over = |figure: fn(&Deviation) -> f64| Spread::of(members.iter().map(|d| figure(d)));
        let common = members.iter().map(|d| d.percentiles.len()).min()?;
        let percentile = |i: usize| {
            let p = members.first()?.percentiles.get(i)?.p;
            let values = members.iter().filter_map(|d| d.percentiles.get(i)).map(|p| p.ns as f64);
            Some((p, Spread::of(values)?))
        };
        Some(Self {
            members: members.len(),
            mean_ns: over(|d| d.mean_ns)?,
            min_ns: over(|d| d.min_ns as f64)?,
            max_ns: over(|d| d.max_ns as f64)?,
            range_ns: over(|d| d.range_ns as f64)?,
            stddev_ns: over(|d| d.stddev_ns)?,
            percentiles: (0..common).filter_map(percentile).collect(),
        })
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
