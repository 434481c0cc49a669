//! Which frame waited for which: launch times that collide on one wire.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;

use crate::frame::WireFrame;
use crate::median;

/// Rounding of two stamps and a frame's time, in ns.
const ROUNDING_NS: i64 = 2;

/// Frames of one flow that waited for frames of another, or of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The flow that was on the wire when their launch time came.
    pub waited_for: String,
    /// How many waited.
    pub count: u64,
    /// For how long, in ns: the median …
    pub median_ns: i64,
    /// … and the longest.
    pub longest_ns: i64,
}

/// How long each frame waited, by (flow, flow it waited for). `frames` are those of
/// one direction of a wire, ascending; `launched` are the flows whose launch times
/// the NIC keeps.
///
/// A frame waited for the one before it if it began when that one's gap ended. For
/// how long is its lateness beyond the least of all launched frames', so that an
/// offset between the clocks of schedule and wire cancels.
pub fn waits(
    frames: &[WireFrame],
    rate: Rate,
    launched: &BTreeSet<u16>,
) -> BTreeMap<(u16, u16), Vec<i64>> {
    let mut waits: BTreeMap<(u16, u16), Vec<i64>> = BTreeMap::new();
    let own = frames.iter().filter(|frame| launched.contains(&frame.flow));
    let Some(least) = own.map(WireFrame::late_ns).min() else { return waits };
    for pair in frames.windows(2) {
        let [before, frame] = pair else { continue };
        let waited = frame.late_ns() - least;
        let follows = (frame.start_ns - before.free_ns(rate)).abs() <= ROUNDING_NS;
        if launched.contains(&frame.flow) && follows && waited > ROUNDING_NS {
            waits.entry((frame.flow, before.flow)).or_default().push(waited);
        }
    }
    waits
}

impl Wait {
    /// Sums up the waits for the flow called `waited_for`; `None` if there are none.
    pub fn over(waited_for: &str, mut waits_ns: Vec<i64>) -> Option<Self> {
        let longest_ns = waits_ns.iter().copied().max()?;
        let count = waits_ns.len() as u64;
        let median_ns = median(&mut waits_ns)?;
        Some(Self { waited_for: waited_for.to_owned(), count, median_ns, longest_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: Rate = Rate::from_bps(1_000_000_000);
    /// The wire's clock is this much ahead of the schedule's.
    const AHEAD: i64 = 5_000_000;

    fn frame(flow: u16, planned_ns: i64, late_ns: i64) -> WireFrame {
        // 94 bytes: 752 ns at 1 Gbit/s, of which 96 are the gap.
        WireFrame { flow, planned_ns, start_ns: planned_ns + AHEAD + late_ns, octets: 94 }
    }

    #[test]
    fn a_frame_that_begins_one_gap_after_another_waited_for_it() {
        let frames: Vec<WireFrame> = (0..3)
            .flat_map(|i| [frame(0, i * 1_000_000, 0), frame(1, i * 1_000_000, 752)])
            .collect();
        let waits = waits(&frames, GIGABIT, &BTreeSet::from([0, 1]));
        assert_eq!(waits, BTreeMap::from([((1, 0), vec![752; 3])]));
        assert_eq!(
            Wait::over("first", vec![752, 752, 760]),
            Some(Wait { waited_for: "first".into(), count: 3, median_ns: 752, longest_ns: 760 })
        );
    }

    #[test]
    fn frames_due_at_that_instant_and_late_frames_did_not_wait() {
        let frames =
            [frame(0, 0, 0), frame(1, 752, 0), frame(1, 1_000_000, 0), frame(0, 1_000_000, 800)];
        assert!(waits(&frames, GIGABIT, &BTreeSet::from([0, 1])).is_empty());
    }

    #[test]
    fn frames_without_launch_time_delay_others_but_do_not_wait() {
        // The one in front (flow 2) came at any time; flow 0 is due 100 ns after it.
        let frames = [
            frame(0, 0, 0),
            frame(2, 990_000, 9_900),
            frame(0, 1_000_000, 652),
            frame(2, 1_000_000, 1_404),
        ];
        let waits = waits(&frames, GIGABIT, &BTreeSet::from([0]));
        assert_eq!(waits, BTreeMap::from([((0, 2), vec![652])]));
    }
}
