//! What is compared: intervals, departures or round trips, and which figure of them.

use teiji_stats::{Deviation, VantageStatistics};

use crate::paper::PaperFigures;

/// What a deviation is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Interval between consecutive frames, minus the period.
    Interval,
    /// Frame minus its scheduled departure.
    Schedule,
    /// How long a round trip takes.
    RoundTrip,
    /// How long a frame takes from one capture to another.
    Delay,
}

impl Measure {
    /// What is counted, as a report calls several.
    pub const fn many(self) -> &'static str {
        match self {
            Self::Interval | Self::Schedule => "intervals",
            Self::RoundTrip => "round trips",
            Self::Delay => "frames",
        }
    }

    /// What a time series has a point for, and what it shows of each.
    pub const fn one_and_value(self) -> [&'static str; 2] {
        match self {
            Self::Interval | Self::Schedule => ["frame", "deviation"],
            Self::RoundTrip => ["request", "round trip"],
            Self::Delay => ["frame", "delay"],
        }
    }

    /// What each of them has.
    pub const fn of_one(self) -> &'static str {
        match self {
            Self::Interval | Self::Schedule => "absolute deviation",
            Self::RoundTrip => "time",
            Self::Delay => "delay",
        }
    }

    pub(super) fn of(self, statistics: &VantageStatistics) -> Option<&Deviation> {
        match self {
            Self::Interval => statistics.interval.as_ref(),
            Self::Schedule => statistics.schedule.as_ref(),
            // No vantage sees both of its ends.
            Self::RoundTrip | Self::Delay => None,
        }
    }
}

/// A figure of a series of deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Percentile of the absolute deviation, in percent.
    Percentile(f64),
}

impl Figure {
    /// Its value, in ns; `None` if there is none.
    pub fn of(self, deviation: &Deviation) -> Option<f64> {
        if deviation.count == 0 {
            return None;
        }
        let value = match self {
            Self::Mean => deviation.mean_ns,
            Self::Min => deviation.min_ns as f64,
            Self::Max => deviation.max_ns as f64,
            Self::Range => deviation.range_ns as f64,
            Self::Stddev => deviation.stddev_ns,
            Self::Percentile(p) => {
                deviation.percentiles.iter().find(|q| same_percentile(q.p, p))?.ns as f64
            }
        };
        value.is_finite().then_some(value)
    }

    /// How `require` and `--fail-if` call it.
    pub fn key(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Range => "range".to_owned(),
            Self::Stddev => "stddev".to_owned(),
            Self::Percentile(p) => format!("p{p}"),
        }
    }

    /// Whether it measures a width: a ratio of means and extremes, which lie around zero,
    /// says nothing.
    pub const fn is_width(self) -> bool {
        matches!(self, Self::Range | Self::Stddev | Self::Percentile(_))
    }

    /// The paper's, in ns.
    pub fn published(self, paper: &PaperFigures) -> Option<f64> {
        match self {
            Self::Mean => paper.mean_ns,
            Self::Min => paper.min_ns,
            Self::Max => paper.max_ns,
            Self::Range => paper.range_ns,
            Self::Stddev => paper.stddev_ns,
            Self::Percentile(_) => None,
        }
    }
}

pub(super) fn same_percentile(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
