//! What `teiji listen` says at its end: one report, as text and as JSON (docs/talk-listen.md).

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde::Serialize;
use teiji::{ListenerLog, RxRecord};
use teiji_core::time::Span;
use teiji_live::interval::Seen;
use teiji_stats::{Deviation, Series};

use crate::commands::quantity::figures;

pub(super) const FORMAT: &str = "teiji-listen";
pub(super) const VERSION: u32 = 1;

/// What must be true for a latency to be one.
const ASSUMPTION: &str =
    "the sender's CLOCK_TAI and this host's agree: it is one host, or PTP keeps both";

/// An arrival as what is summed up by intervals.
pub(super) fn seen(arrival: &RxRecord) -> Seen {
    Seen {
        probe: Some((arrival.seq, arrival.scheduled)),
        by_kernel: arrival.rx_kernel,
        by_nic: arrival.rx_hardware,
        outgoing: false,
    }
}

/// The report. Times in ns.
#[derive(Serialize)]
pub(super) struct Report {
    format: &'static str,
    version: u32,
    r#type: &'static str,
    interrupted: bool,
    flows: Vec<Flow>,
    /// Packets that were no test frames.
    foreign: u64,
    /// Packets dropped because the socket's buffer was full.
    socket_drops: u64,
    latency_assumes: &'static str,
}

#[derive(Serialize)]
struct Flow {
    #[serde(rename = "flow")]
    id: u16,
    #[serde(flatten)]
    tally: Tally,
    /// Distance of successive arrivals − the scheduled one.
    interval_by_kernel: Option<Deviation>,
    interval_by_nic: Option<Deviation>,
    /// Arrival (kernel) − schedule; none if the clocks disagree.
    latency: Option<Deviation>,
    deadline_ns: Option<i64>,
    after_deadline: Option<u64>,
    /// Arrivals without the NIC's timestamp, where it gives some.
    without_nic_timestamp: u64,
}

impl Report {
    pub(super) fn of(log: &ListenerLog, deadline: Option<Span>, interrupted: bool) -> Self {
        let mut flows: BTreeMap<u16, Vec<&RxRecord>> = BTreeMap::new();
        for arrival in &log.arrivals {
            flows.entry(arrival.flow).or_default().push(arrival);
        }
        Self {
            format: FORMAT,
            version: VERSION,
            r#type: "summary",
            interrupted,
            flows: flows.iter().map(|(flow, all)| Flow::of(*flow, all, deadline)).collect(),
            foreign: log.foreign,
            socket_drops: log.socket_drops,
            latency_assumes: ASSUMPTION,
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.flows.iter().map(Flow::text).collect::<String>();
        if self.flows.is_empty() {
            text.push_str("no test frames arrived\n");
        }
        for (number, what) in [
            (self.foreign, "packets were no test frames"),
            (self.socket_drops, "packets were dropped because the socket's buffer was full"),
        ] {
            if number > 0 {
                let _ = writeln!(text, "{number} {what}");
            }
        }
        if self.flows.iter().any(|flow| flow.latency.is_some()) {
            let _ = writeln!(text, "Latency assumes that {ASSUMPTION}.");
        }
        text
    }
}

impl Flow {
    fn of(flow: u16, arrivals: &[&RxRecord], deadline: Option<Span>) -> Self {
        let interval = |stamp: fn(&RxRecord) -> Option<i64>| {
            let mut series = Series::new();
            for pair in arrivals.windows(2) {
                if let (Some(a), Some(b)) = (stamp(pair[0]), stamp(pair[1])) {
                    let scheduled = (pair[1].scheduled - pair[0].scheduled).as_ns();
                    if scheduled > 0 {
                        series.push(b - a - scheduled);
                    }
                }
            }
            series.finish()
        };
        let latencies: Option<Vec<i64>> = arrivals.iter().map(|a| seen(a).latency_ns()).collect();
        let after = |deadline: Span| {
            let late = |latency: &&i64| **latency > deadline.as_ns();
            Some(latencies.as_ref()?.iter().filter(late).count() as u64)
        };
        let stamped = arrivals.iter().filter(|a| a.rx_hardware.is_some()).count();
        Self {
            id: flow,
            tally: Tally::of(arrivals),
            interval_by_kernel: interval(|r| r.rx_kernel.map(teiji::Instant::as_ns)),
            interval_by_nic: interval(|r| r.rx_hardware.map(teiji::Instant::as_ns)),
            deadline_ns: deadline.map(Span::as_ns),
            after_deadline: deadline.and_then(after),
            without_nic_timestamp: if stamped == 0 { 0 } else { (arrivals.len() - stamped) as u64 },
            latency: latencies.and_then(|all| all.into_iter().collect::<Series>().finish()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("flow {}: {}\n", self.id, self.tally);
        for (what, series) in [
            ("interval minus schedule, by the kernel", &self.interval_by_kernel),
            ("interval minus schedule, by the NIC", &self.interval_by_nic),
            ("latency, arrival by the kernel minus schedule", &self.latency),
        ] {
            if let Some(series) = series {
                let _ = writeln!(text, "  {what}: {}", figures(series));
            }
        }
        if self.latency.is_none() {
            text.push_str(
                "  no latency: the sender's CLOCK_TAI and this host's do not agree (ptp4l and phc2sys \
                 keep both)\n",
            );
        }
        if let (Some(number), Some(deadline)) = (self.after_deadline, self.deadline_ns) {
            let deadline = Span::from_ns(deadline);
            let _ = writeln!(text, "  {number} arrivals more than {deadline} after the schedule");
        }
        if self.without_nic_timestamp > 0 {
            let _ = writeln!(text, "  {} without the NIC's timestamp", self.without_nic_timestamp);
        }
        text
    }
}

/// What sequence numbers tell of a flow.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Tally {
    frames: u64,
    missing: u64,
    copies: u64,
    reordered: u64,
}

impl Tally {
    fn of(arrivals: &[&RxRecord]) -> Self {
        let mut seen: Vec<u64> = arrivals.iter().map(|r| r.seq).collect();
        seen.sort_unstable();
        let total = seen.len() as u64;
        seen.dedup();
        let span = match (seen.first(), seen.last()) {
            (Some(first), Some(last)) => (last - first).saturating_add(1),
            _ => 0,
        };
        let mut highest = 0;
        let mut reordered = 0;
        for arrival in arrivals {
            reordered += u64::from(arrival.seq < highest);
            highest = highest.max(arrival.seq);
        }
        let frames = seen.len() as u64;
        Self { frames, missing: span - frames, copies: total - frames, reordered }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, missing, copies, reordered } = self;
        write!(
            f,
            "{frames} frames, {missing} missing between the first and the last, {copies} copies, \
             {reordered} out of order"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::reception::Reception;
    use teiji_core::time::Instant;

    #[test]
    fn losses_copies_and_disorder_are_counted_apart() {
        let records: Vec<RxRecord> = [3, 4, 4, 7, 6]
            .into_iter()
            .map(|seq| RxRecord {
                flow: 0,
                seq,
                scheduled: Instant::from_ns(0),
                rx_kernel: None,
                rx_hardware: None,
                taken: Instant::from_ns(0),
                reception: Reception::UNKNOWN,
            })
            .collect();
        let tally = Tally::of(&records.iter().collect::<Vec<_>>());
        assert_eq!(
            tally.to_string(),
            "4 frames, 1 missing between the first and the last, 1 copies, 1 out of order"
        );
    }
}
