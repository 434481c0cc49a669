//! Static neighbours by netlink, so that neither ARP nor neighbour discovery
//! ever asks on the wire, and static forwarding of bridges, so that none floods what it
//! has not learnt. Numbers from `include/uapi/linux/neighbour.h`.

use std::net::IpAddr;

use teiji_core::wire::MacAddr;

use super::address::octets;
use super::{KernelError, Netlink};
use crate::message::{NLM_F_CREATE, NLM_F_REPLACE, Request};

const RTM_NEWNEIGH: u16 = 28;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_NOARP: u16 = 0x40;
const NUD_PERMANENT: u16 = 0x80;
/// The entry is the bridge's, not the port's.
const NTF_MASTER: u8 = 0x04;
const AF_BRIDGE: u8 = 7;

/// Makes `mac` the permanent link-layer address of `ip` on a link.
///
/// Header: `struct ndmsg { u8 family, pad1; u16 pad2; s32 ifindex; u16 state;
/// u8 flags, type; }`.
pub(crate) fn set_permanent(
    netlink: &mut Netlink,
    index: u32,
    ip: IpAddr,
    mac: MacAddr,
) -> Result<(), KernelError> {
    let mut header = [0; 12];
    header[0] = if ip.is_ipv4() { 2 } else { 10 };
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    netlink.change(
        Request::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &header)
            .attribute(NDA_DST, &octets(ip))
            .attribute(NDA_LLADDR, &mac.0),
    )
}

/// Has the bridge that a link belongs to send frames for `mac` by this link, always.
pub(crate) fn set_forwarding(
    netlink: &mut Netlink,
    index: u32,
    mac: MacAddr,
) -> Result<(), KernelError> {
    let mut header = [0; 12];
    header[0] = AF_BRIDGE;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_NOARP.to_ne_bytes());
    header[10] = NTF_MASTER;
    netlink.change(
        Request::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &header)
            .attribute(NDA_LLADDR, &mac.0),
    )
}
