//! What is best, and what speaks against a case.

use std::collections::BTreeMap;

use teiji_stats::{Counts, PointStatistics, Series, TimestampPoint};

use super::*;
use crate::test_members::{rounds, stream};

/// A member whose intervals deviate by up to `jitter_us` and whose round trips take up to
/// `longest_us`, 200 of each; `lost` requests more have no reply.
fn member(jitter_us: i64, longest_us: i64, lost: usize) -> MemberSummary {
    let interval = (0..=200).map(|i| jitter_us * 5 * i).collect::<Series>().finish();
    let seen = PointStatistics { interval, ..PointStatistics::default() };
    let flow = FlowStatistics {
        counts: Counts { planned: 201, sent: 201, received: 201, ..Counts::default() },
        period_ns: 1_000_000,
        timestamp_point: Some(TimestampPoint::Wire),
        timestamp_points: BTreeMap::from([(TimestampPoint::Wire, seen)]),
        ..FlowStatistics::default()
    };
    let times_ns = (1..=200).map(|i| longest_us * 5 * i);
    MemberSummary {
        seed: 1,
        flows: BTreeMap::from([("cycle".to_owned(), flow)]),
        round_trips: BTreeMap::from([("ask".to_owned(), rounds(times_ns, lost))]),
        ..MemberSummary::default()
    }
}

fn by(by: JudgeBy) -> Judge {
    Judge { by, rank: true, ..Judge::default() }
}

/// Cases of one member each, with their streams' kbit/s.
fn ranked(judge: &Judge, cases: &[(&str, MemberSummary, u64)]) -> Ranking {
    let loads: Vec<[LoadReport; 1]> = cases.iter().map(|(.., kbit)| [stream(*kbit)]).collect();
    let remedies: Vec<Remedy<'_>> = cases
        .iter()
        .zip(&loads)
        .map(|((name, member, _), loads)| (*name, vec![(member, loads.as_slice())]))
        .collect();
    ranking(judge, &remedies).unwrap()
}

fn order(ranking: &Ranking) -> Vec<&str> {
    ranking.cases.iter().map(|case| case.case.as_str()).collect()
}

#[test]
fn the_ranked_figure_orders_and_expensive_cases_are_excluded() {
    let cases = [
        ("none", member(1_000, 5_000, 0), 1_000),
        ("slow", member(1, 5_000, 0), 899),
        ("mute", member(2, 5_000, 1), 1_000),
        ("late", member(3, 6_300, 0), 1_000),
        ("good", member(4, 6_200, 0), 901),
        ("quick", member(1_300, 100, 0), 1_000),
    ];
    let found = ranked(&by(JudgeBy::Interval), &cases);
    assert_eq!(order(&found), ["slow", "mute", "late", "good", "none", "quick"]);
    assert_eq!((found.baseline.as_str(), found.best.as_deref()), ("none", Some("good")));
    assert_eq!(found.percentile, Some(99.0));
    let against: Vec<&[Against]> = found.cases.iter().map(|c| c.against.as_slice()).collect();
    let expected: [&[Against]; 6] = [
        &[Against::Throughput],
        &[Against::Losses],
        &[Against::RoundTrips],
        &[],
        &[],
        &[Against::Jitter],
    ];
    assert_eq!(against, expected);
    let good = &found.cases[3];
    let jitter = good.jitter.as_ref().unwrap();
    assert_eq!((jitter.range_ns, jitter.rank), (4_000, 4));
    assert_eq!(good.round_trips.as_ref().unwrap().rank, 5);
    let throughput = good.throughput.as_ref().unwrap();
    assert_eq!((throughput.bps, throughput.rank), (901_000, 5));
    assert!((throughput.lost - 0.099).abs() < 1e-9);

    let found = ranked(&by(JudgeBy::RoundTrip), &cases);
    assert_eq!(order(&found)[0], "quick");
    assert_eq!(found.best.as_deref(), Some("none"), "the only other one jitters more");
}

#[test]
fn of_several_seeds_the_worst_counts() {
    let (calm, wild) = (member(1, 10, 0), member(50, 400, 1));
    let only = member(20, 100, 0);
    let (much, little) = ([stream(100)], [stream(40)]);
    let remedies: [Remedy<'_>; 2] = [
        ("two", vec![(&calm, &much[..]), (&wild, &little[..])]),
        ("one", vec![(&only, &much[..])]),
    ];
    let found = ranking(&by(JudgeBy::Interval), &remedies).unwrap();
    assert_eq!(order(&found), ["one", "two"]);
    let two = &found.cases[1];
    assert_eq!(two.jitter.as_ref().unwrap().range_ns, 50_000);
    let rounds = two.round_trips.as_ref().unwrap();
    assert_eq!((rounds.longest_ns, rounds.lost), (Some(400_000), 1));
    assert_eq!(two.throughput.as_ref().unwrap().bps, 40_000);
}

#[test]
fn without_a_request_or_with_a_missing_case_there_is_no_ranking() {
    let member = member(1, 10, 0);
    let whole: [Remedy<'_>; 2] = [("a", vec![(&member, &[])]), ("b", vec![(&member, &[])])];
    assert_eq!(ranking(&Judge::default(), &whole), None);
    assert!(ranking(&by(JudgeBy::Interval), &whole).is_some());
    let missing: [Remedy<'_>; 2] = [("a", vec![(&member, &[])]), ("b", Vec::new())];
    assert_eq!(ranking(&by(JudgeBy::Interval), &missing), None);
}
