//! `[round-trips.NAME]`: requests and their replies.

use serde::{Deserialize, Serialize};
use teiji_core::domain::{Dscp, RtPriority, SocketPriority};
use teiji_core::quantity::format_span;
use teiji_core::time::Span;
use teiji_core::wire::{Echo, TEIJI_UDP_PORT};

use super::flow::{BUSY_POLL, CODE_POINTS, MAX_FLOWS, PRIORITIES, REALTIME, UDP_PORTS};
use super::time::{Time, time};
use super::value::{Choice, int, name, one_of};
use super::{Absent, section};
use crate::scenario::Transport;

#[expect(clippy::cast_possible_truncation, reason = "48")]
const LEAST_PAYLOAD: u16 = Echo::LEN as u16;
const MOST_PAYLOAD: u16 = Transport::Udp4 { port: 0 }.most_payload();

/// The first of their own ports: behind those of as many flows as there may be.
pub(crate) const FIRST_PORT: u16 = TEIJI_UDP_PORT + MAX_FLOWS;
/// The wait for a reply, unless the period is shorter.
pub(crate) const LONGEST_WAIT: Span = Span::from_secs(1);

/// A [`Transport`] without its settings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Built {
    Udp4,
    Udp6,
}

impl Choice for Built {}

section! {
    /// Round trips between two hosts of one network: a requester sends requests, a responder
    /// replies at once.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct RoundTrips, draft RoundTripsDraft, section ROUND_TRIPS of "[round-trips.NAME]";
    given {
        /// Letters, digits and `-`; no flow of the scenario has it.
        name: String,
        /// The further wires of the path, over bridges.
        #[serde(default, rename = "beyond")]
        downstream_wires: Vec<String>,
    }
    made {
        /// The requester's host.
        from: String,
        /// The responder's host.
        to: String,
        /// The first wire of the requests' path.
        wire: String,
        /// Longest wait for a reply; at most the period.
        timeout: Span,
        /// Bytes of UDP payload, at least [`Echo::LEN`].
        payload: u16,
        /// UDP, and the responder's port.
        transport: Transport,
    }
    keys {
        /// the requester's host
        const FROM: String = "from", name("\"talker\""), Absent::Required("\"talker\"");
        /// the responder's host: a neighbour, or a host behind bridges
        const TO: String = "to", name("\"listener\""), Absent::Required("\"listener\"");
        /// the first wire of the requests' path
        const WIRE: String =
            "wire", name("\"line\""), Absent::Means("the only one that leads there");
        /// number of requests
        count: u64 = "count",
            int(1, u64::MAX).why("At least one request is sent."),
            Absent::Required("10_000");
        /// interval between two requests; without it the next request follows the reply, or the
        /// time-out
        period: Option<Span> =
            "period", time("\"1ms\"").positive().refused(no_period), Absent::Means("none");
        /// longest wait for a reply; a lost reply costs this time and counts as lost, and the run
        /// continues
        const TIMEOUT: Span = "timeout",
            time("\"100ms\"").positive().refused(no_timeout),
            Absent::Computed(LONGEST_WAIT, ", or the period if that is shorter");
        /// bytes after the UDP header, of request and reply: at least the 48 of their headers, at
        /// most 1472 (udp4) or 1452 (udp6)
        const PAYLOAD: u16 = "payload", int(LEAST_PAYLOAD, MOST_PAYLOAD), Absent::Default(64);
        /// frame format
        const TRANSPORT: Built = "transport",
            one_of(&[("udp4", Built::Udp4), ("udp6", Built::Udp6)]),
            Absent::Default(Built::Udp4);
        /// UDP port of the responder
        const PORT: u16 =
            "port", UDP_PORTS, Absent::Computed(FIRST_PORT, ", one more for each table before it");
        /// `SO_PRIORITY` of requests and replies: selects the class
        priority: SocketPriority = "priority", PRIORITIES, Absent::Default(SocketPriority::LEAST);
        /// differentiated services code point of requests and replies; prioflow's level is a
        /// quarter of it
        dscp: Dscp [serde(default)] = "dscp", CODE_POINTS, Absent::Default(Dscp::LEAST);
        /// `SCHED_FIFO` priority of the requester's thread
        realtime: Option<RtPriority> = "realtime", REALTIME, Absent::Means("ordinary scheduling");
        /// `SCHED_FIFO` priority of the responder's thread
        responder_realtime: Option<RtPriority> =
            "responder-realtime", REALTIME, Absent::Means("ordinary scheduling");
        /// busy-poll time of the responder's thread before it waits (`SO_BUSY_POLL`)
        responder_busy_poll: Option<Span> [serde(default)] =
            "responder-busy-poll", BUSY_POLL, Absent::Means("none");
        /// follow each request through the responder's kernel, as `listener-trace` of a flow does
        responder_trace: bool [serde(default)] = "responder-trace", (), Absent::Default(false);
    }
}

fn no_period(_: &Time, _: &str, period: Span) -> [String; 2] {
    [
        format!("the period is {}; it must be longer than nothing", format_span(period)),
        "Omit it to send the next request as soon as the reply arrives.".to_owned(),
    ]
}

fn no_timeout(_: &Time, _: &str, timeout: Span) -> [String; 2] {
    [
        format!("the time-out is {}; it must be longer than nothing", format_span(timeout)),
        "Write the longest wait for a reply, for example timeout = \"100ms\"".to_owned(),
    ]
}
