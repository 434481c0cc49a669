//! What an interval is: the one definition for runs and for captures
//! (docs/summary.md, "Intervals").
//!
//! An interval lies between two frames with consecutive sequence numbers that
//! were both stamped, whatever their order of arrival. Its deviation is the
//! stamp of the frame with the higher number, minus that of the one before,
//! minus the period: a frame that arrives late gives a long interval before it
//! and a short one after it, negative if the next frame overtook it.

use std::collections::BTreeMap;

/// Numbers behind the highest one that are kept for a neighbour. A frame that comes this many
/// numbers behind or more ends no interval, because the frame before it is forgotten.
const WINDOW: u64 = 1 << 16;

/// An interval between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Sequence number of the frame that ends it.
    pub seq: u64,
    /// From the stamp of the frame before to the stamp of this one, in ns.
    pub length_ns: i64,
}

impl Interval {
    /// By how much it is longer than the period, in ns.
    pub fn deviation_ns(self, period_ns: i64) -> i64 {
        self.length_ns.saturating_sub(period_ns)
    }
}

/// A frame of which a neighbour is still missing.
#[derive(Clone, Copy, Debug)]
struct Open {
    at_ns: i64,
    has_before: bool,
    has_after: bool,
}

/// Takes the stamps of a flow in the order of their arrival and gives its
/// intervals, in memory that does not grow with the flow.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    open: BTreeMap<u64, Open>,
}

impl Intervals {
    /// The intervals that the frame `seq`, stamped at `at_ns`, completes: the one
    /// that it ends, and, if it was overtaken, the one that it begins. Each
    /// number comes once; of copies the first counts.
    pub fn push(&mut self, seq: u64, at_ns: i64) -> [Option<Interval>; 2] {
        let before = seq.checked_sub(1).and_then(|before| {
            let at = self.close(before, |open| open.has_after = true)?;
            Some(Interval { seq, length_ns: at_ns.saturating_sub(at) })
        });
        let after = seq.checked_add(1).and_then(|after| {
            let at = self.close(after, |open| open.has_before = true)?;
            Some(Interval { seq: after, length_ns: at.saturating_sub(at_ns) })
        });
        if before.is_none() || after.is_none() {
            let open = Open { at_ns, has_before: before.is_some(), has_after: after.is_some() };
            self.open.insert(seq, open);
            self.forget();
        }
        [before, after]
    }

    /// The stamp of an open frame that gets a neighbour.
    fn close(&mut self, seq: u64, mark: impl FnOnce(&mut Open)) -> Option<i64> {
        let open = self.open.get_mut(&seq)?;
        mark(open);
        let Open { at_ns, has_before, has_after } = *open;
        if has_before && has_after {
            self.open.remove(&seq);
        }
        Some(at_ns)
    }

    fn forget(&mut self) {
        let Some((highest, _)) = self.open.last_key_value() else { return };
        let oldest = highest.saturating_sub(WINDOW);
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < oldest) {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(frames: &[(u64, i64)]) -> Vec<(u64, i64)> {
        let mut intervals = Intervals::default();
        let mut all: Vec<(u64, i64)> = frames
            .iter()
            .flat_map(|(seq, at)| intervals.push(*seq, *at))
            .flatten()
            .map(|interval| (interval.seq, interval.length_ns))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_late_frame_that_was_overtaken_shows_in_both_of_its_intervals() {
        let late = [(0, 0), (1, 1_000), (3, 3_000), (2, 3_002), (4, 4_000)];
        assert_eq!(all(&late), [(1, 1_000), (2, 2_002), (3, -2), (4, 1_000)]);
    }

    #[test]
    fn over_a_frame_that_never_came_there_is_no_interval() {
        assert_eq!(all(&[(0, 0), (1, 10), (3, 30), (4, 40)]), [(1, 10), (4, 10)]);
    }

    #[test]
    fn numbers_at_both_ends_of_the_type_and_far_apart_are_harmless() {
        let mut intervals = Intervals::default();
        for (seq, at) in [(u64::MAX, i64::MIN), (0, i64::MAX), (u64::MAX - 1, i64::MAX), (1, 0)] {
            intervals.push(seq, at);
        }
        assert!(intervals.open.len() <= 2, "{:?}", intervals.open);
    }

    #[test]
    fn every_second_frame_lost_keeps_no_more_than_the_window() {
        let mut intervals = Intervals::default();
        for seq in (0..4 * WINDOW).step_by(2) {
            assert_eq!(intervals.push(seq, 0), [None, None]);
        }
        assert!(intervals.open.len() as u64 <= WINDOW / 2 + 1, "{}", intervals.open.len());
    }

    #[test]
    fn a_frame_far_behind_ends_no_interval_and_further_behind_begins_none_either() {
        let has = |behind: u64| {
            let mut intervals = Intervals::default();
            let (seq, highest) = (10, 10 + behind);
            for (other, at) in [(seq - 1, 0), (seq + 1, 20), (highest, 99)] {
                intervals.push(other, at);
            }
            intervals.push(seq, 10).map(|interval| interval.is_some())
        };
        assert_eq!(has(WINDOW - 1), [true, true]);
        assert_eq!(has(WINDOW), [false, true]);
        assert_eq!(has(WINDOW + 1), [false, true]);
        assert_eq!(has(WINDOW + 2), [false, false]);
    }

    proptest! {
        #[test]
        fn any_order_of_arrival_gives_the_intervals_of_the_sorted_frames(
            frames in proptest::collection::btree_map(0_u64..200, -1_000_i64..1_000, 0..150),
            order in any::<u64>(),
        ) {
            let sorted: Vec<(u64, i64)> = frames.into_iter().collect();
            let expected: Vec<(u64, i64)> = sorted
                .windows(2)
                .filter(|pair| pair[0].0 + 1 == pair[1].0)
                .map(|pair| (pair[1].0, pair[1].1 - pair[0].1))
                .collect();
            let mut shuffled = sorted;
            shuffled.sort_by_key(|(seq, _)| (seq + 1).wrapping_mul(order | 1).rotate_left(17));
            prop_assert_eq!(all(&shuffled), expected);
        }
    }
}
