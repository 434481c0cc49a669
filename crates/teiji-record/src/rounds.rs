//! The records of round trips of one case as a Parquet file: one row per request. Columns
//! are documented in `docs/records.md`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji::{RequesterLog, RoundTrip};
use teiji_core::errno;
use teiji_core::time::{Instant, Span};
use teiji_experiment::RoundTrips;
use teiji_stats::{RoundStatistics, RoundTerms, RoundView};

use crate::columns::{Column, Kind, Row, flow, instant, seq, stamp};
use crate::table::{RecordsError, Table};

/// Format name and version of the files this crate writes.
pub const FORMAT: &str = "teiji-rounds/2";

/// The round trips of one case at one seed: all that their statistics are computed
/// from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRecords {
    /// Which case of which experiment, and its round trips as planned.
    pub about: AboutRounds,
    /// What is known beside the rows, by identifier.
    pub facts: BTreeMap<u16, RoundFacts>,
    /// One row for each request that was tried, by flow, then by sequence number.
    pub rows: Vec<RoundRow>,
}

/// Which case a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutRounds {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// The seed it ran with.
    pub seed: u64,
    /// The round trips as they were meant to be.
    pub round_trips: Vec<RoundPlan>,
}

/// Round trips as they were meant to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundPlan {
    /// Identifier in the test header.
    pub flow: u16,
    /// Their name in the experiment.
    pub name: String,
    /// How many requests were to be sent.
    pub count: u64,
    /// Distance between two requests; `None`: the next follows the reply.
    pub period: Option<Span>,
    /// How long a reply was waited for.
    pub timeout: Span,
}

impl RoundPlan {
    /// The plan of round trips with the identifier `flow`.
    pub fn new(flow: u16, from: &RoundTrips) -> Self {
        let RoundTrips { name, count, period, timeout, .. } = from;
        Self { flow, name: name.clone(), count: *count, period: *period, timeout: *timeout }
    }
}

/// What is known of round trips beside the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundFacts {
    /// Replies that arrived twice.
    pub duplicated: u64,
    /// Packets that reached either end and belonged to no round trip.
    pub foreign: u64,
    /// The requester was stopped before its end.
    pub interrupted: bool,
}

/// One request and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundRow {
    /// Identifier in the test header.
    pub flow: u16,
    /// What the requester recorded.
    pub round: RoundTrip,
}

impl Row for RoundRow {
    const FORMAT: &'static str = FORMAT;
    const MESSAGE: &'static str = "rounds";
    const COLUMNS: &'static [Column<Self>] = &[
        flow!(),
        seq!(round.seq),
        instant!("sent_tai_ns", round.sent),
        stamp!("responder_interrupt_tai_ns", round.reflector_reception.interrupt),
        stamp!("responder_softirq_tai_ns", round.reflector_reception.softirq),
        stamp!("responder_arrived_tai_ns", round.reflector_arrived),
        stamp!("responder_woken_tai_ns", round.reflector_reception.woken),
        stamp!("responder_left_tai_ns", round.reflector_sent),
        stamp!("reply_kernel_tai_ns", round.reply_kernel),
        stamp!("received_tai_ns", round.received),
        Column {
            name: "send_error",
            optional: true,
            kind: Kind::Text(
                |row| row.round.send_failed.map(errno::name),
                |row, text| {
                    row.round.send_failed = Some(errno::parse(text)?);
                    Some(())
                },
            ),
        },
    ];
    const EMPTY: Self = Self { flow: 0, round: RoundTrip::sent(0, Instant::from_ns(0)) };
}

impl RoundRow {
    /// As the statistics see it.
    pub fn view(&self) -> RoundView {
        let RoundTrip {
            sent,
            reflector_reception,
            reflector_arrived,
            reflector_sent,
            reply_kernel,
            received,
            ..
        } = self.round;
        RoundView {
            sent,
            responder_reception: reflector_reception,
            responder_arrived: reflector_arrived,
            responder_sent: reflector_sent,
            reply_kernel,
            received,
            send_failed: self.round.send_failed.is_some(),
        }
    }
}

impl RoundRecords {
    /// The records of what the requesters saw, one log for each plan; `strangers` are
    /// the packets that reached its responder and were no requests.
    pub fn new<'a>(
        about: AboutRounds,
        logs: impl IntoIterator<Item = (&'a RequesterLog, u64)>,
    ) -> Self {
        let mut records = Self { about, facts: BTreeMap::new(), rows: Vec::new() };
        for (plan, (log, strangers)) in records.about.round_trips.iter().zip(logs) {
            let rows = log.rounds.iter().map(|round| RoundRow { flow: plan.flow, round: *round });
            records.rows.extend(rows);
            let facts = RoundFacts {
                duplicated: log.duplicated,
                foreign: log.foreign + strangers,
                interrupted: log.interrupted,
            };
            records.facts.insert(plan.flow, facts);
        }
        records
    }

    /// The rows of one table of round trips.
    pub fn rows_of(&self, flow: u16) -> &[RoundRow] {
        let from = self.rows.partition_point(|row| row.flow < flow);
        let to = self.rows.partition_point(|row| row.flow <= flow);
        self.rows.get(from..to).unwrap_or_default()
    }

    /// True if a requester was stopped before its end.
    pub fn is_incomplete(&self) -> bool {
        self.facts.values().any(|facts| facts.interrupted)
    }

    /// Statistics by name.
    pub fn statistics(&self) -> BTreeMap<String, RoundStatistics> {
        let of = |plan: &RoundPlan| {
            let facts = self.facts.get(&plan.flow).copied().unwrap_or_default();
            let terms = RoundTerms {
                planned: plan.count,
                period: plan.period,
                timeout: plan.timeout,
                duplicated: facts.duplicated,
                foreign: facts.foreign,
            };
            let rounds = self.rows_of(plan.flow).iter().map(RoundRow::view);
            (plan.name.clone(), RoundStatistics::from_rounds(&terms, rounds))
        };
        self.about.round_trips.iter().map(of).collect()
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RecordsError> {
        Table { about: &self.about, facts: &self.facts, rows: &*self.rows }.write(path)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If the file cannot be read, is not Parquet, or has another version or other columns.
    pub fn read(path: &Path) -> Result<Self, RecordsError> {
        let Table { about, facts, rows } = Table::read(path)?;
        Ok(Self { about, facts, rows })
    }
}

#[cfg(test)]
mod tests {
    use teiji_core::reception::Reception;

    use super::*;

    fn records() -> RoundRecords {
        let plan = |flow, name: &str| RoundPlan {
            flow,
            name: name.to_owned(),
            count: 3,
            period: None,
            timeout: Span::from_millis(1),
        };
        let at = |ns| Some(Instant::from_ns(ns));
        let answered = RoundTrip {
            seq: 0,
            sent: Instant::from_ns(-5),
            reflector_reception: Reception { interrupt: at(3), softirq: at(5), woken: at(12) },
            reflector_arrived: at(10),
            reflector_sent: at(20),
            reply_kernel: None,
            received: at(30),
            send_failed: None,
        };
        let lost = RoundTrip { seq: 1, received: None, ..RoundRow::EMPTY.round };
        let refused = RoundTrip { seq: 2, send_failed: Some(105), ..lost };
        let log = RequesterLog {
            rounds: vec![answered, lost, refused],
            duplicated: 4,
            ..RequesterLog::default()
        };
        let silent = RequesterLog { interrupted: true, ..RequesterLog::default() };
        let about = AboutRounds {
            experiment: "e".to_owned(),
            case: "c".to_owned(),
            seed: 7,
            round_trips: vec![plan(2, "ask"), plan(3, "again")],
        };
        RoundRecords::new(about, [(&log, 6), (&silent, 0)])
    }

    #[test]
    fn what_is_written_is_read_back_and_equal_records_are_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("1"), folder.path().join("2"));
        let records = records();
        records.write(&one).unwrap();
        records.write(&two).unwrap();
        assert_eq!(RoundRecords::read(&one).unwrap(), records);
        assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    }

    #[test]
    fn each_table_has_its_own_statistics() {
        let records = records();
        let statistics = records.statistics();
        let counts = statistics["ask"].counts;
        assert_eq!((counts.sent, counts.answered, counts.lost), (2, 1, 2));
        assert_eq!((counts.send_failed, counts.duplicated, counts.foreign), (1, 4, 6));
        assert_eq!(statistics["again"].counts.sent, 0);
        assert!(records.is_incomplete());
    }

    #[test]
    fn records_of_frames_are_no_records_of_round_trips() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rounds");
        records().write(&path).unwrap();
        let error = crate::Records::read(&path).unwrap_err().to_string();
        assert!(error.contains("teiji-rounds/2") && error.contains("teiji-frames/2"), "{error}");
    }
}
