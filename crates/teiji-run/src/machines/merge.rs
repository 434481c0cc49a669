//! Merges the outcomes of several machines for one case.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use teiji::RequesterLog;
use teiji_core::activity::Activity;
use teiji_core::reception::Reception;
use teiji_experiment::Scenario;

use super::clock::ClockDifference;
use crate::measure::{Logs, Outcome};

/// One outcome: of each role what the machine of its host recorded, of the machines what each
/// observed. `hosts`: whose machine each is.
///
/// # Errors
/// If a part is missing.
pub fn outcomes(
    scenario: &Scenario,
    names: &[&str],
    hosts: &[BTreeSet<String>],
    clocks: &[ClockDifference],
    mut outcomes: Vec<Outcome>,
) -> anyhow::Result<Outcome> {
    let machine = |host: &str| {
        let of = hosts.iter().position(|hosts| hosts.contains(host));
        of.with_context(|| format!("host `{host}` is on no machine"))
    };
    if outcomes.len() != hosts.len() || outcomes.is_empty() {
        bail!("there are outcomes of {} machines of {}", outcomes.len(), hosts.len());
    }
    let mut whole = Logs {
        base: outcomes[0].logs.base,
        bases: BTreeMap::new(),
        apart: BTreeSet::new(),
        talkers: Vec::new(),
        listeners: Vec::new(),
        rounds: Vec::new(),
        warnings: clocks_apart(names, clocks).into_iter().collect(),
    };
    for (at, (id, flow)) in (0..).zip(&scenario.flows).enumerate() {
        let (from, to) = (machine(&flow.from)?, machine(&flow.to)?);
        let missing = || format!("flow `{}` has no records", flow.name);
        let part = |of: usize| &outcomes[of].logs;
        whole.talkers.push(part(from).talkers.get(at).with_context(missing)?.clone());
        whole.listeners.push(part(to).listeners.get(at).with_context(missing)?.clone());
        whole.bases.insert(id, part(from).base);
        if from != to {
            whole.apart.insert(id);
        }
    }
    for (at, asked) in scenario.round_trips.iter().enumerate() {
        let (from, to) = (machine(&asked.from)?, machine(&asked.to)?);
        let missing = || format!("round trips `{}` have no records", asked.name);
        let (mut requests, _) = outcomes[from].logs.rounds.get(at).with_context(missing)?.clone();
        let (_, replies) = outcomes[to].logs.rounds.get(at).with_context(missing)?;
        if from != to {
            forget_responder(&mut requests);
        }
        whole.rounds.push((requests, *replies));
    }
    for (outcome, name) in outcomes.iter_mut().zip(names) {
        let said = outcome.logs.warnings.drain(..);
        whole.warnings.extend(said.map(|said| format!("on {name}: {said}")));
    }
    let machines = names.iter().zip(&outcomes);
    let machines =
        machines.map(|(name, outcome)| ((*name).to_owned(), outcome.observed.machine.clone()));
    let machines = machines.collect();
    let mut all = outcomes.into_iter();
    let Some(mut merged) = all.next() else { bail!("there is no machine") };
    for other in all {
        merged.observed.network.ports.extend(other.observed.network.ports);
        merged.observed.loads.extend(other.observed.loads);
        merged.differences.extend(other.differences);
        merged.computed.extend(other.computed);
    }
    merged.observed.machines = machines;
    // By number of CPU, and each machine has a CPU 0.
    merged.observed.activity = Activity::default();
    merged.observed.cpu_time.clear();
    merged.logs = whole;
    Ok(merged)
}

/// The responder's instants are of another clock.
fn forget_responder(requests: &mut RequesterLog) {
    for round in &mut requests.rounds {
        round.reflector_arrived = None;
        round.reflector_left = None;
        round.reflector_reception = Reception::UNKNOWN;
    }
}

/// How far the clocks are from the first one.
fn clocks_apart(names: &[&str], clocks: &[ClockDifference]) -> Option<String> {
    let (reference, first) = (clocks.first()?, names.first()?);
    let others = names.iter().zip(clocks).skip(1);
    let others: Vec<String> = others
        .map(|(name, clock)| format!("that of {name} by {}", clock.from(reference)))
        .collect();
    (!others.is_empty()).then(|| {
        format!("ahead of the clock of {first} was, measured by messages, {}.", others.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use teiji::roundtrip::{ReflectedCounts, RoundTrip};
    use teiji::{ListenerLog, TalkerLog};
    use teiji_core::time::{Instant, Tai};
    use teiji_experiment::Experiment;
    use teiji_record::ObservedCase;

    use super::*;

    fn at(ns: i64) -> Instant<Tai> {
        Instant::from_ns(ns)
    }

    /// What a machine that begins at `base` gives: a role that is not its own has nothing.
    fn outcome(base: i64, talks: bool) -> Outcome {
        let talker = |flow, here: bool| TalkerLog {
            flow,
            frames: Vec::new(),
            interrupted: here,
            stamps_requested: false,
        };
        let listener = |here| ListenerLog { foreign: u64::from(here), ..ListenerLog::default() };
        let round = RoundTrip {
            reflector_arrived: Some(at(1)),
            reflector_left: Some(at(2)),
            received: Some(at(base + 9)),
            ..RoundTrip::sent(0, at(base))
        };
        let rounds = if talks { vec![round] } else { Vec::new() };
        let replies = ReflectedCounts { answered: u64::from(!talks), ..Default::default() };
        Outcome {
            logs: Logs {
                base: at(base),
                bases: BTreeMap::new(),
                apart: BTreeSet::new(),
                talkers: vec![talker(0, talks), talker(1, !talks)],
                listeners: vec![listener(!talks), listener(talks)],
                rounds: vec![(RequesterLog { rounds, ..RequesterLog::default() }, replies)],
                warnings: vec!["it is warm.".to_owned()],
            },
            observed: ObservedCase {
                machine: teiji_net::machine::observe(),
                machines: BTreeMap::new(),
                network: teiji_net::Observed::default(),
                turns: Vec::new(),
                loads: Vec::new(),
                sync: Vec::new(),
                activity: Activity::default(),
                cpu_time: BTreeMap::new(),
                warnings: Vec::new(),
            },
            differences: Vec::new(),
            computed: BTreeSet::new(),
            traced: Vec::new(),
            sync: Vec::new(),
        }
    }

    #[test]
    fn each_role_is_taken_from_its_hosts_machine() {
        let text = "name = \"e\"\nquestion = \"?\"\nwires.line = { between = [\"a\", \"b\"] }\n\
                    flows.there = { from = \"a\", to = \"b\", period = \"1ms\", frames = 9 }\n\
                    flows.back = { from = \"b\", to = \"a\", period = \"1ms\", frames = 9 }\n\
                    round-trips.ask = { from = \"a\", to = \"b\", period = \"1ms\", count = 1 }\n";
        let case = Experiment::parse(text, "e.toml").unwrap().cases.remove(0);
        let hosts = ["a", "b"].map(|host| BTreeSet::from([host.to_owned()]));
        let clocks = [0, 5_000_000].map(|ahead| ClockDifference::read(at(0), at(ahead), at(0)));
        let parts = vec![outcome(100, true), outcome(5_000_100, false)];
        let all = outcomes(&case.scenario, &["x", "y"], &hosts, &clocks, parts).unwrap();
        let logs = &all.logs;
        assert!(logs.talkers.iter().all(|talker| talker.interrupted), "those that talked");
        assert!(logs.listeners.iter().all(|listener| listener.foreign == 1), "that listened");
        assert_eq!((logs.base_of(0), logs.base_of(1)), (at(100), at(5_000_100)));
        assert_eq!(logs.apart, BTreeSet::from([0, 1]));
        let (requests, replies) = &logs.rounds[0];
        assert_eq!(replies.answered, 1);
        assert_eq!(requests.rounds[0].received, Some(at(109)));
        assert_eq!(requests.rounds[0].reflector_left, None, "it is of another clock");
        let sentence =
            "ahead of the clock of x was, measured by messages, that of y by 5 ms ± 0 s.";
        assert_eq!(logs.warnings[0], sentence);
        assert_eq!(logs.warnings[1..], ["on x: it is warm.", "on y: it is warm."]);
        assert_eq!(all.observed.machines.keys().collect::<Vec<_>>(), ["x", "y"]);
        assert!(outcomes(&case.scenario, &["x"], &hosts, &clocks, Vec::new()).is_err());
    }
}
