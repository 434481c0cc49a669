//! The cases of a run beside each other: for one flow, at one vantage, over
//! all members.

use std::collections::BTreeMap;

use teiji_experiment::JudgeBy;
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_stats::{
    Counts, Deviation, FlowStatistics, RoundCounts, RoundStatistics, Vantage, VantageStatistics,
};

use crate::paper::{Paper, PaperFigures};

/// What a deviation is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Interval between consecutive frames, minus the period.
    Interval,
    /// Frame minus its scheduled departure.
    Schedule,
    /// How long a round trip takes.
    RoundTrip,
}

impl Measure {
    /// What is counted, as a report calls several.
    pub const fn many(self) -> &'static str {
        match self {
            Self::Interval | Self::Schedule => "intervals",
            Self::RoundTrip => "round trips",
        }
    }

    /// What a time series has a point for, and what it shows of each.
    pub const fn one_and_value(self) -> [&'static str; 2] {
        match self {
            Self::Interval | Self::Schedule => ["frame", "deviation"],
            Self::RoundTrip => ["request", "round trip"],
        }
    }

    /// What each of them has.
    pub const fn of_one(self) -> &'static str {
        match self {
            Self::Interval | Self::Schedule => "absolute deviation",
            Self::RoundTrip => "time",
        }
    }

    fn of(self, statistics: &VantageStatistics) -> Option<&Deviation> {
        match self {
            Self::Interval => statistics.interval.as_ref(),
            Self::Schedule => statistics.schedule.as_ref(),
            // No vantage sees both of its ends.
            Self::RoundTrip => None,
        }
    }
}

/// A figure of a series of deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Arithmetic mean.
    Mean,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Largest minus smallest.
    Range,
    /// Standard deviation.
    Stddev,
    /// Percentile of the absolute deviation, in percent.
    Percentile(f64),
}

impl Figure {
    /// Its value, in ns; `None` if there is none.
    pub fn of(self, deviation: &Deviation) -> Option<f64> {
        if deviation.count == 0 {
            return None;
        }
        let value = match self {
            Self::Mean => deviation.mean_ns,
            Self::Min => deviation.min_ns as f64,
            Self::Max => deviation.max_ns as f64,
            Self::Range => deviation.range_ns as f64,
            Self::Stddev => deviation.stddev_ns,
            Self::Percentile(p) => {
                deviation.percentiles.iter().find(|q| same_percentile(q.p, p))?.ns as f64
            }
        };
        value.is_finite().then_some(value)
    }

    /// The paper's, in ns.
    pub fn published(self, paper: &PaperFigures) -> Option<f64> {
        match self {
            Self::Mean => paper.mean_ns,
            Self::Min => paper.min_ns,
            Self::Max => paper.max_ns,
            Self::Range => paper.range_ns,
            Self::Stddev => paper.stddev_ns,
            Self::Percentile(_) => None,
        }
    }
}

fn same_percentile(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// One flow, or one table of round trips, in every case.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// Name of the flow or round trips.
    pub flow: &'a str,
    /// What is compared.
    pub measure: Measure,
    /// In the experiment's order; those without the flow are left out.
    pub cases: Vec<CaseView<'a>>,
}

/// One flow, or table of round trips, in one case.
#[derive(Clone, Debug)]
pub struct CaseView<'a> {
    /// The case.
    pub case: &'a CaseSummary,
    /// Its members that have the flow.
    pub members: Vec<MemberView<'a>>,
    /// Where the compared stamps were taken; `None` if nothing can be compared.
    pub vantage: Option<Vantage>,
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
    /// All that is known of the round trips; `None` if this is a flow.
    pub rounds: Option<&'a RoundStatistics>,
    /// The compared deviations.
    pub deviation: Option<&'a Deviation>,
}

/// A figure over the members of an ensemble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Smallest of the members'.
    pub min: f64,
    /// The middle one (mean of the two middle ones).
    pub median: f64,
    /// Largest.
    pub max: f64,
    /// How many members have it.
    pub members: usize,
}

impl Spread {
    /// Over `values`; `None` if there are none.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut v: Vec<f64> = values.into_iter().collect();
        v.sort_by(f64::total_cmp);
        let middle = v.len() / 2;
        let median = match v.len() {
            0 => return None,
            n if n % 2 == 1 => v[middle],
            _ => f64::midpoint(v[middle - 1], v[middle]),
        };
        Some(Self { min: v[0], median, max: v[v.len() - 1], members: v.len() })
    }

    /// True if no value of one lies among the values of the other.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.max < other.min || other.max < self.min
    }
}

/// The flows that are told in full: the one that decides first, no load.
pub fn flows(summary: &Summary) -> Vec<&str> {
    let mut names = names(summary);
    names.retain(|name| !summary.background.iter().any(|load| load == name));
    // Stable: the others keep their order.
    names.sort_by_key(|name| summary.judge.flow.as_deref() != Some(*name));
    names
}

/// The flows that are load.
pub fn background(summary: &Summary) -> Vec<&str> {
    let mut names = names(summary);
    names.retain(|name| summary.background.iter().any(|load| load == name));
    names
}

fn names(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for member in summary.cases.iter().flat_map(|c| &c.members) {
        for name in member.flows.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// The round trips: those that decide first.
pub fn round_trips(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for member in summary.cases.iter().flat_map(|case| &case.members) {
        for name in member.round_trips.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| summary.judge.flow.as_deref() != Some(*name));
    names
}

/// What the question asks of a flow's deviations.
pub const fn measure(summary: &Summary) -> Measure {
    match summary.judge.by {
        JudgeBy::Schedule => Measure::Schedule,
        JudgeBy::Interval
        | JudgeBy::Gates
        | JudgeBy::Shaping
        | JudgeBy::Loss
        | JudgeBy::RoundTrip => Measure::Interval,
    }
}

/// The flow that the answer and the published figures belong to.
pub fn judged(summary: &Summary) -> Option<&str> {
    flows(summary).into_iter().next()
}

impl<'a> Comparison<'a> {
    /// `flow` in all cases of `summary`. The vantage is the best one at which
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
        let paper = paper.filter(|_| judged(summary) == Some(flow));
        let with_flow: Vec<_> = summary
            .cases
            .iter()
            .map(|c| (c, statistics(c)))
            .filter(|(_, members)| !members.is_empty())
            .collect();
        let everybody: Vec<_> =
            with_flow.iter().flat_map(|(_, m)| m.iter().map(|(_, f)| *f)).collect();
        let common = best_vantage(&everybody, measure);
        let cases = with_flow
            .into_iter()
            .map(|(case, members)| {
                let own: Vec<_> = members.iter().map(|(_, f)| *f).collect();
                let vantage = common.or_else(|| best_vantage(&own, measure));
                let members = members
                    .into_iter()
                    .map(|(member, statistics)| MemberView {
                        seed: member.seed,
                        flow: Some(statistics),
                        rounds: None,
                        deviation: vantage.and_then(|v| {
                            // Of a computed wire the departure itself is known.
                            let departure = || member.wire.get(flow)?.departure.as_ref();
                            let exact = measure == Measure::Schedule && v == Vantage::Wire;
                            exact
                                .then(departure)
                                .flatten()
                                .or_else(|| measure.of(statistics.vantages.get(&v)?))
                        }),
                    })
                    .collect();
                let paper = paper.zip(case.paper_result.as_deref());
                CaseView {
                    case,
                    members,
                    vantage,
                    paper: paper
                        .filter(|_| measure == Measure::Interval)
                        .and_then(|(p, key)| p.figures(key)),
                }
            })
            .collect();
        Self { flow, measure, cases }
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
                        rounds: Some(rounds),
                        deviation,
                    })
                });
                let paper = paper.zip(case.paper_result.as_deref());
                CaseView {
                    case,
                    members: members.collect(),
                    vantage: None,
                    paper: paper.and_then(|(paper, key)| paper.figures(key)),
                }
            })
            .filter(|view: &CaseView<'_>| !view.members.is_empty())
            .collect();
        Self { flow: name, measure: Measure::RoundTrip, cases }
    }

    /// The vantage that all cases share.
    pub fn common_vantage(&self) -> Option<Vantage> {
        let first = self.cases.first()?.vantage?;
        self.cases.iter().all(|c| c.vantage == Some(first)).then_some(first)
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

impl CaseView<'_> {
    /// `figure` over the members.
    pub fn figure(&self, figure: Figure) -> Option<Spread> {
        Spread::over(self.members.iter().filter_map(|m| m.deviation).filter_map(|d| figure.of(d)))
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
        let vantage = self.vantage?;
        self.members.iter().filter_map(|m| m.flow?.vantages.get(&vantage)?.resolution_ns).max()
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

    /// The latest wake-up of all members, in ns.
    pub fn worst_wake_up_ns(&self) -> Option<i64> {
        self.members.iter().filter_map(|m| m.flow?.wake_up.as_ref()).map(|d| d.max_ns).max()
    }
}

/// The best vantage at which each of `flows` has deviations.
fn best_vantage(flows: &[&FlowStatistics], measure: Measure) -> Option<Vantage> {
    let has = |f: &FlowStatistics, v: Vantage| {
        f.vantages.get(&v).and_then(|s| measure.of(s)).is_some_and(|d| d.count > 0)
    };
    flows.first()?.vantages.keys().copied().find(|v| flows.iter().all(|f| has(f, *v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_ensemble_lies_between_the_middle_ones() {
        let spread = Spread::over([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
        assert_eq!(Spread::over([]), None);
    }

    #[test]
    fn ensembles_that_touch_are_not_apart() {
        let low = Spread::over([1.0, 2.0]).unwrap();
        assert!(low.is_apart_from(&Spread::over([2.1, 3.0]).unwrap()));
        assert!(!low.is_apart_from(&Spread::over([2.0, 3.0]).unwrap()));
    }
}
