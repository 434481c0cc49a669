//! Merges the outcomes of all machines for one case.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use teiji::RequesterLog;
use teiji::load::LoadReport;
use teiji_core::activity::Activity;
use teiji_core::reception::Reception;
use teiji_core::time::Span;
use teiji_experiment::Scenario;
use teiji_net::machine::Machine;

use super::clock::ClockDifference;
use crate::measure::ptp::SYSTEM;
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
    let synchronised = Synchronised { scenario, hosts, clocks };
    whole.warnings.extend(different_kernels(names, &outcomes));
    whole.warnings.extend(contradictions(&synchronised, names, &outcomes));
    for (at, (id, flow)) in (0..).zip(&scenario.flows).enumerate() {
        let (from, to) = (machine(&flow.from)?, machine(&flow.to)?);
        let missing = || format!("flow `{}` has no records", flow.name);
        let part = |of: usize| &outcomes[of].logs;
        whole.talkers.push(part(from).talkers.get(at).with_context(missing)?.clone());
        whole.listeners.push(part(to).listeners.get(at).with_context(missing)?.clone());
        whole.bases.insert(id, part(from).base);
        if from != to && !synchronised.is_one(from, to) {
            whole.apart.insert(id);
        }
    }
    for (at, planned) in scenario.round_trips.iter().enumerate() {
        let (from, to) = (machine(&planned.from)?, machine(&planned.to)?);
        let missing = || format!("round trips `{}` have no records", planned.name);
        let (mut requests, _) = outcomes[from].logs.rounds.get(at).with_context(missing)?.clone();
        let (_, replies) = outcomes[to].logs.rounds.get(at).with_context(missing)?;
        if from != to && !synchronised.is_one(from, to) {
            forget_responder(&mut requests);
        }
        whole.rounds.push((requests, *replies));
    }
    for (outcome, name) in outcomes.iter_mut().zip(names) {
        let warnings = outcome.logs.warnings.drain(..);
        whole.warnings.extend(warnings.map(|warning| format!("on {name}: {warning}")));
    }
    let machines = names.iter().zip(&outcomes);
    let machines =
        machines.map(|(name, outcome)| ((*name).to_owned(), outcome.observed.machine.clone()));
    let machines = machines.collect();
    for (outcome, name) in outcomes.iter_mut().zip(names) {
        let of_system = |clock: &mut String| {
            if clock == SYSTEM {
                *clock = format!("{SYSTEM} of {name}");
            }
        };
        outcome.observed.sync.iter_mut().for_each(|found| of_system(&mut found.clock));
        outcome.sync.iter_mut().for_each(|series| of_system(&mut series.clock));
        if names.len() > 1 {
            let own = outcome.observed.loads.iter_mut().filter(|load| !load.kind.needs_a_wire());
            own.for_each(|load| load.machine = Some((*name).to_owned()));
        }
    }
    let mut all = outcomes.into_iter();
    let Some(mut merged) = all.next() else { bail!("there is no machine") };
    for other in all {
        merged.observed.network.ports.extend(other.observed.network.ports);
        add_loads(&mut merged.observed.loads, other.observed.loads);
        merged.observed.sync.extend(other.observed.sync);
        merged.sync.extend(other.sync);
        merged.differences.extend(other.differences);
        merged.computed.extend(other.computed);
        merged.traced.extend(other.traced);
    }
    merged.observed.machines = machines;
    if names.len() > 1 {
        // By number of CPU, and each machine has a CPU 0.
        merged.observed.activity = Activity::default();
        merged.observed.cpu_time.clear();
    }
    merged.logs = whole;
    Ok(merged)
}

/// A load between two machines is reported by both, each of which has an end of it.
fn add_loads(all: &mut Vec<LoadReport>, more: Vec<LoadReport>) {
    for load in more {
        let end = |other: &&mut LoadReport| load.kind.needs_a_wire() && other.kind == load.kind;
        match all.iter_mut().find(end) {
            Some(end) => *end = end.clone().with_other_end(load),
            None => all.push(load),
        }
    }
}

/// Whose system clocks are one.
struct Synchronised<'a> {
    scenario: &'a Scenario,
    hosts: &'a [BTreeSet<String>],
    clocks: &'a [ClockDifference],
}

impl Synchronised<'_> {
    /// By PTP.
    fn by_ptp(&self, one: usize, other: usize) -> bool {
        let takes_part = |machine: usize| {
            let hosts = self.scenario.hosts.iter().filter(|host| host.ptp.is_some());
            hosts.map(|host| &host.name).any(|host| self.hosts[machine].contains(host))
        };
        self.scenario.synchronises_system_clocks() && takes_part(one) && takes_part(other)
    }

    /// By PTP, and messages say nothing else.
    fn is_one(&self, one: usize, other: usize) -> bool {
        self.by_ptp(one, other) && self.clocks[one].may_equal(&self.clocks[other])
    }
}

/// A sentence for each machine whose clock is one with the first's by PTP, and not by messages.
fn contradictions(
    synchronised: &Synchronised<'_>,
    names: &[&str],
    outcomes: &[Outcome],
) -> Vec<String> {
    let clocks = synchronised.clocks;
    let worst = |of: usize| {
        let offsets = outcomes[of].observed.sync.iter().map(|clock| clock.worst_ns.unsigned_abs());
        offsets.max().unwrap_or_default()
    };
    let apart = |&(one, other): &(usize, usize)| {
        synchronised.by_ptp(one, other) && !synchronised.is_one(one, other)
    };
    let all = names.len();
    let pairs = (0..all).flat_map(|one| (one + 1..all).map(move |other| (one, other)));
    let sentence = |(one, other): (usize, usize)| {
        let ns = i64::try_from(worst(one).max(worst(other))).unwrap_or(i64::MAX);
        format!(
            "There are no one-way figures between {0} and {1}: their clocks differed by at most {2} as \
             measured by PTP, but the clock of {1} was ahead by {3} as measured by messages. Stop other \
             programs that set clocks (chrony, systemd-timesyncd).",
            names[one],
            names[other],
            Span::from_ns(ns),
            clocks[other].from(&clocks[one])
        )
    };
    pairs.filter(apart).map(sentence).collect()
}

/// What the kernels are, if they differ by version or `PREEMPT_RT`; their names contain the architecture, too.
fn different_kernels(names: &[&str], outcomes: &[Outcome]) -> Option<String> {
    let machines = || outcomes.iter().map(|outcome| &outcome.observed.machine);
    let kind = |machine: &Machine| (machine.kernel_version_number(), machine.preempt_rt);
    let first = kind(machines().next()?);
    let differ = machines().any(|machine| kind(machine) != first);
    let is = |(name, machine): (&&str, &Machine)| {
        let preemption = if machine.preempt_rt { "with" } else { "without" };
        let release = machine.kernel_release.as_deref().unwrap_or("unknown");
        format!("{release} ({preemption} PREEMPT_RT) on {name}")
    };
    let all = || names.iter().zip(machines()).map(is).collect::<Vec<_>>().join(", ");
    differ.then(|| format!("the kernels differ: {}.", all()))
}

/// The responder's instants are of another clock.
fn forget_responder(requests: &mut RequesterLog) {
    for round in &mut requests.rounds {
        round.reflector_arrived = None;
        round.reflector_sent = None;
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
    use teiji::load::LoadKind;
    use teiji::roundtrip::{ReflectedCounts, RoundTrip};
    use teiji::{ListenerLog, TalkerLog};
    use teiji_core::time::{Instant, Tai};
    use teiji_experiment::Case;
    use teiji_experiment::reader::{NicSource, Reader};
    use teiji_record::ObservedCase;
    use teiji_record::summary::ClockSummary;

    use super::*;
    use crate::measure::ptp::series::SyncSeries;

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
            reflector_sent: Some(at(2)),
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

    /// Two hosts with flows in both directions and round trips, and `more` in the file.
    fn case(more: &str) -> Case {
        let text = format!(
            "name = \"e\"\nquestion = \"?\"\nwires.line = {{ between = [\"a\", \"b\"] }}\n{more}\
             flows.there = {{ from = \"a\", to = \"b\", period = \"1ms\", frames = 9 }}\n\
             flows.back = {{ from = \"b\", to = \"a\", period = \"1ms\", frames = 9 }}\n\
             round-trips.ask = {{ from = \"a\", to = \"b\", period = \"1ms\", count = 1 }}\n"
        );
        let reading = Reader::new("e.toml").nics(NicSource::Own).read(&text);
        reading.experiment.unwrap().cases.remove(0)
    }

    /// What both machines give together, the second of which is so many ns ahead by messages and by PTP
    /// 7 µs.
    fn together(case: &Case, ahead: i64) -> Outcome {
        let hosts = ["a", "b"].map(|host| BTreeSet::from([host.to_owned()]));
        let clocks = [0, ahead].map(|ahead| ClockDifference::read(at(0), at(ahead), at(0)));
        let mut parts = vec![outcome(100, true), outcome(100, false)];
        for (part, clock) in parts.iter_mut().zip(["a.line", SYSTEM]) {
            part.observed.sync.push(ClockSummary {
                clock: clock.to_owned(),
                reference: "somebody".to_owned(),
                settled_ns: 1,
                samples: 1,
                mean_ns: 0.0,
                rms_ns: 0.0,
                worst_ns: -7_000,
            });
            part.sync.push(SyncSeries { clock: clock.to_owned(), samples: Vec::new() });
        }
        outcomes(&case.scenario, &["x", "y"], &hosts, &clocks, parts).unwrap()
    }

    #[test]
    fn one_way_figures_need_clocks_that_ptp_synchronised_and_messages_confirm() {
        let software = case(
            "hosts.a.ptp = { role = \"grandmaster\", timestamps = \"software\" }\n\
             hosts.b.ptp = { role = \"slave\", timestamps = \"software\" }\n",
        );
        let system = case(
            "hosts.a.ptp = { role = \"grandmaster\" }\n\
             hosts.b.ptp = { role = \"slave\", system-clock = true }\n",
        );
        for case in [software, system] {
            let one = together(&case, 500_000);
            assert_eq!(one.logs.apart, BTreeSet::new());
            assert_eq!(one.logs.rounds[0].0.rounds[0].reflector_sent, Some(at(2)));
            let clocks: Vec<&str> =
                one.observed.sync.iter().map(|found| found.clock.as_str()).collect();
            assert_eq!(clocks, ["a.line", "the system of y"]);
            assert_eq!(one.sync[1].clock, "the system of y");
            assert_eq!(one.logs.warnings.len(), 3);

            let apart = together(&case, 5_000_000);
            assert_eq!(apart.logs.apart, BTreeSet::from([0, 1]));
            assert_eq!(apart.logs.rounds[0].0.rounds[0].reflector_sent, None);
            let warning = &apart.logs.warnings[1];
            assert!(
                warning.contains("at most 7 µs as") && warning.contains("by 5 ms ± 0 s as"),
                "{warning}"
            );
        }
        let nics =
            case("hosts.a.ptp = { role = \"grandmaster\" }\nhosts.b.ptp = { role = \"slave\" }\n");
        let of_nics = together(&nics, 0);
        assert_eq!(of_nics.logs.apart, BTreeSet::from([0, 1]));
        assert_eq!(of_nics.logs.warnings.len(), 3);
    }

    #[test]
    fn each_role_is_taken_from_its_hosts_machine() {
        let case = case("");
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
        assert_eq!(requests.rounds[0].reflector_sent, None, "it is of another clock");
        let sentence =
            "ahead of the clock of x was, measured by messages, that of y by 5 ms ± 0 s.";
        assert_eq!(logs.warnings[0], sentence);
        assert_eq!(logs.warnings[1..], ["on x: it is warm.", "on y: it is warm."]);
        assert_eq!(all.observed.machines.keys().collect::<Vec<_>>(), ["x", "y"]);
        assert!(outcomes(&case.scenario, &["x"], &hosts, &clocks, Vec::new()).is_err());
    }

    #[test]
    fn a_load_between_machines_is_one_and_others_are_of_each() {
        let case = case("");
        let hosts = ["a", "b"].map(|host| BTreeSet::from([host.to_owned()]));
        let clocks = [0, 0].map(|ahead| ClockDifference::read(at(0), at(ahead), at(0)));
        let mut parts = vec![outcome(100, true), outcome(100, false)];
        for (part, arrived) in parts.iter_mut().zip([0, 7]) {
            let loads =
                [(LoadKind::TcpTx, arrived), (LoadKind::Cpu, 3), (LoadKind::UdpRx, 9 - arrived)];
            part.observed.loads =
                loads.map(|(kind, done)| LoadReport::new(kind, done, done)).to_vec();
        }
        parts[1].observed.loads.pop();
        parts[0].observed.loads[0].problem = Some("its connection broke".to_owned());
        let all = outcomes(&case.scenario, &["x", "y"], &hosts, &clocks, parts).unwrap();
        let loads = all.observed.loads.iter().map(|load| (load.kind, load.done, load.ran_ms));
        let of_all = [
            (LoadKind::TcpTx, 7, 7),
            (LoadKind::Cpu, 3, 3),
            (LoadKind::UdpRx, 9, 9),
            (LoadKind::Cpu, 3, 3),
        ];
        assert_eq!(loads.collect::<Vec<_>>(), of_all);
        assert_eq!(all.observed.loads[0].problem.as_deref(), Some("its connection broke"));
        let names: Vec<String> = all.observed.loads.iter().map(LoadReport::name).collect();
        assert_eq!(names, ["tcp-tx", "cpu on x", "udp-rx", "cpu on y"]);
    }

    #[test]
    fn kernels_that_differ_are_named() {
        let with = |kernels: [(&str, bool); 2]| {
            let parts = kernels.map(|(release, preempt_rt)| {
                let mut part = outcome(100, true);
                part.observed.machine.kernel_release = Some(release.to_owned());
                part.observed.machine.preempt_rt = preempt_rt;
                part
            });
            different_kernels(&["x", "y"], &parts)
        };
        assert_eq!(with([("6.12.9-rt-amd64", true), ("6.12.95-rt-arm64", true)]), None);
        let sentence = with([("6.12.9-rt-amd64", true), ("6.1.0-amd64", false)]).unwrap();
        assert_eq!(
            sentence,
            "the kernels differ: 6.12.9-rt-amd64 (with PREEMPT_RT) on x, 6.1.0-amd64 (without \
             PREEMPT_RT) on y."
        );
    }
}
