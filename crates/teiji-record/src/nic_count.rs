//! What NICs, queues and sockets counted of frames that did not leave or arrive as they
//! were meant to.

use serde::{Deserialize, Serialize};

/// Frames that one port counted during a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCount {
    /// The port's host.
    pub host: String,
    /// The port's wire.
    pub wire: String,
    /// What became of them.
    pub trouble: NicProblem,
    /// The transmit queues they were in; empty for what is not counted by queue.
    pub queues: Vec<u16>,
    /// How many.
    pub frames: u64,
}

/// What became of a frame at a NIC, or before or behind it. Gates, credits and PAUSE make frames wait by
/// design and are not among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicProblem {
    /// It came to the NIC after its launch time and left at once.
    LaunchLate,
    /// The wire was busy when its launch time came.
    LaunchDelayed,
    /// Dropped: its launch time lay beyond the NIC's horizon.
    LaunchHorizon,
    /// It waits, and those behind it: no gate is open long enough.
    GateNever,
    /// Dropped by the driver for want of memory.
    NoMemory,
    /// Dropped: its queue was stuck.
    Timeouts,
    /// The receiving NIC's ring was full.
    RxOverrun,
    /// It arrived damaged.
    RxCrcErrors,
    /// It arrived while the port was down.
    RxDown,
    /// Dropped by the sender's queue, which was full; whoever sent it.
    QueueFull,
    /// Dropped by the sender's queue, where it had waited for too long (`fq_codel`, RFC 8290),
    /// or which was full: the queue counts both together; whoever sent it.
    QueueDelay,
    /// Dropped by the listener's socket, whose buffer was full.
    SocketFull,
}

impl NicProblem {
    /// Those that a NIC counts.
    pub const OF_NICS: [Self; 9] = [
        Self::LaunchLate,
        Self::LaunchDelayed,
        Self::LaunchHorizon,
        Self::GateNever,
        Self::NoMemory,
        Self::Timeouts,
        Self::RxOverrun,
        Self::RxCrcErrors,
        Self::RxDown,
    ];

    /// Its counter of `ethtool -S` on a `vtsn` port, if it is a NIC's; behind `txN_` if it
    /// is a queue's.
    pub const fn counter(self) -> Option<&'static str> {
        Some(match self {
            Self::LaunchLate => "launch_late",
            Self::LaunchDelayed => "launch_delayed",
            Self::LaunchHorizon => "launch_horizon",
            Self::GateNever => "gate_never",
            Self::NoMemory => "no_memory",
            Self::Timeouts => "timeouts",
            Self::RxOverrun => "rx_overrun",
            Self::RxCrcErrors => "rx_crc_errors",
            Self::RxDown => "rx_down",
            Self::QueueFull | Self::QueueDelay | Self::SocketFull => return None,
        })
    }
}
