//! Why a talker cannot open or send, each with the next step.

use teiji_core::domain::SocketPriority;
use teiji_core::errno::{EAFNOSUPPORT, EINVAL, ENOPROTOOPT, EPERM};
use teiji_core::time::Span;
use teiji_core::wire::Probe;
use teiji_sys::error::SysError;
use teiji_sys::interface::InterfaceError;
use thiserror::Error;

use super::{Destination, TalkerConfig};
use crate::cycle::CycleError;
use crate::flow::FlowError;

/// Why a talker cannot open or send.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TalkerError {
    /// Not an address with port.
    #[error("`{text}` is no address with port; write for example 10.0.0.2:7788 or [fd74::2]:7788")]
    Address {
        /// What was written.
        text: String,
    },
    /// The interface is missing or of the wrong kind.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Period, margin, priority, CPU or memory lock.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The kernel grants no such send buffer.
    #[error(
        "a send buffer of {wanted} bytes is more than the kernel grants, which is {granted}: run as \
         root, or increase the sysctl net.core.wmem_max"
    )]
    SendBuffer {
        /// The requested size, in bytes.
        wanted: u32,
        /// What the socket has, in bytes.
        granted: u32,
    },
    /// Flow control.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// No frames to send.
    #[error("the number of frames is 0; it must be at least 1")]
    NoFrames,
    /// The records do not fit into memory.
    #[error("the records of {frames} frames do not fit into memory; use fewer frames")]
    TooManyFrames {
        /// What was requested.
        frames: u64,
    },
    /// The test header does not fit.
    #[error(
        "a payload of {payload} bytes is too short for the test header; use {} or more",
        Probe::LEN
    )]
    PayloadTooShort {
        /// The requested size, in bytes.
        payload: u16,
    },
    /// The frame is too long for the interface.
    #[error(
        "a payload of {payload} bytes is too long for {interface}; use {limit} or less, or raise \
         its MTU"
    )]
    PayloadTooLong {
        /// The requested size, in bytes.
        payload: usize,
        /// The most that fits into one frame, in bytes.
        limit: usize,
        /// The interface.
        interface: String,
    },
    /// Launch times need a right.
    #[error(
        "no right to launch times on CLOCK_TAI: CAP_NET_ADMIN is missing; run as root or with sudo"
    )]
    NoLaunchRight,
    /// The kernel has no launch times.
    #[error("this kernel does not know SO_TXTIME; launch times need Linux 4.19 or newer ({error})")]
    NoLaunchInKernel {
        /// The kernel's error.
        error: SysError,
    },
    /// High priorities need a right.
    #[error(
        "no right to socket priority {priority}: above 6, CAP_NET_ADMIN is needed; run as root \
         or use 0 to 6"
    )]
    NoPriorityRight {
        /// What was requested.
        priority: SocketPriority,
    },
    /// Raw frames need a right.
    #[error(
        "no right to raw Ethernet frames: CAP_NET_RAW is missing; run as root or with sudo, or \
         use UDP"
    )]
    NoRawRight,
    /// The kernel has no such sockets.
    #[error("this kernel has no {what} sockets ({error}); use another transport")]
    NoFamily {
        /// `IPv6`, `AF_PACKET` …
        what: &'static str,
        /// The kernel's error.
        error: SysError,
    },
    /// [`Talker::send_at`](super::Talker::send_at) without launch times.
    #[error("this talker was opened without launch times; add `.launch_time()`")]
    NoLaunchTimes,
    /// The launch time had passed.
    #[error(
        "the departure time had passed {by} before the frame was handed over; use a longer margin"
    )]
    Missed {
        /// By how much.
        by: Span,
    },
    /// The kernel did not take the frame.
    #[error("the frame was not sent: {0}")]
    Send(SysError),
    /// The queue of reports could not be read.
    #[error("cannot read the kernel's reports about sent frames: {0}")]
    Reports(SysError),
    /// Something else while opening.
    #[error("cannot open a talker on {interface}: {error}")]
    Open {
        /// The interface.
        interface: String,
        /// The kernel's error.
        error: SysError,
    },
}

impl TalkerError {
    /// The sentence for a system call that failed while opening.
    pub(super) fn open(config: &TalkerConfig, error: SysError) -> Self {
        let udp = matches!(config.destination, Destination::Udp(_));
        match (error.call(), error.errno()) {
            ("setsockopt SO_TXTIME", EPERM) => Self::NoLaunchRight,
            ("setsockopt SO_TXTIME", EINVAL | ENOPROTOOPT) => Self::NoLaunchInKernel { error },
            ("setsockopt SO_PRIORITY", EPERM) => {
                Self::NoPriorityRight { priority: config.priority }
            }
            ("socket", EPERM) if !udp => Self::NoRawRight,
            ("socket", EAFNOSUPPORT) => {
                let what = if udp { "IP sockets of this version" } else { "AF_PACKET" };
                Self::NoFamily { what, error }
            }
            _ => Self::Open { interface: config.interface.clone(), error },
        }
    }
}
