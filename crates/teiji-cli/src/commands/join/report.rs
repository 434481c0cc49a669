//! What both ends together say of a flow, as text and as JSON (docs/talk-listen.md).

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use teiji_core::time::Span;
use teiji_stats::{Deviation, Series};

use super::rows::{Received, Sent};
use crate::commands::quantity::figures;

/// The report. Times in ns. A series is there if any frame has both of its times.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    format: &'static str,
    version: u32,
    /// Frames that the talker attempted.
    attempted: u64,
    /// Of those, refused or dropped by the sending kernel, by its word.
    not_sent: u64,
    /// Distinct frames that arrived.
    received: u64,
    copies: u64,
    /// Neither arrived nor known as not sent.
    lost: u64,
    /// Arrivals of frames that the talker's file does not have.
    unknown: u64,
    /// Frames that arrived without the transmit timestamp that others have.
    without_transmit_timestamp: u64,
    /// Frames that arrived without the NIC's receive timestamp that others have.
    without_receive_timestamp: u64,
    deadline_ns: Option<i64>,
    after_deadline: Option<u64>,
    quantities: Vec<Quantity>,
}

/// A time between two timestamps of each frame that arrived.
#[derive(Debug, Serialize)]
struct Quantity {
    name: &'static str,
    /// What must be true for it to be one.
    assumes: &'static str,
    /// There is no series if it would be negative: the assumption is not true then.
    holds: bool,
    series: Deviation,
}

const SENDER: &str = "the sender's PHC agrees with its CLOCK_TAI";
const NICS: &str = "the PHCs of both NICs agree (PTP)";
const HOSTS: &str = "CLOCK_TAI of both hosts agrees (one host, or PTP)";

impl Report {
    /// Joins by sequence number, each frame with its first arrival.
    ///
    /// # Errors
    /// A sequence number whose schedule differs in the two.
    pub(super) fn of(
        sent: &[Sent],
        received: &[Received],
        deadline: Option<Span>,
    ) -> Result<Self, u64> {
        let by_seq: BTreeMap<u64, &Sent> = sent.iter().map(|frame| (frame.seq, frame)).collect();
        let mut first: BTreeMap<u64, (&Sent, &Received)> = BTreeMap::new();
        let (mut copies, mut unknown) = (0, 0);
        for arrival in received {
            match by_seq.get(&arrival.seq) {
                None => unknown += 1,
                Some(frame) if frame.scheduled != arrival.scheduled => return Err(arrival.seq),
                Some(frame) => {
                    let earlier = first.insert(arrival.seq, (frame, arrival));
                    if let Some(earlier) = earlier {
                        first.insert(arrival.seq, earlier);
                        copies += 1;
                    }
                }
            }
        }
        let pairs: Vec<(&Sent, &Received)> = first.into_values().collect();
        let not_sent = sent.iter().filter(|frame| !frame.tx_error.is_empty()).count();
        let arrived_after_all =
            pairs.iter().filter(|(frame, _)| !frame.tx_error.is_empty()).count();
        let missing = |has: &dyn Fn(&(&Sent, &Received)) -> bool| {
            let with = pairs.iter().filter(|pair| has(pair)).count();
            if with == 0 { 0 } else { (pairs.len() - with) as u64 }
        };
        let quantities: Vec<Quantity> = [
            quantity("transmission by the NIC − schedule", SENDER, &pairs, |s, _| {
                Some(s.tx_hardware? - s.scheduled)
            }),
            quantity("hand-over to the driver − schedule", "", &pairs, |s, _| {
                Some(s.tx_kernel? - s.scheduled)
            }),
            quantity("path delay, NIC to NIC", NICS, &pairs, |s, r| {
                Some(r.rx_hardware? - s.tx_hardware?)
            }),
            quantity("path delay, driver to kernel", HOSTS, &pairs, |s, r| {
                Some(r.rx_kernel? - s.tx_kernel?)
            }),
            quantity("arrival by the kernel − schedule", HOSTS, &pairs, |s, r| {
                Some(r.rx_kernel? - s.scheduled)
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        let after = |deadline: Span| {
            let late = |(s, r): &&(&Sent, &Received)| {
                r.rx_kernel.is_some_and(|at| at - s.scheduled > deadline.as_ns())
            };
            pairs.iter().filter(late).count() as u64
        };
        let comparable = quantities
            .iter()
            .all(|quantity| !quantity.name.starts_with("arrival") || quantity.holds);
        Ok(Self {
            format: "teiji-join",
            version: 1,
            attempted: sent.len() as u64,
            not_sent: not_sent as u64,
            received: pairs.len() as u64,
            copies,
            lost: (sent.len() + arrived_after_all - not_sent - pairs.len()) as u64,
            unknown,
            without_transmit_timestamp: missing(&|(s, _)| s.tx_hardware.or(s.tx_kernel).is_some()),
            without_receive_timestamp: missing(&|(_, r)| r.rx_hardware.is_some()),
            deadline_ns: deadline.map(Span::as_ns),
            after_deadline: deadline.filter(|_| comparable).map(after),
            quantities,
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} frames attempted, {} received, {} lost\n",
            self.attempted, self.received, self.lost
        );
        for (number, what) in [
            (self.not_sent, "not sent: refused or dropped by the sending kernel"),
            (self.copies, "copies"),
            (self.unknown, "arrivals of frames that the talker's file does not have"),
            (self.without_transmit_timestamp, "arrived without transmit timestamp"),
            (self.without_receive_timestamp, "arrived without the NIC's receive timestamp"),
        ] {
            if number > 0 {
                let _ = writeln!(text, "{number:>9} {what}");
            }
        }
        for Quantity { name, assumes, holds, series } in &self.quantities {
            if *holds {
                let _ = writeln!(text, "{name:34} {}", figures(series));
            } else {
                let _ = writeln!(text, "{name:34} unknown: it is not true that {assumes}");
            }
        }
        match (self.deadline_ns.map(Span::from_ns), self.after_deadline) {
            (Some(deadline), Some(number)) => {
                let _ = writeln!(text, "{number} arrivals more than {deadline} after the schedule");
            }
            (Some(_), None) => text.push_str("missed deadlines are unknown: the clocks differ\n"),
            (None, _) => {}
        }
        let mut assumed: Vec<&str> = self
            .quantities
            .iter()
            .filter(|q| q.holds && !q.assumes.is_empty())
            .map(|q| q.assumes)
            .collect();
        assumed.dedup();
        if !assumed.is_empty() {
            let _ = writeln!(text, "Assumes that {}.", assumed.join("; "));
        }
        text
    }
}

fn quantity(
    name: &'static str,
    assumes: &'static str,
    pairs: &[(&Sent, &Received)],
    of: impl Fn(&Sent, &Received) -> Option<i64>,
) -> Option<Quantity> {
    let series: Series = pairs.iter().filter_map(|(sent, received)| of(sent, received)).collect();
    let series = series.finish()?;
    // A frame may be transmitted before its schedule, but does not arrive before that.
    let travels = assumes == NICS || assumes == HOSTS;
    Some(Quantity { name, assumes, holds: !(travels && series.min_ns < 0), series })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames 0 to 4 of 1 ms; the NIC sends 64 ns after the schedule.
    fn sent() -> Vec<Sent> {
        (0..5)
            .map(|seq| {
                let scheduled = i64::try_from(seq).unwrap() * 1_000_000;
                let (tx_kernel, tx_hardware) = (Some(scheduled - 300_000), Some(scheduled + 64));
                Sent { seq, scheduled, tx_kernel, tx_hardware, tx_error: String::new() }
            })
            .collect()
    }

    /// Its arrival 50 ns later at the NIC, 20 µs later at the kernel.
    fn arrival(of: &Sent) -> Received {
        Received {
            flow: 0,
            seq: of.seq,
            scheduled: of.scheduled,
            rx_kernel: Some(of.scheduled + 20_000),
            rx_hardware: Some(of.scheduled + 114),
        }
    }

    #[test]
    fn both_ends_are_joined_frame_by_frame() {
        let mut sent = sent();
        sent[4].tx_error = "missed".to_owned();
        sent[3].tx_hardware = None;
        sent[3].tx_kernel = None;
        // 0 twice, 1 lost, 2 and 3 arrive, 4 was not sent.
        let mut received: Vec<Received> = [0, 2, 0, 3].map(|i| arrival(&sent[i])).to_vec();
        received[1].rx_kernel = Some(sent[2].scheduled + 90_000);
        received.push(Received { seq: 77, ..arrival(&sent[0]) });
        let report = Report::of(&sent, &received, Some(Span::from_micros(50))).unwrap();
        assert_eq!((report.attempted, report.received, report.lost), (5, 3, 1));
        assert_eq!((report.not_sent, report.copies, report.unknown), (1, 1, 1));
        assert_eq!((report.without_transmit_timestamp, report.without_receive_timestamp), (1, 0));
        assert_eq!(report.after_deadline, Some(1));
        let of = |name: &str| {
            let found = report.quantities.iter().find(|q| q.name.starts_with(name)).unwrap();
            (found.series.min_ns, found.series.max_ns)
        };
        assert_eq!(of("transmission"), (64, 64));
        assert_eq!(of("path delay, NIC"), (50, 50));
        assert_eq!(of("arrival"), (20_000, 90_000));
        assert!(report.text().contains("Assumes that the sender's PHC"), "{}", report.text());
    }

    #[test]
    fn clocks_that_differ_give_no_delay_and_other_runs_no_report() {
        let sent = sent();
        let early =
            |frame: &Sent| Received { rx_hardware: Some(frame.scheduled - 9), ..arrival(frame) };
        let report = Report::of(&sent, &sent.iter().map(early).collect::<Vec<_>>(), None).unwrap();
        assert!(
            report.text().contains("path delay, NIC to NIC             unknown: it is not true")
        );
        let other = Received { scheduled: 7, ..arrival(&sent[2]) };
        assert_eq!(Report::of(&sent, &[other], None).unwrap_err(), 2);
    }
}
