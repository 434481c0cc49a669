//! From records to statistics: redone at any time from the Parquet file alone.

use std::collections::BTreeMap;

use teiji::{Fate, ReceiveRoom};
use teiji_experiment::SendMode;
use teiji_stats::{Departure, FlowStatistics, FlowTerms, FrameView, Outcome};

use crate::fate;
use crate::join::ListenerFacts;
use crate::{Facts, FlowPlan, FrameRow, Records};

impl Records {
    /// The statistics of each planned flow by name.
    pub fn statistics(&self) -> BTreeMap<String, FlowStatistics> {
        self.about
            .flows
            .iter()
            .map(|plan| {
                let frames = self.rows_of(plan.flow).iter().map(FrameRow::view);
                let mut statistics = FlowStatistics::from_frames(&plan.terms(&self.facts), frames);
                for row in self.rows_of(plan.flow) {
                    if let Some(Fate::SendFailed(errno)) = row.fate {
                        *statistics.send_errors.entry(fate::errno_name(errno)).or_default() += 1;
                    }
                }
                (plan.name.clone(), statistics)
            })
            .collect()
    }

    /// Of each flow with flow control its listener's room for what still comes, by name.
    pub fn rooms(&self) -> BTreeMap<String, ReceiveRoom> {
        let of = |(plan, listener): (&FlowPlan, &ListenerFacts)| {
            Some((plan.name.clone(), listener.room?))
        };
        self.about.flows.iter().zip(&self.facts.listeners).filter_map(of).collect()
    }

    /// The rows of one flow, in order of sequence number.
    pub fn rows_of(&self, flow: u16) -> &[FrameRow] {
        let from = self.rows.partition_point(|row| row.flow < flow);
        let to = self.rows.partition_point(|row| row.flow <= flow);
        self.rows.get(from..to).unwrap_or_default()
    }
}

impl FlowPlan {
    /// How the flow is judged, given what is known beside its frames.
    pub fn terms(&self, facts: &Facts) -> FlowTerms {
        FlowTerms {
            period: self.period,
            departure: match self.mode {
                SendMode::OnWakeUp => Departure::OnWakeUp,
                SendMode::BackToBack => Departure::BackToBack,
                SendMode::LaunchTime { margin, .. } => Departure::LaunchTime { margin },
            },
            stamps_requested: self.tx_stamps,
            foreign: facts.foreign(self.flow),
            wire_resolution: facts.wire_resolution,
        }
    }
}

impl FrameRow {
    /// The row as the statistics see it.
    pub fn view(&self) -> FrameView {
        FrameView {
            seq: self.seq,
            scheduled: self.scheduled,
            woke: self.woke,
            handed_over: self.handed_over,
            tx_sched: self.tx_sched,
            tx_kernel: self.tx_kernel,
            tx_hardware: self.tx_hardware,
            wire: self.wire,
            rx_kernel: self.rx_kernel,
            rx_hardware: self.rx_hardware,
            arrival: self.arrival,
            copies: self.copies,
            outcome: match self.fate {
                None => Outcome::Accepted,
                Some(Fate::Missed) => Outcome::Missed,
                Some(Fate::Invalid) => Outcome::Invalid,
                Some(Fate::SendFailed(_)) => Outcome::SendFailed,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use teiji_core::time::{Instant, Span};
    use teiji_stats::Vantage;

    use super::*;
    use crate::columns::Row;
    use crate::{About, Sighting, join};

    #[test]
    fn each_flow_is_judged_by_its_own_rows() {
        let plan = |flow, name: &str| FlowPlan {
            flow,
            name: name.to_owned(),
            frames: 4,
            base: Instant::from_ns(0),
            period: Span::from_millis(1),
            mode: SendMode::OnWakeUp,
            tx_stamps: false,
        };
        let flows = vec![plan(0, "steady"), plan(3, "shaky")];
        let sightings = (0..4).flat_map(|seq: i64| {
            let at = seq * 1_000_000;
            let shake = if seq == 2 { 70 } else { 0 };
            [(0, at), (3, at + shake)].map(|(flow, at)| Sighting {
                flow,
                seq: seq.unsigned_abs(),
                at: Instant::from_ns(at),
            })
        });
        let joined = join(&flows, &[], &[], sightings);
        let about = About { experiment: "e".to_owned(), case: "c".to_owned(), seed: 1, flows };
        let records = Records { about, facts: joined.facts, rows: joined.rows };
        let statistics = records.statistics();
        let range = |name: &str| {
            statistics[name].vantages[&Vantage::Wire].interval.as_ref().map(|d| d.range_ns)
        };
        assert_eq!((range("steady"), range("shaky")), (Some(0), Some(140)));
        assert_eq!(statistics["shaky"].counts.planned, 4);
        assert!(records.rows_of(1).is_empty());
    }

    #[test]
    fn the_kernels_word_on_a_frame_becomes_its_outcome() {
        let outcome = |fate| FrameRow { fate, ..FrameRow::EMPTY }.view().outcome;
        assert_eq!(outcome(None), Outcome::Accepted);
        assert_eq!(outcome(Some(Fate::Missed)), Outcome::Missed);
        assert_eq!(outcome(Some(Fate::SendFailed(105))), Outcome::SendFailed);
    }
}
