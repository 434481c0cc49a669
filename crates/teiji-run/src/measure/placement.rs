//! Hosts on CPUs of their own, in the laboratory: what belongs to a host runs on
//! the CPU that `[hosts.NAME]` names.
//!
//! Its threads are pinned where they are started. Here go the interrupts of its
//! ports; what follows from an interrupt or a thread, softirqs and timers, stays
//! on the same CPU once timers may not wander.

use std::fs;

use anyhow::Context;
use teiji::turns::{self, Turns};
use teiji_experiment::Scenario;
use teiji_net::{Applied, interrupts};
use teiji_sys::netns;

/// Round trips that say what the turns cost: 70 ms of virtual time.
const ROUND_TRIPS: u32 = 200;

/// Moves the interrupts of all ports whose host has a CPU of its own.
pub fn place(scenario: &Scenario, applied: &Applied) -> anyhow::Result<()> {
    if scenario.cpus().is_empty() {
        return Ok(());
    }
    // Only a kernel for several CPUs has it.
    let _ = fs::write("/proc/sys/kernel/timer_migration", "0");
    for host in &scenario.hosts {
        let Some(cpu) = host.cpu else { continue };
        // Where the experiment says itself where they go, the plan has moved them.
        for port in host.ports.iter().filter(|port| port.processing.irq.cpus.is_none()) {
            let (Some(namespace), Some(info)) =
                (applied.namespace(&host.name), applied.port(&host.name, &port.wire))
            else {
                continue;
            };
            let irqs = netns::in_namespace(namespace, || interrupts::of(&info.ifname))?
                .with_context(|| format!("cannot find the interrupts of {}", info.ifname))?;
            for irq in irqs {
                fs::write(interrupts::affinity_file(irq), cpu.to_string())
                    .with_context(|| format!("cannot move interrupt {irq} to CPU {cpu}"))?;
            }
        }
    }
    Ok(())
}

/// What turn-taking costs between the first host's CPU and each other's.
pub fn turns(scenario: &Scenario) -> anyhow::Result<Vec<Turns>> {
    let cpus = scenario.cpus();
    let Some((&first, others)) = cpus.split_first() else { return Ok(Vec::new()) };
    let pairs = others.iter().map(|&other| turns::measure([first, other], ROUND_TRIPS));
    pairs.collect::<Result<_, _>>().context("cannot measure what turns cost")
}
