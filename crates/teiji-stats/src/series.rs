//! The streaming accumulator that turns deviations into a [`Deviation`].

use teiji_core::figure::PERCENTILES;

use crate::buckets::{Buckets, COARSE, FINE};
use crate::deviation::{Bin, Deviation, Percentile};

/// Bins of a linear histogram, at most.
const LINEAR_BINS: u64 = 200;

/// Takes deviations one by one, in any number, in constant memory.
///
/// Mean and standard deviation are computed from exact integer sums: no
/// rounding accumulates however long the run. Percentiles are exact as long as
/// at most [`Series::EXACT_LIMIT`] deviations came (or the limit given); after
/// that they come from a log-linear histogram and are at most 1/128 too high,
/// never too low.
#[derive(Clone, Debug)]
pub struct Series {
    count: u64,
    /// The first deviation. Sums are of the distances from it, so that a large
    /// common offset takes no room in them.
    reference: i64,
    sum: i128,
    /// Sum of squares; saturates once distances of years come by the thousand,
    /// and σ is then a lower bound.
    squares: u128,
    min: i64,
    max: i64,
    limit: usize,
    /// Every deviation, while there are at most `limit`.
    samples: Vec<i64>,
    /// All deviations, once there are more.
    buckets: Option<Buckets>,
}

impl Default for Series {
    fn default() -> Self {
        Self::new()
    }
}

impl Series {
    /// Deviations kept for exact percentiles, by default (8 MiB).
    pub const EXACT_LIMIT: usize = 1 << 20;

    /// An empty series.
    pub fn new() -> Self {
        Self::with_exact_limit(Self::EXACT_LIMIT)
    }

    /// An empty series that keeps at most `limit` deviations.
    pub fn with_exact_limit(limit: usize) -> Self {
        Self {
            count: 0,
            reference: 0,
            sum: 0,
            squares: 0,
            min: i64::MAX,
            max: i64::MIN,
            limit,
            samples: Vec::new(),
            buckets: None,
        }
    }

    /// Takes room for `count` more deviations at once, which costs less than growing for them.
    pub fn reserve(&mut self, count: usize) {
        if self.buckets.is_none() {
            self.samples.reserve_exact(count.min(self.limit - self.samples.len()));
        }
    }

    /// How many deviations came so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Takes one deviation, in nanoseconds.
    pub fn push(&mut self, deviation_ns: i64) {
        if self.count == 0 {
            self.reference = deviation_ns;
        }
        // Below 2^64, so that its square fits.
        let distance = u128::from(deviation_ns.abs_diff(self.reference));
        let square = distance * distance;
        self.count += 1;
        self.sum += i128::from(deviation_ns) - i128::from(self.reference);
        self.squares = self.squares.saturating_add(square);
        self.min = self.min.min(deviation_ns);
        self.max = self.max.max(deviation_ns);
        match &mut self.buckets {
            Some(buckets) => buckets.push(deviation_ns),
            None if self.samples.len() < self.limit => self.samples.push(deviation_ns),
            None => {
                let mut buckets = Buckets::new(FINE);
                for sample in std::mem::take(&mut self.samples) {
                    buckets.push(sample);
                }
                buckets.push(deviation_ns);
                self.buckets = Some(buckets);
            }
        }
    }

    /// The statistics; `None` if no deviation came.
    pub fn finish(mut self) -> Option<Deviation> {
        if self.count == 0 {
            return None;
        }
        let (mean_ns, stddev_ns) = self.mean_and_stddev();
        let (percentiles, histogram) = if let Some(buckets) = &self.buckets {
            (self.bucket_percentiles(buckets), self.bucket_histogram(buckets))
        } else {
            let histogram = self.exact_histogram();
            let samples = std::mem::take(&mut self.samples);
            (self.exact_percentiles(samples), histogram)
        };
        Some(Deviation {
            count: self.count,
            mean_ns,
            min_ns: self.min,
            max_ns: self.max,
            range_ns: self.max.saturating_sub(self.min),
            stddev_ns,
            percentiles,
            exact: self.buckets.is_none(),
            histogram,
        })
    }

    /// Mean and population standard deviation.
    ///
    /// With d the distances from the reference and q their mean rounded down,
    /// Σ(d−q)² = Σd² − 2qΣd + nq² is an exact
    /// integer; only the last division and root round. The intermediate terms
    /// may leave 128 bits and come back: the arithmetic is modular.
    fn mean_and_stddev(&self) -> (f64, f64) {
        let n = i128::from(self.count);
        let (q, r) = (self.sum.div_euclid(n), self.sum.rem_euclid(n));
        let fraction = r as f64 / n as f64;
        let mean = (i128::from(self.reference) + q) as f64 + fraction;
        if self.squares == u128::MAX {
            return (mean, (self.squares as f64 / n as f64).sqrt());
        }
        let modular = |value: i128| u128::from_ne_bytes(value.to_ne_bytes());
        let cross = modular(q.wrapping_mul(self.sum).wrapping_mul(2));
        let shift = modular(q.wrapping_mul(q).wrapping_mul(n));
        let about_q = self.squares.wrapping_sub(cross).wrapping_add(shift);
        let variance = about_q as f64 / n as f64 - fraction * fraction;
        (mean, variance.max(0.0).sqrt())
    }

    /// Nearest-rank percentiles that `count` samples support.
    fn ranks(&self) -> impl Iterator<Item = (f64, u64)> {
        let n = u128::from(self.count);
        PERCENTILES.into_iter().filter_map(move |(percent, numerator, denominator)| {
            let (p, q) = (u128::from(numerator), u128::from(denominator));
            // p needs 1 / (1 - p) samples: below that it is just the maximum.
            let supported = n * (q - p) >= q;
            supported.then_some((percent, u64::try_from((n * p).div_ceil(q)).ok()?))
        })
    }

    /// By selection from the lowest rank up, each among the values that the one before left
    /// above it: a full sort takes four times as many instructions. In the memory of `samples`.
    fn exact_percentiles(&self, samples: Vec<i64>) -> Vec<Percentile> {
        let mut magnitudes: Vec<u64> = samples.into_iter().map(i64::unsigned_abs).collect();
        // What is left of `magnitudes` begins at this rank (from 0).
        let (mut rest, mut begin, mut last) = (&mut magnitudes[..], 0, 0);
        let mut percentiles = Vec::new();
        for (p, rank) in self.ranks() {
            let Ok(rank) = usize::try_from(rank - 1) else { continue };
            // The next percentile may have the rank of the one before.
            if rank >= begin {
                let (_, at, above) = rest.select_nth_unstable(rank - begin);
                (last, rest, begin) = (*at, above, rank + 1);
            }
            percentiles.push(Percentile { p, ns: as_ns(last) });
        }
        percentiles
    }

    fn bucket_percentiles(&self, buckets: &Buckets) -> Vec<Percentile> {
        let largest = self.min.unsigned_abs().max(self.max.unsigned_abs());
        self.ranks()
            .map(|(p, rank)| Percentile {
                p,
                ns: as_ns(buckets.magnitude_at_rank(rank).min(largest)),
            })
            .collect()
    }

    /// True if all values lie so close together, away from zero, that buckets
    /// around zero would show nothing: they share an octave or two.
    fn is_far_from_zero(&self) -> bool {
        let nearest = if self.min > 0 { self.min } else { self.max.saturating_neg() };
        nearest > 0 && self.max.saturating_sub(self.min) <= nearest
    }

    fn exact_histogram(&self) -> Vec<Bin> {
        if self.is_far_from_zero() {
            return linear_histogram(&self.samples, self.min, self.max);
        }
        let mut buckets = Buckets::new(COARSE);
        for sample in &self.samples {
            buckets.push(*sample);
        }
        buckets.bins(COARSE)
    }

    fn bucket_histogram(&self, buckets: &Buckets) -> Vec<Bin> {
        buckets.bins(if self.is_far_from_zero() { FINE } else { COARSE })
    }
}

impl Extend<i64> for Series {
    fn extend<T: IntoIterator<Item = i64>>(&mut self, deviations_ns: T) {
        deviations_ns.into_iter().for_each(|d| self.push(d));
    }
}

impl FromIterator<i64> for Series {
    fn from_iter<T: IntoIterator<Item = i64>>(deviations_ns: T) -> Self {
        let mut series = Self::new();
        series.extend(deviations_ns);
        series
    }
}

fn as_ns(magnitude: u64) -> i64 {
    i64::try_from(magnitude).unwrap_or(i64::MAX)
}

/// Equal bins of 1, 2 or 5 times a power of ten, at most [`LINEAR_BINS`].
fn linear_histogram(samples: &[i64], min: i64, max: i64) -> Vec<Bin> {
    let width = one_two_five(max.abs_diff(min) / LINEAR_BINS + 1);
    let first = min.div_euclid(width);
    let mut counts = vec![0; usize::try_from(max.div_euclid(width) - first).unwrap_or(0) + 1];
    for sample in samples {
        counts[usize::try_from(sample.div_euclid(width) - first).unwrap_or(0)] += 1;
    }
    (first..)
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(index, count)| {
            let from_ns = index.saturating_mul(width);
            Bin { from_ns, to_ns: from_ns.saturating_add(width), count }
        })
        .collect()
}

/// The smallest of 1, 2, 5, 10, 20, 50 … that is at least `wanted`.
fn one_two_five(wanted: u64) -> i64 {
    let decades = std::iter::successors(Some(1_i64), |decade| decade.checked_mul(10));
    decades
        .flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)))
        .find(|width| width.unsigned_abs() >= wanted)
        .unwrap_or(i64::MAX)
}

/// The median by nearest rank (the lower of two middle values); `None` if
/// there is no value. Reorders the values.
pub fn median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
