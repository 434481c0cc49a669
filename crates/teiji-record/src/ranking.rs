//! Cases as remedies for one situation, ranked for jitter, for round trips and for the
//! throughput they cost, and the one to use. Pure: statistics in, a ranking out.

use serde::{Deserialize, Serialize};
use teiji::load::LoadReport;
use teiji_core::load::LoadKind;
use teiji_experiment::{Judge, JudgeBy};
use teiji_stats::{Deviation, FlowStatistics, RoundStatistics};

use crate::member::MemberSummary;

/// What a remedy may cost of the throughput that the baseline leaves, as a share.
pub const MOST_LOST: f64 = 0.1;
/// How far a figure may be above the baseline's before it counts as worse, as a share.
pub const MUCH: f64 = 0.25;

/// The cases beside each other, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// The case the others are remedies for.
    pub baseline: String,
    /// The case to use: the first of `cases` that nothing speaks against. It may be the
    /// baseline itself; null if something speaks against each.
    pub best: Option<String>,
    /// The highest percentile of intervals, in percent, that every case supports.
    pub percentile: Option<f64>,
    /// Ordered by the figure that answers the question.
    pub cases: Vec<RankedCase>,
}

/// One case; of several seeds the worst.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankedCase {
    /// Its name.
    pub case: String,
    /// Intervals of the flow, if it has one.
    pub jitter: Option<Jitter>,
    /// The round trips, if it has some.
    pub round_trips: Option<RankedRounds>,
    /// What the streams among its loads carried together, if it has some.
    pub throughput: Option<Throughput>,
    /// Frames of the flow that never left or never came.
    pub frames_lost: u64,
    /// What speaks against it beside the baseline.
    pub against: Vec<Against>,
}

/// How regular a flow is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// Largest deviation of an interval minus the smallest.
    pub range_ns: i64,
    /// The absolute deviation at [`Ranking::percentile`].
    pub percentile_ns: Option<i64>,
    /// 1 for the smallest range.
    pub rank: usize,
}

/// How long round trips take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedRounds {
    /// The 99th percentile, if there are enough.
    pub p99_ns: Option<i64>,
    /// The longest; null if no reply came.
    pub longest_ns: Option<i64>,
    /// Requests without reply.
    pub lost: u64,
    /// 1 for the smallest p99; for the shortest longest one if a case has no p99.
    pub rank: usize,
}

/// What is left for ordinary traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Bits per second, of all streams together.
    pub bps: u64,
    /// The share of the baseline's that is lost; negative if it is more.
    pub lost: f64,
    /// 1 for the most.
    pub rank: usize,
}

/// Why a case is not the one to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// It loses frames or requests, and more of them than the baseline.
    Losses,
    /// The range of its intervals is worse than the baseline's by more than [`MUCH`].
    Jitter,
    /// Its round trips are, at p99.
    RoundTrips,
    /// It loses more than [`MOST_LOST`] of the baseline's throughput.
    Throughput,
}

/// One case with its members, each with what its loads did.
pub type Remedy<'a> = (&'a str, Vec<(&'a MemberSummary, &'a [LoadReport])>);

/// Ranks `cases`, as remedies for the one that `judge` names, `normal`, or the first; `None`
/// unless `judge` requests it and every case was measured.
pub fn ranking(judge: &Judge, cases: &[Remedy<'_>]) -> Option<Ranking> {
    if !judge.rank || cases.len() < 2 || cases.iter().any(|(_, members)| members.is_empty()) {
        return None;
    }
    let normal = || cases.iter().map(|(name, _)| *name).find(|name| *name == "normal");
    let named = judge.cases.as_ref().map(|[baseline, _]| baseline.as_str());
    let baseline = named.or_else(normal).unwrap_or(cases[0].0);
    let members = || cases.iter().flat_map(|(_, members)| members);
    let last = |d: &Deviation| d.percentiles.last().map(|q| q.p);
    let percentile = members()
        .filter_map(|(member, _)| intervals(main_flow(judge, member)?))
        .map(|deviation| last(deviation).unwrap_or(0.0))
        .min_by(f64::total_cmp)
        .filter(|p| *p > 0.0);
    let mut ranked: Vec<RankedCase> =
        cases.iter().map(|case| figures(judge, percentile, case)).collect();
    rank(
        &mut ranked,
        |c| c.jitter.as_ref().map(|j| j.range_ns),
        |c, rank| {
            c.jitter.iter_mut().for_each(|j| j.rank = rank);
        },
    );
    let p99 = ranked.iter().filter_map(|c| c.round_trips.as_ref()).all(|r| r.p99_ns.is_some());
    let answer = |r: &RankedRounds| r.p99_ns.filter(|_| p99).or(r.longest_ns).unwrap_or(i64::MAX);
    rank(
        &mut ranked,
        |c| c.round_trips.as_ref().map(answer),
        |c, rank| {
            c.round_trips.iter_mut().for_each(|r| r.rank = rank);
        },
    );
    rank(
        &mut ranked,
        |c| c.throughput.as_ref().map(|t| std::cmp::Reverse(t.bps)),
        |c, rank| {
            c.throughput.iter_mut().for_each(|t| t.rank = rank);
        },
    );
    let before = ranked.iter().find(|c| c.case == baseline)?.clone();
    for case in &mut ranked {
        if let (Some(this), Some(that)) = (&mut case.throughput, &before.throughput) {
            this.lost = 1.0 - this.bps as f64 / that.bps.max(1) as f64;
        }
        case.against = against(case, &before, answer);
    }
    let decides = |c: &RankedCase| match judge.by {
        JudgeBy::RoundTrip => c.round_trips.as_ref().map(|r| r.rank),
        _ => c.jitter.as_ref().map(|j| j.rank),
    };
    // Stable: of equals the first of the file. What has no such figure comes last.
    ranked.sort_by_key(|case| decides(case).unwrap_or(usize::MAX));
    let best = ranked.iter().find(|c| c.against.is_empty() && decides(c).is_some());
    let best = best.map(|case| case.case.clone());
    Some(Ranking { baseline: baseline.to_owned(), best, percentile, cases: ranked })
}

fn figures(judge: &Judge, percentile: Option<f64>, (name, members): &Remedy<'_>) -> RankedCase {
    let mut case = RankedCase { case: (*name).to_owned(), ..RankedCase::default() };
    for (member, loads) in members {
        if let Some(flow) = main_flow(judge, member) {
            case.frames_lost += flow.counts.lost;
            if let Some(intervals) = intervals(flow) {
                let at = percentile.and_then(|p| percentile_of(intervals, p));
                let empty = Jitter { range_ns: 0, percentile_ns: at, rank: 0 };
                let all = case.jitter.get_or_insert(empty);
                all.range_ns = all.range_ns.max(intervals.range_ns);
                all.percentile_ns = all.percentile_ns.zip(at).map(|(one, other)| one.max(other));
            }
        }
        if let Some(rounds) = main_round_trips(judge, member) {
            let p99_ns = rounds.round_trip.as_ref().and_then(|times| percentile_of(times, 99.0));
            let longest_ns = rounds.round_trip.as_ref().map(|times| times.max_ns);
            let empty = RankedRounds { p99_ns, longest_ns, lost: 0, rank: 0 };
            let all = case.round_trips.get_or_insert(empty);
            all.p99_ns = all.p99_ns.zip(p99_ns).map(|(one, other)| one.max(other));
            all.longest_ns = all.longest_ns.zip(longest_ns).map(|(one, other)| one.max(other));
            all.lost += rounds.counts.lost;
        }
        let streams = loads.iter().filter(|l| matches!(l.kind, LoadKind::TcpTx | LoadKind::TcpRx));
        // Streams count kbit.
        if let Some(bps) = streams.map(|load| load.per_s() * 1_000).reduce(|sum, one| sum + one) {
            let all = case.throughput.get_or_insert(Throughput { bps, lost: 0.0, rank: 0 });
            all.bps = all.bps.min(bps);
        }
    }
    case
}

/// The flow that is ranked: the judged one, or where round trips are judged the first.
fn main_flow<'a>(judge: &Judge, member: &'a MemberSummary) -> Option<&'a FlowStatistics> {
    let name = judge.flow.as_ref().filter(|_| judge.by != JudgeBy::RoundTrip);
    name.map_or_else(|| member.flows.values().next(), |name| member.flows.get(name))
}

/// The round trips that are ranked: the judged ones, or where a flow is judged the first.
fn main_round_trips<'a>(judge: &Judge, member: &'a MemberSummary) -> Option<&'a RoundStatistics> {
    let name = judge.flow.as_ref().filter(|_| judge.by == JudgeBy::RoundTrip);
    name.map_or_else(|| member.round_trips.values().next(), |name| member.round_trips.get(name))
}

fn intervals(flow: &FlowStatistics) -> Option<&Deviation> {
    flow.timestamp_points.get(&flow.timestamp_point?)?.interval.as_ref()
}

fn percentile_of(deviation: &Deviation, p: f64) -> Option<i64> {
    deviation.percentiles.iter().find(|q| (q.p - p).abs() < 1e-9).map(|q| q.ns)
}

/// Numbers the cases by a figure of theirs, 1 for the smallest; equal ones share a rank.
fn rank<T: Ord + Copy>(
    cases: &mut [RankedCase],
    figure: impl Fn(&RankedCase) -> Option<T>,
    set: impl Fn(&mut RankedCase, usize),
) {
    let all: Vec<Option<T>> = cases.iter().map(&figure).collect();
    for (case, own) in cases.iter_mut().zip(&all) {
        set(case, 1 + all.iter().flatten().filter(|other| Some(**other) < *own).count());
    }
}

fn against(
    case: &RankedCase,
    before: &RankedCase,
    answer: impl Fn(&RankedRounds) -> i64,
) -> Vec<Against> {
    let worse = |this: Option<i64>, that: Option<i64>| {
        this.zip(that).is_some_and(|(this, that)| this as f64 > that as f64 * (1.0 + MUCH))
    };
    let lost = |c: &RankedCase| c.frames_lost + c.round_trips.as_ref().map_or(0, |r| r.lost);
    let range = |c: &RankedCase| c.jitter.as_ref().map(|jitter| jitter.range_ns);
    let rounds = |c: &RankedCase| c.round_trips.as_ref().map(&answer);
    let findings = [
        (Against::Losses, lost(case) > lost(before)),
        (Against::Jitter, worse(range(case), range(before))),
        (Against::RoundTrips, worse(rounds(case), rounds(before))),
        (Against::Throughput, case.throughput.as_ref().is_some_and(|t| t.lost > MOST_LOST)),
    ];
    findings.into_iter().filter(|(_, found)| *found).map(|(what, _)| what).collect()
}

#[cfg(test)]
#[path = "ranking_tests.rs"]
mod tests;
