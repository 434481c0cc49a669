//! Flow control of the kernel module `prioflow`: what a socket requests of it and learns from it.
//! The structures are those of kernel/uapi/prioflow.h, which says what they mean and which
//! error is which.
//!
//! Contains `unsafe`: `setsockopt` and `getsockopt` with structures of the module's.
#![expect(unsafe_code, reason = "setsockopt and getsockopt take pointers")]

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::error::{SysError, check};

const SO_SEND: libc::c_int = 0x5470;
const SO_RECEIVE: libc::c_int = 0x5471;

/// The level that stands for none.
pub const NO_LEVEL: i32 = -1;

/// `struct prioflow_send`: nothing that the socket sends is dropped in a queue.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Send {
    /// The highest level at which that holds; [`NO_LEVEL`] for none.
    pub level: i32,
    /// Descriptor of the packet socket that is meant; −1: the socket itself.
    pub packet_socket: i32,
    /// Bytes of the room that a socket with this buffer takes. From the kernel.
    pub reserve: u32,
    /// `SO_SNDBUF` in bytes. From the kernel.
    pub buffer: u32,
    /// Bytes that all such sockets of the namespace may reserve. From the kernel.
    pub room: u32,
    /// Nothing.
    pub unused: u32,
    /// Bytes that all of them have reserved. From the kernel.
    pub reserved: u64,
}

/// `struct prioflow_receive`: the port sends XOFF before the buffer is full.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// The level of what comes, 0 to 14; [`NO_LEVEL`] requests nothing.
    pub level: i32,
    /// The smallest datagram that comes, octets.
    pub payload: u32,
    /// Bytes from which the port sends XOFF; 0: what the buffer allows.
    pub high: u32,
    /// Bytes from which it is not any more; 0: half of that.
    pub low: u32,
    /// Bytes for in-flight frames after XOFF. From the kernel.
    pub headroom: u32,
    /// As many frames. From the kernel.
    pub frames: u32,
    /// `SO_RCVBUF` in bytes. From the kernel.
    pub buffer: u32,
    /// How often the socket's port has sent XOFF. From the kernel.
    pub pause_requests: u32,
}

impl Send {
    /// Up to this level, for the socket itself.
    pub const fn up_to(level: i32) -> Self {
        Self { level, packet_socket: -1, reserve: 0, buffer: 0, room: 0, unused: 0, reserved: 0 }
    }
}

impl Receive {
    /// At this level, with marks that follow from the buffer.
    pub const fn at(level: i32, payload: u32) -> Self {
        Self {
            level,
            payload,
            high: 0,
            low: 0,
            headroom: 0,
            frames: 0,
            buffer: 0,
            pause_requests: 0,
        }
    }
}

/// Opts a UDP socket, or a packet socket in whose name it asks, in or out.
///
/// # Errors
/// `ENOPROTOOPT` without the module, `ENOBUFS` without space, `EPERM` without the right;
/// kernel/uapi/prioflow.h has the others.
pub fn set_send(socket: BorrowedFd<'_>, value: &Send) -> Result<(), SysError> {
    set(socket, "setsockopt PRIOFLOW_SO_SEND", SO_SEND, value)
}

/// What is set, and the numbers; `value` says for which socket.
///
/// # Errors
/// `ENOPROTOOPT` without the module; kernel/uapi/prioflow.h has the others.
pub fn send(socket: BorrowedFd<'_>, value: &mut Send) -> Result<(), SysError> {
    get(socket, "getsockopt PRIOFLOW_SO_SEND", SO_SEND, value)
}

/// Opts a UDP socket in or out.
///
/// # Errors
/// `ENOPROTOOPT` without the module, `ENOBUFS` without space, `EPERM` without the right;
/// kernel/uapi/prioflow.h has the others.
pub fn set_receive(socket: BorrowedFd<'_>, value: &Receive) -> Result<(), SysError> {
    set(socket, "setsockopt PRIOFLOW_SO_RECEIVE", SO_RECEIVE, value)
}

/// What is set, and the numbers for datagrams of `value.payload` octets.
///
/// # Errors
/// `ENOPROTOOPT` without the module; kernel/uapi/prioflow.h has the others.
pub fn receive(socket: BorrowedFd<'_>, value: &mut Receive) -> Result<(), SysError> {
    get(socket, "getsockopt PRIOFLOW_SO_RECEIVE", SO_RECEIVE, value)
}

/// The structures above: plain numbers without padding.
trait Plain: Copy {}
impl Plain for Send {}
impl Plain for Receive {}

fn set<T: Plain>(
    socket: BorrowedFd<'_>,
    call: &'static str,
    option: libc::c_int,
    value: &T,
) -> Result<(), SysError> {
    let level = ip_level(socket)?;
    let length = libc::socklen_t::try_from(size_of::<T>()).expect("a small structure");
    // SAFETY: `value` is `length` readable bytes for the call.
    let result = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, length)
    };
    check(call, result).map(drop)
}

fn get<T: Plain>(
    socket: BorrowedFd<'_>,
    call: &'static str,
    option: libc::c_int,
    value: &mut T,
) -> Result<(), SysError> {
    let level = ip_level(socket)?;
    let mut length = libc::socklen_t::try_from(size_of::<T>()).expect("a small structure");
    // SAFETY: `value` is `length` bytes of numbers, for which every bit pattern is valid.
    let result = unsafe {
        let value = std::ptr::from_mut(value).cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, value, &raw mut length)
    };
    check(call, result).map(drop)
}

/// The level of options of the socket's address family.
fn ip_level(socket: BorrowedFd<'_>) -> Result<libc::c_int, SysError> {
    let mut domain: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of_val(&domain)).expect("a small number");
    // SAFETY: `domain` is `length` writable bytes.
    let result = unsafe {
        let value = (&raw mut domain).cast();
        let fd = socket.as_raw_fd();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, value, &raw mut length)
    };
    check("getsockopt SO_DOMAIN", result)?;
    Ok(if domain == libc::AF_INET6 { libc::IPPROTO_IPV6 } else { libc::IPPROTO_IP })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_structures_are_as_large_as_the_kernels() {
        assert_eq!((size_of::<Send>(), size_of::<Receive>()), (32, 32));
    }

    #[test]
    fn without_the_module_the_options_are_unknown_in_both_families() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = UdpSocket::bind(address) else {
                println!("SKIP: nothing can be bound to {address}");
                continue;
            };
            if set_send(socket.as_fd(), &Send::up_to(NO_LEVEL)).is_ok() {
                println!("SKIP: prioflow is loaded");
                continue;
            }
            for error in [
                set_send(socket.as_fd(), &Send::up_to(1)),
                send(socket.as_fd(), &mut Send::up_to(1)),
                set_receive(socket.as_fd(), &Receive::at(1, 100)),
                receive(socket.as_fd(), &mut Receive::at(1, 100)),
            ] {
                assert_eq!(error.unwrap_err().errno(), libc::ENOPROTOOPT);
            }
        }
    }
}
