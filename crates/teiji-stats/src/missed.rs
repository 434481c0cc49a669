//! How frames missed their time: from those frames alone.

use serde::{Deserialize, Serialize};
use teiji_core::frame::{FrameRow, TxError};

use crate::terms::FlowTerms;

/// The frames of a flow that were handed over after their deadline, or that ETF dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// How long before its departure the sender wakes; 0 without launch times.
    pub margin_ns: i64,
    /// Of those that were handed over after their deadline, the one that took longest.
    pub latest: Option<HandOver>,
    /// Dropped by ETF although they were handed over before their launch time.
    pub dropped_in_time: u64,
    /// The least that one of these had left until its launch time, in ns.
    pub least_left_ns: Option<i64>,
}

/// How long a frame took to its hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// From the planned wake-up until the sender ran, in ns.
    pub woke_ns: i64,
    /// From the planned wake-up until the send call returned, in ns.
    pub handed_over_ns: i64,
}

impl Missed {
    /// None if no frame missed its time.
    pub(crate) fn of(terms: &FlowTerms, frames: &[FrameRow]) -> Option<Self> {
        let margin = terms.mode.margin();
        let one = |frame: &FrameRow| {
            let (woke, handed_over) = (frame.woke?, frame.handed_over?);
            let deadline = terms.deadline(frame.scheduled)?;
            let planned = terms.mode.planned_wake(frame.scheduled);
            let latest = (handed_over > deadline).then(|| HandOver {
                woke_ns: (woke - planned).as_ns(),
                handed_over_ns: (handed_over - planned).as_ns(),
            });
            let dropped = matches!(frame.tx_error, Some(TxError::Missed | TxError::Invalid));
            let left = (latest.is_none() && dropped).then(|| (deadline - handed_over).as_ns());
            (latest.is_some() || left.is_some()).then_some(Self {
                margin_ns: margin.as_ns(),
                latest,
                dropped_in_time: u64::from(left.is_some()),
                least_left_ns: left,
            })
        };
        frames.iter().filter_map(one).reduce(Self::and)
    }

    /// The frames of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let by_time = |hand_over: &HandOver| hand_over.handed_over_ns;
        Self {
            margin_ns: self.margin_ns.max(other.margin_ns),
            latest: self.latest.into_iter().chain(other.latest).max_by_key(by_time),
            dropped_in_time: self.dropped_in_time + other.dropped_in_time,
            least_left_ns: self.least_left_ns.into_iter().chain(other.least_left_ns).min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use teiji_core::send_mode::SendMode;
    use teiji_core::time::{Instant, Span};

    use super::*;

    /// Woken and handed over so long after the planned wake-up, 600 µs before its departure.
    fn frame(woke_us: i64, handed_over_us: i64, tx_error: Option<TxError>) -> FrameRow {
        let scheduled = Instant::from_ns(1_000_000);
        let after = |us: i64| Some(scheduled - Span::from_micros(600 - us));
        let (woke, handed_over) = (after(woke_us), after(handed_over_us));
        FrameRow { woke, handed_over, tx_error, ..FrameRow::planned(0, 0, scheduled) }
    }

    fn missed(frames: &[FrameRow]) -> Option<Missed> {
        let terms = FlowTerms {
            period: Span::from_millis(1),
            mode: SendMode::LaunchTime { margin: Span::from_micros(600), deadline: false },
            stamps_requested: false,
            foreign: 0,
            wire_resolution: None,
            apart: false,
        };
        Missed::of(&terms, frames)
    }

    #[test]
    fn the_reason_is_computed_from_frames_that_missed_their_time() {
        // The longest wake-up is of a frame that was on time.
        let on_time = frame(90, 100, None);
        assert_eq!(missed(&[on_time]), None);
        let late = [frame(20, 612, Some(TxError::Invalid)), frame(27, 640, None)];
        let in_time = [frame(5, 200, Some(TxError::Missed)), frame(5, 250, Some(TxError::Missed))];
        let expected = Missed {
            margin_ns: 600_000,
            latest: Some(HandOver { woke_ns: 27_000, handed_over_ns: 640_000 }),
            dropped_in_time: 2,
            least_left_ns: Some(350_000),
        };
        assert_eq!(missed(&[&[on_time], &late[..], &in_time].concat()), Some(expected));
    }
}
