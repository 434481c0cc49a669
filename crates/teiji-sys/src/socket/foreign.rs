//! Sockets of other programs: opened as they request them, recognised, and their buffers.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{OptionValue, Socket, length_of};
use crate::error::{SysError, check};

/// The arguments of `socket(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Address family.
    pub domain: i32,
    /// Type, with `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
    pub kind: i32,
    /// Protocol; 0: the usual one.
    pub protocol: i32,
}

impl Kind {
    /// The address families of UDP.
    pub const UDP_DOMAINS: [u32; 2] = [2, 10];
    /// The type of UDP sockets, in the bits of [`Kind::TYPE_MASK`].
    pub const UDP_TYPE: u32 = 2;
    /// The bits of `kind` that are the type.
    pub const TYPE_MASK: u32 = 0xF;
    /// The protocols of a UDP socket.
    pub const UDP_PROTOCOLS: [u32; 2] = [0, 17];

    /// Whether the caller's descriptor is to be closed when it starts another program.
    pub fn close_on_exec(&self) -> bool {
        self.kind & libc::SOCK_CLOEXEC != 0
    }
}

/// An option that sets the size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOption {
    /// `SO_SNDBUF`
    Send,
    /// `SO_RCVBUF`
    Receive,
    /// `SO_SNDBUFFORCE`, beyond the system's limit. Needs `CAP_NET_ADMIN`.
    SendForce,
    /// `SO_RCVBUFFORCE`, beyond the system's limit. Needs `CAP_NET_ADMIN`.
    ReceiveForce,
}

impl BufferOption {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Send, Self::Receive, Self::SendForce, Self::ReceiveForce];
    /// The level of these options, `SOL_SOCKET`.
    pub const LEVEL: u32 = 1;

    /// The number in `setsockopt(2)`.
    pub const fn number(self) -> u32 {
        match self {
            Self::Send => 7,
            Self::Receive => 8,
            Self::SendForce => 32,
            Self::ReceiveForce => 33,
        }
    }

    /// Whether it needs `CAP_NET_ADMIN`.
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::SendForce | Self::ReceiveForce)
    }
}

// The numbers above are those of this architecture.
const _: () = {
    assert!(libc::SOL_SOCKET == 1 && libc::SO_SNDBUF == 7 && libc::SO_RCVBUF == 8);
    assert!(libc::SO_SNDBUFFORCE == 32 && libc::SO_RCVBUFFORCE == 33);
    assert!(libc::AF_INET == 2 && libc::AF_INET6 == 10 && libc::SOCK_DGRAM == 2);
    assert!(libc::IPPROTO_UDP == 17);
};

impl Socket {
    /// A socket as `socket(2)` opens it, but that it is always closed when this process starts
    /// another program.
    ///
    /// # Errors
    /// What `socket(2)` refuses: a kind that the kernel lacks, too many open files.
    pub fn of_kind(kind: Kind) -> Result<Self, SysError> {
        let Kind { domain, kind, protocol } = kind;
        // SAFETY: socket takes integers.
        let fd = unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) };
        let fd = check("socket", fd)?;
        // SAFETY: the kernel has just given us this descriptor; nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The descriptor as a socket, if it is a UDP socket.
    pub fn from_udp(descriptor: OwnedFd) -> Option<Self> {
        let socket = Self(descriptor);
        let is =
            |option, value| socket.get::<libc::c_int>("getsockopt", option).ok() == Some(value);
        let inet = is(libc::SO_DOMAIN, libc::AF_INET) || is(libc::SO_DOMAIN, libc::AF_INET6);
        let udp =
            inet && is(libc::SO_TYPE, libc::SOCK_DGRAM) && is(libc::SO_PROTOCOL, libc::IPPROTO_UDP);
        udp.then_some(socket)
    }

    /// The address that a connected UDP socket sends to.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.0.try_clone().map(UdpSocket::from).and_then(|udp| udp.peer_addr()).ok()
    }

    /// The receive buffer in bytes as the kernel counts them: twice what was set.
    ///
    /// # Errors
    /// What `getsockopt(2)` refuses.
    pub fn receive_buffer(&self) -> Result<u32, SysError> {
        self.get("getsockopt SO_RCVBUF", libc::SO_RCVBUF)
    }

    /// The send buffer in bytes as the kernel counts them: twice what was set.
    ///
    /// # Errors
    /// What `getsockopt(2)` refuses.
    pub fn send_buffer(&self) -> Result<u32, SysError> {
        self.get("getsockopt SO_SNDBUF", libc::SO_SNDBUF)
    }

    /// Sets a buffer as `setsockopt(2)` does, with its value.
    ///
    /// # Errors
    /// What `setsockopt(2)` refuses: a forced size without `CAP_NET_ADMIN`.
    pub fn set_buffer(&self, option: BufferOption, value: i32) -> Result<(), SysError> {
        let name = libc::c_int::try_from(option.number()).expect("a small number");
        self.set("setsockopt", libc::SOL_SOCKET, name, &value)
    }

    fn get<T: OptionValue + Default>(
        &self,
        call: &'static str,
        name: libc::c_int,
    ) -> Result<T, SysError> {
        let mut value = T::default();
        let mut length = length_of::<T>();
        // SAFETY: the kernel writes at most `length` bytes to `value`, which takes any
        // (`OptionValue`), and stores how many.
        let result = unsafe {
            let pointer = (&raw mut value).cast();
            libc::getsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, name, pointer, &raw mut length)
        };
        check(call, result)?;
        Ok(value)
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.0
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn udp_sockets_are_distinguished_from_others() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = Socket::from_udp(udp.try_clone().unwrap().into()).unwrap();
        assert_eq!(socket.local_address().unwrap(), udp.local_addr().unwrap());
        assert_eq!(socket.peer_address(), None);
        udp.connect("127.0.0.1:9").unwrap();
        assert_eq!(socket.peer_address(), Some("127.0.0.1:9".parse().unwrap()));
        assert!(Socket::from_udp(TcpListener::bind("127.0.0.1:0").unwrap().into()).is_none());
        assert!(Socket::from_udp(std::fs::File::open("/dev/null").unwrap().into()).is_none());
    }

    #[test]
    fn a_socket_has_the_properties_of_its_kind() {
        let kind = |protocol| Kind {
            domain: libc::AF_INET,
            kind: libc::SOCK_DGRAM | libc::SOCK_NONBLOCK,
            protocol,
        };
        assert!(!kind(0).close_on_exec());
        let socket = UdpSocket::from(OwnedFd::from(Socket::of_kind(kind(17)).unwrap()));
        let error = socket.recv(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        let error = Socket::of_kind(kind(6)).unwrap_err();
        assert_eq!(error.errno(), libc::EPROTONOSUPPORT);
    }

    #[test]
    fn buffers_are_set_as_a_program_sets_them() {
        let kind = Kind { domain: libc::AF_INET, kind: libc::SOCK_DGRAM, protocol: 0 };
        let socket = Socket::of_kind(kind).unwrap();
        socket.set_buffer(BufferOption::Receive, 5_000).unwrap();
        socket.set_buffer(BufferOption::Send, 6_000).unwrap();
        assert_eq!(socket.receive_buffer().unwrap(), 10_000);
        assert_eq!(socket.send_buffer().unwrap(), 12_000);
    }
}
