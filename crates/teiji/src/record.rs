//! What a talker and a listener remember of each frame.

use serde::{Deserialize, Serialize};
use teiji_core::frame::TxError;
use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Phc, Tai};

/// One frame as its sender saw it. A stamp that never came is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxRecord {
    /// Sequence number, from 0.
    pub seq: u64,
    /// When the frame was meant to be on the wire.
    pub scheduled: Instant<Tai>,
    /// When the sender woke.
    pub woke: Instant<Tai>,
    /// When the send call returned.
    pub handed_over: Instant<Tai>,
    /// Entered the qdisc (`SOF_TIMESTAMPING_TX_SCHED`).
    pub tx_sched: Option<Instant<Tai>>,
    /// Handed to the NIC by its driver (`SOF_TIMESTAMPING_TX_SOFTWARE`).
    pub tx_kernel: Option<Instant<Tai>>,
    /// Left the NIC (`SOF_TIMESTAMPING_TX_HARDWARE`).
    pub tx_hardware: Option<Instant<Phc>>,
    /// Why the kernel refused or dropped it, if it reported so.
    pub tx_error: Option<TxError>,
}

/// Everything a talker remembers of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TalkerLog {
    /// Flow identifier in the test header.
    pub flow: u16,
    /// One per frame that was attempted, in order of `seq`.
    pub frames: Vec<TxRecord>,
    /// True if the talker was stopped before its last frame.
    pub interrupted: bool,
    /// Transmit stamps were requested.
    pub stamps_requested: bool,
}

/// One arrival of a test frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RxRecord {
    /// Flow identifier in the test header.
    pub flow: u16,
    /// Sequence number in the test header.
    pub seq: u64,
    /// Scheduled departure in the test header.
    pub scheduled: Instant<Tai>,
    /// The receiving kernel's stamp.
    pub rx_kernel: Option<Instant<Tai>>,
    /// The receiving NIC's stamp.
    pub rx_hardware: Option<Instant<Phc>>,
    /// When the receiving program had it.
    pub taken: Instant<Tai>,
    /// Its way through the receiving kernel, where that was traced.
    pub reception: Reception,
}

/// Everything a listener remembers of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerLog {
    /// Arrivals in order, duplicates included.
    pub arrivals: Vec<RxRecord>,
    /// Packets on the socket that were not test frames of an expected flow.
    pub foreign: u64,
    /// Packets the socket dropped because its buffer was full (`SO_RXQ_OVFL`).
    pub socket_drops: u64,
    /// When the receiving port paused its peer at the flow's level, where that was traced.
    #[serde(default)]
    pub pauses: Vec<PeerPause>,
    /// With flow control: its headroom.
    #[serde(default)]
    pub headroom: Option<ReceiveHeadroom>,
}

/// How a socket with flow control (prioflow) divides its buffer: up to a mark what waits, above
/// it the headroom for in-flight frames after XOFF. Bytes are what the kernel charges to the
/// socket and compares with `SO_RCVBUF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveHeadroom {
    /// The whole buffer.
    pub buffer: u32,
    /// Its port sends XOFF from here on.
    pub high: u32,
    /// In-flight frames at most, by the link's rate, `reaction` and `ring`.
    pub headroom: u32,
    /// As many frames.
    pub frames: u32,
    /// Number of XOFFs.
    #[serde(rename = "asks")]
    pub pause_requests: u32,
    /// The most that it held when the program looked.
    pub fullest: u32,
}

/// A time for which a port paused its peer (prioflow).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerPause {
    /// XOFF. The name is that of the records.
    #[serde(rename = "asked")]
    pub requested: Instant<Tai>,
    /// XON.
    #[serde(rename = "released")]
    pub resumed: Instant<Tai>,
}
