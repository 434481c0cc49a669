//! From records to statistics: redone at any time from the Parquet file alone.

use std::collections::BTreeMap;

use teiji::{ReceiveHeadroom, TxError};
use teiji_core::errno;
use teiji_stats::{FlowStatistics, FlowTerms};

use crate::join::ListenerFacts;
use crate::{Facts, FlowPlan, FrameRow, Records};

impl Records {
    /// The statistics of each planned flow by name.
    pub fn statistics(&self) -> BTreeMap<String, FlowStatistics> {
        self.about
            .flows
            .iter()
            .map(|plan| {
                let rows = self.rows_of(plan.flow);
                let mut statistics = FlowStatistics::from_frames(&plan.terms(&self.facts), rows);
                for row in rows {
                    if let Some(TxError::SendFailed(errno)) = row.tx_error {
                        *statistics.send_errors.entry(errno::name(errno)).or_default() += 1;
                    }
                }
                (plan.name.clone(), statistics)
            })
            .collect()
    }

    /// Of each flow with flow control its listener's headroom, by name.
    pub fn headrooms(&self) -> BTreeMap<String, ReceiveHeadroom> {
        let of = |(plan, listener): (&FlowPlan, &ListenerFacts)| {
            Some((plan.name.clone(), listener.headroom?))
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
            mode: self.mode,
            stamps_requested: self.tx_stamps,
            foreign: facts.foreign(self.flow),
            wire_resolution: facts.wire_resolution,
            apart: facts.apart.contains(&self.flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use teiji_core::time::{Instant, Span};
    use teiji_stats::TimestampPoint;

    use super::*;
    use crate::{About, Sighting, join};
    use teiji_core::send_mode::SendMode;

    #[test]
    fn statistics_of_each_flow_are_of_its_own_rows() {
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
            statistics[name].timestamp_points[&TimestampPoint::Wire]
                .interval
                .as_ref()
                .map(|d| d.range_ns)
        };
        assert_eq!((range("steady"), range("shaky")), (Some(0), Some(140)));
        assert_eq!(statistics["shaky"].counts.planned, 4);
        assert!(records.rows_of(1).is_empty());
    }
}
