//! Queue space of a bridge's port with flow control (prioflow) for the frames that it forwards.

use serde::{Deserialize, Serialize};

/// One port of a bridge; frames are of one level, in the queue of one port. kernel/prioflow/README.md,
/// "Bridges".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeHeadroom {
    /// The bridge.
    pub host: String,
    /// The port's wire.
    pub wire: String,
    /// Space in each queue for frames that this port received.
    pub room: u32,
    /// Of it the headroom for in-flight frames after XOFF.
    pub headroom: u32,
    /// XOFFs that the port sent because of them.
    #[serde(rename = "asks")]
    pub pause_requests: u64,
    /// The most frames that waited for this port.
    pub most: u32,
    /// Frames that this port received and that exceeded the space, so they could be dropped.
    #[serde(rename = "beyond")]
    pub over_limit: u64,
}
