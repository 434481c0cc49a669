//! Routes by netlink, only to see what a card is used for before it is taken.
//! Numbers from `include/uapi/linux/rtnetlink.h`.

use super::message::{Request, attributes, i32_at, u16_at, u32_at};
use super::{KernelError, Netlink};

const RTM_GETROUTE: u16 = 26;
const RTA_OIF: u16 = 4;
const RTA_MULTIPATH: u16 = 9;
const RTN_UNICAST: u8 = 1;
const RTM_F_CLONED: u32 = 0x200;
/// The kernel's own: prefix routes, link-local, multicast.
const RTPROT_KERNEL: u8 = 2;
/// From a router advertisement: comes back by itself.
const RTPROT_RA: u8 = 9;

/// `struct rtmsg { u8 family, dst_len, src_len, tos, table, protocol, scope,
/// type; u32 flags; }`
const RTMSG_LEN: usize = 12;

/// A route that would be lost or cut with its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Destination prefix length 0: the default route.
    pub(crate) default: bool,
    /// Somebody configured it; the kernel will not bring it back.
    pub(crate) configured: bool,
}

/// The unicast routes that leave by the link with this index.
pub(crate) fn by_link(netlink: &mut Netlink, index: u32) -> Result<Vec<Route>, KernelError> {
    netlink.dump(&Request::new(RTM_GETROUTE, 0, &[0; RTMSG_LEN]), |payload| {
        let (dst_len, protocol, kind) = (*payload.get(1)?, *payload.get(5)?, *payload.get(7)?);
        let flags = u32_at(payload, 8)?;
        let ours = kind == RTN_UNICAST
            && flags & RTM_F_CLONED == 0
            && leaves_by(payload.get(RTMSG_LEN..)?, index);
        ours.then_some(Route {
            default: dst_len == 0,
            configured: protocol != RTPROT_KERNEL && protocol != RTPROT_RA,
        })
    })
}

fn leaves_by(nlas: &[u8], index: u32) -> bool {
    attributes(nlas).any(|(kind, value)| match kind {
        RTA_OIF => u32_at(value, 0) == Some(index),
        RTA_MULTIPATH => next_hops(value).any(|hop| u32::try_from(hop) == Ok(index)),
        _ => false,
    })
}

/// The interface indices in a list of
/// `struct rtnexthop { u16 len; u8 flags, hops; s32 ifindex; }` and attributes.
fn next_hops(mut bytes: &[u8]) -> impl Iterator<Item = i32> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let index = i32_at(bytes, 4)?;
        // A length below the header's would never end.
        bytes = bytes.get(len.max(8).next_multiple_of(4)..).unwrap_or_default();
        Some(index)
    })
}
