//! Nothing lost on the way from socket to socket: what a program says to the kernel module
//! `prioflow` (kernel/prioflow/README.md).
//!
//! ```no_run
//! use teiji::domain::Level;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const LEVEL: Level = Level::new(4).unwrap();
//! let talker = std::net::UdpSocket::bind("10.0.0.1:0")?;
//! teiji::flow::never_drop(&talker, LEVEL)?; // a send waits instead
//!
//! let listener = std::net::UdpSocket::bind("10.0.0.2:7000")?;
//! teiji::flow::pause_peers(&listener, LEVEL, 1200)?; // its peer waits instead
//! # Ok(()) }
//! ```
//!
//! Programs that cannot be changed opt in from outside: [`udp_sockets`] of one that runs,
//! [`supervise_this_process`] before this process starts one.

mod adopt;
mod opt_in;
mod supervise;

pub use adopt::{AdoptError, ProgramSocket, udp_sockets};
pub use opt_in::{OptIn, OptedIn, Receiving, Sending};
pub use supervise::{SuperviseError, start as supervise_this_process};

use std::os::fd::AsFd;

use teiji_core::domain::Level;
use teiji_core::errno::{ENETDOWN, ENOBUFS, ENODEV, ENOPROTOOPT, EOPNOTSUPP, EPERM, ERANGE};
use teiji_sys::error::SysError;
use teiji_sys::flow::{self, NO_LEVEL, Receive, Send};
use thiserror::Error;

use crate::record::ReceiveHeadroom;

/// Why a socket could not opt in. Each text says what to do about it.
#[derive(Debug, Error)]
pub enum FlowError {
    /// The module is not there.
    #[error("the kernel has no flow control of sockets: load the module prioflow")]
    NoModule,
    /// The level needs a capability.
    #[error(
        "level {level} is not open to everybody: set the sysctl net.prioflow.open_levels above it, \
         or give the program CAP_NET_ADMIN"
    )]
    NotOpen {
        /// The level that was wanted.
        level: Level,
    },
    /// There is no such level, or it is never paused.
    #[error("level {level} is not possible: levels are 0 to {highest} here")]
    NoLevel {
        /// The level that was wanted.
        level: Level,
        /// The highest there is.
        highest: Level,
    },
    /// The socket is not a UDP socket.
    #[error(
        "this is not a UDP socket, and prioflow controls the flow of UDP sockets only; a TCP \
         connection has flow control of its own"
    )]
    NotUdp,
    /// The senders' room is taken.
    #[error(
        "a send buffer of {buffer} bytes takes {reserve} bytes of room, and {reserved} of {room} \
         are \
         taken: make SO_SNDBUF smaller or the sysctl net.prioflow.send_room larger"
    )]
    NoRoom {
        /// `SO_SNDBUF`, bytes.
        buffer: u32,
        /// What it reserves, bytes.
        reserve: u32,
        /// What all have reserved, bytes.
        reserved: u64,
        /// What they may reserve, bytes.
        room: u32,
    },
    /// The receive buffer is too small for what is in flight.
    #[error(
        "{frames} frames can arrive after XOFF and take {headroom} bytes, but the receive buffer \
         has {buffer}: increase SO_RCVBUF, or reduce the link's reaction and ring"
    )]
    NoHeadroom {
        /// Frames in flight.
        frames: u32,
        /// What they take, bytes.
        headroom: u32,
        /// `SO_RCVBUF`, bytes.
        buffer: u32,
    },
    /// No link to a peer that could be paused.
    #[error("no device here has flow control: tc qdisc add dev DEV root prioflow link mac-control")]
    NoLink,
    /// A device has no carrier, so nothing is known of its rate.
    #[error("a device with flow control has no rate now: connect it first")]
    NoRate,
    /// Something else.
    #[error(transparent)]
    Sys(#[from] SysError),
}

/// Protects what this UDP socket sends at `level` or below: no `prioflow` queue drops it. A send
/// without space in the send buffer blocks, or returns `WouldBlock` on a non-blocking socket. Set
/// `SO_SNDBUF` before.
///
/// # Errors
/// [`FlowError::NoRoom`] if the send buffer is too small for what must be kept free, otherwise why
/// the kernel refuses.
pub fn never_drop(socket: impl AsFd, level: Level) -> Result<(), FlowError> {
    let socket = socket.as_fd();
    let mut value = Send::up_to(i32::from(level.get()));
    flow::set_send(socket, &value).map_err(|error| match error.errno() {
        ENOBUFS if flow::send(socket, &mut value).is_ok() => {
            let Send { buffer, reserve, reserved, room, .. } = value;
            FlowError::NoRoom { buffer, reserve, reserved, room }
        }
        _ => explain(error, level, Level::MOST),
    })
}

/// Pauses `level` at the peers of this namespace's links (and the levels below, on a link with
/// `scope below`) while only the headroom for in-flight frames is left in this UDP socket's buffer.
/// `payload` is the smallest received datagram in octets: the smaller, the larger the headroom. Set
/// `SO_RCVBUF` before.
///
/// # Errors
/// [`FlowError::NoHeadroom`] if the receive buffer is too small for the headroom, otherwise why the
/// kernel refuses.
pub fn pause_peers(socket: impl AsFd, level: Level, payload: u32) -> Result<(), FlowError> {
    let socket = socket.as_fd();
    let mut value = Receive::at(i32::from(level.get()), payload);
    flow::set_receive(socket, &value).map_err(|error| match error.errno() {
        ENOBUFS if flow::receive(socket, &mut value).is_ok() => {
            let Receive { frames, headroom, buffer, .. } = value;
            FlowError::NoHeadroom { frames, headroom, buffer }
        }
        _ => explain(error, level, Level::HIGHEST_PAUSED),
    })
}

/// The headroom of a socket that pauses its peers, for datagrams of `payload` octets; `None` if the
/// link or the module is gone. `fullest` is known by the caller.
pub(crate) fn headroom_of(
    socket: impl AsFd,
    payload: u32,
    fullest: u32,
) -> Option<ReceiveHeadroom> {
    let mut value = Receive::at(NO_LEVEL, payload);
    flow::receive(socket.as_fd(), &mut value).ok()?;
    let Receive { buffer, high, headroom, frames, pause_requests, .. } = value;
    Some(ReceiveHeadroom { buffer, high, headroom, frames, pause_requests, fullest })
}

fn explain(error: SysError, level: Level, highest: Level) -> FlowError {
    match error.errno() {
        EPERM => FlowError::NotOpen { level },
        ENODEV => FlowError::NoLink,
        ERANGE => FlowError::NoLevel { level, highest },
        ENOPROTOOPT => FlowError::NoModule,
        EOPNOTSUPP => FlowError::NotUdp,
        ENETDOWN => FlowError::NoRate,
        _ => FlowError::Sys(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn without_the_module_the_error_names_it() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        match (never_drop(&socket, Level::LEAST), pause_peers(&socket, Level::LEAST, 100)) {
            (Err(FlowError::NoModule), Err(FlowError::NoModule)) => {}
            // Where it is loaded, it answers.
            (Ok(()) | Err(FlowError::NotOpen { .. }), _) => println!("SKIP: prioflow is loaded"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn error_numbers_of_the_kernel_have_an_explanation() {
        let refusal = |errno| SysError::new("setsockopt", std::io::Error::from_raw_os_error(errno));
        let level = Level::new(9).unwrap();
        let text = |errno| explain(refusal(errno), level, Level::HIGHEST_PAUSED).to_string();
        assert!(text(EPERM).contains("level 9 is not open"));
        assert!(text(ERANGE).contains("0 to 14"));
        assert!(text(ENODEV).contains("no device here"));
        assert!(text(22).starts_with("setsockopt: "));
    }
}
