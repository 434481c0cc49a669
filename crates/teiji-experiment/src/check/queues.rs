//! Transmit queues of a NIC: which of them a flow takes beside a load.

use teiji_core::load::LoadKind;

use super::Places;
use crate::draft::ScenarioDraft;
use crate::fields::Found;
use crate::log::Log;
use crate::scenario::{LoadedPorts, Nic, PortName};

/// Without a qdisc that says which, a hash of addresses and ports takes one for each flow
/// (`skb_tx_hash()` in `net/core/dev.c`), with a key that each boot draws: whether a packet
/// waits behind the load is then a matter of luck, and seeds tell nothing of the question.
pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for kind in draft.loads.iter().flatten() {
        let Some((host, wire)) = loads_from(*kind, draft) else { continue };
        let several = match draft.wire(wire).and_then(|wire| wire.nic) {
            Some(Nic::Vtsn | Nic::Igb) => true,
            Some(Nic::E1000e | Nic::Rtl8139) | None => false,
        };
        let Some(port) = draft.port(host, wire).filter(|_| several) else { continue };
        if let (Found::Absent, Found::Absent | Found::Value(2..)) = (&port.qdisc, port.queues) {
            let Some(beside) = beside(host, wire, draft) else { continue };
            log.warning(
                places.at(&["loads"]),
                format!(
                    "`{beside}` and the load `{kind}` leave `{host}` by a NIC with several \
                     transmit queues: they may share one, which varies per boot"
                ),
                format!(
                    "Write hosts.{host}.ports.{wire}.queues = 1, or a qdisc there that gives each \
                     priority its queue (mqprio, taprio)."
                ),
            );
        }
    }
}

/// Which port a load sends from.
fn loads_from(kind: LoadKind, draft: &ScenarioDraft) -> Option<PortName<'_>> {
    let flow = draft.flows.first();
    // One that could not be read is still the one that it goes by.
    let flow_ends = match flow {
        Some(flow) => Some(ends([&flow.from, &flow.to, &flow.wire], &flow.downstream_wires)?),
        None => None,
    };
    let rounds = draft.round_trips.first();
    let rounds = rounds.and_then(|rounds| {
        ends([&rounds.from, &rounds.to, &rounds.wire], &rounds.downstream_wires)
    });
    LoadedPorts::around(flow_ends, rounds)?.way(kind).map(|[from, _]| from)
}

/// The ports at both ends of a way: from, to and first wire.
fn ends<'a>(
    [from, to, wire]: [&'a Option<String>; 3],
    downstream_wires: &'a [String],
) -> Option<[PortName<'a>; 2]> {
    let (from, to, wire) = (from.as_deref()?, to.as_deref()?, wire.as_deref()?);
    Some([(from, wire), (to, downstream_wires.last().map_or(wire, String::as_str))])
}

/// A flow or round trips whose packets leave the same port.
fn beside<'a>(host: &str, wire: &str, draft: &'a ScenarioDraft) -> Option<&'a str> {
    let flow = draft.flows.iter().find(|flow| {
        let here = flow.from.as_deref() == Some(host) && flow.wire.as_deref() == Some(wire);
        here && flow.background != Some(true)
    });
    let rounds = draft.round_trips.iter().find(|rounds| {
        // Requests, or replies.
        let requests = rounds.from.as_deref() == Some(host) && rounds.wire.as_deref() == Some(wire);
        let last = rounds.downstream_wires.last().or(rounds.wire.as_ref());
        requests || rounds.to.as_deref() == Some(host) && last.map(String::as_str) == Some(wire)
    });
    let rounds = rounds.map(|rounds| rounds.name.as_str());
    flow.map(|flow| flow.name.as_str()).or(rounds)
}
