//! One flow, or table of round trips, in one case, over all members.

use std::collections::BTreeMap;

use teiji_record::CaseSummary;
use teiji_stats::{
    Counts, Deviation, FlowStatistics, Missed, RoundCounts, RoundStatistics, TimestampPoint,
    WireStatistics,
};

use super::{Figure, Spread};
use crate::paper::PaperFigures;

/// One flow, or table of round trips, in one case.
#[derive(Clone, Debug)]
pub struct CaseView<'a> {
    /// The case.
    pub case: &'a CaseSummary,
    /// Its members that have the flow.
    pub members: Vec<MemberView<'a>>,
    /// Where the compared stamps were taken; `None` if nothing can be compared.
    pub point: Option<TimestampPoint>,
    /// The published figures.
    pub paper: Option<PaperFigures>,
}

/// One flow, or table of round trips, in one member of one case.
#[derive(Clone, Copy, Debug)]
pub struct MemberView<'a> {
    /// Its seed.
    pub seed: u64,
    /// All that is known of the flow; `None` if these are round trips.
    pub flow: Option<&'a FlowStatistics>,
    /// What is known of the flow from its wire.
    pub wire: Option<&'a WireStatistics>,
    /// All that is known of the round trips; `None` if this is a flow.
    pub rounds: Option<&'a RoundStatistics>,
    /// The compared deviations.
    pub deviation: Option<&'a Deviation>,
}

impl CaseView<'_> {
    /// `figure` over the members.
    pub fn figure(&self, figure: Figure) -> Option<Spread> {
        Spread::over(
            self.members.iter().filter_map(|m| m.deviation).filter_map(|d| d.figure(figure)),
        )
    }

    /// What became of the frames, over all members; of round trips, what became of
    /// the requests, where a reply is what is received.
    pub fn counts(&self) -> Counts {
        if self.members.iter().any(|m| m.rounds.is_some()) {
            let rounds = self.round_counts();
            return Counts {
                planned: rounds.planned,
                sent: rounds.sent,
                received: rounds.answered,
                lost: rounds.lost,
                lost_in_a_row: rounds.lost_in_a_row,
                late: rounds.late,
                duplicated: rounds.duplicated,
                send_failed: rounds.send_failed,
                foreign: rounds.foreign,
                ..Counts::default()
            };
        }
        self.members.iter().filter_map(|m| Some(m.flow?.counts)).sum()
    }

    /// What became of the requests, over all members.
    pub fn round_counts(&self) -> RoundCounts {
        self.members.iter().filter_map(|m| Some(m.rounds?.counts)).sum()
    }

    /// Resolution of the compared stamps, in ns, the coarsest of the members'.
    pub fn resolution_ns(&self) -> Option<i64> {
        let point = self.point?;
        self.members
            .iter()
            .filter_map(|m| m.flow?.timestamp_points.get(&point)?.resolution_ns)
            .max()
    }

    /// The errors that send calls failed with, over all members.
    pub fn send_errors(&self) -> BTreeMap<&str, u64> {
        let mut errors = BTreeMap::new();
        for (name, count) in self.members.iter().filter_map(|m| m.flow).flat_map(|f| &f.send_errors)
        {
            *errors.entry(name.as_str()).or_default() += count;
        }
        errors
    }

    /// How frames missed their time, over all members.
    pub fn missed(&self) -> Option<Missed> {
        self.members.iter().filter_map(|m| m.flow?.missed).reduce(Missed::and)
    }
}
