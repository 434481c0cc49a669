//! One interface request (`struct ifreq`) at a time.
#![expect(unsafe_code, reason = "ioctl takes a pointer whose meaning depends on the request")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{SysError, check};
use crate::interface_name::{InterfaceError, InterfaceName};

/// A request structure that the kernel reads and writes in place: plain
/// numbers and byte arrays, for which every bit pattern is valid.
///
/// # Safety
/// The implementor promises exactly that, and that the structure is the one
/// that the kernel expects for each request it is used with.
pub(crate) unsafe trait Request {}

/// A socket to send interface requests through. It asks about interfaces of
/// the network namespace it was opened in, from whatever thread.
#[derive(Debug)]
pub(crate) struct ControlSocket(OwnedFd);

impl ControlSocket {
    /// Opens one in the calling thread's namespace.
    pub(crate) fn open() -> Result<Self, SysError> {
        // SAFETY: socket takes integers.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        let fd = check("socket", fd)?;
        // SAFETY: the kernel has just given us this descriptor; nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The cookie of its network namespace: a number that no other one ever has
    /// (`SO_NETNS_COOKIE`, Linux 5.14).
    pub(crate) fn namespace(&self) -> Result<u64, SysError> {
        let mut cookie = 0_u64;
        let mut size: libc::socklen_t = 8;
        // SAFETY: the kernel writes at most `size` bytes to `cookie`, which has as many.
        let result = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_NETNS_COOKIE,
                (&raw mut cookie).cast(),
                &raw mut size,
            )
        };
        check("getsockopt SO_NETNS_COOKIE", result)?;
        Ok(cookie)
    }

    /// Sends a request whose `ifr_data` points to `data`.
    pub(crate) fn with_data<T: Request>(
        &self,
        call: &'static str,
        request: libc::c_ulong,
        name: InterfaceName,
        data: &mut T,
    ) -> Result<(), InterfaceError> {
        let mut ifreq = empty_request(name);
        ifreq.ifr_ifru.ifru_data = (&raw mut *data).cast();
        // SAFETY: `ifreq` is complete and `ifr_data` points to a `T`, which by
        // the promise of `Request` is the structure this request reads and
        // writes, and which stays borrowed for the call.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, &raw mut ifreq) };
        check(call, result).map(drop).map_err(|error| InterfaceError::explain(name, error))
    }
}

fn empty_request(name: InterfaceName) -> libc::ifreq {
    // SAFETY: a structure of integers and a pointer, for which zero is a value.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.0) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    ifreq
}

/// Requests a value that is stored in the `ifreq` itself.
pub(crate) fn simple<T>(
    call: &'static str,
    request: libc::c_ulong,
    name: InterfaceName,
    read: impl FnOnce(&libc::ifreq) -> T,
) -> Result<T, InterfaceError> {
    let socket = ControlSocket::open()?;
    let mut ifreq = empty_request(name);
    // SAFETY: `ifreq` is a complete, writable ifreq, which is what every
    // SIOCGIF* request works on.
    let result = unsafe { libc::ioctl(socket.0.as_raw_fd(), request as _, &raw mut ifreq) };
    check(call, result).map_err(|error| InterfaceError::explain(name, error))?;
    Ok(read(&ifreq))
}

/// The union members that `simple` requests fill.
pub(crate) fn index_of(ifreq: &libc::ifreq) -> i32 {
    // SAFETY: an integer; every bit pattern is valid.
    unsafe { ifreq.ifr_ifru.ifru_ifindex }
}

/// `SIOCGIFMTU`'s answer.
pub(crate) fn mtu_of(ifreq: &libc::ifreq) -> i32 {
    // SAFETY: an integer; every bit pattern is valid.
    unsafe { ifreq.ifr_ifru.ifru_mtu }
}

/// `SIOCGIFHWADDR`'s answer: ARP hardware type and address bytes.
pub(crate) fn address_of(ifreq: &libc::ifreq) -> (u16, [u8; 6]) {
    // SAFETY: a structure of integers; every bit pattern is valid.
    let address = unsafe { ifreq.ifr_ifru.ifru_hwaddr };
    let mut mac = [0_u8; 6];
    for (byte, raw) in mac.iter_mut().zip(address.sa_data) {
        [*byte] = raw.to_ne_bytes();
    }
    (address.sa_family, mac)
}
