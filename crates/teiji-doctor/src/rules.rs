//! The rules: from facts to findings. They read nothing, so each can be tried on any machine.

mod clock;
mod flow;
mod kernel;
mod launch;
mod link;
mod power;
mod priorities;
mod rights;
#[cfg(test)]
mod tests;

use teiji_net::nic::Nic;

use crate::facts::Facts;
use crate::finding::{Feature, Finding};

/// Everything that was found, in the order of the rules.
pub(crate) fn all(facts: &Facts) -> Vec<Finding> {
    let mut findings = [
        kernel::machine(facts),
        rights::machine(facts),
        clock::machine(facts),
        power::machine(facts),
        priorities::machine(facts),
        flow::machine(facts),
    ]
    .concat();
    for nic in &facts.nics {
        let of_nic = [
            link::nic(nic),
            launch::nic(facts, nic),
            clock::nic(facts, nic),
            power::nic(nic),
            priorities::nic(facts, nic),
            flow::nic(nic),
        ];
        findings.extend(of_nic.concat().into_iter().map(|finding| finding.on(&nic.name)));
    }
    findings
}

/// Whether a feature has a meaning on this interface.
pub(crate) fn applies(nic: &Nic, feature: Feature) -> bool {
    let link = matches!(nic.kind.as_deref(), None | Some("vtsn" | "veth" | "dsa"));
    match feature {
        // Loopback has no queue, and what rests on a NIC has its queues.
        Feature::LaunchTimes | Feature::FlowControl => link && nic.name != "lo",
        Feature::Priorities => true,
    }
}
