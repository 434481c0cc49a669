//! Bridges: what they join is a tree, and is not joined twice by a host.

use super::Places;
use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::scenario::Qdisc;
use crate::suggest::list;
use teiji_core::domain::SocketPriority;

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for bridge in draft.hosts.iter().filter(|host| host.is_bridge()) {
        let at = |key: &str| places.at(&["hosts", &bridge.name, key]);
        let wires: Vec<&str> =
            draft.networks().wires_of(&bridge.name).map(|(wire, _)| wire).collect();
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

fn nothing_waits_for_a_launch_time(
    bridge: &str,
    wires: &[&str],
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    for wire in wires {
        if let Some(Qdisc::Etf(_)) = draft.leaf_at(bridge, wire, SocketPriority::LEAST) {
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
    let numbers = draft.networks().numbers();
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
