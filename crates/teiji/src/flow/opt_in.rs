//! Opting in sockets of programs that do not do it themselves: any socket, with the buffers that a
//! program has chosen without knowing of flow control.

use std::fs;
use std::os::fd::AsFd;

use teiji_core::domain::Level;
use teiji_sys::error::SysError;
use teiji_sys::flow::{self, NO_LEVEL, Receive, Send};
use teiji_sys::socket::Socket;

use super::{FlowError, explain, never_drop, pause_peers};

/// How the sockets of a program opt in. At least one of both is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptIn {
    /// Sent packets are protected; a send blocks where there is no space.
    pub send: Option<Sending>,
    /// Peers pause before the receive buffer overflows.
    pub receive: Option<Receiving>,
}

/// The highest level of protected packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// The highest that is permitted: 15, or what `net.prioflow.open_levels` leaves open.
    Permitted,
    /// This one.
    UpTo(Level),
}

/// What a receiver pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiving {
    /// The level of the received packets, 0 to 14.
    pub level: Level,
    /// The smallest datagram that is received, octets: the smaller, the more frames can be in
    /// flight, and the larger the buffer.
    pub payload: u32,
}

/// What a socket has from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptedIn {
    /// Packets up to this level are protected.
    pub send: Option<Level>,
    /// Packets of this level are paused; and the receive buffer in bytes.
    pub receive: Option<(Level, u32)>,
}

impl OptIn {
    /// Opts in a UDP socket of this program.
    ///
    /// # Errors
    /// [`FlowError::NotUdp`] for others; what the kernel refuses.
    pub fn apply(&self, socket: impl AsFd) -> Result<OptedIn, FlowError> {
        let copy = socket.as_fd().try_clone_to_owned().map_err(|e| SysError::new("dup", e))?;
        self.apply_to(&Socket::from_udp(copy).ok_or(FlowError::NotUdp)?, false)
    }

    /// Opts the socket in, or again after its buffers have changed. `resized` says that the program
    /// has just set the size of the receive buffer.
    ///
    /// The receive buffer grows by the headroom for in-flight frames, so that the program keeps the
    /// size that it has chosen until its peers pause.
    ///
    /// # Errors
    /// The first of both failures. One direction is opted in even if the other is refused.
    pub(super) fn apply_to(&self, socket: &Socket, resized: bool) -> Result<OptedIn, FlowError> {
        let send = self.send.map(|sending| sending.apply(socket)).transpose();
        let receive = self.receive.map(|receiving| receiving.apply(socket, resized)).transpose();
        Ok(OptedIn { send: send?, receive: receive? })
    }
}

impl Sending {
    fn apply(self, socket: &Socket) -> Result<Level, FlowError> {
        let Self::UpTo(level) = self else { return apply_permitted(socket) };
        never_drop(socket, level).map(|()| level)
    }
}

fn apply_permitted(socket: &Socket) -> Result<Level, FlowError> {
    match never_drop(socket, Level::MOST) {
        Ok(()) => Ok(Level::MOST),
        Err(FlowError::NotOpen { level }) => {
            let highest = open_levels().checked_sub(1).and_then(Level::new);
            let highest = highest.ok_or(FlowError::NotOpen { level })?;
            never_drop(socket, highest).map(|()| highest)
        }
        Err(error) => Err(error),
    }
}

/// How many levels are open to every program of this namespace.
fn open_levels() -> u8 {
    let text = fs::read_to_string("/proc/sys/net/prioflow/open_levels").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

impl Receiving {
    fn apply(self, socket: &Socket, resized: bool) -> Result<(Level, u32), FlowError> {
        let Self { level, payload } = self;
        let mut found = Receive::at(NO_LEVEL, payload);
        flow::receive(socket.as_fd(), &mut found)
            .map_err(|error| explain(error, level, Level::HIGHEST_PAUSED))?;
        let wanted = buffer_with_headroom(&found, resized);
        if found.buffer < wanted {
            // The kernel doubles it, and may grant less: the next call says if that is too little.
            socket.set_receive_buffer(wanted.div_ceil(2))?;
        }
        pause_peers(socket, level, payload)?;
        Ok((level, socket.receive_buffer()?))
    }
}

/// The program's own buffer and the headroom. A socket that has opted in already has headroom in its
/// buffer, unless the program has set the size since.
fn buffer_with_headroom(found: &Receive, resized: bool) -> u32 {
    let own = if found.level == NO_LEVEL || resized { found.buffer } else { found.high };
    own.saturating_add(found.headroom)
}

/// Opts the socket out in both directions.
pub(super) fn opt_out(socket: &Socket) -> Result<(), FlowError> {
    let why = |highest| move |error| explain(error, Level::LEAST, highest);
    flow::set_send(socket.as_fd(), &Send::up_to(NO_LEVEL)).map_err(why(Level::MOST))?;
    flow::set_receive(socket.as_fd(), &Receive::at(NO_LEVEL, 1)).map_err(why(Level::HIGHEST_PAUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_grows_by_the_headroom_once() {
        let mut found = Receive { buffer: 212_992, headroom: 170_496, ..Receive::at(NO_LEVEL, 1) };
        assert_eq!(buffer_with_headroom(&found, false), 383_488);
        found = Receive { level: 3, buffer: 383_488, high: 212_992, ..found };
        assert_eq!(buffer_with_headroom(&found, false), 383_488, "again: nothing changes");
        found = Receive { buffer: 20_000, ..found };
        assert_eq!(buffer_with_headroom(&found, true), 190_496, "a smaller one of the program");
    }
}
