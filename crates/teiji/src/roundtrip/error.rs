//! Why a round-trip measurement cannot open or go on, each with the next step.

use std::net::SocketAddr;

use teiji_core::errno::{EADDRINUSE, EADDRNOTAVAIL};
use teiji_core::time::Span;
use teiji_core::wire::Echo;
use teiji_sys::error::SysError;
use teiji_sys::interface::InterfaceError;
use teiji_sys::sched::SchedError;
use thiserror::Error;

use crate::busy_poll::NoBusyPoll;

/// Why a requester or reflector cannot open or go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RoundTripError {
    /// The payload cannot hold the headers.
    #[error(
        "a payload of {payload} bytes is too short for a round trip; use {} or more",
        Echo::LEN
    )]
    PayloadTooShort {
        /// The requested size, in bytes.
        payload: u16,
    },
    /// The payload does not fit into one frame.
    #[error("a payload of {payload} bytes does not fit into one frame; use less")]
    PayloadTooLong {
        /// The requested size, in bytes.
        payload: u16,
    },
    /// The period is zero or negative.
    #[error(
        "a period of {0} never ends; use a positive one, or none to send each request as soon as the reply arrives"
    )]
    Period(Span),
    /// Nothing could be waited for.
    #[error("a time-out of {0} waits for nothing; use a positive one, for example 1 s")]
    Timeout(Span),
    /// A reply could still be awaited when the next request is due.
    #[error(
        "a time-out of {timeout} is longer than the period of {period}; use at most the period"
    )]
    TimeoutBeyondPeriod {
        /// The time-out.
        timeout: Span,
        /// The period.
        period: Span,
    },
    /// The records do not fit into memory.
    #[error("the records of {count} round trips do not fit into memory; use a lower count")]
    TooMany {
        /// What was requested.
        count: u64,
    },
    /// The interface is missing or of the wrong kind.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Priority, CPU or memory lock.
    #[error(transparent)]
    Scheduling(#[from] SchedError),
    /// Somebody else answers there.
    #[error("port {} is in use ({address}); stop the other program (`ss -ulpn`) or take another port", address.port())]
    PortInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The address is not one of this host's.
    #[error("{} is no address of this host, or not ready yet (`ip address`)", address.ip())]
    NotOurAddress {
        /// The address.
        address: SocketAddr,
    },
    /// The NIC may not be polled.
    #[error(transparent)]
    BusyPoll(#[from] NoBusyPoll),
    /// Something else while opening.
    #[error("cannot open the socket: {0}")]
    Open(SysError),
    /// Receiving failed again and again.
    #[error("cannot receive: {0}")]
    Receive(SysError),
}

impl RoundTripError {
    /// The sentence for a system call that failed while opening.
    pub(super) fn open(error: SysError) -> Self {
        NoBusyPoll::of(&error).map_or(Self::Open(error), Self::BusyPoll)
    }

    /// The sentence for a system call that failed while binding to `address`.
    pub(super) fn bind(address: SocketAddr, error: SysError) -> Self {
        match error.errno() {
            EADDRINUSE => Self::PortInUse { address },
            EADDRNOTAVAIL => Self::NotOurAddress { address },
            _ => Self::Open(error),
        }
    }
}
