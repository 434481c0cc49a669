//! Requests and their replies between two hosts.

use teiji_core::time::Span;

use crate::keys::round_trips::RoundTrips;

impl RoundTrips {
    /// The wire by which the requests arrive.
    pub fn last_wire(&self) -> &str {
        self.downstream_wires.last().unwrap_or(&self.wire)
    }

    /// How long they take at most: every period, or else every time-out, in full.
    pub fn longest(&self) -> Span {
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        Span::from_ns(self.period.unwrap_or(self.timeout).as_ns().saturating_mul(count))
    }
}
