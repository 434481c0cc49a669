//! Flow control: the module, the port, and what else drops frames.

use teiji_experiment::scenario::Prioflow;
use teiji_net::nic::Nic;

use crate::facts::Facts;
use crate::finding::{FLOW, Finding, Fix, TIMING, Weight, finding};

/// Receive buffers below this, in bytes, overflow in a burst of 1 ms at 1 Gbit/s, the kernel's own
/// accounting (about twice the payload) included.
const SMALL_BUFFER: u64 = 256 << 10;

pub(super) fn machine(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    // Not a part of the kernel: no option builds it in.
    if facts.kernel.has(Prioflow::KIND, "") == Some(false) {
        found.push(finding(
            "no-prioflow",
            FLOW,
            Weight::Blocks,
            "the kernel has no prioflow module, which flow control needs",
            Fix::advice("build and install it (kernel/prioflow/README.md, \"On your own kernel\")"),
        ));
    }
    if let Some(bytes) = facts.rmem_max.filter(|bytes| *bytes < SMALL_BUFFER) {
        found.push(finding(
            "small-receive-buffers",
            FLOW,
            Weight::Note,
            format!(
                "a socket may have a receive buffer of {bytes} bytes at most: without flow control it loses \
                 packets of a burst"
            ),
            Fix::command("sysctl -w net.core.rmem_max=8388608"),
        ));
    }
    found
}

pub(super) fn nic(nic: &Nic) -> Vec<Finding> {
    let name = &nic.name;
    let mut found = Vec::new();
    let set = nic.qdiscs.iter().any(|qdisc| qdisc.settings.kind() == Prioflow::KIND);
    if !set && super::applies(nic, crate::Feature::FlowControl) {
        found.push(finding(
            "no-flow-control",
            FLOW,
            Weight::Note,
            format!("{name} has no flow control now"),
            Fix::command(format!("teiji flow enable {name}")),
        ));
    }
    if let Some((_, true)) = nic.pause {
        found.push(finding(
            "pause-obeyed",
            TIMING,
            Weight::Note,
            format!(
                "{name} obeys 802.3x PAUSE: its peer may stop all of its frames, those with launch times, too"
            ),
            Fix::command(format!("ethtool -A {name} autoneg off rx off")),
        ));
    }
    if nic.rx_missed > 0 {
        found.push(finding(
            "receive-ring-overflows",
            FLOW,
            Weight::Costs,
            format!("{name} dropped {} received frames, because its ring was full", nic.rx_missed),
            Fix::advice(format!(
                "make its receive ring longer (`ethtool -g {name}`, `ethtool -G {name} rx N`), or have it \
                 polled at a higher priority"
            )),
        ));
    }
    found
}
