//! Asking for replies and recording when they came.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use teiji_core::domain::{Dscp, SocketPriority};
use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span, Tai};
use teiji_core::wire::{Echo, Probe};
use teiji_sys::clock;
use teiji_sys::error::SysError;
use teiji_sys::socket::{Address, Family, Queue, Receiver, Sender, Socket};

use super::{RoundTripError, bind_to_interface};
use crate::scheduling::{Scheduled, Scheduling};
use crate::stop::{self, StopFlag};

/// Replies taken in one system call.
const REPLIES_PER_CALL: u16 = 8;
/// Longest UDP payload of one frame on a link with jumbo frames.
const LONGEST: u16 = 9_472;

/// Everything a requester needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequesterConfig {
    /// The reflector.
    pub destination: SocketAddr,
    /// The interface to send through; `None` leaves it to the routes.
    pub interface: Option<String>,
    /// How many requests.
    pub count: u64,
    /// Distance between two requests; `None` sends the next as soon as the reply is
    /// there, or the time-out over.
    pub period: Option<Span>,
    /// How long to wait for a reply; at most the period.
    pub timeout: Span,
    /// Bytes of UDP payload, [`Echo::LEN`] or more.
    pub payload: u16,
    /// Flow identifier in the test header.
    pub flow: u16,
    /// `SO_PRIORITY` of the requests.
    pub priority: SocketPriority,
    /// Differentiated services code point of the requests.
    pub dscp: Dscp,
    /// How the requester's thread is scheduled.
    pub scheduling: Scheduling,
}

/// One request and what became of it. Instants are the requester's program's,
/// but for the two that say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// Which request, from 0.
    pub seq: u64,
    /// Just before the send call.
    pub sent: Instant<Tai>,
    /// The reflector's kernel stamp of the request, by the reflector's clock.
    pub reflector_arrived: Option<Instant<Tai>>,
    /// The request's way through the reflector's kernel, by its clock, where that was traced.
    #[serde(default)]
    pub reflector_reception: Reception,
    /// When the reflector handed the reply over, by the reflector's clock.
    pub reflector_sent: Option<Instant<Tai>>,
    /// This kernel's stamp of the reply.
    pub reply_kernel: Option<Instant<Tai>>,
    /// When the program had the reply. `None`: it never came.
    pub received: Option<Instant<Tai>>,
    /// The number of the error, if the kernel did not take the request.
    pub send_failed: Option<i32>,
}

impl RoundTrip {
    /// The request `seq`, sent at `sent`; nothing has become of it yet.
    pub const fn sent(seq: u64, sent: Instant<Tai>) -> Self {
        Self {
            seq,
            sent,
            reflector_arrived: None,
            reflector_reception: Reception::UNKNOWN,
            reflector_sent: None,
            reply_kernel: None,
            received: None,
            send_failed: None,
        }
    }

    /// From the send call to the reply in the program.
    pub fn time(&self) -> Option<Span> {
        Some(self.received? - self.sent)
    }

    /// What the reflector's host took, from its kernel's stamp to the send call.
    pub fn reflector_time(&self) -> Option<Span> {
        Some(self.reflector_sent? - self.reflector_arrived?)
    }
}

/// All round trips of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterLog {
    /// One for each request that was tried, in order.
    pub rounds: Vec<RoundTrip>,
    /// Replies that came after their time-out; they are among the rounds.
    pub late: u64,
    /// Replies that came twice.
    pub duplicated: u64,
    /// Packets that were no replies of this measurement.
    pub foreign: u64,
    /// Whether the measurement was stopped before its end.
    pub interrupted: bool,
}

impl RequesterLog {
    /// Requests that got no reply.
    pub fn lost(&self) -> usize {
        self.rounds.iter().filter(|round| round.received.is_none()).count()
    }
}

/// Opens a [`Requester`] and runs it at once.
///
/// # Errors
/// What makes the measurement impossible. Lost requests, time-outs and send
/// calls that fail are in the log.
pub fn request(config: &RequesterConfig, stop: &StopFlag) -> Result<RequesterLog, RoundTripError> {
    Requester::open(config)?.run(clock::now(), stop)
}

fn check(config: &RequesterConfig) -> Result<(), RoundTripError> {
    let payload = config.payload;
    if usize::from(payload) < Echo::LEN {
        return Err(RoundTripError::PayloadTooShort { payload });
    }
    if payload > LONGEST {
        return Err(RoundTripError::PayloadTooLong { payload });
    }
    let timeout = config.timeout;
    if timeout <= Span::ZERO {
        return Err(RoundTripError::Timeout(timeout));
    }
    match config.period {
        Some(period) if period <= Span::ZERO => Err(RoundTripError::Period(period)),
        Some(period) if timeout > period => {
            Err(RoundTripError::TimeoutBeyondPeriod { timeout, period })
        }
        _ => Ok(()),
    }
}

/// Requests replies: opened at first, so that what cannot be is known before
/// anything is sent. It belongs to the network namespace of the thread that
/// opened it.
pub struct Requester {
    socket: Socket,
    sender: Sender,
    replies: Receiver,
    payload: Vec<u8>,
    flow: u16,
    count: u64,
    period: Option<Span>,
    timeout: Span,
    scheduling: Scheduling,
    tai_offset: Span,
    log: RequesterLog,
}

impl Requester {
    /// Opens a requester.
    ///
    /// # Errors
    /// See [`RoundTripError`].
    pub fn open(config: &RequesterConfig) -> Result<Self, RoundTripError> {
        check(config)?;
        let family = match config.destination {
            SocketAddr::V4(_) => Family::Ipv4,
            SocketAddr::V6(_) => Family::Ipv6,
        };
        let socket = Socket::udp(family).map_err(RoundTripError::Open)?;
        if let Some(name) = &config.interface {
            bind_to_interface(&socket, name)?;
        }
        socket.set_dscp(family, config.dscp).map_err(RoundTripError::Open)?;
        socket.set_priority(config.priority).map_err(RoundTripError::Open)?;
        socket.request_rx_stamps(false).map_err(RoundTripError::Open)?;
        socket.set_receive_timeout(config.timeout).map_err(RoundTripError::Open)?;
        let mut log = RequesterLog::default();
        usize::try_from(config.count)
            .ok()
            .and_then(|count| log.rounds.try_reserve_exact(count).ok())
            .ok_or(RoundTripError::TooMany { count: config.count })?;
        Ok(Self {
            socket,
            sender: Sender::new(Some(Address::udp(config.destination))),
            replies: Receiver::new(REPLIES_PER_CALL, Echo::LEN),
            payload: vec![0; config.payload.into()],
            flow: config.flow,
            count: config.count,
            period: config.period,
            timeout: config.timeout,
            scheduling: config.scheduling,
            tai_offset: clock::tai_offset(),
            log,
        })
    }

    /// Asks `count` times, or until `stop` is set; the first time at `base`, or at
    /// once if that is over. No memory is allocated between the first request and
    /// the last reply. The calling thread is scheduled as configured meanwhile.
    ///
    /// # Errors
    /// If the thread cannot be scheduled so.
    pub fn run(self, base: Instant<Tai>, stop: &StopFlag) -> Result<RequesterLog, RoundTripError> {
        Ok(self.ready()?.run(base, stop))
    }

    /// Schedules the calling thread, the requester, as configured.
    ///
    /// # Errors
    /// If it cannot be scheduled so.
    pub fn ready(self) -> Result<Scheduled<Self>, RoundTripError> {
        let entered = self.scheduling.enter()?;
        Ok(Scheduled { role: self, entered })
    }

    fn ask_all(mut self, base: Instant<Tai>, stop: &StopFlag) -> RequesterLog {
        let mut due = base;
        stop::sleep_until(due, clock::now(), stop);
        for seq in 0..self.count {
            if stop.is_stopped() {
                self.log.interrupted = true;
                break;
            }
            self.send_request(seq);
            self.await_reply(seq, stop);
            if let Some(period) = self.period.filter(|_| seq + 1 < self.count) {
                due += period;
                stop::sleep_until(due, clock::now(), stop);
            }
        }
        self.log
    }

    #[inline]
    fn send_request(&mut self, seq: u64) {
        let sent = clock::now();
        Probe { flow: self.flow, seq, scheduled: sent }.emit(&mut self.payload);
        Echo::Request.emit(&mut self.payload);
        let result = self.sender.send(&self.socket, &[], &self.payload, None);
        let send_failed = result.err().as_ref().map(SysError::errno);
        self.log.rounds.push(RoundTrip { send_failed, ..RoundTrip::sent(seq, sent) });
    }

    /// Waits for the reply to the youngest request, and takes late ones of older.
    #[inline]
    fn await_reply(&mut self, seq: u64, stop: &StopFlag) {
        let end = clock::now::<Tai>() + self.timeout;
        loop {
            // An error (the reflector's port is closed, the interface went down)
            // is a reply that does not come: the time-out decides.
            let failed = self.replies.receive(&self.socket, Queue::Arrivals).is_err();
            let now = clock::now();
            for message in self.replies.messages() {
                let stamp = message.stamps().software.map(|at| at.on(self.tai_offset));
                enter(&mut self.log, self.flow, message.payload, stamp, now, seq);
            }
            let answered = self.log.rounds.last().is_some_and(|round| round.received.is_some());
            if answered || now >= end || stop.is_stopped() {
                return;
            }
            if failed {
                stop::sleep_until(now + Span::from_millis(1).min(end - now), now, stop);
            }
        }
    }
}

impl Scheduled<Requester> {
    /// See [`Requester::run`].
    pub fn run(self, base: Instant<Tai>, stop: &StopFlag) -> RequesterLog {
        let Self { role, entered: _entered } = self;
        role.ask_all(base, stop)
    }
}

/// Enters a packet that arrived at `now` into the log; `seq` is being waited for.
fn enter(
    log: &mut RequesterLog,
    flow: u16,
    payload: &[u8],
    stamp: Option<Instant<Tai>>,
    now: Instant<Tai>,
    seq: u64,
) {
    let (Some(probe), Some(Echo::Reply { arrived, sent })) =
        (Probe::parse(payload), Echo::parse(payload))
    else {
        log.foreign += 1;
        return;
    };
    let round = usize::try_from(probe.seq).ok().and_then(|at| log.rounds.get_mut(at));
    match round {
        // The time in the header tells a reply of an earlier measurement apart.
        Some(round) if probe.flow == flow && round.sent == probe.scheduled => {
            if round.received.is_some() {
                log.duplicated += 1;
                return;
            }
            round.reflector_arrived = arrived;
            round.reflector_sent = Some(sent);
            round.reply_kernel = stamp;
            round.received = Some(now);
            log.late += u64::from(probe.seq != seq);
        }
        _ => log.foreign += 1,
    }
}
