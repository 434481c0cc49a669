//! The configuration of a talker: where to, how, and how it is scheduled.

use std::net::SocketAddr;
use teiji_core::send_mode::LaunchMode;

use teiji_core::domain::{Dscp, Level, SocketPriority};
use teiji_core::wire::{MacAddr, VlanTag};

use crate::scheduling::Scheduling;

/// Everything a talker needs to know, apart from when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TalkerConfig {
    /// The interface to send through, in the calling thread's namespace.
    pub interface: String,
    /// Where the frames go.
    pub destination: Destination,
    /// Flow identifier in the test header.
    pub flow: u16,
    /// Bytes after the transport's header (UDP payload, or Ethernet payload),
    /// at least [`teiji_core::wire::Probe::LEN`].
    pub payload: u16,
    /// `SO_PRIORITY`.
    pub priority: SocketPriority,
    /// Differentiated services code point of UDP frames.
    pub dscp: Dscp,
    /// Size of the socket's buffer in bytes, as `SO_SNDBUF` takes it; `None`: the kernel's default.
    pub send_buffer: Option<u32>,
    /// Frames carry launch times (`SO_TXTIME` on `CLOCK_TAI`).
    pub launch: Option<LaunchMode>,
    /// Time stamps to request.
    pub stamps: TxStamps,
    /// No `prioflow` queue drops a frame up to this level: where there is no room, sending
    /// waits ([`crate::flow`]). UDP only.
    pub flow_control: Option<Level>,
    /// How the sending thread is scheduled.
    pub scheduling: Scheduling,
}

impl TalkerConfig {
    /// The plainest talker: flow 0, a payload of 64 bytes, priority 0, sent at
    /// once, no stamps, ordinary scheduling.
    pub fn new(interface: &str, destination: Destination) -> Self {
        Self {
            interface: interface.to_owned(),
            destination,
            flow: 0,
            payload: 64,
            priority: SocketPriority::default(),
            dscp: Dscp::default(),
            send_buffer: None,
            launch: None,
            stamps: TxStamps::None,
            flow_control: None,
            scheduling: Scheduling::default(),
        }
    }
}

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// UDP to this address and port. A link-local IPv6 address without scope
    /// means the talker's interface.
    Udp(SocketAddr),
    /// An Ethernet frame with [`teiji_core::wire::TEIJI_ETHERTYPE`].
    Ethernet {
        /// The station.
        to: MacAddr,
        /// An 802.1Q tag to put in front.
        vlan: Option<VlanTag>,
    },
}

/// Transmit time stamps to request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TxStamps {
    /// None.
    #[default]
    None,
    /// The kernel's: entry of the qdisc, and hand-over to the NIC.
    Kernel,
    /// The kernel's, and the NIC's where it has them. The NIC's stamping is
    /// switched on for the life of the talker.
    Hardware,
}

/// `address` with the interface as scope, where it needs one and has none.
pub(super) fn with_scope(address: SocketAddr, interface: u32) -> SocketAddr {
    let mut address = address;
    if let SocketAddr::V6(v6) = &mut address {
        let first = v6.ip().segments()[0];
        // fe80::/10 and link-local multicast.
        let link_local = first & 0xFFC0 == 0xFE80 || first & 0xFF0F == 0xFF02;
        if link_local && v6.scope_id() == 0 {
            v6.set_scope_id(interface);
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_addresses_get_the_interface_as_scope() {
        let scope = |text: &str| match with_scope(text.parse().unwrap(), 7) {
            SocketAddr::V6(v6) => v6.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        assert_eq!(scope("[fe80::1]:5"), 7);
        assert_eq!(scope("[ff02::1]:5"), 7);
        assert_eq!(scope("[fe80::1%3]:5"), 3);
        assert_eq!(scope("[fd74::1]:5"), 0);
    }
}
