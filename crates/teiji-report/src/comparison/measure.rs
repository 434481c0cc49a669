//! What is compared: intervals, departures or round trips.

use teiji_stats::{Deviation, PointStatistics};

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

    pub(super) fn of(self, statistics: &PointStatistics) -> Option<&Deviation> {
        match self {
            Self::Interval => statistics.interval.as_ref(),
            Self::Schedule => statistics.schedule.as_ref(),
            // No timestamp point sees both of its ends.
            Self::RoundTrip | Self::Delay => None,
        }
    }
}
