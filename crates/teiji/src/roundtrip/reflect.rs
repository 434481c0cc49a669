//! Answering round-trip requests, at once and at the caller's priority.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use teiji_core::domain::{Dscp, SocketPriority};
use teiji_core::time::{Span, Tai};
use teiji_core::wire::{Echo, Probe};
use teiji_sys::clock;
use teiji_sys::socket::{Address, Family, Queue, Receiver, Sender, Socket};

use super::{RoundTripError, bind_to_interface};
use crate::scheduling::{Scheduled, Scheduling};
use crate::stop::{Deadline, StopFlag};

/// A receive call waits this long at most, so that a flag or deadline is seen.
const WAIT: Span = Span::from_millis(50);
/// Longest payload that is answered: a jumbo frame's.
const LONGEST: usize = 9_500;
/// Requests taken in one system call.
const REQUESTS_PER_CALL: u16 = 16;
/// Receive calls that may fail in a row before the reflector gives up.
const FAILURES: u32 = 20;

/// Everything a reflector needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflectorConfig {
    /// Where to listen; `0.0.0.0` means every address of IPv4, `::` every address
    /// of IPv6 and IPv4.
    pub address: SocketAddr,
    /// The interface to answer on, in the calling thread's namespace; `None`
    /// means all.
    pub interface: Option<String>,
    /// `SO_PRIORITY` of the replies.
    pub priority: SocketPriority,
    /// Differentiated services code point of the replies.
    pub dscp: Dscp,
    /// How long to poll the NIC before waiting for a request, in whole microseconds
    /// (`SO_BUSY_POLL`).
    pub busy_poll: Option<Span>,
    /// How the answering thread is scheduled.
    pub scheduling: Scheduling,
}

/// What a reflector has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectedCounts {
    /// Requests that were answered.
    pub answered: u64,
    /// Replies that the kernel did not take.
    pub failed: u64,
    /// Packets that were no requests.
    pub foreign: u64,
}

/// Answers the requests that reach one UDP port. It belongs to the network
/// namespace of the thread that opened it.
pub struct Reflector {
    socket: Socket,
    requests: Receiver,
    reply: Vec<u8>,
    scheduling: Scheduling,
}

impl Reflector {
    /// Opens a reflector: from now on, requests wait in its buffer.
    ///
    /// # Errors
    /// See [`RoundTripError`].
    pub fn open(config: &ReflectorConfig) -> Result<Self, RoundTripError> {
        let family = Family::receiving_at(config.address);
        let socket = Socket::udp(family).map_err(RoundTripError::Open)?;
        socket.request_rx_stamps(false).map_err(RoundTripError::Open)?;
        socket.set_receive_timeout(WAIT).map_err(RoundTripError::Open)?;
        socket.set_dscp(family, config.dscp).map_err(RoundTripError::Open)?;
        socket.set_priority(config.priority).map_err(RoundTripError::Open)?;
        if let Some(time) = config.busy_poll {
            socket.set_busy_poll(time).map_err(RoundTripError::open)?;
        }
        if let Some(name) = &config.interface {
            bind_to_interface(&socket, name)?;
        }
        socket
            .bind(&Address::udp(config.address))
            .map_err(|error| RoundTripError::bind(config.address, error))?;
        Ok(Self {
            socket,
            requests: Receiver::with_sources(REQUESTS_PER_CALL, LONGEST),
            reply: vec![0; LONGEST],
            scheduling: config.scheduling,
        })
    }

    /// The address it is bound to: with the port that the kernel chose, if it
    /// was 0.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_address().ok()
    }

    /// Answers until the deadline has come or `stop` is set (both are seen
    /// within 100 ms). The calling thread is scheduled as configured meanwhile.
    ///
    /// # Errors
    /// If the thread cannot be scheduled so, or receiving fails again and again.
    pub fn run(
        self,
        deadline: &Deadline,
        stop: &StopFlag,
    ) -> Result<ReflectedCounts, RoundTripError> {
        self.ready()?.run(deadline, stop)
    }

    /// Schedules the calling thread, which is to answer, as configured.
    ///
    /// # Errors
    /// If it cannot be scheduled so.
    pub fn ready(self) -> Result<Scheduled<Self>, RoundTripError> {
        let entered = self.scheduling.enter()?;
        Ok(Scheduled { role: self, entered })
    }

    fn answer(
        mut self,
        deadline: &Deadline,
        stop: &StopFlag,
    ) -> Result<ReflectedCounts, RoundTripError> {
        let tai_offset = clock::tai_offset();
        let mut counts = ReflectedCounts::default();
        let mut failures = 0;
        while !stop.is_stopped() && clock::now::<Tai>() < deadline.get() {
            match self.requests.receive(&self.socket, Queue::Arrivals) {
                Ok(_) => failures = 0,
                Err(error) if failures >= FAILURES => return Err(RoundTripError::Receive(error)),
                Err(_) => {
                    failures += 1;
                    clock::sleep_until(clock::now::<Tai>() + Span::from_millis(10));
                    continue;
                }
            }
            for request in self.requests.messages() {
                let is_request = matches!(Echo::parse(request.payload), Some(Echo::Request));
                let (Some(source), true, Some(_)) =
                    (request.source(), is_request, Probe::parse(request.payload))
                else {
                    counts.foreign += 1;
                    continue;
                };
                let reply = &mut self.reply[..request.payload.len()];
                reply.copy_from_slice(request.payload);
                let arrived = request.stamps().software.map(|at| at.on(tai_offset));
                Echo::Reply { arrived, sent: clock::now() }.emit(reply);
                match Sender::new(Some(*source)).send(&self.socket, &[], reply, None) {
                    Ok(()) => counts.answered += 1,
                    Err(_) => counts.failed += 1,
                }
            }
        }
        Ok(counts)
    }
}

impl Scheduled<Reflector> {
    /// See [`Reflector::run`].
    ///
    /// # Errors
    /// If receiving fails again and again.
    pub fn run(
        self,
        deadline: &Deadline,
        stop: &StopFlag,
    ) -> Result<ReflectedCounts, RoundTripError> {
        let Self { role, entered: _entered } = self;
        role.answer(deadline, stop)
    }
}
