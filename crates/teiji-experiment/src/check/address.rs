//! Addresses: no two alike, usable at all, and all of a network within its prefix.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};

use teiji_core::wire::MacAddr;

use super::Places;
use crate::draft::{PortDraft, ScenarioDraft};
use crate::log::Log;

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    unique(draft, "mac", |p| p.mac, places, log);
    unique(draft, "ipv4", |p| p.ipv4.value(), places, log);
    unique(draft, "ipv6", |p| p.ipv6.value(), places, log);
    for port in &draft.ports {
        usable(port, places, log);
    }
    let mut first: BTreeMap<u8, &PortDraft> = BTreeMap::new();
    let networks = draft.networks().numbers();
    for (wire, network) in draft.wires.iter().zip(networks) {
        let ports = wire.between.iter().flatten().filter(|host| !draft.is_bridge(host));
        for port in ports.filter_map(|host| draft.port(host, &wire.name)) {
            match first.entry(network) {
                Entry::Vacant(entry) => {
                    entry.insert(port);
                }
                Entry::Occupied(entry) => one_network(entry.get(), port, places, log),
            }
        }
    }
}

/// Places of both ports are known; the finding goes to the one that was
/// written, and to the later one if both were.
fn unique<T: Ord + Copy + Display>(
    draft: &ScenarioDraft,
    key: &str,
    address: impl Fn(&PortDraft) -> Option<T>,
    places: &Places<'_>,
    log: &Log,
) {
    let mut seen: BTreeMap<T, &PortDraft> = BTreeMap::new();
    for port in &draft.ports {
        let Some(value) = address(port) else { continue };
        let Some(first) = seen.insert(value, port) else { continue };
        let written = |p: &PortDraft| written(p, key, places);
        let (at, other) = if written(port) { (port, first) } else { (first, port) };
        log.mistake(
            places.port(&at.host, &at.wire, &[key]),
            format!("{value} is also the address of `{}` on `{}`", other.host, other.wire),
            format!("Leave `{key}` out and each port gets an address of its own."),
        );
    }
}

fn written(port: &PortDraft, key: &str, places: &Places<'_>) -> bool {
    let ports = places.tree.table("hosts").and_then(|h| h.table(&port.host)?.table("ports"));
    ports.and_then(|p| p.table(&port.wire)).is_some_and(|p| p.get(key).is_some())
}

fn usable(port: &PortDraft, places: &Places<'_>, log: &Log) {
    let report = |key: &str, value: &dyn Display, why: &str| {
        let at = places.port(&port.host, &port.wire, &[key]);
        let help = format!("Leave `{key}` out and the port gets an address of its own.");
        log.mistake(at, format!("{value} cannot be a port's address: {why}"), help);
    };
    if let Some(mac) = port.mac {
        if mac.0[0] & 1 == 1 {
            report("mac", &mac, "it is a group address (the lowest bit of its first byte is set)");
        } else if mac == MacAddr([0; 6]) {
            report("mac", &mac, "it is all zeros");
        }
    }
    if let Some(ip) = port.ipv4.value() {
        if !is_host(ip) {
            report("ipv4", &ip, "it is not the address of a single host");
        }
    }
    if let Some(ip) = port.ipv6.value() {
        if !is_host6(ip) {
            report("ipv6", &ip, "it is not the address of a single host");
        }
    }
}

fn is_host(ip: Ipv4Addr) -> bool {
    let last = ip.octets()[3];
    let special = ip.is_loopback() || ip.is_multicast() || ip.is_unspecified() || ip.is_broadcast();
    !special && last != 0 && last != 255
}

fn is_host6(ip: Ipv6Addr) -> bool {
    !(ip.is_multicast() || ip.is_loopback() || ip.is_unspecified())
}

/// Addresses that are wrong by themselves were reported.
fn one_network(a: &PortDraft, b: &PortDraft, places: &Places<'_>, log: &Log) {
    let report = |key: &str, x: &dyn Display, y: &dyn Display, bits: u8| {
        let at = if written(b, key, places) { b } else { a };
        log.mistake(
            places.port(&at.host, &at.wire, &[key]),
            if a.wire == b.wire {
                format!("{x} and {y} are the ends of one wire but not in one /{bits} network")
            } else {
                format!("bridges join {x} and {y}, which are not in one /{bits} network")
            },
            format!("Choose two addresses in one /{bits}, or leave `{key}` out on both ports."),
        );
    };
    if let (Some(x), Some(y)) = (a.ipv4.value(), b.ipv4.value()) {
        if is_host(x) && is_host(y) && x.octets()[..3] != y.octets()[..3] {
            report("ipv4", &x, &y, 24);
        }
    }
    if let (Some(x), Some(y)) = (a.ipv6.value(), b.ipv6.value()) {
        let network = |ip: Ipv6Addr| ip.to_bits() >> 64;
        if is_host6(x) && is_host6(y) && network(x) != network(y) {
            report("ipv6", &x, &y, 64);
        }
    }
}
