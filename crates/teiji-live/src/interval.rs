//! What was seen of each flow from one look to the next, in constant memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji_core::time::{Instant, Phc, Span, Tai};

/// Distances from the schedule from here on are taken for clocks that disagree: `CLOCK_TAI` is 37 s
/// off where nobody has told the kernel its offset.
pub const IMPLAUSIBLE: Span = Span::from_secs(10);

/// A frame that was seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Sequence number and schedule, of a test frame.
    pub probe: Option<(u64, Instant<Tai>)>,
    /// The kernel's timestamp: of the arrival, or of the driver's call on the way out.
    pub by_kernel: Option<Instant<Tai>>,
    /// The NIC's.
    pub by_nic: Option<Instant<Phc>>,
    /// It was on its way out.
    pub outgoing: bool,
}

/// One flow in one interval. Times in ns. A copy counts as a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Frames.
    pub frames: u64,
    /// Sequence numbers passed over and not seen; frames that come out of order count as
    /// lost in one interval and lower the number in a later one, to 0 at least.
    pub lost: u64,
    /// How much the distance of successive frames varies, by the best timestamp: of test frames
    /// from the scheduled distance.
    pub range_ns: Option<i64>,
    /// Arrival (kernel) − schedule, shortest and longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<[i64; 2]>,
    /// Of those, arrivals after the deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_deadline: Option<u64>,
    /// Schedule − the driver's call (kernel) on the way out, shortest and longest: the margin that
    /// was left. Below zero the frame was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ns: Option<[i64; 2]>,
}

/// Sums up what is seen of flows `K`, interval by interval.
#[derive(Debug)]
pub struct Intervals<K> {
    deadline: Option<Span>,
    flows: BTreeMap<K, Flow>,
    now: BTreeMap<K, Sum>,
}

/// What carries over from one interval to the next.
#[derive(Debug)]
struct Flow {
    /// The next sequence number, if nothing is lost.
    expected: u64,
    last: Seen,
}

#[derive(Debug, Default)]
struct Sum {
    frames: u64,
    passed: u64,
    deviation: Option<[i64; 2]>,
    latency: Option<[i64; 2]>,
    after_deadline: u64,
    left: Option<[i64; 2]>,
}

impl<K: Ord + Copy> Intervals<K> {
    /// Counts arrivals later than `deadline` after their schedule, if there is one.
    pub fn new(deadline: Option<Span>) -> Self {
        Self { deadline, flows: BTreeMap::new(), now: BTreeMap::new() }
    }

    /// A frame was seen.
    pub fn add(&mut self, flow: K, seen: &Seen) {
        let sum = self.now.entry(flow).or_default();
        sum.frames += 1;
        let next = seen.probe.map_or(0, |(seq, _)| seq.saturating_add(1));
        match self.flows.get_mut(&flow) {
            None => {
                sum.passed += 1;
                self.flows.insert(flow, Flow { expected: next, last: *seen });
            }
            Some(flow) => {
                sum.passed += next.saturating_sub(flow.expected);
                flow.expected = flow.expected.max(next);
                if let Some(deviation) = deviation_ns(&flow.last, seen) {
                    widen(&mut sum.deviation, deviation);
                }
                flow.last = *seen;
            }
        }
        if let Some(latency) = seen.latency_ns() {
            widen(&mut sum.latency, latency);
            let late = |deadline: Span| latency > deadline.as_ns();
            sum.after_deadline += u64::from(self.deadline.is_some_and(late));
        }
        if let Some(left) = seen.left_ns() {
            widen(&mut sum.left, left);
        }
    }

    /// Ends the interval. Flows of which nothing was seen in it are left out.
    pub fn end(&mut self) -> Vec<(K, Interval)> {
        let deadline = self.deadline;
        std::mem::take(&mut self.now)
            .into_iter()
            .map(|(flow, sum)| {
                let interval = Interval {
                    frames: sum.frames,
                    lost: sum.passed.saturating_sub(sum.frames),
                    range_ns: sum.deviation.map(|[low, high]| high - low),
                    latency_ns: sum.latency,
                    after_deadline: deadline.and(sum.latency).map(|_| sum.after_deadline),
                    left_ns: sum.left,
                };
                (flow, interval)
            })
            .collect()
    }

    /// Forgets a flow: its next frame is its first one.
    pub fn forget(&mut self, flow: &K) {
        self.flows.remove(flow);
    }
}

impl Seen {
    /// Arrival by the kernel's timestamp − schedule; `None` if the clocks of sender and receiver
    /// cannot agree: it would be negative or very long.
    pub fn latency_ns(&self) -> Option<i64> {
        let latency = self.by_kernel? - self.probe?.1;
        let plausible = !self.outgoing && !latency.is_negative() && latency < IMPLAUSIBLE;
        plausible.then(|| latency.as_ns())
    }

    fn left_ns(&self) -> Option<i64> {
        let left = self.probe?.1 - self.by_kernel?;
        let plausible = self.outgoing && left.as_ns().abs() < IMPLAUSIBLE.as_ns();
        plausible.then(|| left.as_ns())
    }
}

fn widen(extremes: &mut Option<[i64; 2]>, value: i64) {
    let [low, high] = extremes.unwrap_or([value; 2]);
    *extremes = Some([low.min(value), high.max(value)]);
}

/// How much longer the distance of two frames is than scheduled, or than nothing without a schedule;
/// `None` for copies, frames out of order, and without timestamps of one kind.
fn deviation_ns(earlier: &Seen, later: &Seen) -> Option<i64> {
    let scheduled = match (earlier.probe, later.probe) {
        (Some((_, earlier)), Some((_, later))) => {
            Some(later - earlier).filter(|s| *s > Span::ZERO)?
        }
        _ => Span::ZERO,
    };
    let by_nic = || Some(later.by_nic? - earlier.by_nic?);
    let by_kernel = || Some(later.by_kernel? - earlier.by_kernel?);
    by_nic().or_else(by_kernel).map(|distance| (distance - scheduled).as_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame `seq` of a flow of 1 ms, stamped by the kernel so many ns after its schedule.
    fn arrival(seq: u64, after: i64) -> Seen {
        let scheduled = Instant::from_ns(i64::try_from(seq).unwrap() * 1_000_000);
        Seen {
            probe: Some((seq, scheduled)),
            by_kernel: Some(scheduled + Span::from_ns(after)),
            by_nic: None,
            outgoing: false,
        }
    }

    #[test]
    fn an_interval_counts_its_own_frames_and_losses() {
        let mut intervals = Intervals::new(Some(Span::from_ns(80)));
        for (seq, after) in [(5, 70), (6, 90), (8, 60)] {
            intervals.add(3, &arrival(seq, after));
        }
        let first = intervals.end();
        let expected = Interval {
            frames: 3,
            // 7 is missing.
            lost: 1,
            // 20 longer, then 30 shorter.
            range_ns: Some(50),
            latency_ns: Some([60, 90]),
            after_deadline: Some(1),
            left_ns: None,
        };
        assert_eq!(first, [(3, expected)]);
        // Late frames lower the loss of the interval in which they arrive.
        for (seq, after) in [(7, 10), (9, 60), (11, 60)] {
            intervals.add(3, &arrival(seq, after));
        }
        let second = intervals.end();
        assert_eq!((second[0].1.frames, second[0].1.lost), (3, 0));
        assert_eq!(intervals.end(), []);
        intervals.forget(&3);
        intervals.add(3, &arrival(50, 0));
        assert_eq!(intervals.end()[0].1.lost, 0, "as new");
    }

    #[test]
    fn clocks_that_disagree_give_no_latency() {
        let mut intervals = Intervals::new(Some(Span::ZERO));
        intervals.add(0, &arrival(0, -5));
        intervals.add(0, &arrival(1, 37_000_000_000));
        let (_, ended) = intervals.end()[0];
        assert_eq!((ended.latency_ns, ended.after_deadline), (None, None));
    }

    #[test]
    fn frames_on_their_way_out_have_time_left_and_no_latency() {
        let mut intervals = Intervals::new(None);
        for (seq, after) in [(0, -150), (1, -90), (2, 20)] {
            intervals.add(0, &Seen { outgoing: true, ..arrival(seq, after) });
        }
        let (_, ended) = intervals.end()[0];
        assert_eq!((ended.left_ns, ended.latency_ns), (Some([-20, 150]), None));
    }

    #[test]
    fn frames_without_schedule_vary_in_their_distance() {
        let mut intervals = Intervals::new(None);
        for at in [0, 1_000, 2_100, 3_000] {
            let by_kernel = Some(Instant::from_ns(at));
            intervals.add(0, &Seen { probe: None, by_kernel, by_nic: None, outgoing: false });
        }
        let (_, ended) = intervals.end()[0];
        assert_eq!((ended.frames, ended.lost, ended.range_ns), (4, 0, Some(200)));
    }
}
