//! Requirements hold or fail by the worst member, by losses, and by what was not measured.

use std::collections::BTreeMap;

use teiji_experiment::Experiment;
use teiji_stats::{Counts, PointStatistics, Series, TimestampPoint, WireStatistics};

use super::*;
use crate::test_members::{rounds, stream};

/// Of the round trips `ask`: one after so many microseconds each, and one lost.
fn member(seed: u64, times_us: &[i64]) -> MemberSummary {
    let times = times_us.iter().map(|us| us * 1_000);
    MemberSummary {
        seed,
        flows: BTreeMap::new(),
        round_trips: BTreeMap::from([("ask".to_owned(), rounds(times, 1))]),
        wire: BTreeMap::new(),
        ..MemberSummary::default()
    }
}

fn case(require: &str) -> Case {
    let text = format!(
        "name = \"e\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
         round-trips.ask = {{ from = \"a\", to = \"b\", count = 9 }}\n\
         loads = [\"tcp-tx\"]\nrequire = [{require}]\n"
    );
    Experiment::parse(&text, "e.toml").unwrap().cases.remove(0)
}

#[test]
fn a_requirement_must_hold_in_every_member_and_the_worst_is_shown() {
    let case = case(
        "\"max rtt <= 50us with lost <= 1\", \"max rtt <= 70us with lost <= 40%\", \"lost = 1\", \
         \"lost = 0\"",
    );
    let (one, two) = (member(1, &[10, 40]), member(2, &[20, 70]));
    let verdicts = verdicts(&case, &[(&one, &[]), (&two, &[])]);
    let holds: Vec<bool> = verdicts.iter().map(|v| v.holds).collect();
    assert_eq!(holds, [false, true, true, false]);
    let expected = "ask: 70 µs, seed 2 (1 of 3 requests lost, which is allowed)";
    assert_eq!(verdicts[0].measured, expected);
    assert_eq!(verdicts[1].measured, expected, "also where it holds");
    assert_eq!(verdicts[3].measured, "ask: 1");
}

/// A member whose flow `cycle` has these intervals, and lost so many of 500 frames.
fn member_that_lost(seed: u64, lost: u64) -> MemberSummary {
    let at_wire = PointStatistics {
        interval: [-13, 0, 13].into_iter().collect::<Series>().finish(),
        unseen: lost,
        ..PointStatistics::default()
    };
    let received = 500 - lost;
    let lost_in_a_row = lost / 100;
    let counts =
        Counts { planned: 500, sent: 500, received, lost, lost_in_a_row, ..Counts::default() };
    let (flow, _) = flow(9, None);
    let flow = FlowStatistics {
        counts,
        timestamp_point: Some(TimestampPoint::Wire),
        timestamp_points: BTreeMap::from([(TimestampPoint::Wire, at_wire)]),
        ..flow
    };
    let flows = BTreeMap::from([("cycle".to_owned(), flow)]);
    MemberSummary { seed, flows, ..MemberSummary::default() }
}

#[test]
fn a_required_time_fails_if_frames_were_lost_unless_loss_is_allowed() {
    let case = case_of_flows(
        "\"range <= 20us\", \"range <= 20us with lost <= 233\", \
         \"range <= 20us with lost <= 46.6%\", \"range <= 20us with lost <= 46.5%\", \
         \"range <= 20ns with lost <= 50%\", \"lost in a row <= 1\"",
    );
    let (whole, survivors) = (member_that_lost(1, 0), member_that_lost(2, 233));
    let results = |members: &[(&MemberSummary, &[LoadReport])]| -> Vec<(bool, String)> {
        verdicts(&case, members).into_iter().map(|v| (v.holds, v.measured)).collect()
    };
    let all = results(&[(&whole, &[])]);
    assert_eq!(all[0], (true, "cycle: 26 ns".to_owned()));
    assert_eq!(all[4], (false, "cycle: 26 ns".to_owned()));
    let some = results(&[(&whole, &[]), (&survivors, &[])]);
    let unknown = "cycle: 26 ns, seed 2, but 233 of 500 frames lost, and no time is known of \
                   them; `range <= 20us with lost <= N` allows some";
    assert_eq!(some[0], (false, unknown.to_owned()));
    let allowed = "cycle: 26 ns, seed 2 (233 of 500 frames lost, which is allowed)";
    for allowing in [1, 2] {
        assert_eq!(some[allowing], (true, allowed.to_owned()));
    }
    let more = "cycle: 26 ns, seed 2, but 233 of 500 frames lost, 46.5% allowed";
    assert_eq!(some[3], (false, more.to_owned()));
    let runs = [&all, &some].map(|results| results[5].clone());
    assert_eq!(runs, [(true, "cycle: 0".to_owned()), (false, "cycle: 2, seed 2".to_owned())]);
}

#[test]
fn what_was_not_measured_does_not_hold() {
    let case =
        case("\"p99.9 rtt <= 1s\", \"rate of tcp-tx >= 1Mbit/s\", \"max rtt < 1s with lost <= 1\"");
    let silent = member(1, &[]);
    assert!(verdicts(&case, &[(&silent, &[])]).iter().all(|v| !v.holds));
    assert!(verdicts(&case, &[]).iter().all(|v| !v.holds));
    // Two round trips support no such percentile.
    let few = member(1, &[10, 10]);
    let holds = |loads: &[LoadReport]| -> Vec<bool> {
        verdicts(&case, &[(&few, loads)]).iter().map(|v| v.holds).collect()
    };
    assert_eq!(holds(&[stream(1_000)]), [false, true, true]);
    assert_eq!(holds(&[stream(999)]), [false, false, true]);
}

fn case_of_flows(require: &str) -> Case {
    let flow = "from = \"a\", to = \"b\", period = \"1ms\", frames = 9";
    let text = format!(
        "name = \"e\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
         flows.cycle = {{ {flow} }}\nflows.load = {{ {flow}, background = true }}\n\
         require = [{require}]\n"
    );
    Experiment::parse(&text, "e.toml").unwrap().cases.remove(0)
}

/// Of 9 frames, so many came, with this rate on the wire.
fn flow(received: u64, rate_bps: Option<u64>) -> (FlowStatistics, WireStatistics) {
    let flow = FlowStatistics {
        counts: Counts { planned: 9, sent: 9, received, lost: 9 - received, ..Counts::default() },
        period_ns: 1_000_000,
        ..FlowStatistics::default()
    };
    (flow, WireStatistics { rate_bps, ..WireStatistics::default() })
}

fn member_of_flows(cycle_bps: Option<u64>, load_bps: Option<u64>) -> MemberSummary {
    let mut member = MemberSummary::default();
    for (name, received, bps) in [("cycle", 9, cycle_bps), ("load", 7, load_bps)] {
        let (flow, wire) = flow(received, bps);
        member.flows.insert(name.to_owned(), flow);
        member.wire.insert(name.to_owned(), wire);
    }
    member
}

#[test]
fn requirements_on_background_flows_compare_rate_and_loss() {
    let case = case_of_flows(
        "\"lost = 0\", \"lost of load = 0\", \"rate >= 8Mbit/s\", \"rate > 8Mbit/s\", \
         \"rate of load >= 94Mbit/s\", \"rate of load <= 93.9Mbit/s\"",
    );
    let member = member_of_flows(Some(8_000_000), Some(94_000_000));
    let verdicts = verdicts(&case, &[(&member, &[])]);
    let results: Vec<(bool, &str)> =
        verdicts.iter().map(|v| (v.holds, v.measured.as_str())).collect();
    assert_eq!(
        results,
        [
            (true, "cycle: 0"),
            (false, "load: 2"),
            (true, "cycle: 8.000 Mbit/s"),
            (false, "cycle: 8.000 Mbit/s"),
            (true, "load: 94.000 Mbit/s"),
            (false, "load: 94.000 Mbit/s"),
        ]
    );
}

#[test]
fn a_flow_without_capture_fulfils_no_requirement_on_its_rate() {
    let case = case_of_flows("\"rate of load <= 1Gbit/s\", \"rate of load >= 1bit/s\"");
    let without_wire = MemberSummary { wire: BTreeMap::new(), ..member_of_flows(None, None) };
    for member in [member_of_flows(Some(1), None), without_wire] {
        for verdict in verdicts(&case, &[(&member, &[])]) {
            assert!(!verdict.holds);
            assert_eq!(verdict.measured, "load: no two frames were seen on the wire");
        }
    }
    // With one seed of two, too.
    let (seen, unseen) = (member_of_flows(None, Some(2)), member_of_flows(None, None));
    let verdicts = verdicts(&case, &[(&seen, &[]), (&unseen, &[])]);
    assert!(verdicts.iter().all(|verdict| !verdict.holds));
}
