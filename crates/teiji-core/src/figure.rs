//! The figures of a distribution, by the names that files, options and reports share.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A figure of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Arithmetic mean.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Largest minus smallest.
    Range,
    /// Standard deviation.
    Stddev,
    /// Percentile of the absolute value, in percent.
    Percentile(f64),
}

/// The percentiles that are computed: in percent, and as a fraction of integers, so that a rank
/// never depends on rounding.
pub const PERCENTILES: [(f64, u64, u64); 7] = [
    (50.0, 50, 100),
    (90.0, 90, 100),
    (99.0, 99, 100),
    (99.9, 999, 1_000),
    (99.99, 9_999, 10_000),
    (99.999, 99_999, 100_000),
    (99.9999, 999_999, 1_000_000),
];

impl Figure {
    /// Those that are no percentiles.
    pub const PLAIN: [Self; 5] = [Self::Mean, Self::Min, Self::Max, Self::Range, Self::Stddev];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let percentiles = PERCENTILES.map(|(percent, ..)| Self::Percentile(percent));
        Self::PLAIN.into_iter().chain(percentiles)
    }

    /// Whether it measures a width: a ratio of means and extremes, which are around zero,
    /// has no meaning.
    pub const fn is_width(self) -> bool {
        matches!(self, Self::Range | Self::Stddev | Self::Percentile(_))
    }
}

/// Whether both percentiles, in percent, are the same.
pub fn same_percentile(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Range => f.write_str("range"),
            Self::Stddev => f.write_str("stddev"),
            Self::Percentile(p) => write!(f, "p{p}"),
        }
    }
}

impl FromStr for Figure {
    type Err = UnknownFigure;

    fn from_str(name: &str) -> Result<Self, UnknownFigure> {
        Ok(match name {
            "mean" => Self::Mean,
            "min" => Self::Min,
            "max" => Self::Max,
            "range" => Self::Range,
            "stddev" => Self::Stddev,
            _ => {
                let percent = name.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
                let known = |p: &f64| PERCENTILES.iter().any(|known| same_percentile(known.0, *p));
                Self::Percentile(percent.filter(known).ok_or(UnknownFigure)?)
            }
        })
    }
}

/// No figure has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFigure;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figures_name_reads_back() {
        for figure in Figure::all() {
            assert_eq!(figure.to_string().parse(), Ok(figure));
        }
        for name in ["", "p", "p98", "median", "P50"] {
            assert_eq!(name.parse::<Figure>(), Err(UnknownFigure), "{name}");
        }
    }
}
