//! Receiving frames with their time stamps.
//!
//! * [`Listener`] – a socket: [`Listener::receive`] gives what arrives,
//! * [`Listener::run`] – records the test frames of expected flows until all
//!   are there; [`run`] does both in one call.
//!
//! Open the listener before the talker starts: what arrives from then on waits
//! in its buffer.

mod config;
mod error;
mod tally;

pub use config::{ExpectedFlow, ListenerConfig, Pause, Source};
pub use error::ListenerError;

use std::net::SocketAddr;

use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Phc, Span, Tai};
use teiji_core::wire::{EthernetHeader, Probe, TEIJI_ETHERTYPE};
use teiji_sys::error::SysError;
use teiji_sys::interface::{self, InterfaceName};
use teiji_sys::socket::{Address, Family, Queue, Receiver, Socket};
use teiji_sys::{clock, hwstamp};

use crate::exponential::Exponential;
use crate::flow;
use crate::hardware;
use crate::record::{ListenerLog, RxRecord};
use crate::scheduling::Scheduled;
use crate::stop::{Deadline, StopFlag};
use tally::Tally;

/// A receive call waits this long at most, so that a flag or deadline is seen.
const WAIT: Span = Span::from_millis(50);
/// Frames taken in one system call, when so many are waiting.
pub const FRAMES_PER_CALL: u16 = 32;
/// Bytes of each frame that are kept: headers and the test header.
const KEPT: usize = 2_048;
/// Receive calls that may fail in a row (an interface that goes down fails
/// once) before the listener gives up.
const FAILURES: u32 = 20;

/// Receives frames from one UDP port, or Teiji's Ethernet frames from one
/// interface. It belongs to the network namespace of the thread that opened it.
pub struct Listener {
    inbox: Inbox,
    tally: Tally,
    config: ListenerConfig,
    drops_before: u32,
    // With flow control only: the most bytes that the socket held at a look.
    fullest: u32,
    // Switches the NIC's stamps back when the listener goes.
    _hardware: Option<hwstamp::Enabled>,
}

/// The socket and what is needed to read from it.
struct Inbox {
    socket: Socket,
    raw: bool,
    receiver: Receiver,
    tai_offset: Span,
}

/// A frame that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// What followed the headers, cut at 2 KiB.
    pub payload: &'a [u8],
    /// The receiving kernel's stamp.
    pub rx_kernel: Option<Instant<Tai>>,
    /// The receiving NIC's stamp.
    pub rx_hardware: Option<Instant<Phc>>,
    /// When the receive call returned.
    pub taken: Instant<Tai>,
}

/// Opens a listener and [runs](Listener::run) it.
///
/// # Errors
/// As [`Listener::open`], and if receiving fails.
pub fn run(
    config: &ListenerConfig,
    deadline: &Deadline,
    stop: &StopFlag,
) -> Result<ListenerLog, ListenerError> {
    Listener::open(config)?.run(deadline, stop)
}

impl Listener {
    /// Opens a listener: from now on, arriving frames wait in its buffer. All
    /// memory for the expected frames is taken now.
    ///
    /// # Errors
    /// [`ListenerError`] if Ethernet frames are expected on no interface, the interface does not
    /// exist, the kernel refuses the socket or a setting, or memory is short.
    pub fn open(config: &ListenerConfig) -> Result<Self, ListenerError> {
        let failed = |error: SysError| ListenerError::open(config, error);
        if config.interface.is_none() && matches!(config.source, Source::Ethernet { .. }) {
            return Err(ListenerError::NoInterface);
        }
        let interface = match &config.interface {
            Some(name) => Some((InterfaceName::new(name)?, interface::index(name)?)),
            None => None,
        };
        let raw = matches!(config.source, Source::Ethernet { .. });
        let socket = match config.source {
            Source::Udp(address) => Socket::udp(Family::receiving_at(address)),
            Source::Ethernet { .. } => Socket::packet(),
        }
        .map_err(failed)?;
        // Before bind: nothing may arrive without stamp, or overflow.
        socket.set_receive_buffer(config.receive_buffer).map_err(failed)?;
        let mut hardware = None;
        if let (true, Some(name)) = (config.hardware_stamps, &config.interface) {
            hardware = hardware::receive_stamps(name)?;
        }
        socket.request_rx_stamps(hardware.is_some()).map_err(failed)?;
        socket.set_receive_timeout(WAIT).map_err(failed)?;
        if let Some(time) = config.busy_poll {
            socket.set_busy_poll(time).map_err(failed)?;
        }
        match config.source {
            Source::Udp(address) => {
                if let Some((name, _)) = interface {
                    socket.bind_to_device(name).map_err(failed)?;
                }
                socket.bind(&Address::udp(address)).map_err(failed)?;
            }
            Source::Ethernet { tagged } => {
                let index = interface.map_or(0, |(_, index)| index);
                if tagged {
                    // NICs drop frames of VLANs that nobody registered.
                    socket.set_promiscuous(index).map_err(failed)?;
                }
                socket.bind(&Address::link(index, TEIJI_ETHERTYPE.0)).map_err(failed)?;
            }
        }
        if let Some((level, payload)) = config.flow_control {
            flow::pause_peers(&socket, level, payload.into())?;
        }
        let drops_before = socket.drops().unwrap_or(0);
        Ok(Self {
            inbox: Inbox {
                socket,
                raw,
                receiver: Receiver::new(FRAMES_PER_CALL, KEPT),
                tai_offset: clock::tai_offset(),
            },
            tally: Tally::new(&config.flows)?,
            config: config.clone(),
            drops_before,
            fullest: 0,
            _hardware: hardware,
        })
    }

    /// A listener on a UDP address like `10.0.0.2:7788`, on all interfaces.
    ///
    /// # Errors
    /// [`ListenerError::Address`] if that is no address with port.
    pub fn udp(address: &str) -> Result<Self, ListenerError> {
        let address: SocketAddr =
            address.parse().map_err(|_| ListenerError::Address { text: address.to_owned() })?;
        Self::open(&ListenerConfig::new(Source::Udp(address)))
    }

    /// The address that a UDP listener is bound to: with the port that the
    /// kernel chose, if it was 0.
    pub fn local_address(&self) -> Option<SocketAddr> {
        if self.inbox.raw { None } else { self.inbox.socket.local_address().ok() }
    }

    /// Gives each frame that arrived, in order; waits up to 50 ms for the
    /// first. Says how many there were, 0 if none came in time.
    ///
    /// # Errors
    /// What the kernel says, for example when the interface went down. The
    /// next call may succeed.
    pub fn receive(&mut self, each: impl FnMut(Arrival<'_>)) -> Result<usize, ListenerError> {
        self.inbox.receive(each).map_err(ListenerError::Receive)
    }

    /// Records test frames until all expected ones have arrived, the deadline
    /// has come or `stop` is set (both are seen within 100 ms). Duplicates are
    /// recorded; what is not a test frame of an expected flow is counted.
    ///
    /// The calling thread is scheduled as the configuration says, for the time
    /// of the run.
    ///
    /// # Errors
    /// If the thread cannot be scheduled so. If receiving fails again and
    /// again, [`ListenerError::Broken`] has what was recorded so far.
    pub fn run(self, deadline: &Deadline, stop: &StopFlag) -> Result<ListenerLog, ListenerError> {
        self.ready()?.run(deadline, stop)
    }

    /// The same, and gives `each` what has arrived after every look at the socket: 20 times a
    /// second at least, then with nothing. It should not take long: arrivals wait meanwhile.
    ///
    /// # Errors
    /// As [`Listener::run`].
    pub fn run_watched(
        self,
        deadline: &Deadline,
        stop: &StopFlag,
        each: impl FnMut(&[RxRecord]),
    ) -> Result<ListenerLog, ListenerError> {
        let Scheduled { role, entered: _entered } = self.ready()?;
        role.record(deadline, stop, each)
    }

    /// Schedules the calling thread, which is to run the listener, as configured.
    ///
    /// # Errors
    /// If it cannot be scheduled so.
    pub fn ready(self) -> Result<Scheduled<Self>, ListenerError> {
        let entered = self.config.scheduling.enter()?.with_nice(self.config.nice)?;
        Ok(Scheduled { role: self, entered })
    }

    fn record(
        mut self,
        deadline: &Deadline,
        stop: &StopFlag,
        mut each: impl FnMut(&[RxRecord]),
    ) -> Result<ListenerLog, ListenerError> {
        self.inbox.tai_offset = clock::tai_offset();
        let mut pauses = self.config.pause.map(Pauses::of);
        let mut failures = 0;
        while !self.tally.is_complete() && !stop.is_stopped() {
            if self.config.flow_control.is_some() {
                self.fullest = self.fullest.max(self.inbox.socket.held().unwrap_or(0));
            }
            let before = self.tally.arrivals().len();
            match self.inbox.receive(|arrival| self.tally.enter(&arrival)) {
                Ok(_) => {
                    failures = 0;
                    each(&self.tally.arrivals()[before..]);
                    if let Some(pauses) = &mut pauses {
                        clock::sleep_until(clock::now::<Tai>() + pauses.next());
                    }
                }
                Err(error) => {
                    failures += 1;
                    if failures > FAILURES {
                        let log = Box::new(self.into_log());
                        return Err(ListenerError::Broken { error, log });
                    }
                    clock::sleep_until(clock::now::<Tai>() + Span::from_millis(10));
                }
            }
            if clock::now::<Tai>() >= deadline.get() {
                break;
            }
        }
        Ok(self.into_log())
    }

    fn into_log(self) -> ListenerLog {
        let drops = self.inbox.socket.drops().unwrap_or(self.drops_before);
        let headroom = self.config.flow_control.and_then(|(_, payload)| {
            flow::headroom_of(&self.inbox.socket, payload.into(), self.fullest)
        });
        let mut log = self.tally.into_log();
        log.headroom = headroom;
        log.socket_drops = u64::from(drops.wrapping_sub(self.drops_before));
        log
    }
}

/// A listener's processing delays, in turn.
enum Pauses {
    Fixed(Span),
    Random(Exponential),
}

impl Pauses {
    fn of(pause: Pause) -> Self {
        match pause {
            Pause::Fixed(time) => Self::Fixed(time),
            Pause::Random { mean } => Self::Random(Exponential::of(mean)),
        }
    }

    fn next(&mut self) -> Span {
        match self {
            Self::Fixed(time) => *time,
            Self::Random(times) => times.next(),
        }
    }
}

impl Scheduled<Listener> {
    /// See [`Listener::run`].
    ///
    /// # Errors
    /// As there, but for the scheduling.
    pub fn run(self, deadline: &Deadline, stop: &StopFlag) -> Result<ListenerLog, ListenerError> {
        let Self { role, entered: _entered } = self;
        role.record(deadline, stop, |_| ())
    }
}

impl Inbox {
    /// See [`Listener::receive`].
    fn receive(&mut self, mut each: impl FnMut(Arrival<'_>)) -> Result<usize, SysError> {
        let count = self.receiver.receive(&self.socket, Queue::Arrivals)?;
        let taken = clock::now();
        for message in self.receiver.messages() {
            let payload = if self.raw {
                EthernetHeader::parse(message.payload).map_or(&[][..], |(_, payload)| payload)
            } else {
                message.payload
            };
            let stamps = message.stamps();
            each(Arrival {
                payload,
                rx_kernel: stamps.software.map(|at| at.on(self.tai_offset)),
                rx_hardware: stamps.hardware,
                taken,
            });
        }
        Ok(count)
    }
}

/// The record of a test frame, if it is one.
fn record(arrival: &Arrival<'_>) -> Option<RxRecord> {
    let Probe { flow, seq, scheduled } = Probe::parse(arrival.payload)?;
    let Arrival { rx_kernel, rx_hardware, taken, .. } = *arrival;
    let reception = Reception::UNKNOWN;
    Some(RxRecord { flow, seq, scheduled, rx_kernel, rx_hardware, taken, reception })
}
