//! Who runs before whom: throttling, the kernel's threads, interrupts and their deferral.

use std::collections::BTreeMap;

use teiji_core::time::Span;
use teiji_net::cpus;
use teiji_net::machine::Machine;
use teiji_net::nic::Nic;
use teiji_net::threads::Scheduled;

use crate::facts::Facts;
use crate::finding::{Finding, Fix, PRIORITIES, Weight, finding};

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(real_time_limit(&facts.machine));
    found.extend(ksoftirqd_over_rcu(&facts.threads));
    for (name, effect) in [
        ("irqbalance", "moves interrupts between CPUs, the NIC's, too"),
        ("stalld", "boosts threads that starve over real-time threads"),
    ] {
        if let Some(daemon) = facts.daemons.iter().find(|daemon| daemon.name == name) {
            found.push(finding(
                name,
                PRIORITIES,
                Weight::Costs,
                format!("{name} runs: it {effect}"),
                Fix::stop(daemon),
            ));
        }
    }
    found
}

fn real_time_limit(machine: &Machine) -> Option<Finding> {
    if machine.has_fair_servers() && machine.fair_servers.as_ref().is_none_or(BTreeMap::is_empty) {
        return Some(finding(
            "real-time-limit-unknown",
            PRIORITIES,
            Weight::Note,
            "what time this kernel keeps for ordinary threads (fair servers) is not shown: debugfs is \
             not there, or may not be read",
            Fix::advice("run it with sudo; in a container, on its host"),
        ));
    }
    let limit = machine.rt_throttling()?;
    let fix = if machine.has_fair_servers() {
        "for f in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $f; done"
    } else {
        "sysctl -w kernel.sched_rt_runtime_us=-1"
    };
    Some(finding(
        "real-time-limit",
        PRIORITIES,
        Weight::Costs,
        format!("real-time threads do not get all of the time: {limit}"),
        Fix::command(fix),
    ))
}

/// The thread of the highest priority whose name begins with one of these.
pub(super) fn highest<'a>(threads: &'a [Scheduled], prefixes: &[&str]) -> Option<&'a Scheduled> {
    let ours = |thread: &&Scheduled| prefixes.iter().any(|prefix| thread.name.starts_with(prefix));
    threads.iter().filter(ours).max_by_key(|thread| thread.priority)
}

/// ksoftirqd above RCU's threads: callbacks that it waits for never run (seen as a dead lock by
/// users of NI's kernels).
fn ksoftirqd_over_rcu(threads: &[Scheduled]) -> Option<Finding> {
    let ksoftirqd = highest(threads, &["ksoftirqd/"]).filter(|thread| thread.priority > 0)?;
    let rcu = highest(threads, &["rcuc/", "rcub/"])?;
    (ksoftirqd.priority > rcu.priority).then(|| {
        finding(
            "ksoftirqd-over-rcu",
            PRIORITIES,
            Weight::Costs,
            format!(
                "{} ({}) has a higher priority than {} ({}): under load RCU makes no progress, and \
                 memory is not given back",
                ksoftirqd.name, ksoftirqd.policy, rcu.name, rcu.policy
            ),
            Fix::command(format!(
                "for t in $(pgrep '^rcu[bc]/'); do chrt -f -p {} $t; done",
                u32::from(ksoftirqd.priority) + 1
            )),
        )
    })
}

pub(super) fn nic(facts: &Facts, nic: &Nic) -> Vec<Finding> {
    let name = &nic.name;
    let mut found = Vec::new();
    let deferral = nic.defer_hard_irqs.zip(nic.gro_flush_timeout);
    if let Some(longest) = deferral.and_then(|(polls, wait)| longest(polls, wait)) {
        found.push(finding(
            "interrupts-deferred",
            PRIORITIES,
            Weight::Costs,
            format!(
                "interrupts of {name} are deferred while it is polled, by up to {longest} \
                 (napi_defer_hard_irqs, gro_flush_timeout)"
            ),
            Fix::command(format!(
                "echo 0 > /sys/class/net/{name}/napi_defer_hard_irqs; echo 0 > \
                 /sys/class/net/{name}/gro_flush_timeout"
            )),
        ));
    } else {
        // What an instance has of its own is not in sysfs.
        let own = nic.napis.iter().find_map(|napi| {
            Some((napi.id, longest(napi.defer_hard_irqs?, napi.gro_flush_timeout?)?))
        });
        if let Some((id, longest)) = own {
            found.push(finding(
                "interrupts-deferred",
                PRIORITIES,
                Weight::Costs,
                format!(
                    "interrupts of the NAPI instance {id} of {name} are deferred while it is polled, by up \
                     to {longest}; sysfs does not show this setting"
                ),
                Fix::advice(format!(
                    "set its defer-hard-irqs to 0 by the netlink family netdev (the kernel's \
                     tools/net/ynl: --family netdev --do napi-set --json '{{\"id\": {id}, \
                     \"defer-hard-irqs\": 0}}')"
                )),
            ));
        }
    }
    found.extend(isolated(facts, nic));
    let threads = nic.interrupts.iter().flat_map(|interrupt| &interrupt.threads);
    let slowest = threads.min_by_key(|thread| thread.priority);
    if facts.machine.preempt_rt {
        if let Some(thread) = slowest {
            if thread.priority == 0 {
                found.push(finding(
                    "interrupt-thread-without-priority",
                    PRIORITIES,
                    Weight::Costs,
                    format!(
                        "{} runs as {}: every real-time thread runs before it",
                        thread.name, thread.policy
                    ),
                    set_priority(&thread.name),
                ));
            } else if facts.threads.iter().any(|other| {
                other.name.starts_with("irq/")
                    && other.priority >= thread.priority
                    && !nic.interrupts.iter().any(|irq| irq.threads.contains(other))
            }) {
                found.push(finding(
                    "interrupt-priority",
                    PRIORITIES,
                    Weight::Note,
                    format!(
                        "{} has {}, as other devices' interrupts have: these may run before it",
                        thread.name, thread.policy
                    ),
                    set_priority(&thread.name),
                ));
            }
        }
    }
    let poller = facts
        .threads
        .iter()
        .find(|thread| thread.name.starts_with(&format!("napi/{name}-")) && thread.priority == 0);
    if let Some(thread) = poller {
        found.push(finding(
            "napi-thread-without-priority",
            PRIORITIES,
            Weight::Costs,
            format!(
                "{} polls {name} as {}: every real-time thread runs before it",
                thread.name, thread.policy
            ),
            set_priority(&format!("napi/{name}-.*")),
        ));
    }
    found
}

/// Interrupts on a CPU that was isolated for something else.
fn isolated(facts: &Facts, nic: &Nic) -> Option<Finding> {
    let isolated = cpus::parse_list(facts.machine.cpus_isolated.as_deref()?)?;
    let on = nic.interrupts.iter().find_map(|interrupt| {
        let cpus = cpus::parse_list(interrupt.cpus.as_deref()?)?;
        let cpu = cpus.iter().find(|cpu| isolated.contains(cpu))?;
        Some((interrupt.number, *cpu))
    });
    let (number, cpu) = on?;
    Some(finding(
        "interrupt-on-isolated-cpu",
        PRIORITIES,
        Weight::Note,
        format!(
            "the interrupt {number} of {} may be handled on the isolated CPU {cpu}, where it delays a \
             real-time thread",
            nic.name
        ),
        Fix::advice(format!(
            "write the other CPUs to /proc/irq/{number}/smp_affinity_list, unless its thread's priority is \
             meant to be there"
        )),
    ))
}

/// How long interrupts are deferred; `None` if they are not.
fn longest(polls: u32, wait: Span) -> Option<Span> {
    (polls > 0 && wait > Span::ZERO)
        .then(|| Span::from_ns(wait.as_ns().saturating_mul(i64::from(polls))))
}

/// The command that gives threads of the kernel a priority. Their names may have more than the 15 characters
/// that pgrep takes.
pub(super) fn set_priority(names: &str) -> Fix {
    Fix::command(format!(
        "for t in $(grep -lx '{names}' /proc/[0-9]*/comm | cut -d/ -f3); do chrt -f -p 60 $t; done"
    ))
}
