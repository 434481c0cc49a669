//! Round trips against each other, the flows and the qdiscs they pass.

use teiji_core::quantity::{format_span, grouped};

use super::{DAY_NS, Places, TOO_LONG_NS};
use crate::draft::{RoundTripsDraft, ScenarioDraft};
use crate::log::Log;
use crate::scenario::{Qdisc, Transport};

pub(super) fn check(draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    for (index, one) in draft.round_trips.iter().enumerate() {
        own_name(one, draft, places, log);
        own_port(index, one, draft, places, log);
        duration(one, places, log);
        no_launch_time(one, draft, places, log);
    }
}

/// Report, requirements and records tell them apart by name.
fn own_name(one: &RoundTripsDraft, draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    if draft.flows.iter().any(|flow| flow.name == one.name) {
        log.mistake(
            places.round_trips(&one.name, ""),
            format!("`{}` is the name of a flow and of round trips", one.name),
            "Give one of them another name.",
        );
    }
}

fn own_port(
    index: usize,
    one: &RoundTripsDraft,
    draft: &ScenarioDraft,
    places: &Places<'_>,
    log: &Log,
) {
    let (Some(to), Some(port)) = (&one.to, one.transport.and_then(port_of)) else { return };
    let taken = |other_to: &Option<String>, transport: Option<Transport>| {
        other_to.as_ref() == Some(to) && transport.and_then(port_of) == Some(port)
    };
    let flows = draft.flows.iter().map(|flow| (&flow.name, &flow.to, flow.transport));
    let before = &draft.round_trips[..index];
    let before = before.iter().map(|other| (&other.name, &other.to, other.transport));
    if let Some((other, ..)) = flows.chain(before).find(|(_, to, t)| taken(to, *t)) {
        log.mistake(
            places.round_trips(&one.name, "port"),
            format!("`{other}` and `{}` both go to port {port} of `{to}`", one.name),
            "Leave `port` out and each gets one of its own.",
        );
    }
}

const fn port_of(transport: Transport) -> Option<u16> {
    match transport {
        Transport::Udp4 { port } | Transport::Udp6 { port } => Some(port),
        Transport::Ethernet { .. } => None,
    }
}

/// With a period they last as long as that says; without one a silent peer costs
/// every time-out, and only what can never be measured is a mistake.
fn duration(one: &RoundTripsDraft, places: &Places<'_>, log: &Log) {
    let (Some(count), Some(timeout)) = (one.count, one.timeout) else { return };
    let each = one.period.as_value().copied().unwrap_or(timeout);
    let total = i128::from(each.as_ns()) * i128::from(count);
    let at = places.round_trips(&one.name, "count");
    if total > TOO_LONG_NS {
        let days = u64::try_from(total / DAY_NS).unwrap_or(u64::MAX);
        log.mistake(
            at,
            format!(
                "{} requests of up to {} each take {} days",
                grouped(count),
                format_span(each),
                grouped(days)
            ),
            "Use fewer requests or a shorter time-out; an experiment lasts at most a year.",
        );
    } else if one.period.as_value().is_some() && total > DAY_NS {
        log.warning(
            at,
            format!(
                "{} requests every {} take {} hours",
                grouped(count),
                format_span(each),
                total / (DAY_NS / 24)
            ),
            "Every request is kept: expect large records.",
        );
    }
}

/// ETF drops what has no launch time, and round trips have none.
fn no_launch_time(one: &RoundTripsDraft, draft: &ScenarioDraft, places: &Places<'_>, log: &Log) {
    let (Some(wire), Some(priority)) = (&one.wire, one.priority) else { return };
    let last = one.downstream_wires.last().unwrap_or(wire);
    for (host, wire) in [(&one.from, wire), (&one.to, last)] {
        let Some(host) = host else { continue };
        let qdisc = draft.port(host, wire).and_then(|port| port.qdisc.as_value());
        if let Some(Qdisc::Etf(_)) = qdisc.and_then(|qdisc| qdisc.leaf_of(priority)) {
            log.mistake(
                places.round_trips(&one.name, "priority"),
                format!(
                    "`{}` has priority {priority}, and the ETF of that class on the port of \
                     `{host}` drops every frame without a launch time",
                    one.name
                ),
                "Write a priority whose class has no ETF.",
            );
        }
    }
}
