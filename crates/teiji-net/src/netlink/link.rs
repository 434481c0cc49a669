//! Links by netlink: create pairs and bridges, move, set up or down, look.
//!
//! Numbers from `include/uapi/linux/{rtnetlink,if_link,if,veth,if_bridge}.h`.

use std::os::fd::{AsRawFd, BorrowedFd};

use serde::{Deserialize, Serialize};
use teiji_core::errno::ENODEV;
use teiji_core::wire::MacAddr;

use super::{KernelError, Netlink};
use crate::message::{
    NLM_F_CREATE, NLM_F_EXCL, Request, attribute, attributes, i32_at, text, u16_at, u32_at, u64_at,
};

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BRPORT_STATE: u16 = 1;
const VETH_INFO_PEER: u16 = 1;

const IFF_UP: u32 = 1;
const IFF_LOOPBACK: u32 = 1 << 3;
const IFF_LOWER_UP: u32 = 1 << 16;

const BR_STATE_FORWARDING: u8 = 3;

/// `struct ifinfomsg { u8 family; u8 pad; u16 type; s32 index; u32 flags; u32 change; }`
const IFINFOMSG_LEN: usize = 16;

fn ifinfomsg(index: u32, flags: u32, change: u32) -> [u8; IFINFOMSG_LEN] {
    let mut bytes = [0; IFINFOMSG_LEN];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&change.to_ne_bytes());
    bytes
}

/// Packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packets {
    /// How many.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that the device, its driver or the kernel behind it dropped.
    pub dropped: u64,
}

/// What the kernel says of a link, as far as Teiji needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) up: bool,
    pub(crate) carrier: bool,
    pub(crate) loopback: bool,
    /// `None` for links without Ethernet address.
    pub(crate) mac: Option<MacAddr>,
    pub(crate) mtu: u32,
    /// `IF_OPER_*`, RFC 2863.
    pub(crate) oper_state: u8,
    /// `veth`, `bridge`, `vlan`, …; `None` for a NIC.
    pub(crate) kind: Option<String>,
    /// The bridge or bond it belongs to.
    pub(crate) master: Option<u32>,
    /// `BR_STATE_*`, for a port of a bridge.
    pub(crate) bridge_state: Option<u8>,
    /// The link it rests on (VLAN and the like), in the same namespace.
    pub(crate) lower: Option<u32>,
    pub(crate) tx_queues: u32,
    pub(crate) rx_queues: u32,
    /// Most bytes of a packet that is cut into frames on its way out.
    pub(crate) gso_max_size: Option<u32>,
    pub(crate) sent: Packets,
    pub(crate) received: Packets,
    /// Frames that found no room in the receive ring, or in the NIC before it.
    pub(crate) rx_missed: u64,
    pub(crate) rx_crc_errors: u64,
}

impl Link {
    fn parse(payload: &[u8]) -> Option<Self> {
        let flags = u32_at(payload, 8)?;
        let mut link = Self {
            index: u32_at(payload, 4)?,
            name: String::new(),
            up: flags & IFF_UP != 0,
            carrier: flags & IFF_LOWER_UP != 0,
            loopback: flags & IFF_LOOPBACK != 0,
            mac: None,
            mtu: 0,
            oper_state: 0,
            kind: None,
            master: None,
            bridge_state: None,
            lower: None,
            tx_queues: 1,
            rx_queues: 1,
            gso_max_size: None,
            sent: Packets::default(),
            received: Packets::default(),
            rx_missed: 0,
            rx_crc_errors: 0,
        };
        // ARPHRD_ETHER, so that tunnels' addresses are not taken for MACs.
        let ethernet = u16_at(payload, 2)? == 1;
        for (kind, value) in attributes(payload.get(IFINFOMSG_LEN..)?) {
            match kind {
                IFLA_IFNAME => link.name = text(value),
                IFLA_ADDRESS if ethernet => link.mac = value.try_into().ok().map(MacAddr),
                IFLA_MTU => link.mtu = u32_at(value, 0)?,
                IFLA_LINK => link.lower = u32_at(value, 0),
                IFLA_MASTER => link.master = u32_at(value, 0),
                IFLA_OPERSTATE => link.oper_state = *value.first()?,
                IFLA_NUM_TX_QUEUES => link.tx_queues = u32_at(value, 0)?,
                IFLA_NUM_RX_QUEUES => link.rx_queues = u32_at(value, 0)?,
                IFLA_GSO_MAX_SIZE => link.gso_max_size = u32_at(value, 0),
                IFLA_LINKINFO => {
                    link.kind = attribute(value, IFLA_INFO_KIND).map(text);
                    // Only of a bridge, whose ports begin with their state.
                    let port = attribute(value, IFLA_INFO_SLAVE_DATA);
                    let kind = attribute(value, IFLA_INFO_SLAVE_KIND).map(text);
                    if kind.as_deref() == Some("bridge") {
                        let state = port.and_then(|port| attribute(port, IFLA_BRPORT_STATE));
                        link.bridge_state = state.and_then(|state| state.first().copied());
                    }
                }
                // struct rtnl_link_stats64 (linux/if_link.h) is u64s. Drivers that count
                // overruns in two places count a frame once: igb's ring in rx_fifo_errors, the
                // NIC's own memory in rx_missed_errors.
                IFLA_STATS64 => {
                    let field = |n: usize| u64_at(value, 8 * n);
                    let packets = |n: usize| {
                        Some(Packets {
                            packets: field(n)?,
                            bytes: field(n + 2)?,
                            dropped: field(n + 6)?,
                        })
                    };
                    link.received = packets(0)?;
                    link.sent = packets(1)?;
                    link.rx_crc_errors = field(12)?;
                    link.rx_missed = field(14)?.saturating_add(field(15)?);
                }
                _ => {}
            }
        }
        Some(link)
    }

    /// It can send, and what its bridge, if it has one, forwards to it.
    pub(crate) fn is_ready(&self) -> bool {
        self.carrier && self.bridge_state.is_none_or(|state| state == BR_STATE_FORWARDING)
    }

    /// The state of a bridge's port in `ip`'s spelling.
    pub(crate) fn bridge_state(&self) -> Option<&'static str> {
        Some(match self.bridge_state? {
            0 => "disabled",
            1 => "listening",
            2 => "learning",
            BR_STATE_FORWARDING => "forwarding",
            4 => "blocking",
            _ => "unknown",
        })
    }

    /// RFC 2863's state in `ip`'s spelling.
    pub(crate) fn state(&self) -> &'static str {
        match self.oper_state {
            1 => "NOTPRESENT",
            2 => "DOWN",
            3 => "LOWERLAYERDOWN",
            4 => "TESTING",
            5 => "DORMANT",
            6 => "UP",
            _ => "UNKNOWN",
        }
    }
}

/// One end of a pair to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairEnd<'a> {
    pub(crate) name: &'a str,
    pub(crate) mac: MacAddr,
    /// `None` leaves the number to the driver.
    pub(crate) tx_queues: Option<u16>,
    pub(crate) namespace: BorrowedFd<'a>,
}

impl PairEnd<'_> {
    fn describe(&self, request: Request) -> Request {
        let mut request =
            request.string(IFLA_IFNAME, self.name).attribute(IFLA_ADDRESS, &self.mac.0);
        if let Some(queues) = self.tx_queues {
            // Both said, so that the kernel does not size them by the CPUs.
            request = request.u32(IFLA_NUM_TX_QUEUES, u32::from(queues)).u32(IFLA_NUM_RX_QUEUES, 1);
        }
        request.attribute(IFLA_NET_NS_FD, &self.namespace.as_raw_fd().to_ne_bytes())
    }
}

/// Creates a pair of `kind` (`veth`, or `vtsn`, which takes its peer in the same
/// form) with its ends where they belong at once, so that it never shows in
/// the caller's namespace.
pub(crate) fn create_pair(
    netlink: &mut Netlink,
    kind: &str,
    near: PairEnd<'_>,
    far: PairEnd<'_>,
) -> Result<(), KernelError> {
    let request = Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifinfomsg(0, 0, 0));
    netlink.change(near.describe(request).nested(IFLA_LINKINFO, |info| {
        info.string(IFLA_INFO_KIND, kind).nested(IFLA_INFO_DATA, |data| {
            data.nest(VETH_INFO_PEER, &ifinfomsg(0, 0, 0), |peer| far.describe(peer))
        })
    }))
}

/// Creates a bridge, set up. It snoops on no multicast, for which it would speak itself.
pub(crate) fn create_bridge(netlink: &mut Netlink, name: &str) -> Result<(), KernelError> {
    let header = ifinfomsg(0, IFF_UP, IFF_UP);
    let request = Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header);
    netlink.change(request.string(IFLA_IFNAME, name).nested(IFLA_LINKINFO, |info| {
        info.string(IFLA_INFO_KIND, "bridge")
            .nested(IFLA_INFO_DATA, |data| data.attribute(IFLA_BR_MCAST_SNOOPING, &[0]))
    }))
}

/// Makes a link a port of the bridge whose index is `master`.
pub(crate) fn set_master(
    netlink: &mut Netlink,
    index: u32,
    master: u32,
) -> Result<(), KernelError> {
    let request = Request::new(RTM_NEWLINK, 0, &ifinfomsg(index, 0, 0));
    netlink.change(request.u32(IFLA_MASTER, master))
}

/// Sets the administrative state.
pub(crate) fn set_up(netlink: &mut Netlink, index: u32, up: bool) -> Result<(), KernelError> {
    let flags = if up { IFF_UP } else { 0 };
    netlink.change(Request::new(RTM_NEWLINK, 0, &ifinfomsg(index, flags, IFF_UP)))
}

/// Sets the most bytes of a packet that is cut into frames on its way out.
pub(crate) fn set_gso_max_size(
    netlink: &mut Netlink,
    index: u32,
    bytes: u32,
) -> Result<(), KernelError> {
    let request = Request::new(RTM_NEWLINK, 0, &ifinfomsg(index, 0, 0));
    netlink.change(request.u32(IFLA_GSO_MAX_SIZE, bytes))
}

/// Moves a link into another network namespace. The kernel takes it down and
/// forgets its addresses and qdiscs on the way.
pub(crate) fn move_to(
    netlink: &mut Netlink,
    index: u32,
    namespace: BorrowedFd<'_>,
) -> Result<(), KernelError> {
    let request = Request::new(RTM_NEWLINK, 0, &ifinfomsg(index, 0, 0));
    netlink.change(request.attribute(IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes()))
}

/// Deletes a virtual link.
pub(crate) fn delete(netlink: &mut Netlink, index: u32) -> Result<(), KernelError> {
    netlink.change(Request::new(RTM_DELLINK, 0, &ifinfomsg(index, 0, 0)))
}

/// The link called `name`, if there is one.
pub(crate) fn find(netlink: &mut Netlink, name: &str) -> Result<Option<Link>, KernelError> {
    let mut found = None;
    let request = Request::new(RTM_GETLINK, 0, &ifinfomsg(0, 0, 0)).string(IFLA_IFNAME, name);
    match netlink.get(request, |_, payload| found = Link::parse(payload)) {
        Err(e) if e.errno == ENODEV => Ok(None),
        Err(e) => Err(e),
        Ok(()) => Ok(found),
    }
}

/// All links of the namespace.
pub(crate) fn list(netlink: &mut Netlink) -> Result<Vec<Link>, KernelError> {
    netlink.dump(&Request::new(RTM_GETLINK, 0, &ifinfomsg(0, 0, 0)), |payload| {
        // An index of 0 is no link; negative ones do not exist.
        i32_at(payload, 4).filter(|index| *index > 0)?;
        Link::parse(payload)
    })
}
