//! One row a frame: the record everything else is computed from.

use serde::{Deserialize, Serialize};
use teiji::Fate;
use teiji_core::reception::Reception;
use teiji_core::time::{Capture, Instant, Phc, Tai};

/// Everything known about one frame. A missing stamp is `None`, never 0; a
/// lost frame is a row without arrival, not a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Flow identifier: index in the scenario.
    pub flow: u16,
    /// Sequence number, from 0.
    pub seq: u64,
    /// When it was meant to be on the wire.
    pub scheduled: Instant<Tai>,
    /// When its sender woke; `None` if the talker never came to it.
    pub woke: Option<Instant<Tai>>,
    /// When the send call returned.
    pub handed_over: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_SCHED`: entered the qdisc.
    pub tx_sched: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_SOFTWARE`: handed to the card by the driver.
    pub tx_kernel: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_HARDWARE`: left the card.
    pub tx_hardware: Option<Instant<Phc>>,
    /// Seen by the analyser.
    pub wire: Option<Instant<Capture>>,
    /// Arrived in the receiving kernel (first copy).
    pub rx_kernel: Option<Instant<Tai>>,
    /// Arrived at the receiving card (first copy).
    pub rx_hardware: Option<Instant<Phc>>,
    /// The receiving program had it (first copy).
    pub taken: Option<Instant<Tai>>,
    /// Its way through the receiving kernel, where that was traced (first copy).
    pub reception: Reception,
    /// Position in the order of arrival, over all flows of the listener, from
    /// 0 (first copy).
    pub arrival: Option<u64>,
    /// Copies that arrived; 0 for a lost frame.
    pub copies: u32,
    /// Why the kernel refused or dropped it, if it said so.
    pub fate: Option<Fate>,
}
