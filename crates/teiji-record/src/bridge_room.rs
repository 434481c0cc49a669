//! Room that a bridge's port with flow control (prioflow) has for the frames that it forwards.

use serde::{Deserialize, Serialize};

/// One port of a bridge; frames are of one level, in the queue of one port. kernel/prioflow/README.md,
/// "Bridges".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeRoom {
    /// The bridge.
    pub host: String,
    /// The port's wire.
    pub wire: String,
    /// For as many frames that came by this port is room in each queue.
    pub room: u32,
    /// Of it for what can still come after asking for silence.
    pub headroom: u32,
    /// How often the port asked its peer for silence because of them.
    pub asks: u64,
    /// The most frames that waited for this port.
    pub most: u32,
    /// Of all that waited for this port: found no room, and could be dropped.
    pub beyond: u64,
}
