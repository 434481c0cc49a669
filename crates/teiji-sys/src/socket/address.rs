//! Socket addresses in the kernel's form.
#![expect(unsafe_code, reason = "the address families share one storage type")]

use std::net::SocketAddr;

use super::length_of;

// The libc crate has them as c_int, the address structures as u16.
const AF_INET: libc::sa_family_t = 2;
const AF_INET6: libc::sa_family_t = 10;
const AF_PACKET: libc::sa_family_t = 17;

/// Where a socket is bound, or where a message goes: UDP address and port, or
/// an interface and protocol of `AF_PACKET`.
#[derive(Clone, Copy)]
pub struct Address {
    // INVARIANT: `length` bytes of `storage` are a complete address of the
    // family in its first field.
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

/// An address type of one family.
///
/// # Safety
/// The type is a `sockaddr_*` of plain integers that fits `sockaddr_storage`.
unsafe trait FamilyAddress: Copy {}
// SAFETY: IPv4's address; 16 bytes of integers.
unsafe impl FamilyAddress for libc::sockaddr_in {}
// SAFETY: IPv6's address; 28 bytes of integers.
unsafe impl FamilyAddress for libc::sockaddr_in6 {}
// SAFETY: AF_PACKET's address; 20 bytes of integers.
unsafe impl FamilyAddress for libc::sockaddr_ll {}

impl Address {
    fn new<T: FamilyAddress>(address: T) -> Self {
        // SAFETY: integers, for which zero is a value.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: `T` fits the storage and is not stricter aligned
        // (`FamilyAddress`); sockaddr_storage exists for this cast.
        unsafe { (&raw mut storage).cast::<T>().write(address) };
        Self { storage, length: length_of::<T>() }
    }

    /// A UDP address.
    pub fn udp(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::new(libc::sockaddr_in {
                sin_family: AF_INET,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::new(libc::sockaddr_in6 {
                sin6_family: AF_INET6,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    /// The interface with number `index`, for frames with `ethertype`; 0
    /// receives none.
    pub fn link(index: u32, ethertype: u16) -> Self {
        Self::new(libc::sockaddr_ll {
            sll_family: AF_PACKET,
            sll_protocol: ethertype.to_be(),
            sll_ifindex: i32::from_ne_bytes(index.to_ne_bytes()),
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        })
    }

    /// The address of `length` bytes that the kernel stored; `None` if it stored
    /// none, or more than fits.
    pub(super) fn received(
        storage: &libc::sockaddr_storage,
        length: libc::socklen_t,
    ) -> Option<Self> {
        let complete = length > 0 && length <= length_of::<libc::sockaddr_storage>();
        complete.then_some(Self { storage: *storage, length })
    }

    /// True of a frame that a packet socket saw on its way out.
    pub fn is_outgoing(&self) -> bool {
        let is_link =
            self.storage.ss_family == AF_PACKET && self.length >= length_of::<libc::sockaddr_ll>();
        if !is_link {
            return false;
        }
        // SAFETY: a whole address of this family, by the invariant and the check above.
        let link = unsafe { (&raw const self.storage).cast::<libc::sockaddr_ll>().read() };
        link.sll_pkttype == libc::PACKET_OUTGOING
    }

    /// The address and its length, for a call during which `self` stays
    /// borrowed.
    pub(super) fn as_raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.length)
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address(family {})", self.storage.ss_family)
    }
}
