//! What arrived of each flow from one line of a running listener to the next.

use std::collections::BTreeMap;

use serde::Serialize;
use teiji::RxRecord;
use teiji_core::time::Span;

use super::report::latency_ns;

/// One flow in one interval. Times in ns. A copy counts as a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct FlowInterval {
    pub(super) flow: u16,
    pub(super) frames: u64,
    /// Sequence numbers passed over and not received; frames that come out of order count as
    /// lost in one interval and lower the number in a later one, to 0 at least.
    pub(super) lost: u64,
    /// How much the distance of successive arrivals varies from the scheduled one, by the best
    /// timestamp.
    pub(super) range_ns: Option<i64>,
    /// Arrival (kernel) − schedule.
    pub(super) latency_ns: Option<[i64; 2]>,
    /// Of those, arrivals after the deadline.
    pub(super) after_deadline: Option<u64>,
}

/// What carries over from one interval to the next.
#[derive(Debug)]
struct Flow {
    /// The next sequence number, if nothing is lost.
    expected: u64,
    last: RxRecord,
}

/// Sums arrivals up, interval by interval.
#[derive(Debug)]
pub(super) struct Intervals {
    deadline: Option<Span>,
    flows: BTreeMap<u16, Flow>,
    now: BTreeMap<u16, Sum>,
}

#[derive(Debug, Default)]
struct Sum {
    frames: u64,
    passed: u64,
    deviation: Option<[i64; 2]>,
    latency: Option<[i64; 2]>,
    after_deadline: u64,
}

impl Intervals {
    pub(super) fn new(deadline: Option<Span>) -> Self {
        Self { deadline, flows: BTreeMap::new(), now: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, arrival: &RxRecord) {
        let sum = self.now.entry(arrival.flow).or_default();
        sum.frames += 1;
        let next = arrival.seq.saturating_add(1);
        match self.flows.get_mut(&arrival.flow) {
            None => {
                sum.passed += 1;
                self.flows.insert(arrival.flow, Flow { expected: next, last: *arrival });
            }
            Some(flow) => {
                sum.passed += next.saturating_sub(flow.expected);
                flow.expected = flow.expected.max(next);
                if let Some(deviation) = deviation_ns(&flow.last, arrival) {
                    widen(&mut sum.deviation, deviation);
                }
                flow.last = *arrival;
            }
        }
        if let Some(latency) = latency_ns(arrival) {
            widen(&mut sum.latency, latency);
            let late = |deadline: Span| latency > deadline.as_ns();
            sum.after_deadline += u64::from(self.deadline.is_some_and(late));
        }
    }

    /// Ends the interval. Flows of which nothing arrived in it are left out.
    pub(super) fn end(&mut self) -> Vec<FlowInterval> {
        let deadline = self.deadline;
        std::mem::take(&mut self.now)
            .into_iter()
            .map(|(flow, sum)| FlowInterval {
                flow,
                frames: sum.frames,
                lost: sum.passed.saturating_sub(sum.frames),
                range_ns: sum.deviation.map(|[low, high]| high - low),
                latency_ns: sum.latency,
                after_deadline: deadline.and(sum.latency).map(|_| sum.after_deadline),
            })
            .collect()
    }
}

fn widen(extremes: &mut Option<[i64; 2]>, value: i64) {
    let [low, high] = extremes.unwrap_or([value; 2]);
    *extremes = Some([low.min(value), high.max(value)]);
}

/// How much longer the distance of two arrivals is than scheduled; `None` for copies, frames
/// out of order, and without timestamps of one kind.
pub(super) fn deviation_ns(earlier: &RxRecord, later: &RxRecord) -> Option<i64> {
    let scheduled = (later.scheduled - earlier.scheduled).as_ns();
    let by_nic = || Some((later.rx_hardware? - earlier.rx_hardware?).as_ns());
    let by_kernel = || Some((later.rx_kernel? - earlier.rx_kernel?).as_ns());
    (scheduled > 0).then(|| by_nic().or_else(by_kernel)).flatten().map(|ns| ns - scheduled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::reception::Reception;
    use teiji_core::time::Instant;

    /// Frame `seq` of a flow of 1 ms, stamped by the kernel so many ns after its schedule.
    fn arrival(seq: u64, after: i64) -> RxRecord {
        let scheduled = Instant::from_ns(i64::try_from(seq).unwrap() * 1_000_000);
        RxRecord {
            flow: 3,
            seq,
            scheduled,
            rx_kernel: Some(scheduled + Span::from_ns(after)),
            rx_hardware: None,
            taken: scheduled,
            reception: Reception::UNKNOWN,
        }
    }

    #[test]
    fn an_interval_counts_its_own_frames_and_losses() {
        let mut intervals = Intervals::new(Some(Span::from_ns(80)));
        for (seq, after) in [(5, 70), (6, 90), (8, 60)] {
            intervals.add(&arrival(seq, after));
        }
        let first = intervals.end();
        assert_eq!(first.len(), 1);
        let FlowInterval { flow, frames, lost, range_ns, latency_ns, after_deadline } = first[0];
        assert_eq!((flow, frames, lost), (3, 3, 1), "7 is missing");
        assert_eq!(range_ns, Some(50), "20 longer, then 30 shorter");
        assert_eq!((latency_ns, after_deadline), (Some([60, 90]), Some(1)));
        // What comes late lowers the loss of its interval, which began after it.
        for (seq, after) in [(7, 10), (9, 60), (11, 60)] {
            intervals.add(&arrival(seq, after));
        }
        let second = intervals.end();
        assert_eq!((second[0].frames, second[0].lost), (3, 0));
        assert_eq!(intervals.end(), []);
    }

    #[test]
    fn clocks_that_disagree_give_no_latency() {
        let mut intervals = Intervals::new(Some(Span::ZERO));
        intervals.add(&arrival(0, -5));
        intervals.add(&arrival(1, 37_000_000_000));
        let ended = intervals.end();
        assert_eq!((ended[0].latency_ns, ended[0].after_deadline), (None, None));
    }
}
