//! What saves energy and costs time: idle states, frequency, sleeping links.

use teiji_net::nic::Nic;

use crate::facts::Facts;
use crate::finding::{Finding, Fix, PRIORITIES, TIMING, Weight, finding};

/// An idle state that is left within this time, in µs, does not matter.
const SHALLOW_US: u32 = 2;

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let cpus = &facts.cpus;
    let mut found = Vec::new();
    if let Some(state) = cpus.deepest().filter(|state| state.exit_us > SHALLOW_US) {
        found.push(finding(
            "idle-states",
            TIMING,
            Weight::Costs,
            format!(
                "idle CPUs may enter {}, which takes up to {} µs to leave, according to the driver",
                state.name, state.exit_us
            ),
            Fix::command(format!("cpupower idle-set -D {SHALLOW_US}")),
        ));
    }
    let others: Vec<&str> =
        cpus.governors.iter().map(String::as_str).filter(|name| *name != "performance").collect();
    if !others.is_empty() {
        found.push(finding(
            "governor",
            TIMING,
            Weight::Costs,
            format!(
                "the frequency governor is {}: a CPU that was idle runs slower at first",
                others.join(", ")
            ),
            Fix::command("cpupower frequency-set -g performance"),
        ));
    }
    if cpus.smt == Some(true) {
        found.push(finding(
            "smt",
            PRIORITIES,
            Weight::Note,
            "two threads share each core (SMT): one delays the other, whatever their priorities",
            Fix::command("echo off > /sys/devices/system/cpu/smt/control"),
        ));
    }
    found
}

pub(super) fn nic(nic: &Nic) -> Vec<Finding> {
    let name = &nic.name;
    let mut found = Vec::new();
    if nic.aspm_l1 == Some(true) {
        found.push(finding(
            "aspm",
            TIMING,
            Weight::Costs,
            format!(
                "the PCI Express link of {name} may sleep (ASPM L1): the first access after an idle time \
                 waits some µs"
            ),
            Fix::command(format!("echo 0 > /sys/class/net/{name}/device/link/l1_aspm")),
        ));
    }
    if nic.runtime_pm == Some(true) {
        found.push(finding(
            "runtime-pm",
            TIMING,
            Weight::Note,
            format!("the kernel may put {name} to sleep while its link is down (runtime PM)"),
            Fix::command(format!("echo on > /sys/class/net/{name}/device/power/control")),
        ));
    }
    found
}
