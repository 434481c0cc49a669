//! Requests and their replies between two hosts.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

use super::Transport;

/// Round trips from one host to another in the same network and back: a requester asks, a
/// responder answers at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Letters, digits and `-`; no flow of the scenario has it.
    pub name: String,
    /// The asking host.
    pub from: String,
    /// The answering host.
    pub to: String,
    /// The wire they leave by.
    pub wire: String,
    /// The wires behind the first, where bridges pass them on.
    #[serde(default)]
    pub beyond: Vec<String>,
    /// How many requests.
    pub count: u64,
    /// Distance between two requests; `None` asks again as soon as the reply is
    /// there, or the time-out over.
    pub period: Option<Span>,
    /// How long a reply is waited for; at most the period.
    pub timeout: Span,
    /// Bytes of UDP payload, at least [`teiji_core::wire::Echo::LEN`].
    pub payload: u16,
    /// UDP, and the responder's port.
    pub transport: Transport,
    /// `SO_PRIORITY` of requests and replies, 0 to 15.
    pub priority: u8,
    /// Differentiated services code point of requests and replies, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// `SCHED_FIFO` priority of the asking thread, 1 to 99.
    pub realtime: Option<u8>,
    /// `SCHED_FIFO` priority of the answering thread, 1 to 99.
    pub responder_realtime: Option<u8>,
    /// How long the answering thread polls the card before it waits (`SO_BUSY_POLL`),
    /// whole microseconds.
    #[serde(default)]
    pub responder_busy_poll: Option<Span>,
    /// Trace the requests through the responder's kernel.
    #[serde(default)]
    pub responder_trace: bool,
}

impl RoundTrips {
    /// The wire by which the requests arrive.
    pub fn last_wire(&self) -> &str {
        self.beyond.last().unwrap_or(&self.wire)
    }

    /// How long they take at most: every period, or else every time-out, in full.
    pub fn longest(&self) -> Span {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        Span::from_ns(self.period.unwrap_or(self.timeout).as_ns().saturating_mul(count))
    }
}
