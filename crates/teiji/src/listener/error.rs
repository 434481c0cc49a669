//! Why a listener cannot open or receive, each with the next step.

use std::net::SocketAddr;

use teiji_core::errno::{EACCES, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EPERM};
use teiji_sys::error::SysError;
use teiji_sys::interface::InterfaceError;
use teiji_sys::sched::SchedError;
use thiserror::Error;

use super::{ListenerConfig, Source};
use crate::busy_poll::NoBusyPoll;
use crate::flow::FlowError;
use crate::record::ListenerLog;

/// Why a listener cannot open or receive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenerError {
    /// Not an address with port.
    #[error("`{text}` is no address with port; write for example 0.0.0.0:7788 or [::]:7788")]
    Address {
        /// What was written.
        text: String,
    },
    /// Ethernet frames come from one interface.
    #[error("listening for Ethernet frames needs an interface; name one")]
    NoInterface,
    /// The interface is missing or of the wrong kind.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Flow control.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// Priority, CPU or memory lock.
    #[error(transparent)]
    Scheduling(#[from] SchedError),
    /// Somebody else listens there.
    #[error("port {} is in use ({address}); stop the other program (`ss -ulpn`) or take another port", address.port())]
    PortInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The address is not one of this host's.
    #[error("{} is no address of this host, or not ready yet (`ip address`); use one that is, or listen on all", address.ip())]
    NotOurAddress {
        /// The address.
        address: SocketAddr,
    },
    /// Low ports need a right.
    #[error("no right to port {}: below 1024, CAP_NET_BIND_SERVICE is needed; run as root or take another port", address.port())]
    NoPortRight {
        /// The address.
        address: SocketAddr,
    },
    /// Raw frames need a right.
    #[error(
        "no right to receive Ethernet frames: CAP_NET_RAW is missing; run as root or with sudo, or use UDP"
    )]
    NoRawRight,
    /// The NIC may not be polled.
    #[error(transparent)]
    BusyPoll(#[from] NoBusyPoll),
    /// The kernel has no such sockets.
    #[error("this kernel has no such sockets ({error}); use another transport")]
    NoFamily {
        /// The kernel's error.
        error: SysError,
    },
    /// The records do not fit into memory.
    #[error("the records of {frames} frames do not fit into memory; expect fewer frames")]
    TooManyFrames {
        /// What was expected.
        frames: u64,
    },
    /// A receive call failed.
    #[error("cannot receive: {0}")]
    Receive(SysError),
    /// Receive calls failed again and again.
    #[error("gave up listening after {} frames: {error}", log.arrivals.len())]
    Broken {
        /// The last failure.
        error: SysError,
        /// What was recorded until then.
        log: Box<ListenerLog>,
    },
    /// Something else while opening.
    #[error("cannot listen: {error}")]
    Open {
        /// The kernel's error.
        error: SysError,
    },
}

impl ListenerError {
    /// The sentence for a system call that failed while opening.
    pub(super) fn open(config: &ListenerConfig, error: SysError) -> Self {
        match (error.call(), error.errno(), config.source) {
            ("bind", EADDRINUSE, Source::Udp(address)) => Self::PortInUse { address },
            ("bind", EADDRNOTAVAIL, Source::Udp(address)) => Self::NotOurAddress { address },
            ("bind", EACCES, Source::Udp(address)) => Self::NoPortRight { address },
            ("socket", EPERM, Source::Ethernet { .. }) => Self::NoRawRight,
            ("socket", EAFNOSUPPORT, _) => Self::NoFamily { error },
            _ => NoBusyPoll::of(&error).map_or(Self::Open { error }, Self::BusyPoll),
        }
    }
}
