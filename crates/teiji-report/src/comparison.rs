//! The cases of a run beside each other: for one flow, at one timestamp point, over
//! all members.

mod case;
mod measure;
mod names;
mod spread;

pub use teiji_core::figure::Figure;
use teiji_core::figure::same_percentile;
use teiji_record::summary::Testbed;
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_stats::{Deviation, FlowStatistics, TimestampPoint};

pub use case::{CaseView, MemberView};
pub use measure::Measure;
pub use names::{background, flows, main_flow, measure, round_trips};
pub use spread::Spread;

use crate::paper::Paper;

/// One flow, or one table of round trips, in every case.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// Name of the flow or round trips.
    pub flow: &'a str,
    /// What is compared.
    pub measure: Measure,
    /// Where it was measured.
    pub testbed: Testbed,
    /// In the experiment's order; those without the flow are left out.
    pub cases: Vec<CaseView<'a>>,
}

impl<'a> Comparison<'a> {
    /// `flow` in all cases of `summary`. The timestamp point is the best one at which
    /// every member of every case has deviations, so that like is compared with
    /// like; where there is none, each case has its own.
    pub fn of(
        summary: &'a Summary,
        flow: &'a str,
        measure: Measure,
        paper: Option<&Paper>,
    ) -> Self {
        let statistics = |case: &'a CaseSummary| -> Vec<(&'a MemberSummary, &'a FlowStatistics)> {
            case.members.iter().filter_map(|m| Some((m, m.flows.get(flow)?))).collect()
        };
        let paper = paper.filter(|_| main_flow(summary) == Some(flow));
        let with_flow: Vec<_> = summary
            .cases
            .iter()
            .map(|c| (c, statistics(c)))
            .filter(|(_, members)| !members.is_empty())
            .collect();
        let everybody: Vec<_> =
            with_flow.iter().flat_map(|(_, m)| m.iter().map(|(_, f)| *f)).collect();
        let common = best_point(&everybody, measure);
        let cases = with_flow
            .into_iter()
            .map(|(case, members)| {
                let own: Vec<_> = members.iter().map(|(_, f)| *f).collect();
                let point = common.or_else(|| best_point(&own, measure));
                let members = members
                    .into_iter()
                    .map(|(member, statistics)| MemberView {
                        seed: member.seed,
                        flow: Some(statistics),
                        wire: member.wire.get(flow),
                        rounds: None,
                        deviation: point.and_then(|v| {
                            // Of a computed wire the departure itself is known.
                            let departure = || member.wire.get(flow)?.departure.as_ref();
                            let exact = measure == Measure::Schedule && v == TimestampPoint::Wire;
                            exact
                                .then(departure)
                                .flatten()
                                .or_else(|| measure.of(statistics.timestamp_points.get(&v)?))
                        }),
                    })
                    .collect();
                let paper = paper.zip(case.paper_result.as_deref());
                CaseView {
                    case,
                    members,
                    point,
                    paper: paper
                        .filter(|_| measure == Measure::Interval)
                        .and_then(|(p, key)| p.figures(key)),
                }
            })
            .collect();
        Self { flow, measure, testbed: summary.testbed, cases }
    }

    /// The round trips `name` in all cases of `summary`.
    pub fn of_round_trips(summary: &'a Summary, name: &'a str, paper: Option<&Paper>) -> Self {
        let cases = summary
            .cases
            .iter()
            .map(|case| {
                let members = case.members.iter().filter_map(|member| {
                    let rounds = member.round_trips.get(name)?;
                    let deviation = rounds.round_trip.as_ref();
                    Some(MemberView {
                        seed: member.seed,
                        flow: None,
                        wire: None,
                        rounds: Some(rounds),
                        deviation,
                    })
                });
                let paper = paper.zip(case.paper_result.as_deref());
                CaseView {
                    case,
                    members: members.collect(),
                    point: None,
                    paper: paper.and_then(|(paper, key)| paper.figures(key)),
                }
            })
            .filter(|view: &CaseView<'_>| !view.members.is_empty())
            .collect();
        Self { flow: name, measure: Measure::RoundTrip, testbed: summary.testbed, cases }
    }

    /// The delay of `flow` between two captures.
    pub fn of_delays(summary: &'a Summary, flow: &'a str) -> Self {
        let view = |case: &'a CaseSummary| CaseView {
            case,
            members: case
                .members
                .iter()
                .filter_map(|member| {
                    let deviation = member.delays.get(flow)?.delay.as_ref();
                    Some(MemberView {
                        seed: member.seed,
                        flow: None,
                        wire: None,
                        rounds: None,
                        deviation,
                    })
                })
                .collect(),
            point: None,
            paper: None,
        };
        let cases = summary.cases.iter().map(view).collect();
        Self { flow, measure: Measure::Delay, testbed: summary.testbed, cases }
    }

    /// The timestamp point that all cases share which have figures: of a single frame there are none.
    pub fn common_point(&self) -> Option<TimestampPoint> {
        let mut known = self.cases.iter().filter_map(|case| case.point);
        let first = known.next()?;
        known.all(|point| point == first).then_some(first)
    }

    /// The coarsest resolution of the compared stamps, in ns.
    pub fn resolution_ns(&self) -> Option<i64> {
        self.cases.iter().filter_map(CaseView::resolution_ns).max()
    }

    /// The period, if all cases and members share it.
    pub fn common_period_ns(&self) -> Option<i64> {
        let mut periods = self
            .cases
            .iter()
            .flat_map(|c| c.members.iter().filter_map(|m| Some(m.flow?.period_ns)));
        let first = periods.next()?;
        periods.all(|p| p == first).then_some(first)
    }

    /// The most members a case has.
    pub fn members(&self) -> usize {
        self.cases.iter().map(|c| c.members.len()).max().unwrap_or(0)
    }

    /// True if there are published figures beside any case.
    pub fn has_paper(&self) -> bool {
        self.cases.iter().any(|c| c.paper.is_some())
    }

    /// The percentiles, in percent, that at least one member has, ascending.
    pub fn percentiles(&self) -> Vec<f64> {
        let mut all: Vec<f64> =
            self.deviations().flat_map(|d| d.percentiles.iter().map(|q| q.p)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup_by(|a, b| same_percentile(*a, *b));
        all
    }

    /// All compared deviations.
    pub fn deviations(&self) -> impl Iterator<Item = &'a Deviation> + '_ {
        self.cases.iter().flat_map(|c| c.members.iter().filter_map(|m| m.deviation))
    }
}

/// The best timestamp point at which each of `flows` has deviations.
fn best_point(flows: &[&FlowStatistics], measure: Measure) -> Option<TimestampPoint> {
    let has = |f: &FlowStatistics, v: TimestampPoint| {
        f.timestamp_points.get(&v).and_then(|s| measure.of(s)).is_some_and(|d| d.count > 0)
    };
    flows.first()?.timestamp_points.keys().copied().find(|v| flows.iter().all(|f| has(f, *v)))
}
