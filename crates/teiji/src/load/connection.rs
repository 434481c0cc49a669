//! What a sender's kernel knows of a stream's TCP connection.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

/// What the sender's kernel had found out of a stream's connection in the end.
///
/// The shortest round trip decides how much TCP hands to the queueing discipline in one piece:
/// below 512 µs up to 64 KiB, above that half as much for each 512 µs more
/// (`tcp_tso_autosize()` in `net/ipv4/tcp_output.c`, `tcp_tso_rtt_log`). Whatever comes to
/// the queue meanwhile waits behind the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Round trip, smoothed.
    #[serde(rename = "round_trip_ns")]
    pub round_trip: Span,
    /// The shortest round trip.
    #[serde(rename = "shortest_ns")]
    pub shortest: Span,
    /// Segments sent again.
    pub retransmitted: u32,
}
