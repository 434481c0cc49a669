//! Two series side by side, and the spread of one figure over an ensemble.
//!
//! Ratios of figures say how much; they leave open how sure one may be. For ensembles the members
//! themselves are the independent samples: look at [`Ensemble`].

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
