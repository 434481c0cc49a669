//! A flow against the queueing discipline it passes.

use teiji_core::domain::SocketPriority;
use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::Places;
use super::load::line_time;
use crate::draft::{FlowDraft, ScenarioDraft};
use crate::fields::Found;
use crate::log::Log;
use crate::scenario::{
    Etf, Gate, LevelSource, LinkMode, Qdisc, QdiscTree, SendMode, Taprio, Transport,
};

/// What a thread needs from its timer to the end of `sendto`, on a quiet
/// machine. A margin that leaves less is not refused, it may be the question,
/// but it is worth a warning.
const WAKE_UP: Span = Span::from_micros(50);

pub(super) fn check(flow: &FlowDraft, draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    let (Some(from), Some(wire), Some(priority), Some(mode)) =
        (&flow.from, &flow.wire, flow.priority, flow.mode)
    else {
        return;
    };
    let Some(port) = draft.port(from, wire) else { return };
    if let Found::Wrong = port.qdisc {
        return;
    }
    let qdisc = port.qdisc.as_value();
    let leaf = qdisc.and_then(|q| q.leaf_of(priority));
    match (mode, leaf) {
        (SendMode::OnWakeUp | SendMode::BackToBack, Some(Qdisc::Etf(_))) => {
            drops_without_launch_time(flow, priority, qdisc, places, log);
        }
        (SendMode::LaunchTime { margin, deadline }, Some(Qdisc::Etf(etf))) => {
            same_deadline_mode(flow, deadline, etf, places, log);
            enough_margin(flow, margin, etf, places, log);
        }
        (SendMode::LaunchTime { .. }, _) => {
            nobody_honours(flow, from, priority, qdisc, places, log);
        }
        (SendMode::OnWakeUp | SendMode::BackToBack, _) => {}
    }
    if let Some(Qdisc::Taprio(taprio)) = qdisc.map(|tree| &tree.root) {
        fits_the_gate(flow, priority, taprio, draft, places, log);
    }
    let passed = draft.passed(from, wire, &flow.downstream_wires);
    if let Found::Value(_) = flow.flow_control {
        can_be_controlled(flow, &passed, draft, places, log);
        one_meaning_of_levels(flow, &passed, draft, places, log);
    }
}

/// Flow control is of sockets with UDP, between ports that all have a link.
fn can_be_controlled(
    flow: &FlowDraft,
    passed: &[(&str, &str)],
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    let place = || places.flow(&flow.name, "flow-control");
    if let Some(Transport::Ethernet { .. }) = flow.transport {
        log.mistake(
            place(),
            format!("`{}` has flow control, but no sockets with UDP", flow.name),
            "Write transport = \"udp4\" or \"udp6\", or leave `flow-control` out.",
        );
    }
    for &(host, wire) in passed {
        let Some(port) = draft.port(host, wire) else { continue };
        if let Found::Wrong = port.qdisc {
            continue;
        }
        let leaf = draft.leaf_at(host, wire, flow.priority.unwrap_or_default());
        let linked =
            matches!(leaf, Some(Qdisc::Prioflow(prioflow)) if prioflow.link != LinkMode::Off);
        if !linked {
            log.mistake(
                place(),
                format!("`{}` has flow control, but `{host}`'s port on `{wire}` has none", flow.name),
                format!(
                    "Write hosts.{host}.ports.{wire}.qdisc = {{ kind = \"prioflow\", link = \"mac-control\" }}"
                ),
            );
        }
    }
}

/// Beyond a bridge, a level is what all ports on the way find in the frame.
fn one_meaning_of_levels(
    flow: &FlowDraft,
    passed: &[(&str, &str)],
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    if flow.downstream_wires.is_empty() {
        return;
    }
    let levels = |&(host, wire): &(&str, &str)| match draft.leaf_at(
        host,
        wire,
        flow.priority.unwrap_or_default(),
    )? {
        Qdisc::Prioflow(prioflow) => Some((prioflow.source, prioflow.levels())),
        _ => None,
    };
    let Some(first) = passed.first().and_then(levels) else { return };
    let place = || places.flow(&flow.name, "flow-control");
    if first.0 == LevelSource::Priority {
        log.mistake(
            place(),
            format!(
                "`{}` has flow control over a bridge by `priority`, which no frame carries: to the \
                 bridge all have level 0",
                flow.name
            ),
            "Write by = \"dscp\" in all prioflow qdiscs on the way, and the flow's `dscp`.",
        );
    } else if let Some((host, wire)) =
        passed.iter().find(|port| levels(port).is_some_and(|other| other != first))
    {
        let other = match levels(&(*host, *wire)) {
            Some((source, _)) if source != first.0 => {
                format!("takes levels from `{}`", source.name())
            }
            _ => "has another `table`".to_owned(),
        };
        log.mistake(
            place(),
            format!(
                "`{}` has flow control by `{}`, but `{host}`'s port on `{wire}` {other}",
                flow.name,
                first.0.name()
            ),
            "Write the same `by` and `table` in all prioflow qdiscs on the way.",
        );
    }
}

/// A frame is sent only while its gate stays open to its end.
fn fits_the_gate(
    flow: &FlowDraft,
    priority: SocketPriority,
    taprio: &Taprio,
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    let rate = flow.wire.as_deref().and_then(|wire| draft.wire(wire)?.rate);
    let (Some(transport), Some(payload), Some(rate)) = (flow.transport, flow.payload, rate) else {
        return;
    };
    let class = taprio.map[usize::from(priority.get())];
    let Some(window) = longest_window(taprio, class) else { return };
    let line = line_time(transport, payload, rate);
    if line > window {
        log.mistake(
            places.flow(&flow.name, "payload"),
            format!(
                "a frame of `{}` takes {line} on the wire, and the gate of its class {class} is open for {} at most",
                flow.name,
                format_span(window)
            ),
            "Open the gate for longer, or send smaller frames.",
        );
    }
}

/// The longest time that a class's gate stays open, over neighbouring entries
/// and over the end of the cycle; `None` if it never opens or never closes.
fn longest_window(taprio: &Taprio, class: u8) -> Option<Span> {
    let open = |gate: &Gate| gate.open.contains(&class);
    if taprio.entries.iter().all(open) {
        return None;
    }
    let mut longest = Span::ZERO;
    let mut current = Span::ZERO;
    for gate in taprio.entries.iter().chain(&taprio.entries) {
        current = if open(gate) { current + gate.interval } else { Span::ZERO };
        longest = longest.max(current);
    }
    (longest > Span::ZERO).then_some(longest)
}

/// Two flows that one host receives need two ports.
pub(super) fn own_ports(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for (index, flow) in draft.flows.iter().enumerate() {
        let (Some(to), Some(transport)) = (&flow.to, flow.transport) else { continue };
        let same = |other: &&FlowDraft| {
            other.to.as_ref() == Some(to) && other.transport == Some(transport)
        };
        let Some(other) = draft.flows[..index].iter().find(same) else { continue };
        let (Transport::Udp4 { port } | Transport::Udp6 { port }) = transport else { continue };
        log.mistake(
            places.flow(&flow.name, "port"),
            format!("`{}` and `{}` both go to port {port} of `{to}`", other.name, flow.name),
            "Leave `port` out and each flow gets one of its own.",
        );
    }
}

fn drops_without_launch_time(
    flow: &FlowDraft,
    priority: SocketPriority,
    qdisc: Option<&QdiscTree>,
    places: &Places<'_>,
    log: &Log,
) {
    let key = if places.flow_has(&flow.name, "mode") { "mode" } else { "priority" };
    let class = qdisc.and_then(|q| q.class_of(priority));
    let where_to = class.map_or_else(String::new, |c| format!(" of class {c}"));
    log.mistake(
        places.flow(&flow.name, key),
        format!(
            "`{}` is sent on wake-up with priority {priority}, into the ETF{where_to}, \
             which drops every frame without a launch time",
            flow.name
        ),
        "Write mode = \"launch-time\" with a margin, or a priority whose class has no ETF.",
    );
}

fn same_deadline_mode(flow: &FlowDraft, deadline: bool, etf: &Etf, places: &Places<'_>, log: &Log) {
    if deadline != etf.deadline_mode && !etf.skip_sock_check {
        log.mistake(
            places.flow(&flow.name, "deadline"),
            format!(
                "`{}` has deadline = {deadline} and the ETF it passes deadline = {}: ETF would drop every frame",
                flow.name, etf.deadline_mode
            ),
            "Write the same in both places.",
        );
    }
}

/// ETF releases a frame between (launch time − delta) and the launch time. One
/// that arrives later than the beginning of this window is passed on at once:
/// its instant is decided by the wake-up, not by ETF.
fn enough_margin(flow: &FlowDraft, margin: Span, etf: &Etf, places: &Places<'_>, log: &Log) {
    // In deadline mode ETF passes every frame on at once, delta or not.
    if etf.deadline_mode {
        return;
    }
    let at = places.flow(&flow.name, "margin");
    let enough = format_span(etf.delta + WAKE_UP);
    if margin <= etf.delta {
        log.mistake(
            at,
            format!(
                "the margin of {} is not longer than ETF's delta of {}",
                format_span(margin),
                format_span(etf.delta)
            ),
            format!(
                "ETF passes a frame on when launch time − delta has come, and drops it as \"missed\" after the \
                 launch time:\nhere it would pass each frame on as soon as the thread has woken, as if there \
                 were no ETF. Use margin ≥ {enough}."
            ),
        );
    } else if margin < etf.delta + WAKE_UP {
        log.warning(
            at,
            format!(
                "the margin of {} leaves {} for the thread to wake and send (ETF's delta is {})",
                format_span(margin),
                format_span(margin - etf.delta),
                format_span(etf.delta)
            ),
            format!("Use margin ≥ {enough}, unless the margin is what you want to find."),
        );
    }
}

fn nobody_honours(
    flow: &FlowDraft,
    from: &str,
    priority: SocketPriority,
    qdisc: Option<&QdiscTree>,
    places: &Places<'_>,
    log: &Log,
) {
    let with_etf = qdisc.map(QdiscTree::priorities_with_etf).unwrap_or_default();
    if with_etf.is_empty() {
        log.warning(
            places.flow(&flow.name, "mode"),
            format!(
                "no ETF on the port of `{from}` honours the launch time of `{}`: \
                 each frame is transmitted when it is handed over, one margin early",
                flow.name
            ),
            "Give the port a qdisc with etf, or write mode = \"on-wake-up\".",
        );
        return;
    }
    let list: Vec<String> = with_etf.iter().map(SocketPriority::to_string).collect();
    log.warning(
        places.flow(&flow.name, "priority"),
        format!(
            "`{}` has priority {priority}, whose class has no ETF: its launch time is not honoured",
            flow.name
        ),
        format!("ETF serves priority {} here.", list.join(", ")),
    );
}
