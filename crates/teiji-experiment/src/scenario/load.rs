//! What the machine does beside the flows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A load, of ordinary threads, that runs from before the first departure to after the
/// last. Those of the network go over the first flow's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Every CPU computes.
    Cpu,
    /// Every CPU sleeps for 100 µs again and again.
    Timer,
    /// Every CPU copies memory.
    Memory,
    /// Datagrams from the first flow's sender, at a mean rate.
    UdpTx,
    /// Datagrams to it.
    UdpRx,
    /// A TCP stream from the first flow's sender, as fast as it goes.
    TcpTx,
    /// A TCP stream to it.
    TcpRx,
}

impl Load {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Timer, Self::Memory, Self::UdpTx, Self::UdpRx, Self::TcpTx, Self::TcpRx];

    /// The name in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Timer => "timer",
            Self::Memory => "memory",
            Self::UdpTx => "udp-tx",
            Self::UdpRx => "udp-rx",
            Self::TcpTx => "tcp-tx",
            Self::TcpRx => "tcp-rx",
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
