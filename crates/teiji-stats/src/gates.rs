//! Frames against the gates of their class (IEEE 802.1Q, scheduled traffic).

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;

use crate::frame::WireFrame;

/// When the gate of one class is open, in a cycle that repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    base_ns: i64,
    cycle_ns: i64,
    /// Open from, until, within two cycles: the last of one may reach into the next.
    open: Vec<(i64, i64)>,
}

/// A flow's frames against its class's gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateStatistics {
    /// Frames seen.
    pub frames: u64,
    /// Of these, not wholly within an open window.
    pub outside: u64,
    /// How far one was outside at most, in ns: it ended that long after the gate had
    /// closed, or began that long before it opened.
    pub worst_ns: i64,
    /// The case whose gates these are, if it is not the frames' own.
    pub gates_of: Option<String>,
}

impl Windows {
    /// The windows of a class: `entries` say for how long it is open, or closed, one
    /// after the other; cycles begin at `base_ns` and whole cycles before and after.
    /// `None` if there is no cycle.
    pub fn new(base_ns: i64, cycle_ns: i64, entries: &[(bool, i64)]) -> Option<Self> {
        if cycle_ns <= 0 {
            return None;
        }
        // A shorter cycle cuts the last entries, a longer one stretches the last.
        let mut edges = Vec::new();
        let mut at = 0;
        for (index, (is_open, ns)) in entries.iter().enumerate() {
            let last = index + 1 == entries.len();
            let until = if last { cycle_ns } else { (at + ns).min(cycle_ns) };
            edges.push((*is_open, at, until));
            at = until;
        }
        let twice = edges.iter().copied().chain(
            edges.iter().map(|(is_open, from, to)| (*is_open, from + cycle_ns, to + cycle_ns)),
        );
        let mut open: Vec<(i64, i64)> = Vec::new();
        for (_, from, to) in twice.filter(|(is_open, from, to)| *is_open && from < to) {
            match open.last_mut().filter(|(_, end)| *end == from) {
                Some((_, end)) => *end = to,
                None => open.push((from, to)),
            }
        }
        Some(Self { base_ns, cycle_ns, open })
    }

    /// The same windows, with a cycle beginning at this instant, in ns.
    #[must_use]
    pub fn beginning_at(self, base_ns: i64) -> Self {
        Self { base_ns, ..self }
    }

    /// How far `[start_ns, end_ns]` lies outside the windows, in ns; 0 if it is within
    /// one.
    pub fn outside_ns(&self, start_ns: i64, end_ns: i64) -> i64 {
        if self.open == [(0, 2 * self.cycle_ns)] {
            return 0;
        }
        let into = (start_ns - self.base_ns).rem_euclid(self.cycle_ns);
        // Of three cycles, so that the window before and the one after are there.
        let least = [-self.cycle_ns, 0, self.cycle_ns].into_iter().flat_map(|cycle| {
            let (start, end) = (into, into + (end_ns - start_ns));
            self.open.iter().map(move |(from, to)| {
                let (from, to) = (from + cycle, to + cycle);
                (from - start).max(end - to).max(0)
            })
        });
        least.min().unwrap_or(end_ns - start_ns)
    }
}

/// Judges the frames of one flow; the clock of the wire is that of the gates.
/// `tolerance_ns` is what their stamps may be wrong by.
pub fn of<'a>(
    frames: impl IntoIterator<Item = &'a WireFrame>,
    rate: Rate,
    windows: &Windows,
    tolerance_ns: i64,
) -> GateStatistics {
    let mut statistics = GateStatistics { frames: 0, outside: 0, worst_ns: 0, gates_of: None };
    for frame in frames {
        statistics.frames += 1;
        let outside_ns = windows.outside_ns(frame.start_ns, frame.end_ns(rate));
        if outside_ns > tolerance_ns {
            statistics.outside += 1;
            statistics.worst_ns = statistics.worst_ns.max(outside_ns);
        }
    }
    statistics
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Open 0 … 300 µs of each millisecond, cycles beginning at 7 ns.
    fn windows() -> Windows {
        Windows::new(7, 1_000_000, &[(true, 300_000), (false, 700_000)]).unwrap()
    }

    fn outside(start: i64, end: i64) -> i64 {
        let cycle = 42_000_000 + 7;
        windows().outside_ns(cycle + start, cycle + end)
    }

    #[test]
    fn a_frame_is_inside_if_its_first_and_its_last_bit_are() {
        assert_eq!((outside(0, 100), outside(299_900, 300_000)), (0, 0));
        assert_eq!(outside(299_950, 300_050), 50, "ends too late");
        assert_eq!(outside(-30, 70), 30, "begins too early");
        assert_eq!(outside(310_000, 312_000), 12_000, "long after the gate has closed");
        assert_eq!(outside(990_000, 992_000), 10_000, "before the next one");
    }

    #[test]
    fn neighbouring_entries_and_the_end_of_the_cycle_are_one_window() {
        let entries = [(true, 100), (false, 200), (true, 300), (true, 400)];
        let windows = Windows::new(0, 1_000, &entries).unwrap();
        assert_eq!(windows.outside_ns(950, 1_050), 0, "over the end of the cycle");
        assert_eq!(windows.outside_ns(590, 610), 0, "over two entries");
        assert_eq!(windows.outside_ns(1_050, 1_110), 10);
        let always = Windows::new(0, 1_000, &[(true, 400), (true, 600)]).unwrap();
        assert_eq!(always.outside_ns(900, 9_000), 0);
        let never = Windows::new(0, 1_000, &[(false, 1_000)]).unwrap();
        assert_eq!(never.outside_ns(900, 950), 50);
        assert_eq!(Windows::new(0, 0, &[]), None);
    }

    #[test]
    fn frames_outside_are_counted_and_the_worst_is_kept() {
        // 1438 + 20 + 4 bytes at 1 Gbit/s occupy the wire for 11 696 ns, 11 600 to the FCS.
        let frame = |start_ns| WireFrame { flow: 0, planned_ns: 0, start_ns, octets: 1_462 };
        let frames = [frame(7), frame(288_407), frame(288_408), frame(295_007)];
        let statistics = of(&frames, Rate::from_bps(1_000_000_000), &windows(), 0);
        assert_eq!((statistics.frames, statistics.outside, statistics.worst_ns), (4, 2, 6_600));
    }
}
