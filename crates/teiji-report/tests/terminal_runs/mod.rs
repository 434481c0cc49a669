//! Runs to print, made of deviations that a reader can check by hand.

use std::collections::BTreeMap;

use teiji_record::summary::Testbed;
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_stats::{Counts, FlowStatistics, PointStatistics, Series, TimestampPoint};

/// Frames of every member.
pub const FRAMES: u64 = 1_000;

/// As many deviations as [`FRAMES`] have, evenly from `low_ns` to `high_ns` in
/// whole microseconds.
pub fn between(low_ns: i64, high_ns: i64) -> Vec<i64> {
    let steps = i64::try_from(FRAMES).unwrap() - 2;
    (0..=steps).map(|i| (low_ns + (high_ns - low_ns) * i / steps) / 1_000 * 1_000).collect()
}

/// A flow seen at `timestamp point`; at none if there is no deviation.
pub fn flow(point: TimestampPoint, deviations: &[i64]) -> FlowStatistics {
    let resolution_ns = (point == TimestampPoint::Wire).then_some(1_000);
    let interval = deviations.iter().copied().collect::<Series>().finish();
    let seen =
        PointStatistics { interval, unseen: 0, schedule: None, centred: false, resolution_ns };
    FlowStatistics {
        counts: Counts { planned: FRAMES, sent: FRAMES, received: FRAMES, ..Counts::default() },
        period_ns: 1_000_000,
        timestamp_point: (!deviations.is_empty()).then_some(point),
        timestamp_points: if deviations.is_empty() {
            BTreeMap::new()
        } else {
            BTreeMap::from([(point, seen)])
        },
        ..FlowStatistics::default()
    }
}

/// A case with one member for each of `flows`, seeds from 1.
pub fn case(name: &str, flows: Vec<FlowStatistics>) -> CaseSummary {
    CaseSummary {
        name: name.to_owned(),
        about: String::new(),
        paper_result: Some(name.to_owned()),
        members: (1..)
            .zip(flows)
            .map(|(seed, flow)| MemberSummary {
                seed,
                flows: BTreeMap::from([("cycle".to_owned(), flow)]),
                ..MemberSummary::default()
            })
            .collect(),
    }
}

/// A run in the laboratory with the first study beside it.
pub fn run(cases: Vec<CaseSummary>) -> Summary {
    Summary {
        question: "Does a launch time (ETF) make periodic sending more regular?".to_owned(),
        paper: Some("etf".to_owned()),
        warnings: vec![
            "The laboratory emulates the NIC: the figures show the software and are not \
             representative of real NICs."
                .to_owned(),
        ],
        ..Summary::new("etf", Testbed::Lab, cases)
    }
}

/// `normal` and `etf`, seen on the wire.
pub fn two_cases() -> Summary {
    run(vec![
        case("normal", vec![flow(TimestampPoint::Wire, &between(-43_000, 19_000))]),
        case("etf", vec![flow(TimestampPoint::Wire, &between(-1_000, 1_000))]),
    ])
}

/// The same with three seeds.
pub fn ensemble() -> Summary {
    let members = |ends: [(i64, i64); 3]| {
        ends.map(|(low, high)| flow(TimestampPoint::Wire, &between(low, high))).to_vec()
    };
    run(vec![
        case("normal", members([(-21_000, 4_000), (-22_000, 2_000), (-23_000, 3_000)])),
        case("etf", members([(-1_000, 1_000), (-1_000, 2_000), (-10_000, 10_000)])),
    ])
}
