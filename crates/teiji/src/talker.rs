//! Sending frames: now, or at an instant.
//!
//! * [`Talker`] – a socket to one destination: [`Talker::send`],
//!   [`Talker::send_at`],
//! * [`run`] – a periodic flow of test frames, every frame on record.

mod config;
mod error;
mod ledger;
mod run;

pub use config::{Destination, TalkerConfig, TxStamps};
pub use error::TalkerError;
pub use run::{Prepared, Ready, run};
pub use teiji_core::send_mode::LaunchMode;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use teiji_core::domain::SocketPriority;
use teiji_core::time::{ClockId, Instant, Span, Tai};
use teiji_core::wire::ip::{IPV4_HEADER, IPV6_HEADER, UDP_HEADER_LEN};
use teiji_core::wire::{EthernetHeader, MacAddr, TEIJI_ETHERTYPE, Tci, VlanTag};
use teiji_sys::clock;

use crate::flow;
use crate::hardware;
use crate::margin::Watch;
use teiji_sys::error::SysError;
use teiji_sys::hwstamp;
use teiji_sys::interface::{self, InterfaceName};
use teiji_sys::socket::{Address, Family, Queue, Receiver, Sender, Socket, TxEvent};

/// Room for reports that wait while the talker sleeps.
const REPORT_BUFFER: u32 = 1 << 20;
/// Reports taken in one system call: more than a frame causes.
const REPORTS_PER_CALL: u16 = 16;
/// A send waits for room this long at most before a flag is looked at.
const ROOM_POLL: Span = Span::from_millis(50);

/// Sends frames to one destination through one interface.
///
/// It belongs to the network namespace of the thread that opened it.
pub struct Talker {
    socket: Socket,
    sender: Sender,
    /// What stands before the payload; empty where the kernel builds it.
    header: Vec<u8>,
    launch: Option<LaunchMode>,
    limit: usize,
    interface: String,
    reports: Receiver,
    stamps: TxStamps,
    watch: Option<Watch>,
    // Switches the NIC's stamps back when the talker goes.
    _hardware: Option<hwstamp::Enabled>,
}

/// What a talker is to be, before it [opens](TalkerBuilder::open).
#[derive(Clone, Debug)]
#[must_use = "a talker sends after `open`"]
pub struct TalkerBuilder(TalkerConfig);

impl Talker {
    /// UDP through `interface` to `destination`, an address like
    /// `10.0.0.2:7788` or `[fd74:656a:1::2]:7788`.
    ///
    /// # Errors
    /// [`TalkerError::Address`] if that is no address with port.
    pub fn udp(interface: &str, destination: &str) -> Result<TalkerBuilder, TalkerError> {
        let address: SocketAddr = destination
            .parse()
            .map_err(|_| TalkerError::Address { text: destination.to_owned() })?;
        Ok(TalkerBuilder(TalkerConfig::new(interface, Destination::Udp(address))))
    }

    /// Ethernet frames of type [`TEIJI_ETHERTYPE`] through `interface` to the
    /// station `destination`.
    pub fn ethernet(interface: &str, destination: MacAddr) -> TalkerBuilder {
        let destination = Destination::Ethernet { to: destination, vlan: None };
        TalkerBuilder(TalkerConfig::new(interface, destination))
    }

    /// Opens a talker. Flow, payload size and scheduling in `config` are for
    /// [`run`] and not looked at here.
    ///
    /// # Errors
    /// [`TalkerError`] if the interface does not exist, has no MAC address where one is needed, or
    /// the kernel refuses the socket or a setting.
    pub fn open(config: &TalkerConfig) -> Result<Self, TalkerError> {
        let name = &config.interface;
        let device = InterfaceName::new(name)?;
        let index = interface::index(name)?;
        let mtu = interface::mtu(name)? as usize;
        let failed = |error: SysError| TalkerError::open(config, error);
        let (socket, sender, header, limit) = match config.destination {
            Destination::Udp(address) => {
                let (family, any, headers) = match address {
                    SocketAddr::V4(_) => (
                        Family::Ipv4,
                        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
                        IPV4_HEADER + UDP_HEADER_LEN,
                    ),
                    SocketAddr::V6(_) => (
                        Family::Ipv6,
                        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
                        IPV6_HEADER + UDP_HEADER_LEN,
                    ),
                };
                let socket = Socket::udp(family).map_err(failed)?;
                socket.bind_to_device(device).map_err(failed)?;
                socket.set_dscp(family, config.dscp).map_err(failed)?;
                // A port now: else the kernel looks for one while the first
                // frame waits (45 µs in the laboratory).
                socket.bind(&Address::udp(any)).map_err(failed)?;
                let address = Address::udp(config::with_scope(address, index));
                (socket, Sender::new(Some(address)), Vec::new(), mtu.saturating_sub(headers))
            }
            Destination::Ethernet { to, vlan } => {
                let header = ethernet_header(name, to, vlan)?;
                let socket = Socket::packet().map_err(failed)?;
                socket.bind(&Address::link(index, 0)).map_err(failed)?;
                (socket, Sender::new(None), header, mtu)
            }
        };
        socket.set_receive_buffer(REPORT_BUFFER).map_err(failed)?;
        socket.set_priority(config.priority).map_err(failed)?;
        if let Some(wanted) = config.send_buffer {
            socket.set_send_buffer(wanted).map_err(failed)?;
            // The kernel takes less without a word, and doubles what it takes.
            let granted = socket.send_buffer().map_err(failed)? / 2;
            if granted < wanted {
                return Err(TalkerError::SendBuffer { wanted, granted });
            }
        }
        if let Some(mode) = config.launch {
            let deadline = mode == LaunchMode::Deadline;
            socket.set_launch_times(ClockId::Tai, deadline).map_err(failed)?;
        }
        let mut hardware = None;
        if config.stamps == TxStamps::Hardware {
            hardware = hardware::transmit_stamps(name)?;
        }
        if config.stamps != TxStamps::None {
            socket.request_tx_stamps(hardware.is_some()).map_err(failed)?;
        }
        if let Some(level) = config.flow_control {
            flow::never_drop(&socket, level)?;
        }
        let stamps = match config.stamps {
            TxStamps::Hardware if hardware.is_none() => TxStamps::Kernel,
            other => other,
        };
        Ok(Self {
            socket,
            sender,
            header,
            launch: config.launch,
            limit,
            interface: name.clone(),
            reports: Receiver::new(REPORTS_PER_CALL, 0),
            stamps,
            watch: None,
            _hardware: hardware,
        })
    }

    /// Notes in `watch` what is left of the margin at each hand-over by
    /// [`Talker::send_at`] or [`run`].
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Sends `payload` now.
    ///
    /// # Errors
    /// [`TalkerError::PayloadTooLong`], or [`TalkerError::Send`] with what the
    /// kernel says. With launch times switched on, ETF refuses frames without
    /// one; use [`Talker::send_at`].
    pub fn send(&mut self, payload: &[u8]) -> Result<(), TalkerError> {
        self.check_length(payload.len())?;
        self.hand_over(payload, None).map_err(TalkerError::Send)
    }

    /// Hands `payload` over to leave at `departure`.
    ///
    /// # Errors
    /// [`TalkerError::Missed`] if that instant has passed; the frame is not
    /// sent then. [`TalkerError::NoLaunchTimes`] if the talker was opened
    /// without launch times. Otherwise as [`Talker::send`]. What the kernel
    /// drops later is in [`Talker::take_reports`].
    pub fn send_at(&mut self, departure: Instant<Tai>, payload: &[u8]) -> Result<(), TalkerError> {
        if self.launch.is_none() {
            return Err(TalkerError::NoLaunchTimes);
        }
        self.check_length(payload.len())?;
        let by = clock::now::<Tai>() - departure;
        if !by.is_negative() {
            return Err(TalkerError::Missed { by });
        }
        self.hand_over(payload, Some(departure)).map_err(TalkerError::Send)?;
        if self.watch.is_some() {
            self.note(departure, clock::now());
        }
        Ok(())
    }

    /// Gives each report of the kernel about frames that were sent: time
    /// stamps, and frames that ETF dropped. Never waits.
    ///
    /// # Errors
    /// What the kernel says about the queue of reports itself.
    #[inline]
    pub fn take_reports(&mut self, mut each: impl FnMut(TxEvent)) -> Result<(), TalkerError> {
        loop {
            let taken =
                self.reports.receive(&self.socket, Queue::Errors).map_err(TalkerError::Reports)?;
            self.reports.messages().filter_map(|m| m.tx_event()).for_each(&mut each);
            if taken < usize::from(REPORTS_PER_CALL) {
                return Ok(());
            }
        }
    }

    /// The stamps that this talker's frames can get: hardware ones only where
    /// the NIC has them.
    pub fn stamps(&self) -> TxStamps {
        self.stamps
    }

    /// The largest payload of one frame in bytes.
    pub fn payload_limit(&self) -> usize {
        self.limit
    }

    /// A frame for `payload` bytes, which begin at the index given.
    fn blank_frame(&self, payload: usize) -> (Vec<u8>, usize) {
        let mut frame = self.header.clone();
        frame.resize(self.header.len() + payload, 0);
        (frame, self.header.len())
    }

    /// As [`Talker::hand_over`], of a whole frame: one part is cheaper for the kernel than two.
    #[inline]
    fn hand_over_frame(
        &mut self,
        frame: &[u8],
        launch: Option<Instant<Tai>>,
    ) -> Result<(), SysError> {
        self.sender.send(&self.socket, &[], frame, launch)
    }

    #[inline]
    fn hand_over(&mut self, payload: &[u8], launch: Option<Instant<Tai>>) -> Result<(), SysError> {
        self.sender.send(&self.socket, &self.header, payload, launch)
    }

    /// Waits for room, for as long as a flag or a deadline may wait, and tries again.
    fn hand_over_with_room(
        &mut self,
        frame: &[u8],
        launch: Option<Instant<Tai>>,
    ) -> Result<(), SysError> {
        self.socket.wait_for_room(ROOM_POLL)?;
        self.hand_over_frame(frame, launch)
    }

    #[inline]
    fn note(&self, departure: Instant<Tai>, handed_over: Instant<Tai>) {
        if let Some(watch) = &self.watch {
            watch.note(departure, handed_over);
        }
    }

    fn check_length(&self, payload: usize) -> Result<(), TalkerError> {
        if payload <= self.limit {
            return Ok(());
        }
        let interface = self.interface.clone();
        Err(TalkerError::PayloadTooLong { payload, limit: self.limit, interface })
    }
}

fn ethernet_header(
    interface: &str,
    destination: MacAddr,
    vlan: Option<VlanTag>,
) -> Result<Vec<u8>, TalkerError> {
    let (source, vlan) = (interface::mac(interface)?, vlan.map(Tci::from));
    let mut header = Vec::new();
    EthernetHeader { destination, source, vlan, ethertype: TEIJI_ETHERTYPE }.emit(&mut header);
    Ok(header)
}

impl TalkerBuilder {
    /// `SO_PRIORITY`, which selects the traffic class; 0 unless set. Above 6
    /// it needs a right.
    pub fn priority(mut self, priority: SocketPriority) -> Self {
        self.0.priority = priority;
        self
    }

    /// Puts an 802.1Q tag into Ethernet frames. UDP takes the tag of its
    /// interface and ignores this.
    pub fn vlan(mut self, tag: VlanTag) -> Self {
        if let Destination::Ethernet { vlan, .. } = &mut self.0.destination {
            *vlan = Some(tag);
        }
        self
    }

    /// Frames leave at the instant given to [`Talker::send_at`], by an ETF
    /// qdisc or a NIC with launch time.
    pub fn launch_time(mut self) -> Self {
        self.0.launch = Some(LaunchMode::Exact);
        self
    }

    /// Requests time stamps, to be taken by [`Talker::take_reports`].
    pub fn stamps(mut self, stamps: TxStamps) -> Self {
        self.0.stamps = stamps;
        self
    }

    /// Opens the talker.
    ///
    /// # Errors
    /// As [`Talker::open`].
    pub fn open(self) -> Result<Talker, TalkerError> {
        Talker::open(&self.0)
    }
}
