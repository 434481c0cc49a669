//! Round trips.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;
use teiji_core::wire::Echo;

use super::flow::{read_busy_poll, read_dscp, read_host, read_payload, read_way};
use super::networks::Networks;
use super::slip::is_slip;
use crate::draft::RoundTripsDraft;
use crate::fields::{Fields, Found, Named};
use crate::log::Log;
use crate::scenario::Transport;
use crate::schema;

/// More make no sense in a report.
const MOST: usize = 100;
/// The first of their own ports: behind those of as many flows as there may be.
const FIRST_PORT: u16 = 8_788;
/// How long a reply is waited for, unless the file or the period says less.
const TIMEOUT: Span = Span::from_secs(1);

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
    let wanted = tables.iter().take(MOST).zip(FIRST_PORT..);
    let kind = ("table of round trips", "round-trips");
    let wanted = wanted.filter(|(table, _)| !is_slip(table, &tables, kind, log));
    wanted.map(|(table, port)| read_one(table, port, networks, log)).collect()
}

/// `port` is their own, unless they name another.
fn read_one(table: &Named<'_>, port: u16, networks: &Networks<'_>, log: &Log) -> RoundTripsDraft {
    let label = format!("[round-trips.{}]", table.name);
    let fields = Fields::new(table.table, table.at, &schema::ROUND_TRIPS, label, log);
    let from = read_host("from", &fields, networks, log);
    let to = read_host("to", &fields, networks, log);
    let (wire, beyond) = read_way(&fields, from.as_deref(), to.as_deref(), networks, log);
    let transport = read_transport(&fields, port);
    let period = read_period(&fields, log);
    let realtime =
        "SCHED_FIFO has the priorities 1 to 99; leave the key out for ordinary scheduling.";
    let small = |found: Found<i64>| found.and_then(|n| u8::try_from(n).ok());
    RoundTripsDraft {
        name: table.name.to_owned(),
        wire,
        beyond,
        from,
        to,
        count: fields.required(
            "count",
            "10_000",
            fields
                .number("count", 1, i64::MAX, "At least one request is sent.")
                .and_then(|n| u64::try_from(n).ok()),
        ),
        timeout: read_timeout(&fields, period, log),
        period,
        payload: read_payload(&fields, transport, (Echo::LEN, "the headers of a round trip"), log),
        transport,
        priority: small(fields.number("priority", 0, 15, "The kernel's maps have 16 priorities."))
            .or_default(0),
        dscp: read_dscp(&fields, transport, log),
        realtime: small(fields.number("realtime", 1, 99, realtime)),
        responder_realtime: small(fields.number("responder-realtime", 1, 99, realtime)),
        responder_busy_poll: read_busy_poll("responder-busy-poll", &fields, log),
        responder_trace: fields.flag("responder-trace").or_default(false),
    }
}

fn read_transport(fields: &Fields<'_>, own_port: u16) -> Option<Transport> {
    let port = fields
        .number("port", 1, i64::from(u16::MAX), "UDP ports have 16 bits.")
        .and_then(|n| u16::try_from(n).ok())
        .or_default(own_port);
    let is_v6 = fields.choice("transport", &[("udp4", false), ("udp6", true)]).or_default(false)?;
    let port = port?;
    Some(if is_v6 { Transport::Udp6 { port } } else { Transport::Udp4 { port } })
}

fn read_period(fields: &Fields<'_>, log: &Log) -> Found<Span> {
    fields.span("period", "\"1ms\"").and_then(|period| {
        let positive = period > Span::ZERO;
        if !positive {
            log.mistake(
                fields.place("period"),
                format!("the period is {}; it must be longer than nothing", format_span(period)),
                "Leave it out to ask again as soon as the reply is there.",
            );
        }
        positive.then_some(period)
    })
}

fn read_timeout(fields: &Fields<'_>, period: Found<Span>, log: &Log) -> Option<Span> {
    let default = period.as_value().map_or(TIMEOUT, |period| TIMEOUT.min(*period));
    let timeout = fields.span("timeout", "\"100ms\"").or_default(default)?;
    if timeout <= Span::ZERO {
        log.mistake(
            fields.place("timeout"),
            format!("the time-out is {}; no reply could come", format_span(timeout)),
            "Write how long a reply is waited for, for example timeout = \"100ms\"",
        );
        return None;
    }
    if let Some(period) = period.as_value().filter(|period| timeout > **period) {
        log.mistake(
            fields.place("timeout"),
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
