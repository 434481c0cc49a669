//! What an existing interface is used for. One that is used is taken only if the
//! command says so (`--take`); what is listed here is put back afterwards.

use std::fmt;
use std::net::IpAddr;

use crate::netlink::address::Address;
use crate::netlink::link::Link;
use crate::netlink::route::{self, Route};
use crate::netlink::{KernelError, Netlink, address};
use crate::ssh::SshConnection;

/// One use of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// It carries the SSH connection from this address.
    Ssh(IpAddr),
    /// It has these addresses.
    Addresses(Vec<Address>),
    /// The default route leaves by it.
    DefaultRoute,
    /// So many other routes leave by it.
    Routes(usize),
    /// It is a port of this bridge.
    Bridge(String),
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(client) => write!(f, "carries this SSH connection (from {client})"),
            Self::Addresses(addresses) => {
                let plural = if addresses.len() == 1 { "" } else { "es" };
                let list: Vec<String> = addresses.iter().map(Address::to_string).collect();
                write!(f, "has the address{plural} {}", list.join(", "))
            }
            Self::DefaultRoute => f.write_str("carries the default route"),
            Self::Routes(1) => f.write_str("carries a route"),
            Self::Routes(count) => write!(f, "carries {count} routes"),
            Self::Bridge(bridge) => write!(f, "is a port of the bridge {bridge}"),
        }
    }
}

/// All uses of an interface, as the middle of a sentence.
pub(crate) fn list(uses: &[Use]) -> String {
    let words: Vec<String> = uses.iter().map(Use::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// What `nic` is used for, with its addresses and routes, and the bridge it belongs to.
pub(crate) fn of(
    netlink: &mut Netlink,
    nic: &Link,
    addresses: &[Address],
    routes: &[Route],
    bridge: Option<&Link>,
    ssh: Option<&SshConnection>,
) -> Result<Vec<Use>, KernelError> {
    let mut uses = Vec::new();
    let carriers: Vec<u32> =
        [Some(nic.index), bridge.map(|link| link.index)].into_iter().flatten().collect();
    if let Some(ssh) = ssh {
        if carries(netlink, &carriers, ssh)? {
            uses.push(Use::Ssh(ssh.client));
        }
    }
    // The kernel makes link-local addresses by itself: every NIC that is up has one.
    let given = |address: &&Address| match address.local {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let given: Vec<Address> = addresses.iter().filter(given).cloned().collect();
    if !given.is_empty() {
        uses.push(Use::Addresses(given));
    }
    if routes.iter().any(|route| route.default) {
        uses.push(Use::DefaultRoute);
    }
    match routes.iter().filter(|route| route.configured && !route.default).count() {
        0 => {}
        count => uses.push(Use::Routes(count)),
    }
    uses.extend(bridge.map(|link| Use::Bridge(link.name.clone())));
    Ok(uses)
}

/// True if one of the links has the connection's own address, or the way to its client.
pub(crate) fn carries(
    netlink: &mut Netlink,
    links: &[u32],
    ssh: &SshConnection,
) -> Result<bool, KernelError> {
    for &link in links {
        if address::list(netlink, link)?.iter().any(|address| address.local == ssh.local) {
            return Ok(true);
        }
    }
    // Without a way to the client there is no error, only no answer.
    let towards = route::towards(netlink, ssh.client).ok().flatten();
    Ok(towards.is_some_and(|link| links.contains(&link)))
}
