//! Wires, hosts and the ports where they meet.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use teiji_core::wire::MacAddr;

use super::{nic, qdisc};
use crate::draft::networks::Networks;
use crate::draft::{HostDraft, PortDraft, WireDraft};
use crate::fields::{Fields, Found, Named, valid_name};
use crate::keys::host::HOST;
use crate::keys::port::{self, PORT};
use crate::keys::processing::ProcessingDraft;
use crate::keys::wire::{BETWEEN, WIRE};
use crate::log::Log;
use crate::suggest::{did_you_mean, list};
use crate::tree::{Node, Origin, Table, Value};

/// Addresses are made from the wire's number, which has one byte in them.
const MAX_WIRES: usize = 250;

pub(super) fn wires(file: &Fields<'_>, log: &Log) -> Vec<WireDraft> {
    let tables = file.tables("wires", "a wire");
    if !file.has("wires") || (tables.is_empty() && !log.is_fatal()) {
        log.mistake(
            file.place("wires"),
            "there is no wire",
            "Write at least one: [wires.line] with between = [\"talker\", \"listener\"].\n\
             Hosts are defined by being named there.",
        );
    }
    if let Some(excess) = tables.get(MAX_WIRES) {
        log.mistake(excess.at, format!("there are more than {MAX_WIRES} wires"), "");
    }
    tables.iter().take(MAX_WIRES).map(|wire| read_wire(wire, log)).collect()
}

fn read_wire(wire: &Named<'_>, log: &Log) -> WireDraft {
    let label = format!("[wires.{}]", wire.name);
    let fields = Fields::new(wire.table, wire.at, &WIRE, label, log);
    let draft = WireDraft::read(&fields);
    WireDraft {
        name: wire.name.to_owned(),
        between: read_between(wire.name, &fields, log),
        rate: nic::read_rate(&fields, draft.nic, log),
        delay: nic::delay(&fields, draft.delay, draft.nic, log),
        ..draft
    }
}

fn read_between(wire: &str, fields: &Fields<'_>, log: &Log) -> Option<[String; 2]> {
    let example = BETWEEN.example();
    let items = fields.required("between", example, fields.items(&BETWEEN))?;
    let [first, second] = items else {
        let hosts = if items.len() == 1 { "one host" } else { &format!("{} hosts", items.len()) };
        let message = format!("`between` names {hosts}; a wire has two ends");
        log.mistake(fields.place("between"), message, format!("Write for example {example}"));
        return None;
    };
    let name = |node: &Node| match &node.value {
        Value::Text(name) => valid_name(name, node.at, "a host", log).then(|| name.clone()),
        Value::Broken => None,
        other => {
            let message = format!("a host is named by text, not by {}", other.kind());
            log.mistake(node.at, message, format!("Write for example {example}"));
            None
        }
    };
    let (a, b) = (name(first), name(second));
    let between = [a?, b?];
    if between[0] == between[1] {
        log.mistake(
            second.at,
            format!("the wire `{wire}` joins `{}` with itself", between[0]),
            "Name two different hosts; both are defined by being named here.",
        );
        return None;
    }
    Some(between)
}

/// All hosts, in the order in which wires name them.
pub(super) fn hosts(wires: &[WireDraft]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for host in wires.iter().filter_map(|w| w.between.as_ref()).flatten() {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}

/// What the hosts called `hosts` are, apart from their ports.
pub(super) fn host_settings(
    file: &Fields<'_>,
    wires: &[WireDraft],
    hosts: &[String],
    log: &Log,
) -> Vec<HostDraft> {
    let plain = |name: &String| HostDraft { name: name.clone(), ..without_table(log) };
    let mut drafts: Vec<HostDraft> = hosts.iter().map(plain).collect();
    let settings = file.tables("hosts", "a host");
    let all_wires_read = wires.iter().all(|w| w.between.is_some());
    for host in &settings {
        let exists = hosts.iter().any(|h| h == host.name);
        if all_wires_read && !exists {
            let guess = did_you_mean(host.name, hosts.iter().map(String::as_str));
            log.mistake(
                host.at,
                format!("the host `{}` is on no wire{guess}", host.name),
                "A host exists by being named in a wire's `between`.",
            );
        }
        let read = read_host(host, exists, wires, log);
        if let Some(draft) = drafts.iter_mut().find(|draft| draft.name == host.name) {
            *draft = read;
        }
    }
    drafts
}

/// The ports of all hosts, wire by wire. Within a network the hosts' addresses count
/// from 1; the ports of a bridge have none.
pub(super) fn ports(file: &Fields<'_>, networks: &Networks<'_>, log: &Log) -> Vec<PortDraft> {
    let settings = file.tables("hosts", "a host");
    let mut ports = Vec::new();
    let mut addressed: BTreeMap<u8, u8> = BTreeMap::new();
    let wires = networks.wires().iter().zip(networks.numbers());
    for ((wire, network), number) in wires.zip(1_u8..) {
        for (host, end) in wire.between.iter().flatten().zip(1_u8..) {
            let address = (!networks.is_bridge(host)).then(|| {
                let before = addressed.entry(network).or_default();
                *before = before.saturating_add(1);
                [network, *before]
            });
            let host_table = settings.iter().find(|h| h.name == host);
            ports.push(read_port(host, wire, [number, end], address, host_table, log));
        }
    }
    ports
}

/// A host without a table.
fn without_table(log: &Log) -> HostDraft {
    HostDraft::read(&Fields::new(&Table::default(), Origin::NOWHERE, &HOST, "", log))
}

/// Reads the host's own keys, and reports ports on wires it is not on.
fn read_host(host: &Named<'_>, exists: bool, wires: &[WireDraft], log: &Log) -> HostDraft {
    let label = format!("[hosts.{}]", host.name);
    let fields = Fields::new(host.table, host.at, &HOST, label, log);
    for port in fields.tables("ports", "a wire") {
        match wires.iter().find(|w| w.name == port.name) {
            None => {
                let names: Vec<&str> = wires.iter().map(|w| w.name.as_str()).collect();
                let guess = did_you_mean(port.name, names.iter().copied());
                log.mistake(
                    port.at,
                    format!(
                        "there is no wire `{}` for a port of `{}`{guess}",
                        port.name, host.name
                    ),
                    format!("There is {}.", list(&names)),
                );
            }
            Some(WireDraft { between: Some(between), .. })
                if exists && !between.iter().any(|h| h == host.name) =>
            {
                let [a, b] = between;
                log.mistake(
                    port.at,
                    format!("`{}` is not on the wire `{}`", host.name, port.name),
                    format!("That wire joins `{a}` and `{b}`."),
                );
            }
            Some(_) => {}
        }
    }
    HostDraft { name: host.name.to_owned(), ..HostDraft::read(&fields) }
}

/// `address` is that of a port in its network, `None` on a bridge.
fn read_port(
    host: &str,
    wire: &WireDraft,
    [number, end]: [u8; 2],
    address: Option<[u8; 2]>,
    settings: Option<&Named<'_>>,
    log: &Log,
) -> PortDraft {
    let nothing = Table::default();
    let ports = settings.and_then(|h| h.table.table("ports"));
    let nic = wire.nic;
    let node = ports.and_then(|p| p.get(&wire.name));
    let (table, at) = match node.map(|n| (&n.value, n.at)) {
        Some((Value::Table(table), at)) => (table, at),
        _ => (&nothing, Origin::NOWHERE),
    };
    let label = format!("[hosts.{host}.ports.{}]", wire.name);
    let fields = Fields::new(table, at, &PORT, label.as_str(), log);
    let queues = fields.take(&port::QUEUES);
    let (ipv4, ipv6) = read_addresses(host, &fields, address, log);
    PortDraft {
        host: host.to_owned(),
        wire: wire.name.clone(),
        mac: fields.take(&port::MAC).or_default(MacAddr([0x02, 0x74, 0x65, 0x6A, number, end])),
        ipv4,
        ipv6,
        queues,
        qdisc: qdisc::read_root(&fields, &label, wire.rate, log),
        vtsn: nic::read(&fields, nic, log),
        processing: ProcessingDraft::read(&fields).finish(),
    }
}

fn read_addresses(
    host: &str,
    fields: &Fields<'_>,
    address: Option<[u8; 2]>,
    log: &Log,
) -> (Found<Ipv4Addr>, Found<Ipv6Addr>) {
    let ipv4 = fields.take(&port::IPV4);
    let ipv6 = fields.take(&port::IPV6);
    let Some([network, end]) = address else {
        for key in ["ipv4", "ipv6"].into_iter().filter(|key| fields.has(key)) {
            log.mistake(
                fields.place(key),
                format!("`{host}` is a bridge, whose ports have no addresses"),
                format!("Leave `{key}` out."),
            );
        }
        return (Found::Absent, Found::Absent);
    };
    let own_ipv6 = [0xfd74, 0x656a, u16::from(network), 0, 0, 0, 0, u16::from(end)];
    (ipv4.or(Ipv4Addr::new(10, network, 0, end)), ipv6.or(own_ipv6.into()))
}
