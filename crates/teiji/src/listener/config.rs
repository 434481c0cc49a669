//! The configuration of a listener: where to listen, what to expect.

use std::net::SocketAddr;

use teiji_core::domain::Level;
use teiji_core::time::Span;
use teiji_core::wire::DEFAULT_RECEIVE_BUFFER;

use crate::scheduling::Scheduling;

/// Everything a listener needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// What to receive.
    pub source: Source,
    /// The interface to receive from, in the calling thread's namespace.
    /// `None` means all, which is possible for UDP only.
    pub interface: Option<String>,
    /// The flows to record. Empty: every test frame, without end.
    pub flows: Vec<ExpectedFlow>,
    /// Request the NIC's stamps, where `interface` has them. The NIC's
    /// stamping is switched on for the life of the listener.
    pub hardware_stamps: bool,
    /// Bytes of the socket's receive buffer.
    pub receive_buffer: u32,
    /// Poll the NIC for this long before waiting for a frame, whole
    /// microseconds (`SO_BUSY_POLL`).
    pub busy_poll: Option<Span>,
    /// Has the peer wait before the buffer overflows: level and smallest payload in bytes
    /// of what comes ([`crate::flow`]). UDP only.
    pub flow_control: Option<(Level, u16)>,
    /// Processing delay after each read of the socket, which takes 32 frames at most.
    pub pause: Option<Pause>,
    /// How the receiving thread is scheduled.
    pub scheduling: Scheduling,
    /// Its nice value, up to 19; `None` leaves it. Without effect in real time.
    pub nice: Option<u8>,
}

impl ListenerConfig {
    /// The plainest listener: all interfaces, every test frame, kernel stamps,
    /// a buffer of 4 MiB, no polling, ordinary scheduling.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            interface: None,
            flows: Vec::new(),
            hardware_stamps: false,
            receive_buffer: DEFAULT_RECEIVE_BUFFER,
            busy_poll: None,
            flow_control: None,
            pause: None,
            scheduling: Scheduling::default(),
            nice: None,
        }
    }
}

/// Processing delay of a listener after each read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// For this long.
    Fixed(Span),
    /// At random: exponentially distributed, the same times in each run.
    Random {
        /// For this long on average.
        mean: Span,
    },
}

impl Pause {
    /// Of this length, or if `random` of this mean.
    pub fn new(length: Span, random: bool) -> Self {
        if random { Self::Random { mean: length } } else { Self::Fixed(length) }
    }
}

/// What to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// UDP on this address and port; `0.0.0.0` means every address of IPv4,
    /// `::` every address of IPv6 and IPv4.
    Udp(SocketAddr),
    /// Ethernet frames with [`teiji_core::wire::TEIJI_ETHERTYPE`], with or
    /// without VLAN tag.
    Ethernet {
        /// Tagged frames are expected: the NIC's filters are opened for them
        /// (promiscuous mode) while the listener lives.
        tagged: bool,
    },
}

/// A flow whose frames are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedFlow {
    /// Flow identifier in the test header.
    pub id: u16,
    /// How many distinct frames it has, with sequence numbers from 0; `None`
    /// if nobody knows.
    pub frames: Option<u64>,
}
