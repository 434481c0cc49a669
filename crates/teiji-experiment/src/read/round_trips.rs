//! Reads `[round-trips.NAME]`: keys that only mean something together.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::flow::{dscp_needs_ip, read_host, read_payload, read_way};
use super::slip::is_slip;
use crate::draft::RoundTripsDraft;
use crate::draft::networks::Networks;
use crate::fields::{Fields, Found, Named};
use crate::keys::round_trips::{self, Built};
use crate::log::Log;
use crate::scenario::Transport;

/// More make no sense in a report.
const MOST: usize = 100;

pub(super) fn read(file: &Fields<'_>, networks: &Networks<'_>, log: &Log) -> Vec<RoundTripsDraft> {
    let tables = file.tables("round-trips", "round trips");
    if tables.is_empty() && file.has("round-trips") && !log.is_fatal() {
        log.mistake(
            file.place("round-trips"),
            "[round-trips] is empty",
            "Leave it out, or write [round-trips.NAME] with from, to and count.",
        );
    }
    if let Some(excess) = tables.get(MOST) {
        log.mistake(excess.at, format!("there are more than {MOST} tables of round trips"), "");
    }
    let wanted = tables.iter().take(MOST).zip(round_trips::FIRST_PORT..);
    let kind = ("table of round trips", "round-trips");
    let wanted = wanted.filter(|(table, _)| !is_slip(table, &tables, kind, log));
    wanted.map(|(table, port)| read_one(table, port, networks, log)).collect()
}

/// `port` is their own, unless they name another.
fn read_one(table: &Named<'_>, port: u16, networks: &Networks<'_>, log: &Log) -> RoundTripsDraft {
    let label = format!("[round-trips.{}]", table.name);
    let fields = Fields::new(table.table, table.at, &round_trips::ROUND_TRIPS, label, log);
    let from = read_host(&round_trips::FROM, &fields, networks, log);
    let to = read_host(&round_trips::TO, &fields, networks, log);
    let (wire, downstream_wires) =
        read_way(&round_trips::WIRE, &fields, from.as_deref(), to.as_deref(), networks, log);
    let transport = read_transport(&fields, port);
    let what = "the headers of a round trip";
    let draft = RoundTripsDraft::read(&fields);
    dscp_needs_ip(&fields, transport, log);
    RoundTripsDraft {
        name: table.name.to_owned(),
        wire,
        downstream_wires,
        from,
        to,
        timeout: read_timeout(&fields, draft.period, log),
        payload: read_payload(&round_trips::PAYLOAD, &fields, transport, what, log),
        transport,
        ..draft
    }
}

fn read_transport(fields: &Fields<'_>, own_port: u16) -> Option<Transport> {
    let port = fields.take(&round_trips::PORT).or_default(own_port);
    let built = fields.settled(&round_trips::TRANSPORT)?;
    let port = port?;
    Some(match built {
        Built::Udp4 => Transport::Udp4 { port },
        Built::Udp6 => Transport::Udp6 { port },
    })
}

fn read_timeout(fields: &Fields<'_>, period: Found<Span>, log: &Log) -> Option<Span> {
    let default = period
        .as_value()
        .map_or(round_trips::LONGEST_WAIT, |period| round_trips::LONGEST_WAIT.min(*period));
    let timeout = fields.take(&round_trips::TIMEOUT).or_default(default)?;
    if let Some(period) = period.as_value().filter(|period| timeout > **period) {
        log.mistake(
            fields.place(round_trips::TIMEOUT.name),
            format!(
                "a time-out of {} is longer than the period of {}: the next request is due before",
                format_span(timeout),
                format_span(*period)
            ),
            "Use at most the period, or leave one of them out.",
        );
        return None;
    }
    Some(timeout)
}
