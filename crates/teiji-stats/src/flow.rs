//! What is known about one flow after a run: counts, and deviations at every
//! timestamp point that has time stamps.

use std::collections::BTreeMap;
use std::iter::Sum;

use serde::{Deserialize, Serialize};

use crate::timestamp_point::TimestampPoint;
use crate::{Deviation, Missed};

/// Statistics of one flow in one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowStatistics {
    /// Numbers of frames: sent, lost, late, ….
    pub counts: Counts,
    /// Nominal distance between departures.
    pub period_ns: i64,
    /// The timestamp point of the verdict on this flow: the best one with timestamps of at least
    /// 99 % of the frames that arrived (of those that should have left, where
    /// nothing arrived), failing that the one with most stamps. `None` if
    /// nothing was stamped.
    #[serde(rename = "judged_at")]
    pub timestamp_point: Option<TimestampPoint>,
    /// Statistics per timestamp point.
    #[serde(rename = "vantages")]
    pub timestamp_points: BTreeMap<TimestampPoint, PointStatistics>,
    /// Wake-up latency: woken minus planned wake-up.
    pub wake_up: Option<Deviation>,
    /// Hand-over: send call returned minus woken.
    pub hand_over: Option<Deviation>,
    /// How frames missed their time; `None` if none did, or nothing is known of the sender.
    pub missed: Option<Missed>,
    /// The errors that send calls failed with, by the kernel's name.
    #[serde(default)]
    pub send_errors: BTreeMap<String, u64>,
}

/// Deviations seen at one timestamp point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointStatistics {
    /// Deviation from the period of each [interval](crate::intervals).
    pub interval: Option<Deviation>,
    /// Planned frames without a stamp here: lost ones, or ones that nobody stamped. No figure
    /// of this timestamp point has them.
    pub unseen: u64,
    /// Deviation of each frame from its schedule. Where the timestamp point's clock
    /// has an unknown offset to TAI, the median is taken out and `centred` is
    /// true.
    pub schedule: Option<Deviation>,
    /// See [`PointStatistics::schedule`].
    pub centred: bool,
    /// Resolution of the stamps, where it is known; 1 ns is that of a wire whose
    /// time is computed (`vtsn`).
    pub resolution_ns: Option<i64>,
}

/// What became of a flow's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Frames the experiment requested.
    pub planned: u64,
    /// Frames handed to the kernel successfully.
    pub sent: u64,
    /// Distinct frames that arrived.
    pub received: u64,
    /// Frames that did not arrive, whatever became of them: planned without received.
    pub lost: u64,
    /// The longest run of them, by sequence number: what a receiver's watchdog has to bridge. Of several members
    /// the longest.
    #[serde(default)]
    pub lost_in_a_row: u64,
    /// Extra copies that arrived.
    pub duplicated: u64,
    /// Frames that arrived after one with a higher sequence number.
    pub reordered: u64,
    /// Frames handed over after their deadline: with a launch time the launch
    /// time itself, on wake-up the departure of the next frame (the sender
    /// overran its cycle). Such a frame may also be counted as dropped.
    pub late: u64,
    /// Dropped by ETF as "missed" (its time had passed).
    pub dropped_missed: u64,
    /// Dropped by ETF as "invalid" (no or an unusable launch time).
    pub dropped_invalid: u64,
    /// The send call failed.
    pub send_failed: u64,
    /// Packets on the flow's socket that were not test frames.
    pub foreign: u64,
    /// Frames that should have left and lack a transmit stamp that was asked
    /// for: all of them, or one of a kind that other frames of the flow got.
    pub tx_stamps_missing: u64,
}

impl Counts {
    /// Of the lost ones the longest run, if it is neither of one nor of all.
    pub fn longest_run(&self) -> Option<u64> {
        Some(self.lost_in_a_row).filter(|run| *run > 1 && *run < self.planned)
    }

    /// Of the lost ones those that ETF dropped.
    pub const fn dropped(&self) -> u64 {
        self.dropped_missed + self.dropped_invalid
    }

    /// Of the lost ones those that the kernel never took.
    pub const fn unsent(&self) -> u64 {
        self.planned.saturating_sub(self.sent)
    }

    /// Of the lost ones those that the kernel took and that nobody says to have dropped.
    pub const fn lost_on_the_way(&self) -> u64 {
        self.lost.saturating_sub(self.dropped() + self.unsent())
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(members: I) -> Self {
        members.fold(Self::default(), |a, b| Self {
            planned: a.planned + b.planned,
            sent: a.sent + b.sent,
            received: a.received + b.received,
            lost: a.lost + b.lost,
            lost_in_a_row: a.lost_in_a_row.max(b.lost_in_a_row),
            duplicated: a.duplicated + b.duplicated,
            reordered: a.reordered + b.reordered,
            late: a.late + b.late,
            dropped_missed: a.dropped_missed + b.dropped_missed,
            dropped_invalid: a.dropped_invalid + b.dropped_invalid,
            send_failed: a.send_failed + b.send_failed,
            foreign: a.foreign + b.foreign,
            tx_stamps_missing: a.tx_stamps_missing + b.tx_stamps_missing,
        })
    }
}
