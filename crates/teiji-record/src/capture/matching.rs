//! Which frame at a second point is which frame at the first.
//!
//! A frame whose content is unique at both points is matched at once. Equal
//! frames are distinguished by time: each belongs where it would be with the delay
//! of the unique frame next to it (with none, where no frame is unique). What
//! cannot be distinguished is counted and gives no delay.

use teiji_stats::delay::{DelayCounts, PointCounts};

use super::identity::Identity;

/// A frame seen at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sighted {
    pub(super) identity: Identity,
    pub(super) at_ns: i64,
    /// Index of its flow.
    pub(super) flow: u32,
}

/// A frame seen at both points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Matched {
    /// Its stamp at the first point.
    pub(super) at_ns: i64,
    /// Stamp at the second point minus stamp at the first.
    pub(super) delay_ns: i64,
    pub(super) flow: u32,
}

/// What matching gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    /// In the order of the first point's stamps.
    pub(super) matched: Vec<Matched>,
    /// By flow.
    pub(super) counts: Vec<DelayCounts>,
    /// Frames that equal others, and the smallest distance between two of them
    /// at the first point, in ns.
    pub(super) equal: u64,
    pub(super) nearest_equal_ns: Option<i64>,
    /// Some frame was unique: equal ones were distinguished by its delay.
    pub(super) any_unique: bool,
}

/// Matches the frames of two points, which it sorts. `flows` is how many flows
/// there are.
pub(super) fn matches(first: &mut [Sighted], second: &mut [Sighted], flows: usize) -> Matches {
    first.sort_unstable();
    second.sort_unstable();
    let mut out = Matches { counts: vec![DelayCounts::default(); flows], ..Matches::default() };
    for seen in first.iter() {
        out.of(seen.flow).first.frames += 1;
    }
    for seen in second.iter() {
        out.of(seen.flow).second.frames += 1;
    }
    let mut equal: Vec<(&[Sighted], &[Sighted])> = Vec::new();
    let groups = Groups { first, second };
    for (here, there) in groups {
        match (here, there) {
            ([one], [other]) => out.pair(one, other),
            (here, []) => here.iter().for_each(|seen| out.of(seen.flow).first.alone += 1),
            ([], there) => there.iter().for_each(|seen| out.of(seen.flow).second.alone += 1),
            both => equal.push(both),
        }
    }
    out.matched.sort_unstable();
    out.any_unique = !out.matched.is_empty();
    let unique = out.matched.clone();
    for (here, there) in equal {
        out.tell_apart(here, there, &unique);
    }
    out.matched.sort_unstable();
    out
}

impl Matches {
    fn of(&mut self, flow: u32) -> &mut DelayCounts {
        &mut self.counts[flow as usize]
    }

    fn pair(&mut self, one: &Sighted, other: &Sighted) {
        let delay_ns = other.at_ns.saturating_sub(one.at_ns);
        self.matched.push(Matched { at_ns: one.at_ns, delay_ns, flow: one.flow });
        self.of(one.flow).matched += 1;
    }

    /// Matches equal frames, of which there are several at one point at least.
    fn tell_apart(&mut self, here: &[Sighted], there: &[Sighted], unique: &[Matched]) {
        if here.len() > 1 {
            self.equal += here.len() as u64;
        }
        let distances = here.windows(2).map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns));
        self.nearest_equal_ns = distances.chain(self.nearest_equal_ns).min();
        // Of each frame there the one here that wants it most: how far off, which.
        let mut wanted: Vec<Option<(u64, usize)>> = vec![None; there.len()];
        for (index, seen) in here.iter().enumerate() {
            let expected = seen.at_ns.saturating_add(delay_near(unique, seen.at_ns));
            let (place, off) = nearest(there, expected);
            if wanted[place].is_none_or(|(less, _)| off < less) {
                wanted[place] = Some((off, index));
            }
        }
        let mut left = vec![true; here.len()];
        for (other, wanted) in there.iter().zip(&wanted) {
            if let Some((_, index)) = wanted {
                left[*index] = false;
                self.pair(&here[*index], other);
            }
        }
        let first_left: Vec<u32> =
            here.iter().zip(left).filter(|(_, left)| *left).map(|(seen, _)| seen.flow).collect();
        let unwanted = there.iter().zip(&wanted).filter(|(_, wanted)| wanted.is_none());
        let second_left: Vec<u32> = unwanted.map(|(seen, _)| seen.flow).collect();
        let once = here.len() == 1 || there.len() == 1;
        let count: fn(&mut PointCounts) -> &mut u64 = match (once, &*first_left, &*second_left) {
            (true, ..) => |point| &mut point.copies,
            (false, [], _) | (false, _, []) => |point| &mut point.alone,
            (false, ..) => |point| &mut point.unclear,
        };
        for flow in first_left {
            *count(&mut self.of(flow).first) += 1;
        }
        for flow in second_left {
            *count(&mut self.of(flow).second) += 1;
        }
    }
}

/// The delay of the unique frame whose stamp is nearest; 0 if there is none.
fn delay_near(unique: &[Matched], at_ns: i64) -> i64 {
    let after = unique.partition_point(|matched| matched.at_ns < at_ns);
    let around = &unique[after.saturating_sub(1)..unique.len().min(after + 1)];
    let nearest = around.iter().min_by_key(|matched| matched.at_ns.abs_diff(at_ns));
    nearest.map_or(0, |matched| matched.delay_ns)
}

/// Which of `frames`, in order of time and not none, is nearest to `at_ns`, and
/// how far off it is. Of equally near ones the first.
fn nearest(frames: &[Sighted], at_ns: i64) -> (usize, u64) {
    let after = frames.partition_point(|seen| seen.at_ns < at_ns);
    let around = after.saturating_sub(1)..frames.len().min(after + 1);
    let off = |index: usize| frames[index].at_ns.abs_diff(at_ns);
    let place = around.min_by_key(|index| off(*index)).unwrap_or(0);
    (place, off(place))
}

/// The frames of both points by identity.
struct Groups<'a> {
    first: &'a [Sighted],
    second: &'a [Sighted],
}

impl<'a> Iterator for Groups<'a> {
    type Item = (&'a [Sighted], &'a [Sighted]);

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.first.first().into_iter().chain(self.second.first());
        let identity = heads.map(|seen| seen.identity).min()?;
        let take = |frames: &mut &'a [Sighted]| {
            let equal = frames.iter().take_while(|seen| seen.identity == identity).count();
            let (group, rest) = frames.split_at(equal);
            *frames = rest;
            group
        };
        Some((take(&mut self.first), take(&mut self.second)))
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
