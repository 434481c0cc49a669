//! Flow control: the module, the port, and what else drops frames.

use teiji_experiment::scenario::{LinkMode, Prioflow, Qdisc};
use teiji_net::nic::Nic;

use crate::facts::Facts;
use crate::finding::{FLOW, Finding, Fix, TIMING, Weight, finding};

/// Receive buffers below this, in bytes, overflow in a burst of 1 ms at 1 Gbit/s, the kernel's own
/// accounting (about twice the payload) included.
const SMALL_BUFFER: u64 = 256 << 10;

/// Drivers whose MAC keeps frames of MAC Control (ethertype 0x8808) to itself: they pass them on (`PMCF` of the
/// register `RCTL`, Linux 6.12) with `rx-all` alone.
const KEEP_MAC_CONTROL: [&str; 4] = ["e1000", "e1000e", "igb", "igc"];

fn keeps_mac_control(nic: &Nic) -> bool {
    nic.driver.as_ref().is_some_and(|driver| KEEP_MAC_CONTROL.contains(&driver.name.as_str()))
}

/// The settings of its flow control.
fn prioflow(nic: &Nic) -> Option<&Prioflow> {
    nic.qdiscs.iter().find_map(|qdisc| match &qdisc.settings {
        Qdisc::Prioflow(prioflow) => Some(prioflow),
        _ => None,
    })
}

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
    let has_levels = facts.nics.iter().any(|nic| prioflow(nic).is_some());
    if let Some(distance) = facts.fragment_distance.filter(|distance| has_levels && *distance > 0) {
        found.push(finding(
            "fragments-between-levels",
            FLOW,
            Weight::Note,
            format!(
                "a received datagram's fragments are discarded if more than {distance} others of the same \
                 sender arrive between them, as those of a higher level do"
            ),
            Fix::command("sysctl -w net.ipv4.ipfrag_max_dist=0"),
        ));
    }
    found
}

pub(super) fn nic(nic: &Nic) -> Vec<Finding> {
    let name = &nic.name;
    let mut found = Vec::new();
    let keeps = keeps_mac_control(nic);
    let link = if keeps { " --link experimental" } else { "" };
    let enable = format!("teiji flow enable {name}{link}");
    match prioflow(nic) {
        None if super::applies(nic, crate::Feature::FlowControl) => found.push(finding(
            "no-flow-control",
            FLOW,
            Weight::Note,
            format!("{name} has no flow control now"),
            Fix::command(enable),
        )),
        Some(prioflow) if keeps && prioflow.link == LinkMode::MacControl => {
            found.push(finding(
                "mac-control-frames",
                FLOW,
                Weight::Costs,
                format!(
                    "{name}'s driver passes no MAC Control frames on, unless `ethtool -k {name}` shows `rx-all: \
                     on`: it would not obey the peer's level frames"
                ),
                Fix::advice(format!("at both ends of the wire, here: {enable}")),
            ));
        }
        _ => {}
    }
    if let Some((_, true)) = nic.pause {
        let so_far = match pauses_received(nic) {
            0 => String::new(),
            count => format!(" ({count} such frames were received so far)"),
        };
        found.push(finding(
            "pause-obeyed",
            TIMING,
            Weight::Note,
            format!(
                "{name} obeys 802.3x PAUSE: its peer may stop all of its frames, those with launch times, \
                 too{so_far}"
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

/// PAUSE frames that the MAC has received, by the names that Intel's drivers, stmmac, xgbe (and others) and fec give it.
fn pauses_received(nic: &Nic) -> u64 {
    ["rx_flow_control_xoff", "mmc_rx_pause_frames", "rx_pause_frames", "IEEE_rx_fdxfc"]
        .iter()
        .filter_map(|name| nic.counters.get(*name))
        .sum()
}
