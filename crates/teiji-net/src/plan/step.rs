//! One step of a plan: a change on one host.

use std::net::IpAddr;

use crate::processing::ProcessingSetting;
use crate::qdisc::PlannedQdisc;
use crate::system::SystemSetting;
use crate::vtsn::Setting;

/// One change on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) host: String,
    pub(crate) action: Action,
}

/// What a step does. Ports are indices into [`Plan::ports`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Make the host's network namespace.
    Namespace,
    /// Set a sysctl inside it, as path below `/proc/sys`.
    Sysctl {
        path: &'static str,
        value: &'static str,
    },
    LoopbackUp,
    /// Make a veth or vtsn pair with both ends in place.
    Pair {
        near: usize,
        far: usize,
    },
    /// Move a NIC into the namespace.
    Move {
        port: usize,
    },
    Channels {
        port: usize,
        queues: u16,
    },
    Setting {
        port: usize,
        setting: Setting,
    },
    /// Set something of the host's kernel, outside its namespace.
    System {
        setting: SystemSetting,
    },
    /// Bring the list of free pages that each CPU keeps to itself below its new limit.
    ShortFreeLists,
    Processing {
        port: usize,
        setting: ProcessingSetting,
    },
    /// Make the host's bridge, set up.
    Bridge,
    /// Make a port one of its host's bridge.
    Enslave {
        port: usize,
    },
    /// Have the bridge send what goes to a host's port by one of its own only.
    Forward {
        port: usize,
        to: usize,
    },
    Address {
        port: usize,
        ip: IpAddr,
        prefix: u8,
    },
    Qdisc {
        port: usize,
        qdisc: PlannedQdisc,
    },
    Up {
        port: usize,
    },
    /// Wait until the port can send.
    Carrier {
        port: usize,
    },
    Neighbour {
        port: usize,
        peer: usize,
        ip: IpAddr,
    },
}

impl Action {
    /// The port it concerns.
    pub(crate) fn port(&self) -> Option<usize> {
        match self {
            Self::Namespace
            | Self::Sysctl { .. }
            | Self::LoopbackUp
            | Self::Bridge
            | Self::System { .. }
            | Self::ShortFreeLists => None,
            Self::Pair { near: port, .. }
            | Self::Move { port }
            | Self::Channels { port, .. }
            | Self::Setting { port, .. }
            | Self::Processing { port, .. }
            | Self::Enslave { port }
            | Self::Forward { port, .. }
            | Self::Address { port, .. }
            | Self::Qdisc { port, .. }
            | Self::Up { port }
            | Self::Carrier { port }
            | Self::Neighbour { port, .. } => Some(*port),
        }
    }
}
