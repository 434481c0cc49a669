//! The set-up of a run as sections for the report: what was observed, and
//! beside it what was planned.

use std::collections::BTreeMap;

use teiji::load::LoadReport;
use teiji::turns::Turns;
use teiji_experiment::{Case, Experiment, InstructionTime, Port};
use teiji_lab::machine::SLICE_US;
use teiji_net::observe::ObservedPort;
use teiji_net::qdisc::{Handle, compile, words};
use teiji_net::{Machine, Observed, processing, vtsn};
use teiji_record::Manifest;
use teiji_report::{SetupEntry, SetupSection};

/// The sections for the report, most important first.
pub fn sections(manifest: &Manifest, experiment: Option<&Experiment>) -> Vec<SetupSection> {
    let mut sections = Vec::new();
    let mut seen_machine: Option<Machine> = None;
    let mut seen_cases: Vec<&str> = Vec::new();
    for (case, seed, observed) in manifest.observed.iter() {
        match &seen_machine {
            None => {
                if observed.machines.is_empty() {
                    sections.push(machine("Machine", &observed.machine));
                }
                let several = observed.machines.iter();
                sections
                    .extend(several.map(|(name, seen)| machine(&format!("Machine {name}"), seen)));
                sections.extend(lab(manifest, experiment));
                sections.extend(turns(&observed.turns));
            }
            // A case may have a kernel of its own.
            Some(seen) if seen.kernel_version != observed.machine.kernel_version => {
                sections
                    .push(machine(&format!("Machine of {case} seed {seed}"), &observed.machine));
            }
            Some(_) => {}
        }
        seen_machine = Some(observed.machine.clone());
        // Members of one case differ in their seed only: show the first.
        if seen_cases.contains(&case) {
            continue;
        }
        seen_cases.push(case);
        let planned = experiment.and_then(|e| e.cases.iter().find(|c| c.name == case));
        sections.extend(loads(case, &observed.loads));
        sections.extend(system(case, &observed.network, planned));
        sections.extend(observed.network.ports.iter().map(|p| port(case, p, planned)));
    }
    sections.push(run(manifest));
    sections
}

fn entry(key: &str, observed: impl Into<String>) -> SetupEntry {
    SetupEntry { key: key.to_owned(), observed: observed.into(), planned: None }
}

fn known(entries: &mut Vec<SetupEntry>, key: &str, value: Option<&String>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        entries.push(entry(key, value));
    }
}

fn machine(title: &str, machine: &Machine) -> SetupSection {
    let mut entries = Vec::new();
    known(&mut entries, "kernel", machine.kernel_release.as_ref());
    known(&mut entries, "version", machine.kernel_version.as_ref());
    let preemption = if machine.preempt_rt { "PREEMPT_RT" } else { "not PREEMPT_RT" };
    entries.push(entry("preemption", preemption));
    known(&mut entries, "processor", machine.cpu_model.as_ref());
    known(&mut entries, "processors in use", machine.cpus_online.as_ref());
    known(&mut entries, "clock source", machine.clocksource.as_ref());
    entries.push(entry("TAI − REALTIME", machine.tai_offset.to_string()));
    known(&mut entries, "frequency governor", machine.governor.as_ref());
    known(&mut entries, "real-time throttling", machine.rt_throttling().as_ref());
    known(&mut entries, "command line", machine.command_line.as_ref());
    SetupSection { title: title.to_owned(), entries }
}

fn lab(manifest: &Manifest, experiment: Option<&Experiment>) -> Option<SetupSection> {
    let lab = manifest.lab.as_ref()?;
    let mut entries = Vec::new();
    known(&mut entries, "kernel package", lab.kernel.package.as_ref());
    entries.push(entry("kernel image, SHA-256", &lab.kernel.sha256));
    entries.push(entry("QEMU", &lab.qemu));
    entries.push(entry("virtual processors", lab.cpus.to_string()));
    let time = match experiment.map(Experiment::instruction_times).unwrap_or_default().as_slice() {
        // That of the first case is in the manifest, too.
        [] | [_] => InstructionTime::of(lab.icount_shift, lab.slowdown)
            .map_or_else(|| "unknown".to_owned(), |time| time.to_string()),
        several => {
            let texts =
                several.iter().map(|(time, cases)| format!("{time} ({})", cases.join(", ")));
            texts.collect::<Vec<_>>().join(" or ")
        }
    };
    entries
        .push(entry("time", format!("virtual: {time} per guest instruction, idle time skipped")));
    entries.push(entry("a seed changes", &lab.seed_meaning));
    entries.push(entry("machine", lab.qemu_command.join(" ")));
    Some(SetupSection { title: "Laboratory (emulated)".to_owned(), entries })
}

/// What a case's loads did.
fn loads(case: &str, loads: &[LoadReport]) -> Option<SetupSection> {
    let entries = loads.iter().map(|load| entry(&load.name(), load.to_string())).collect();
    (!loads.is_empty()).then(|| SetupSection { title: format!("Case {case}: loads"), entries })
}

/// What the virtual processors cost each other.
fn turns(turns: &[Turns]) -> Option<SetupSection> {
    let mut entries = vec![entry(
        "turns",
        format!(
            "one processor's instructions for all: n busy ones are each n times slower; slices end \
             after {SLICE_US} µs at most"
        ),
    )];
    entries.extend(turns.iter().map(|turns| {
        let [a, b] = turns.cpus;
        let Turns { mean, worst, round_trips, .. } = turns;
        entry(
            &format!("round trip {a} – {b}"),
            format!("{mean} on average, {worst} at worst, of {round_trips} while both were busy"),
        )
    }));
    (!turns.is_empty())
        .then(|| SetupSection { title: "Virtual processors that take turns".to_owned(), entries })
}

/// What the kernel had of what the case changes of it.
fn system(case: &str, network: &Observed, planned: Option<&Case>) -> Option<SetupSection> {
    let hosts = planned.into_iter().flat_map(|case| &case.scenario.hosts);
    let wanted: BTreeMap<String, String> = hosts.flat_map(teiji_net::system::planned).collect();
    let entries = network.system.iter().map(|(key, value)| SetupEntry {
        key: key.clone(),
        observed: value.clone(),
        planned: wanted.get(key).cloned(),
    });
    let entries: Vec<SetupEntry> = entries.collect();
    let title = format!("Case {case}: the kernel");
    (!entries.is_empty()).then_some(SetupSection { title, entries })
}

fn port(case: &str, port: &ObservedPort, planned: Option<&Case>) -> SetupSection {
    let wanted: Option<&Port> = planned.and_then(|case| case.scenario.port(&port.host, &port.wire));
    let mut entries = vec![entry("interface", &port.ifname)];
    if let Some(driver) = &port.driver {
        entries.push(entry("driver", format!("{} {}", driver.name, driver.version).trim_end()));
    }
    let speed = port.speed_mbps.map(|mbps| format!("{mbps} Mbit/s"));
    known(&mut entries, "speed", speed.as_ref());
    entries.push(entry("state", &port.state));
    entries.push(entry("MTU", format!("{} bytes", port.mtu)));
    entries.push(SetupEntry {
        key: "transmit queues".to_owned(),
        // The channels in use; a driver allocates as many queues as it might need.
        observed: port
            .channels
            .map_or(port.tx_queues, teiji_net::real_nic::Channels::tx_queues)
            .to_string(),
        planned: wanted.and_then(|port| port.queues).map(|n| n.to_string()),
    });
    entries.push(entry("addresses", port.addresses.join(", ")));
    entries.extend(settings(port, planned));
    entries.extend(qdiscs(port, wanted));
    let title = format!("Case {case}: {} on {}", port.host, port.wire);
    SetupSection { title, entries }
}

/// What the driver says of itself, and what it counted.
fn settings(port: &ObservedPort, planned: Option<&Case>) -> Vec<SetupEntry> {
    let scenario = planned.map(|case| &case.scenario);
    let wanted = scenario.and_then(|scenario| {
        let own = scenario.port(&port.host, &port.wire)?;
        let mut wanted = vtsn::planned(scenario.wire(&port.wire)?, own);
        wanted.extend(processing::planned(own));
        Some(wanted)
    });
    let wanted = wanted.unwrap_or_default();
    let mut entries = Vec::new();
    for (key, value) in &port.settings {
        let name = match key.as_str() {
            // Said above; an instant that says nothing afterwards.
            "speed (Mbit/s)" | "phc" => continue,
            "phc_offset_ns" => "PHC − CLOCK_TAI after the measurement (ns)",
            other => other,
        };
        let planned = wanted.get(key).cloned();
        entries.push(SetupEntry { key: name.to_owned(), observed: value.clone(), planned });
    }
    let counted: Vec<String> = port
        .counters
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !counted.is_empty() {
        entries.push(entry("the NIC's counters, during the measurement", counted.join(", ")));
    }
    entries
}

fn qdiscs(port: &ObservedPort, wanted: Option<&Port>) -> Vec<SetupEntry> {
    let planned = wanted.and_then(|port| compile(port.qdisc.as_ref()?).ok()).unwrap_or_default();
    port.qdiscs
        .iter()
        // The default leaves below a planned root are the kernel's business.
        .filter(|q| planned.is_empty() || planned.iter().any(|p| p.parent == q.parent))
        .map(|qdisc| {
            let place = if qdisc.parent == Handle::ROOT {
                "root qdisc".to_owned()
            } else {
                format!("qdisc below {}", qdisc.parent)
            };
            let own = planned.iter().find(|p| p.parent == qdisc.parent);
            SetupEntry {
                key: place,
                observed: words(&qdisc.settings),
                planned: own.map(|p| words(&p.settings)),
            }
        })
        .collect()
}

fn run(manifest: &Manifest) -> SetupSection {
    let seeds: Vec<String> = manifest.seeds.iter().map(u64::to_string).collect();
    let mut entries = vec![
        entry("program", format!("teiji {}", manifest.teiji)),
        entry("experiment file, SHA-256", &manifest.experiment_sha256),
        entry("seeds", seeds.join(", ")),
        entry("started", &manifest.started),
    ];
    known(&mut entries, "ended", manifest.finished.as_ref());
    SetupSection { title: "Run".to_owned(), entries }
}
