//! What a machine does beside sending on time: the kinds of load by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a load keeps busy. It is of ordinary threads, never real-time. Those with a peer
/// go over the wire of an experiment's first flow; where it has none, from and to the
/// responder of its first round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// Every CPU, computing.
    Cpu,
    /// The kernel's timers: every CPU sleeps for 100 µs again and again.
    Timer,
    /// Memory and caches: every CPU copies 16 MiB again and again.
    Memory,
    /// The disk: a file is written and forced to it, MiB by MiB.
    Disk,
    /// Interrupts are disabled for 50 µs, about every 10 ms, as by a firmware or a careless driver. In
    /// the laboratory only.
    Stall,
    /// Transmission: UDP datagrams from the first flow's sender, at a mean rate.
    UdpTx,
    /// Reception: UDP datagrams to the first flow's sender, at a mean rate.
    UdpRx,
    /// Transmission: a TCP stream from the first flow's sender, as fast as it goes.
    TcpTx,
    /// Reception: a TCP stream to the first flow's sender, as fast as it goes.
    TcpRx,
}

impl LoadKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Cpu,
        Self::Timer,
        Self::Memory,
        Self::Disk,
        Self::Stall,
        Self::UdpTx,
        Self::UdpRx,
        Self::TcpTx,
        Self::TcpRx,
    ];

    /// Its name on the command line and in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Timer => "timer",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Stall => "stall",
            Self::UdpTx => "udp-tx",
            Self::UdpRx => "udp-rx",
            Self::TcpTx => "tcp-tx",
            Self::TcpRx => "tcp-rx",
        }
    }

    /// The names of all, with commas between and `last` before the last one: `cpu, timer or disk`.
    pub fn names(last: &str) -> String {
        let names = Self::ALL.map(Self::name);
        let [first @ .., end] = &names;
        format!("{} {last} {end}", first.join(", "))
    }

    /// It needs a peer.
    pub const fn needs_a_wire(self) -> bool {
        matches!(self, Self::UdpTx | Self::UdpRx | Self::TcpTx | Self::TcpRx)
    }

    /// The kernel would go on with it if this program were killed.
    pub const fn needs_the_laboratory(self) -> bool {
        matches!(self, Self::Stall)
    }

    /// What it does, as a report counts it.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cpu => "rounds of 10 000 steps",
            Self::Timer => "timers",
            Self::Memory => "MiB copied",
            Self::Disk => "MiB written",
            Self::Stall => "stalls of 50 µs",
            Self::UdpTx | Self::UdpRx => "datagrams received",
            Self::TcpTx | Self::TcpRx => "kbit received",
        }
    }
}

impl fmt::Display for LoadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LoadKind {
    type Err = UnknownLoad;

    fn from_str(text: &str) -> Result<Self, UnknownLoad> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| UnknownLoad(text.to_owned()))
    }
}

/// No load has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "there is no load `{0}`; there are {all} (udp, tcp for both)",
    all = LoadKind::names("and")
)]
pub struct UnknownLoad(pub String);
