//! A flow against the queueing discipline it passes.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::Places;
use crate::draft::{FlowDraft, ScenarioDraft};
use crate::fields::Found;
use crate::log::Log;
use crate::scenario::{Etf, LeafQdisc, Qdisc, SendMode};

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
        (SendMode::OnWakeUp, Some(LeafQdisc::Etf(_))) => {
            drops_without_launch_time(flow, priority, qdisc, places, log);
        }
        (SendMode::LaunchTime { margin, deadline }, Some(LeafQdisc::Etf(etf))) => {
            same_deadline_mode(flow, deadline, &etf, places, log);
            enough_margin(flow, margin, &etf, places, log);
        }
        (SendMode::LaunchTime { .. }, _) => {
            nobody_honours(flow, from, priority, qdisc, places, log);
        }
        (SendMode::OnWakeUp, _) => {}
    }
}

fn drops_without_launch_time(
    flow: &FlowDraft,
    priority: u8,
    qdisc: Option<&Qdisc>,
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
    priority: u8,
    qdisc: Option<&Qdisc>,
    places: &Places<'_>,
    log: &Log,
) {
    let with_etf = qdisc.map(Qdisc::priorities_with_etf).unwrap_or_default();
    if with_etf.is_empty() {
        log.warning(
            places.flow(&flow.name, "mode"),
            format!(
                "no ETF on the port of `{from}` honours the launch time of `{}`: \
                 each frame leaves when it is handed over, one margin early",
                flow.name
            ),
            "Give the port a qdisc with etf, or write mode = \"on-wake-up\".",
        );
        return;
    }
    let list: Vec<String> = with_etf.iter().map(u8::to_string).collect();
    log.warning(
        places.flow(&flow.name, "priority"),
        format!(
            "`{}` has priority {priority}, whose class has no ETF: its launch time is not honoured",
            flow.name
        ),
        format!("ETF serves priority {} here.", list.join(", ")),
    );
}
