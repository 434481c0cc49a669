//! Routes by netlink: what a NIC is used for before it is taken, and putting that back.
//! Numbers from `include/uapi/linux/rtnetlink.h`.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::address::octets;
use super::{KernelError, Netlink};
use crate::message::{
    NLM_F_CREATE, NLM_F_EXCL, Request, attribute, attributes, i32_at, u16_at, u32_at,
};

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_CACHEINFO: u16 = 12;
const RTA_MULTIPATH: u16 = 9;
const RTN_UNICAST: u8 = 1;
const RTM_F_CLONED: u32 = 0x200;
/// The kernel's own: prefix routes, link-local, multicast.
const RTPROT_KERNEL: u8 = 2;
/// From a router advertisement: comes back by itself.
const RTPROT_RA: u8 = 9;

/// The only flag of a route that somebody sets; the others say what became of it.
const RTNH_F_ONLINK: u32 = 4;

/// `struct rtmsg { u8 family, dst_len, src_len, tos, table, protocol, scope,
/// type; u32 flags; }`
const RTMSG_LEN: usize = 12;
/// Where its flags are.
const FLAGS_AT: usize = 8;

/// A route that is lost when its link leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Destination prefix length 0: the default route.
    pub(crate) default: bool,
    /// Somebody configured it; the kernel will not bring it back.
    pub(crate) configured: bool,
    /// `struct rtmsg` and its attributes, as the kernel gave them.
    message: Vec<u8>,
}

impl Route {
    /// The request that makes it again, over the link with this index.
    fn request(&self, index: u32) -> Request {
        let (header, nlas) = self.message.split_at(RTMSG_LEN.min(self.message.len()));
        let mut header = header.to_vec();
        let flags = u32_at(&header, FLAGS_AT).unwrap_or(0) & RTNH_F_ONLINK;
        header.truncate(FLAGS_AT);
        header.extend_from_slice(&flags.to_ne_bytes());
        attributes(nlas).fold(
            Request::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header),
            |request, (kind, value)| match kind {
                RTA_OIF => request.u32(kind, index),
                // How long it has been used is the kernel's.
                RTA_CACHEINFO => request,
                _ => request.attribute(kind, value),
            },
        )
    }
}

/// Makes a route again over the link with this index.
pub(crate) fn add(netlink: &mut Netlink, index: u32, route: &Route) -> Result<(), KernelError> {
    netlink.change(route.request(index))
}

/// The link by which packets to `ip` leave.
pub(crate) fn towards(netlink: &mut Netlink, ip: IpAddr) -> Result<Option<u32>, KernelError> {
    let mut header = [0; RTMSG_LEN];
    header[0] = if ip.is_ipv4() { 2 } else { 10 };
    header[1] = if ip.is_ipv4() { 32 } else { 128 };
    let mut link = None;
    let request = Request::new(RTM_GETROUTE, 0, &header).attribute(RTA_DST, &octets(ip));
    netlink.get(request, |_, payload| {
        let oif = payload.get(RTMSG_LEN..).and_then(|nlas| attribute(nlas, RTA_OIF));
        link = oif.and_then(|value| u32_at(value, 0));
    })?;
    Ok(link)
}

/// The unicast routes that leave by the link with this index.
pub(crate) fn by_link(netlink: &mut Netlink, index: u32) -> Result<Vec<Route>, KernelError> {
    netlink.dump(&Request::new(RTM_GETROUTE, 0, &[0; RTMSG_LEN]), |payload| {
        let (dst_len, protocol, kind) = (*payload.get(1)?, *payload.get(5)?, *payload.get(7)?);
        let flags = u32_at(payload, FLAGS_AT)?;
        let ours = kind == RTN_UNICAST
            && flags & RTM_F_CLONED == 0
            && leaves_by(payload.get(RTMSG_LEN..)?, index);
        ours.then_some(Route {
            default: dst_len == 0,
            configured: protocol != RTPROT_KERNEL && protocol != RTPROT_RA,
            message: payload.to_vec(),
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
