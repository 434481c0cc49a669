//! Network interfaces: their names, indices, addresses and sizes.
//!
//! Every function looks into the network namespace of the calling thread.

use teiji_core::wire::MacAddr;

pub use crate::interface_name::{BadName, InterfaceError, InterfaceName, NoInterface, names};
use crate::ioctl;

/// `ARPHRD_ETHER`: the hardware type of Ethernet.
const ETHERNET: u16 = 1;

/// The index of the interface called `name`.
///
/// # Errors
/// [`InterfaceError`] if the name is not possible or there is no such interface.
pub fn index(name: &str) -> Result<u32, InterfaceError> {
    let request = libc::SIOCGIFINDEX as libc::c_ulong;
    let index = ioctl::simple("SIOCGIFINDEX", request, InterfaceName::new(name)?, ioctl::index_of)?;
    u32::try_from(index).map_err(|_| NoInterface::here(name).into())
}

/// The largest payload of a frame in bytes (without the Ethernet header).
///
/// # Errors
/// [`InterfaceError`] if the name is not possible or there is no such interface.
pub fn mtu(name: &str) -> Result<u32, InterfaceError> {
    let request = libc::SIOCGIFMTU as libc::c_ulong;
    let mtu = ioctl::simple("SIOCGIFMTU", request, InterfaceName::new(name)?, ioctl::mtu_of)?;
    Ok(u32::try_from(mtu).unwrap_or(0))
}

/// The interface's MAC address.
///
/// # Errors
/// [`InterfaceError::NotEthernet`] if it has no MAC address; otherwise if there is no such
/// interface.
pub fn mac(name: &str) -> Result<MacAddr, InterfaceError> {
    let request = libc::SIOCGIFHWADDR as libc::c_ulong;
    let (kind, mac) =
        ioctl::simple("SIOCGIFHWADDR", request, InterfaceName::new(name)?, ioctl::address_of)?;
    if kind == ETHERNET {
        Ok(MacAddr(mac))
    } else {
        Err(InterfaceError::NotEthernet { name: name.to_owned(), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_number_one() {
        assert_eq!(index("lo").unwrap(), 1);
        assert!(mtu("lo").unwrap() >= 1_280);
        assert!(names().contains(&"lo".to_owned()));
    }

    #[test]
    fn loopback_has_no_ethernet_address() {
        assert!(matches!(mac("lo"), Err(InterfaceError::NotEthernet { kind: 772, .. })));
    }

    #[test]
    fn a_missing_interface_is_named_with_those_that_are_there() {
        let error = index("no-such-if0").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no interface `no-such-if0` here; there are "),
            "{error}"
        );
        assert!(error.contains("lo"), "{error}");
    }

    #[test]
    fn impossible_names_are_refused_before_the_kernel_sees_them() {
        for name in ["", "a-name-of-16-byt", "a/b", "a b", "a\0b", ".", "..", "eth0:1"] {
            assert!(matches!(InterfaceName::new(name), Err(InterfaceError::Name(_))), "{name}");
        }
        assert_eq!(InterfaceName::new("enp3s0").unwrap().to_string(), "enp3s0");
    }
}
