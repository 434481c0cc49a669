//! Whether a case fulfils what is required of it. Pure: statistics in, verdicts out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji::load::LoadReport;
use teiji_core::time::Span;
use teiji_experiment::{Case, Measured, RequiredCount, RequiredFigure, Requirement};
use teiji_stats::{Deviation, FlowStatistics};

use crate::MemberSummary;

/// Whether a requirement holds in a case: in each of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The case.
    pub case: String,
    /// The requirement, as it was written.
    pub requirement: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was measured, in words: of each flow or load the member that comes off worst.
    pub measured: String,
}

/// The verdicts on `case`, one for each requirement. `members` are its members, each
/// with what its loads did.
pub fn verdicts(case: &Case, members: &[(&MemberSummary, &[LoadReport])]) -> Vec<Verdict> {
    case.requirements.iter().map(|requirement| verdict(case, requirement, members)).collect()
}

fn verdict(
    case: &Case,
    requirement: &Requirement,
    members: &[(&MemberSummary, &[LoadReport])],
) -> Verdict {
    let bound = requirement.bound as f64;
    let mut found: BTreeMap<String, Vec<(u64, Option<f64>)>> = BTreeMap::new();
    for (member, loads) in members {
        for (name, value) in find(requirement, member, loads) {
            found.entry(name).or_default().push((member.seed, value));
        }
    }
    let kept = |value: Option<f64>| value.is_some_and(|v| requirement.relation.holds(v, bound));
    let excess = |value: Option<f64>| {
        value.map_or(f64::INFINITY, |value| requirement.relation.excess(value, bound))
    };
    let mut said: Vec<(bool, String)> = Vec::new();
    for (name, values) in &found {
        // Of equals the first.
        let Some(&(seed, worst)) =
            values.iter().rev().max_by(|(_, a), (_, b)| excess(*a).total_cmp(&excess(*b)))
        else {
            continue;
        };
        let show = |value: Option<f64>| {
            value.map_or_else(
                || missing(requirement.figure).to_owned(),
                |value| show(requirement.figure, value),
            )
        };
        let all_alike = values.iter().all(|(_, value)| show(*value) == show(worst));
        let seed = if all_alike { String::new() } else { format!(", seed {seed}") };
        said.push((kept(worst), format!("{name}: {}{seed}", show(worst))));
    }
    let holds = !said.is_empty() && said.iter().all(|(kept, _)| *kept);
    // Where something does not hold, that is all that is told.
    let told = said.iter().filter(|(kept, _)| *kept == holds);
    let told: Vec<&str> = told.map(|(_, said)| said.as_str()).take(4).collect();
    let measured = if told.is_empty() { "not measured".to_owned() } else { told.join("; ") };
    Verdict { case: case.name.clone(), requirement: requirement.text.clone(), holds, measured }
}

/// What one member measured of a requirement, by name; `None` where there is no such
/// figure: nothing came, or too few for the percentile.
fn find(
    requirement: &Requirement,
    member: &MemberSummary,
    loads: &[LoadReport],
) -> Vec<(String, Option<f64>)> {
    if let RequiredFigure::LoadRate(kind) = requirement.figure {
        let load = loads.iter().find(|load| load.kind == kind);
        // Streams count kbit.
        return vec![(kind.to_string(), load.map(|load| load.per_s() as f64 * 1_000.0))];
    }
    let of = |name: &String| {
        let (flow, asked) = (member.flows.get(name), member.round_trips.get(name));
        let value = match requirement.figure {
            RequiredFigure::Interval(figure) => {
                flow.and_then(intervals).and_then(|d| value_of(figure, d))
            }
            RequiredFigure::RoundTrip(figure) => {
                asked.and_then(|a| a.round_trip.as_ref()).and_then(|d| value_of(figure, d))
            }
            RequiredFigure::Count(count) => {
                let flow = flow.map(|flow| match count {
                    // What never left is as lost as what never came.
                    RequiredCount::Lost => {
                        flow.counts.planned - flow.counts.received.min(flow.counts.planned)
                    }
                    RequiredCount::Late => flow.counts.late,
                    RequiredCount::Dropped => {
                        flow.counts.dropped_missed + flow.counts.dropped_invalid
                    }
                });
                let asked = asked.and_then(|asked| match count {
                    RequiredCount::Lost => {
                        Some(asked.counts.planned - asked.counts.answered.min(asked.counts.planned))
                    }
                    RequiredCount::Late => Some(asked.counts.late),
                    RequiredCount::Dropped => None,
                });
                flow.or(asked).map(|n| n as f64)
            }
            RequiredFigure::FlowRate => {
                member.wire.get(name).and_then(|wire| wire.rate_bps).map(|bps| bps as f64)
            }
            RequiredFigure::LoadRate(_) => None,
        };
        (name.clone(), value)
    };
    requirement.of.iter().map(of).collect()
}

/// The deviations of a flow's intervals where it is judged.
fn intervals(flow: &FlowStatistics) -> Option<&Deviation> {
    flow.vantages.get(&flow.judged_at?)?.interval.as_ref()
}

fn value_of(figure: Measured, of: &Deviation) -> Option<f64> {
    match figure {
        Measured::Mean => Some(of.mean_ns),
        Measured::Min => Some(of.min_ns as f64),
        Measured::Max => Some(of.max_ns as f64),
        Measured::Range => Some(of.range_ns as f64),
        Measured::Stddev => Some(of.stddev_ns),
        Measured::Percentile(p) => {
            let found = of.percentiles.iter().find(|q| (q.p - p).abs() < 1e-9);
            found.map(|q| q.ns as f64)
        }
    }
}

/// What is said where there is no figure.
fn missing(figure: RequiredFigure) -> &'static str {
    match figure {
        // A veth pair has no analyser: the frames may well have arrived.
        RequiredFigure::FlowRate => "no two frames were seen on the wire",
        _ => "nothing measured, or too little for it",
    }
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds and counts of i64 fit")]
fn show(figure: RequiredFigure, value: f64) -> String {
    match figure {
        RequiredFigure::Count(_) => format!("{value:.0}"),
        RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => {
            format!("{:.3} Mbit/s", value / 1e6)
        }
        RequiredFigure::Interval(_) | RequiredFigure::RoundTrip(_) => {
            Span::from_ns(value.round() as i64).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teiji_core::load::LoadKind;
    use teiji_core::reception::Reception;
    use teiji_core::time::Instant;
    use teiji_experiment::Experiment;
    use teiji_stats::{Counts, RoundStatistics, RoundTerms, RoundView, WireStatistics};

    use super::*;

    /// Of the round trips `ask`: one after so many microseconds each, and one lost.
    fn member(seed: u64, times_us: &[i64]) -> MemberSummary {
        let round = |received| RoundView {
            sent: Instant::from_ns(0),
            responder_reception: Reception::UNKNOWN,
            responder_arrived: None,
            responder_left: None,
            reply_kernel: None,
            received,
            send_failed: false,
        };
        let came = times_us.iter().map(|us| round(Some(Instant::from_ns(us * 1_000))));
        let rounds: Vec<RoundView> = came.chain([round(None)]).collect();
        let terms = RoundTerms {
            planned: rounds.len() as u64,
            period: None,
            timeout: Span::from_secs(1),
            duplicated: 0,
            foreign: 0,
        };
        MemberSummary {
            seed,
            records: None,
            capture: None,
            flows: BTreeMap::new(),
            round_trips: BTreeMap::from([(
                "ask".to_owned(),
                RoundStatistics::from_rounds(&terms, rounds),
            )]),
            wire: BTreeMap::new(),
            rooms: BTreeMap::default(),
            bridge_rooms: Vec::new(),
            blocking: BTreeMap::default(),
            cards: Vec::new(),
            incomplete: false,
            clocks: Vec::new(),
            activity: teiji_core::activity::Activity::default(),
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

    fn load(kbit: u64) -> LoadReport {
        LoadReport {
            kind: LoadKind::TcpTx,
            done: kbit,
            unit: String::new(),
            ran_ms: 1_000,
            wanted_per_s: None,
            over_time: teiji::load::Timeline::default(),
            lead_ms: None,
            connection: None,
            problem: None,
        }
    }

    #[test]
    fn a_requirement_must_hold_in_every_member_and_the_worst_is_told() {
        let case = case("\"max rtt <= 50us\", \"max rtt <= 70us\", \"lost = 1\", \"lost = 0\"");
        let (one, two) = (member(1, &[10, 40]), member(2, &[20, 70]));
        let verdicts = verdicts(&case, &[(&one, &[]), (&two, &[])]);
        let holds: Vec<bool> = verdicts.iter().map(|v| v.holds).collect();
        assert_eq!(holds, [false, true, true, false]);
        assert_eq!(verdicts[0].measured, "ask: 70 µs, seed 2");
        assert_eq!(verdicts[1].measured, "ask: 70 µs, seed 2", "also where it holds");
        assert_eq!(verdicts[3].measured, "ask: 1");
    }

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let case = case("\"p99.9 rtt <= 1s\", \"rate of tcp-tx >= 1Mbit/s\", \"max rtt < 1s\"");
        let silent = member(1, &[]);
        assert!(verdicts(&case, &[(&silent, &[])]).iter().all(|v| !v.holds));
        assert!(verdicts(&case, &[]).iter().all(|v| !v.holds));
        // Two round trips support no such percentile.
        let few = member(1, &[10, 10]);
        let holds = |loads: &[LoadReport]| -> Vec<bool> {
            verdicts(&case, &[(&few, loads)]).iter().map(|v| v.holds).collect()
        };
        assert_eq!(holds(&[load(1_000)]), [false, true, true]);
        assert_eq!(holds(&[load(999)]), [false, false, true]);
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
            counts: Counts { planned: 9, sent: 9, received, ..Counts::default() },
            period_ns: 1_000_000,
            judged_at: None,
            vantages: BTreeMap::new(),
            wake_up: None,
            hand_over: None,
            send_errors: BTreeMap::new(),
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
    fn background_is_judged_where_it_is_named_by_its_rate_and_what_it_lost() {
        let case = case_of_flows(
            "\"lost = 0\", \"lost of load = 0\", \"rate >= 8Mbit/s\", \"rate > 8Mbit/s\", \
             \"rate of load >= 94Mbit/s\", \"rate of load <= 93.9Mbit/s\"",
        );
        let member = member_of_flows(Some(8_000_000), Some(94_000_000));
        let verdicts = verdicts(&case, &[(&member, &[])]);
        let told: Vec<(bool, &str)> =
            verdicts.iter().map(|v| (v.holds, v.measured.as_str())).collect();
        assert_eq!(
            told,
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
    fn a_flow_that_nobody_saw_on_the_wire_has_no_rate_that_could_hold() {
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
}
