//! Bridges: what they join is a tree, and is not joined twice by a host.

use super::Places;
use super::flow::priority_at;
use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::read::networks::Networks;
use crate::scenario::LeafQdisc;
use crate::suggest::list;

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for bridge in draft.hosts.iter().filter(|host| host.bridge == Some(true)) {
        let at = |key: &str| places.at(&["hosts", &bridge.name, key]);
        let wires: Vec<&str> = wires_of(draft, &bridge.name);
        if let [only] = wires.as_slice() {
            log.mistake(
                at("bridge"),
                format!("the bridge `{}` has one port, on `{only}`", bridge.name),
                "A bridge joins two wires or more; add one, or leave `bridge` out.",
            );
        }
        if draft.ptp.get(&bridge.name).is_some_and(|ptp| ptp.as_value().is_some()) {
            log.mistake(
                at("ptp"),
                format!("the bridge `{}` would synchronise clocks", bridge.name),
                "A bridge only passes frames on; leave `ptp` or `bridge` out.",
            );
        }
        nothing_waits_for_a_launch_time(&bridge.name, &wires, draft, places, log);
    }
    loops(draft, places, log);
    one_port_a_network(draft, places, log);
}

fn wires_of<'a>(draft: &'a ScenarioDraft, host: &str) -> Vec<&'a str> {
    let on = draft.wires.iter().filter(|wire| {
        wire.between.as_ref().is_some_and(|ends| ends.iter().any(|end| end == host))
    });
    on.map(|wire| wire.name.as_str()).collect()
}

fn nothing_waits_for_a_launch_time(
    bridge: &str,
    wires: &[&str],
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    for wire in wires {
        let qdisc = draft.port(bridge, wire).and_then(|port| port.qdisc.as_value());
        let leaf = qdisc.and_then(|qdisc| qdisc.leaf_of(priority_at(draft, bridge, 0)));
        if let Some(LeafQdisc::Etf(_)) = leaf {
            log.mistake(
                places.port(bridge, wire, &["qdisc"]),
                format!(
                    "the bridge `{bridge}` would drop what it passes on to `{wire}`: forwarded \
                     frames have priority 0 and no launch time, and ETF is there"
                ),
                "Leave the ETF out, or map priority 0 to another class.",
            );
        }
    }
}

/// Spanning trees take half a minute to find out what the file could say.
fn loops(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    // The bridges found so far, by islands of those that are joined.
    let mut islands: Vec<Vec<&str>> = Vec::new();
    for wire in &draft.wires {
        let Some([a, b]) = &wire.between else { continue };
        if !draft.is_bridge(a) || !draft.is_bridge(b) {
            continue;
        }
        let mut joined = Vec::new();
        for end in [a.as_str(), b.as_str()] {
            let island = islands.iter().position(|island| island.contains(&end));
            if joined.contains(&end) {
                log.mistake(
                    places.at(&["wires", &wire.name]),
                    format!("the wire `{}` closes a loop of bridges: {}", wire.name, list(&joined)),
                    "Leave one of the wires between them out. Spanning trees are not waited for, \
                     and without one a flooded frame goes round for ever.",
                );
            } else {
                joined.extend(island.map_or_else(|| vec![end], |found| islands.swap_remove(found)));
            }
        }
        islands.push(joined);
    }
}

/// Two ports of a host in one network: which one would answer is anybody's guess.
fn one_port_a_network(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    let numbers = Networks::new(&draft.wires, &draft.hosts).numbers();
    let wires: Vec<(&str, u8, &[String; 2])> = draft
        .wires
        .iter()
        .zip(numbers)
        .filter_map(|(wire, number)| Some((wire.name.as_str(), number, wire.between.as_ref()?)))
        .collect();
    for (index, (wire, number, ends)) in wires.iter().enumerate() {
        for host in ends.iter().filter(|host| !draft.is_bridge(host)) {
            let on =
                |other: &&(&str, u8, &[String; 2])| other.1 == *number && other.2.contains(host);
            if let Some((other, ..)) = wires[..index].iter().find(on) {
                log.mistake(
                    places.at(&["wires", wire]),
                    format!("`{host}` is twice in one network: bridges join its wires `{other}` and `{wire}`"),
                    "One port reaches everybody there; leave one of the wires out.",
                );
            }
        }
    }
}
