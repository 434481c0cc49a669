//! Datagram sockets for measuring: UDP over IPv4 and IPv6, and raw Ethernet
//! frames (`AF_PACKET`).
//!
//! * [`Socket`] – opening, binding, options,
//! * [`Sender`] – one message a call, with its launch time,
//! * [`Receiver`] – many messages a call, with their time stamps,
//! * [`Kind`] – sockets as another program requests them, or has them,
//! * `filter` – of all frames only test frames,
//! * [`event`] – what the error queue reports about frames that were sent.
#![expect(unsafe_code, reason = "sockets take pointers to addresses and options")]

mod address;
mod control;
pub mod event;
mod filter;
mod foreign;
mod receive;
mod send;

pub use event::{LaunchError, TxEvent, TxStampKind};
pub use foreign::{BufferOption, Kind};
pub use receive::{Message, Queue, Receiver};
pub use send::Sender;

pub use address::Address;

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use teiji_core::domain::{Dscp, SocketPriority};
use teiji_core::time::{ClockId, Span};

use crate::error::{SysError, check};
use crate::interface::InterfaceName;

// Not in the libc crate for every target.
const SO_TIMESTAMPING_NEW: libc::c_int = 65;
/// With [`Timeval`], on every architecture.
const SO_RCVTIMEO_NEW: libc::c_int = 66;

/// `struct __kernel_sock_timeval`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Timeval {
    seconds: i64,
    microseconds: i64,
}
const SO_TXTIME: libc::c_int = 61;
const SO_MEMINFO: libc::c_int = 55;
/// `struct packet_mreq` stores it in 16 bits.
const PACKET_MR_PROMISC: u16 = 1;
/// Indices in the array that `SO_MEMINFO` gives (`include/uapi/linux/sock_diag.h`).
const SK_MEMINFO_RMEM_ALLOC: usize = 0;
const SK_MEMINFO_DROPS: usize = 8;

/// The size of `T` as socket calls want it.
#[expect(clippy::cast_possible_truncation, reason = "addresses and options are small")]
const fn length_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

/// The family of a UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// UDP over IPv4.
    Ipv4,
    /// UDP over IPv6 (and only that).
    Ipv6,
    /// UDP over both, for a socket that is bound to `::`. Addresses of IPv4
    /// appear as `::ffff:a.b.c.d`.
    Both,
}

impl Family {
    /// The family for a socket that is to receive at `address`.
    pub fn receiving_at(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(_) => Self::Ipv4,
            SocketAddr::V6(v6) if v6.ip().is_unspecified() => Self::Both,
            SocketAddr::V6(_) => Self::Ipv6,
        }
    }
}

/// A datagram socket. It belongs to the network namespace of the thread that
/// opened it.
#[derive(Debug)]
pub struct Socket(OwnedFd);

/// A value that a socket option takes: plain integers.
///
/// # Safety
/// Every byte of the type is initialised, and the kernel may write any bytes
/// into it.
unsafe trait OptionValue: Copy {}
// SAFETY: an integer without padding.
unsafe impl OptionValue for libc::c_int {}
// SAFETY: an integer without padding.
unsafe impl OptionValue for libc::c_uint {}
// SAFETY: two integers of four bytes each, no padding.
unsafe impl OptionValue for libc::sock_txtime {}
// SAFETY: two integers of the same size, no padding.
unsafe impl OptionValue for Timeval {}
// SAFETY: an array of integers.
unsafe impl OptionValue for [u32; 16] {}
// SAFETY: an array of bytes.
unsafe impl OptionValue for [u8; 16] {}

impl Socket {
    fn open(domain: libc::c_int, kind: libc::c_int) -> Result<Self, SysError> {
        // SAFETY: socket takes integers.
        let fd = check("socket", unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the kernel has just given us this descriptor; nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// A UDP socket. Datagrams are never fragmented: one that is too long for
    /// the interface fails with `EMSGSIZE`.
    ///
    /// # Errors
    /// If the kernel has no such family, or no descriptor is free.
    pub fn udp(family: Family) -> Result<Self, SysError> {
        let (domain, level, discover) = match family {
            Family::Ipv4 => (libc::AF_INET, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
            Family::Ipv6 | Family::Both => {
                (libc::AF_INET6, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER)
            }
        };
        let socket = Self::open(domain, libc::SOCK_DGRAM)?;
        socket.set("setsockopt IP_MTU_DISCOVER", level, discover, &libc::IP_PMTUDISC_DO)?;
        if family != Family::Ipv4 {
            let only = libc::c_int::from(family == Family::Ipv6);
            socket.set("setsockopt IPV6_V6ONLY", level, libc::IPV6_V6ONLY, &only)?;
        }
        Ok(socket)
    }

    /// A socket for whole Ethernet frames. It receives nothing until it is
    /// bound to a protocol. Needs `CAP_NET_RAW`.
    ///
    /// # Errors
    /// `EPERM` without the right.
    pub fn packet() -> Result<Self, SysError> {
        Self::open(libc::AF_PACKET, libc::SOCK_RAW)
    }

    /// Binds to an address (see [`Address`]).
    ///
    /// # Errors
    /// `EADDRINUSE` if another socket has it, `EADDRNOTAVAIL` if it is not this machine's.
    pub fn bind(&self, address: &Address) -> Result<(), SysError> {
        let (pointer, length) = address.as_raw();
        // SAFETY: `address` is a complete socket address of `length` bytes.
        check("bind", unsafe { libc::bind(self.0.as_raw_fd(), pointer, length) }).map(drop)
    }

    /// The address that a bound UDP socket has.
    ///
    /// # Errors
    /// If no descriptor is free, or the socket is not an IP one.
    pub fn local_address(&self) -> Result<SocketAddr, SysError> {
        let udp = self.0.try_clone().map(std::net::UdpSocket::from);
        udp.and_then(|udp| udp.local_addr()).map_err(|e| SysError::new("getsockname", e))
    }

    fn set<T: OptionValue>(
        &self,
        call: &'static str,
        level: libc::c_int,
        name: libc::c_int,
        value: &T,
    ) -> Result<(), SysError> {
        let length = length_of::<T>();
        // SAFETY: `value` is `length` initialised bytes (`OptionValue`), borrowed
        // for the call; the kernel checks that the option takes that many.
        let result = unsafe {
            let value = std::ptr::from_ref(value).cast();
            libc::setsockopt(self.0.as_raw_fd(), level, name, value, length)
        };
        check(call, result).map(drop)
    }

    /// Priority of what is sent (`SO_PRIORITY`); above 6 it needs
    /// `CAP_NET_ADMIN` or `CAP_NET_RAW`.
    ///
    /// # Errors
    /// `EPERM` above 6 without the right.
    pub fn set_priority(&self, priority: SocketPriority) -> Result<(), SysError> {
        let value = libc::c_int::from(priority.get());
        self.set("setsockopt SO_PRIORITY", libc::SOL_SOCKET, libc::SO_PRIORITY, &value)
    }

    /// The differentiated services code point of what is sent (`IP_TOS`,
    /// `IPV6_TCLASS`); ECN stays 0. The kernel derives a priority from it: set that
    /// afterwards.
    ///
    /// # Errors
    /// What the kernel refuses; it takes every code point on a UDP socket of `family`.
    pub fn set_dscp(&self, family: Family, dscp: Dscp) -> Result<(), SysError> {
        let value = libc::c_int::from(dscp.get()) << 2;
        if family != Family::Ipv6 {
            self.set("setsockopt IP_TOS", libc::IPPROTO_IP, libc::IP_TOS, &value)?;
        }
        if family != Family::Ipv4 {
            self.set("setsockopt IPV6_TCLASS", libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value)?;
        }
        Ok(())
    }

    /// Sends and receives through interface `name` only.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface.
    pub fn bind_to_device(&self, name: InterfaceName) -> Result<(), SysError> {
        self.set("setsockopt SO_BINDTODEVICE", libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &name.0)
    }

    /// Lets each message carry a launch time on `clock` (`SO_TXTIME`), and asks
    /// the kernel to report what it refuses or drops because of it. With
    /// `deadline` the launch time is the latest instead of the exact one.
    /// Needs `CAP_NET_ADMIN` for clocks other than `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// `EPERM` without the right.
    pub fn set_launch_times(&self, clock: ClockId, deadline: bool) -> Result<(), SysError> {
        let mode = if deadline { libc::SOF_TXTIME_DEADLINE_MODE } else { 0 };
        let value = libc::sock_txtime {
            clockid: clock.number(),
            flags: mode | libc::SOF_TXTIME_REPORT_ERRORS,
        };
        self.set("setsockopt SO_TXTIME", libc::SOL_SOCKET, SO_TXTIME, &value)
    }

    /// Requests stamps of every frame that is sent: when it entered the qdisc
    /// and when the driver handed it to the NIC; with `hardware` also when it
    /// left the NIC. They arrive in the error queue without the frame, with a
    /// number that counts this socket's frames from 0.
    ///
    /// # Errors
    /// `EINVAL` if the kernel is too old for one of the flags.
    pub fn request_tx_stamps(&self, hardware: bool) -> Result<(), SysError> {
        let mut flags = libc::SOF_TIMESTAMPING_TX_SCHED
            | libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        if hardware {
            // Without OPT_TX_SWHW a hardware stamp suppresses the software one.
            flags |= libc::SOF_TIMESTAMPING_TX_HARDWARE
                | libc::SOF_TIMESTAMPING_RAW_HARDWARE
                | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;
        }
        self.set_timestamping(flags)
    }

    /// Requests the kernel's stamp of every frame that arrives, and with
    /// `hardware` for the NIC's.
    ///
    /// # Errors
    /// `EINVAL` if the kernel is too old for one of the flags.
    pub fn request_rx_stamps(&self, hardware: bool) -> Result<(), SysError> {
        let mut flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        if hardware {
            flags |= libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        }
        self.set_timestamping(flags)
    }

    fn set_timestamping(&self, flags: libc::c_uint) -> Result<(), SysError> {
        // The NEW form has 64-bit seconds on every architecture (Linux 5.1).
        self.set("setsockopt SO_TIMESTAMPING", libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags)
    }

    /// Requests a receive buffer of `bytes`, beyond the system's limit where
    /// the process has `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// If the kernel refuses both ways; it shortens a size that is too large.
    pub fn set_receive_buffer(&self, bytes: u32) -> Result<(), SysError> {
        let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set("setsockopt SO_RCVBUFFORCE", libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &value)
            .or_else(|_| {
                self.set("setsockopt SO_RCVBUF", libc::SOL_SOCKET, libc::SO_RCVBUF, &value)
            })
    }

    /// Requests a send buffer of `bytes` (the kernel doubles it), beyond the system's limit where
    /// the process has `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// What the kernel refuses; it shortens a size that is too large.
    pub fn set_send_buffer(&self, bytes: u32) -> Result<(), SysError> {
        let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set("setsockopt SO_SNDBUFFORCE", libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &value)
            .or_else(|_| {
                self.set("setsockopt SO_SNDBUF", libc::SOL_SOCKET, libc::SO_SNDBUF, &value)
            })
    }

    /// Lets a receive call wait `timeout` at most; zero or less waits for ever.
    ///
    /// # Errors
    /// What the kernel refuses; it takes every time.
    pub fn set_receive_timeout(&self, timeout: Span) -> Result<(), SysError> {
        let us = timeout.as_ns().max(0) / 1_000;
        let value = Timeval { seconds: us / 1_000_000, microseconds: us % 1_000_000 };
        self.set("setsockopt SO_RCVTIMEO", libc::SOL_SOCKET, SO_RCVTIMEO_NEW, &value)
    }

    /// Waits until a send finds room, `timeout` at most.
    ///
    /// # Errors
    /// `EINTR` if a signal came first; the end of `timeout` is no error.
    pub fn wait_for_room(&self, timeout: Span) -> Result<(), SysError> {
        let mut entry =
            libc::pollfd { fd: self.as_fd().as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        let ms = libc::c_int::try_from(timeout.as_ns() / 1_000_000).unwrap_or(libc::c_int::MAX);
        // SAFETY: `entry` is one entry, which the call reads and writes.
        check("poll", unsafe { libc::poll(&raw mut entry, 1, ms) }).map(drop)
    }

    /// Lets receiving poll the NIC for `time`, in whole microseconds, before it
    /// waits (`SO_BUSY_POLL`). Needs `CAP_NET_ADMIN`; `ENOPROTOOPT` where the
    /// kernel cannot.
    ///
    /// # Errors
    /// `EPERM` without the right, `ENOPROTOOPT` where the kernel cannot.
    pub fn set_busy_poll(&self, time: Span) -> Result<(), SysError> {
        let us = libc::c_int::try_from(time.as_ns() / 1_000).unwrap_or(libc::c_int::MAX);
        self.set("setsockopt SO_BUSY_POLL", libc::SOL_SOCKET, libc::SO_BUSY_POLL, &us)
    }

    /// Lets an `AF_PACKET` socket receive all frames on interface `index`,
    /// also those for other stations and of unknown VLANs, while it is open.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface.
    pub fn set_promiscuous(&self, index: u32) -> Result<(), SysError> {
        // struct packet_mreq: ifindex, type and length of the address, address.
        let mut value = [0_u8; 16];
        value[..4].copy_from_slice(&index.to_ne_bytes());
        value[4..6].copy_from_slice(&PACKET_MR_PROMISC.to_ne_bytes());
        self.set(
            "setsockopt PACKET_ADD_MEMBERSHIP",
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &value,
        )
    }

    /// Frames that this socket dropped so far, mostly because its receive
    /// buffer was full. The same counter as `SO_RXQ_OVFL` gives with each
    /// frame, but it can be read after the last one.
    ///
    /// # Errors
    /// If the kernel does not tell (`SO_MEMINFO`).
    pub fn drops(&self) -> Result<u32, SysError> {
        Ok(self.memory()?[SK_MEMINFO_DROPS])
    }

    /// Bytes that it is charged with for what has arrived and was not taken.
    ///
    /// # Errors
    /// If the kernel does not tell (`SO_MEMINFO`).
    pub fn held(&self) -> Result<u32, SysError> {
        Ok(self.memory()?[SK_MEMINFO_RMEM_ALLOC])
    }

    fn memory(&self) -> Result<[u32; 16], SysError> {
        let mut values = [0_u32; 16];
        let mut length = length_of::<[u32; 16]>();
        // SAFETY: the kernel writes at most `length` bytes into `values`, for
        // which any bytes are valid, and stores how many.
        let result = unsafe {
            let pointer = values.as_mut_ptr().cast();
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                pointer,
                &raw mut length,
            )
        };
        check("getsockopt SO_MEMINFO", result)?;
        Ok(values)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
