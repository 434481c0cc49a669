//! The statistics of one series of deviations.

use serde::{Deserialize, Serialize};
use teiji_core::figure::{Figure, same_percentile};

/// Statistics of a series of deviations, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// How many deviations there are.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Smallest (most negative).
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// `max - min`, the papers' figure of merit.
    pub range_ns: i64,
    /// Standard deviation of the population (divided by n).
    pub stddev_ns: f64,
    /// Percentiles of the absolute deviation: p50, p90, p99, p99.9 …
    /// p99.9999, as far as the count supports them (p needs at least
    /// 1 / (1 − p) samples). Nearest-rank definition.
    pub percentiles: Vec<Percentile>,
    /// True if the percentiles are exact; false if they come from histogram
    /// bins: then they are never too low and at most 1/128 too high.
    pub exact: bool,
    /// Signed histogram, ascending, without empty bins. Bins are 1/16 of
    /// their values wide, beginning with 1 ns around zero; where all values
    /// lie close together and away from zero, equally wide (at most about
    /// 200), or 1/128 of their values wide if not `exact`.
    pub histogram: Vec<Bin>,
}

/// A percentile of the absolute deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// In percent, for example 99.99.
    pub p: f64,
    /// The absolute deviation that this share of the samples does not exceed.
    pub ns: i64,
}

/// One histogram bin: `from_ns <= d < to_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Lower bound, included.
    pub from_ns: i64,
    /// Upper bound, excluded.
    pub to_ns: i64,
    /// Samples in the bin, more than 0.
    pub count: u64,
}

impl Deviation {
    /// A figure, in ns; `None` for a percentile that the count does not support.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        let value = match figure {
            Figure::Mean => self.mean_ns,
            Figure::Min => self.min_ns as f64,
            Figure::Max => self.max_ns as f64,
            Figure::Range => self.range_ns as f64,
            Figure::Stddev => self.stddev_ns,
            Figure::Percentile(p) => {
                self.percentiles.iter().find(|found| same_percentile(found.p, p))?.ns as f64
            }
        };
        (self.count > 0 && value.is_finite()).then_some(value)
    }
}
