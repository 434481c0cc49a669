//! What only a wire whose time is computed can tell: when each frame was on it, to
//! the nanosecond, and what it had to do with the frames beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Deviation;
pub use crate::frame::{WireFrame, rate_bps};
use crate::gates::GateStatistics;
use crate::shaping::ShapingStatistics;
use crate::waits::Wait;
use crate::xoff::XoffStatistics;

/// A stretch of a frame's way from the program that woke for it to the one that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Station {
    /// From the sender's wake-up to the beginning of the frame on the wire: send call, qdisc,
    /// ring, and the wait for a launch time.
    ToWire,
    /// In the qdisc: from its entry to the driver. Needs transmit stamps.
    Qdisc,
    /// In the NIC: from the driver to the wire. Needs transmit stamps.
    #[serde(rename = "card")]
    Nic,
    /// From the frame's last bit at the receiver to its kernel's stamp.
    Receive,
    /// Of that, to the NIC's interrupt. Needs a trace, as the next two, and an interrupt for
    /// this frame: one that comes while others are taken from the NIC needs none.
    Interrupt,
    /// From the interrupt to the softirq that takes frames from the NIC.
    Softirq,
    /// From the softirq's beginning, or the frame's last bit if that was later, to the stamp.
    Polling,
    /// From the kernel's stamp until the program has it.
    Deliver,
    /// Of that, to the program's waking. Needs a trace, as the next one.
    Socket,
    /// From the waking until the program has it.
    WakeUp,
}

impl Station {
    /// All of them, in the order they pass.
    pub const ALL: [Self; 10] = [
        Self::ToWire,
        Self::Qdisc,
        Self::Nic,
        Self::Receive,
        Self::Interrupt,
        Self::Softirq,
        Self::Polling,
        Self::Deliver,
        Self::Socket,
        Self::WakeUp,
    ];
}

/// One flow on such a wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WireStatistics {
    /// Bits per second from its first frame to its last, with preamble, FCS and gap;
    /// `None` for less than two frames.
    pub rate_bps: Option<u64>,
    /// Departure on the wire minus planned departure.
    pub departure: Option<Deviation>,
    /// How finely a NIC keeps its launch times and the wire is stamped, in ns: a
    /// smaller deviation from the plan is none.
    pub resolution_ns: i64,
    /// Frames that waited for the wire at their launch time, by the flow they waited
    /// for.
    pub waits: Vec<Wait>,
    /// Its frames against the gates of its class.
    pub gates: Option<GateStatistics>,
    /// Its class against the bandwidth and burst reserved for it.
    pub shaping: Option<ShapingStatistics>,
    /// Its frames that arrived after XOFF of its receiver's port, where that was traced.
    #[serde(default, rename = "silence")]
    pub xoffs: Option<XoffStatistics>,
    /// How long the stretches of its frames' way took, where both ends have stamps of one clock.
    #[serde(default)]
    pub stations: BTreeMap<Station, Deviation>,
}
