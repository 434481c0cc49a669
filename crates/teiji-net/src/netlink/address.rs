//! IP addresses of links by netlink. Numbers from
//! `include/uapi/linux/{rtnetlink,if_addr}.h`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use super::{KernelError, Netlink};
use crate::message::{NLM_F_CREATE, NLM_F_EXCL, Request, attribute, attributes, text, u32_at};

const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_LABEL: u16 = 3;
const IFA_BROADCAST: u16 = 4;
const IFA_CACHEINFO: u16 = 6;
const IFA_FLAGS: u16 = 8;
const IFA_RT_PRIORITY: u16 = 9;

/// Usable at once, without duplicate address detection.
pub(crate) const IFA_F_NODAD: u32 = 0x02;
/// The flags that describe how an address was configured, not what became of
/// it: `NODAD`, `HOMEADDRESS`, `MANAGETEMPADDR`, `NOPREFIXROUTE`, `MCAUTOJOIN`.
const IFA_F_CONFIGURED: u32 = 0x02 | 0x10 | 0x100 | 0x200 | 0x400;
/// A privacy address (RFC 4941): the kernel makes new ones by itself.
const IFA_F_TEMPORARY: u32 = 0x01;

/// `struct ifaddrmsg { u8 family, prefixlen, flags, scope; u32 index; }`
const IFADDRMSG_LEN: usize = 8;

/// An address as the kernel has it, complete enough to be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The address itself.
    pub local: IpAddr,
    /// The other end's on a point-to-point link.
    pub peer: Option<IpAddr>,
    /// Length of the network prefix.
    pub prefix: u8,
    /// `RT_SCOPE_*`.
    pub scope: u8,
    /// `IFA_F_*`, only those that say how it was configured.
    pub flags: u32,
    /// IPv4 broadcast address.
    pub broadcast: Option<Ipv4Addr>,
    /// IPv4 label, if it is not the interface's name.
    pub label: Option<String>,
    /// Metric of the prefix route.
    pub metric: Option<u32>,
    /// Seconds of preferred and valid lifetime left; `None`: for ever.
    pub lifetime_s: Option<(u32, u32)>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.local, self.prefix)
    }
}

impl Address {
    /// A plain permanent address, IPv6 without duplicate address detection.
    pub(crate) fn plain(local: IpAddr, prefix: u8) -> Self {
        let flags = if local.is_ipv6() { IFA_F_NODAD } else { 0 };
        Self {
            local,
            peer: None,
            prefix,
            scope: 0,
            flags,
            broadcast: None,
            label: None,
            metric: None,
            lifetime_s: None,
        }
    }

    fn parse(payload: &[u8]) -> Option<(u32, Self)> {
        let [_, prefix, header_flags, scope] = *payload.first_chunk::<4>()?;
        let index = u32_at(payload, 4)?;
        let nlas = payload.get(IFADDRMSG_LEN..)?;
        let ip = |kind| attribute(nlas, kind).and_then(ip_address);
        let address = ip(IFA_ADDRESS);
        let local = ip(IFA_LOCAL).or(address)?;
        let flags =
            attribute(nlas, IFA_FLAGS).and_then(|v| u32_at(v, 0)).unwrap_or(header_flags.into());
        if local.is_ipv6() && flags & IFA_F_TEMPORARY != 0 {
            return None;
        }
        let mut parsed = Self {
            local,
            peer: address.filter(|peer| *peer != local),
            prefix,
            scope,
            flags: flags & IFA_F_CONFIGURED,
            broadcast: None,
            label: None,
            metric: None,
            lifetime_s: None,
        };
        for (kind, value) in attributes(nlas) {
            match kind {
                IFA_BROADCAST => {
                    parsed.broadcast = value.first_chunk::<4>().map(|v| Ipv4Addr::from(*v));
                }
                IFA_LABEL => parsed.label = Some(text(value)),
                IFA_RT_PRIORITY => parsed.metric = u32_at(value, 0),
                // struct ifa_cacheinfo { u32 prefered, valid, cstamp, tstamp; }
                IFA_CACHEINFO => {
                    let (preferred, valid) = (u32_at(value, 0)?, u32_at(value, 4)?);
                    parsed.lifetime_s = (valid != u32::MAX).then_some((preferred, valid));
                }
                _ => {}
            }
        }
        Some((index, parsed))
    }

    fn request(&self, index: u32) -> Request {
        let family = if self.local.is_ipv4() { 2 } else { 10 };
        let mut header = [0; IFADDRMSG_LEN];
        header[0] = family;
        header[1] = self.prefix;
        header[3] = self.scope;
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        let mut request = Request::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header)
            .attribute(IFA_LOCAL, &octets(self.local))
            .attribute(IFA_ADDRESS, &octets(self.peer.unwrap_or(self.local)))
            .u32(IFA_FLAGS, self.flags);
        if let Some(broadcast) = self.broadcast {
            request = request.attribute(IFA_BROADCAST, &broadcast.octets());
        }
        if let Some(label) = &self.label {
            request = request.string(IFA_LABEL, label);
        }
        if let Some(metric) = self.metric {
            request = request.u32(IFA_RT_PRIORITY, metric);
        }
        if let Some((preferred, valid)) = self.lifetime_s {
            let mut info = [0; 16];
            info[0..4].copy_from_slice(&preferred.to_ne_bytes());
            info[4..8].copy_from_slice(&valid.to_ne_bytes());
            request = request.attribute(IFA_CACHEINFO, &info);
        }
        request
    }
}

fn ip_address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => None,
    }
}

/// The bytes of an address, as netlink carries them.
pub(crate) fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// Adds an address to the link with this index.
pub(crate) fn add(netlink: &mut Netlink, index: u32, address: &Address) -> Result<(), KernelError> {
    netlink.change(address.request(index))
}

/// The addresses of the link with this index, privacy addresses left out.
pub(crate) fn list(netlink: &mut Netlink, index: u32) -> Result<Vec<Address>, KernelError> {
    let all = netlink.dump(&Request::new(RTM_GETADDR, 0, &[0; IFADDRMSG_LEN]), Address::parse)?;
    Ok(all.into_iter().filter(|(i, _)| *i == index).map(|(_, address)| address).collect())
}
