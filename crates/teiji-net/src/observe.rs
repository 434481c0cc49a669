//! What the kernel says after a plan was applied, and where that differs from
//! what was asked.

pub(crate) mod differences;

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use serde::{Deserialize, Serialize};
use teiji_core::errno::ENODEV;
use teiji_core::wire::MacAddr;
use teiji_sys::{ethtool, netns};

use crate::apply::Applied;
use crate::error::NetError;
use crate::flow::{FlowPort, ForwardCounters};
use crate::free_pages;
use crate::netlink::{self, KernelError, Netlink, address, link, qdisc};
use crate::plan::PlannedPort;
use crate::processing;
use crate::qdisc::{Handle, ObservedQdisc};
use crate::real_nic::Channels;
use crate::threads::KernelThread;
use crate::vtsn;

/// The set-up as the kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The ports, in the plan's order.
    pub ports: Vec<ObservedPort>,
    /// Settings and threads of the machine, as far as the plan changes them.
    #[serde(default)]
    pub system: BTreeMap<String, String>,
}

/// A port as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedPort {
    /// The host.
    pub host: String,
    /// The wire.
    pub wire: String,
    /// Its name in the host's namespace.
    pub ifname: String,
    /// Its driver, if it says.
    pub driver: Option<Driver>,
    /// Its MAC address.
    pub mac: Option<MacAddr>,
    /// Largest payload of a frame in bytes.
    pub mtu: u32,
    /// RFC 2863's state: `UP`, `DOWN`, …
    pub state: String,
    /// The other end answers.
    pub carrier: bool,
    /// Its state in the bridge it belongs to: `forwarding`, …
    #[serde(default)]
    pub bridge: Option<String>,
    /// What it counted of what the bridge forwards, if it has flow control.
    #[serde(default)]
    pub forward: Option<ForwardCounters>,
    /// Speed in Mbit/s; `None` where nobody knows, and for veth, which has none.
    pub speed_mbps: Option<u32>,
    /// Queues in use, if the driver says.
    pub channels: Option<Channels>,
    /// Transmit queues the device was made with.
    pub tx_queues: u32,
    /// Addresses with prefix length.
    pub addresses: Vec<String>,
    /// All qdiscs of the device, roots first.
    pub qdiscs: Vec<ObservedQdisc>,
    /// What time stamps it takes, if the driver says.
    pub stamps: Option<Stamps>,
    /// Speed, rings, moderation, PAUSE and the driver's own settings, as far as
    /// the driver says them; names with their units.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The driver's counters (`ethtool -S`).
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Frames sent since the port was made or its driver loaded.
    pub tx_packets: u64,
    /// Frames received likewise.
    pub rx_packets: u64,
    /// Frames that found no room in the receive ring, or in the NIC before it.
    #[serde(default)]
    pub rx_missed: u64,
    /// Frames that arrived damaged.
    #[serde(default)]
    pub rx_crc_errors: u64,
}

/// A driver, `ethtool -i`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driver {
    /// Short name.
    pub name: String,
    /// Version; drivers of the kernel tree give the kernel's.
    pub version: String,
    /// Firmware of the NIC, may be empty.
    pub firmware: String,
    /// Address on its bus, may be empty.
    pub bus: String,
}

/// What time stamps a port takes, `ethtool -T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    /// The driver stamps frames it hands over.
    pub tx_software: bool,
    /// The NIC stamps frames it sends.
    pub tx_hardware: bool,
    /// The NIC stamps every frame it receives.
    pub rx_hardware: bool,
    /// Its clock, `/dev/ptp<n>`.
    pub phc: Option<u32>,
}

impl Applied {
    /// Asks the kernel what it has now. After a run the qdiscs' counters tell
    /// what became of the frames.
    ///
    /// # Errors
    /// [`NetError::Observe`] or [`NetError::Namespace`] if the kernel does not
    /// answer.
    pub fn observe(&self) -> Result<Observed, NetError> {
        let mut ports = Vec::new();
        for (index, port) in self.plan.ports.iter().enumerate() {
            if let Some(host) = self.hosts.get(&port.host) {
                let what = format!("{} of {}", port.ifname, port.host);
                let seen = netns::in_namespace(host.namespace.as_fd(), || {
                    observe_port(port, self.pollers.get(&index).map_or(&[], Vec::as_slice))
                })?;
                ports.push(seen.map_err(|error| NetError::Observe { what, error })?);
            }
        }
        let system = netns::in_namespace(self.home.as_fd(), || self.plan.observe_system())?;
        Ok(Observed { ports, system })
    }

    /// The bytes that each port's transmit rings may hold now (BQL), by `HOST.WIRE`; ports
    /// whose driver does not count bytes are not there.
    ///
    /// # Errors
    /// [`NetError::Namespace`] if a host's namespace cannot be entered.
    pub fn byte_limits(&self) -> Result<BTreeMap<String, u64>, NetError> {
        let mut limits = BTreeMap::new();
        for port in &self.plan.ports {
            if let Some(host) = self.hosts.get(&port.host) {
                let limit = netns::in_namespace(host.namespace.as_fd(), || {
                    processing::byte_limit(&port.ifname)
                })?;
                limits.extend(limit.map(|bytes| (format!("{}.{}", port.host, port.wire), bytes)));
            }
        }
        Ok(limits)
    }
}

/// Looks at a port from inside its namespace.
pub(crate) fn observe_port(
    port: &PlannedPort,
    pollers: &[KernelThread],
) -> Result<ObservedPort, KernelError> {
    let ifname = port.ifname.as_str();
    let mut netlink = Netlink::open()?;
    let link =
        link::find(&mut netlink, ifname)?.ok_or(KernelError { errno: ENODEV, extack: None })?;
    let addresses = address::list(&mut netlink, link.index)?;
    let mut settings = vtsn::observe(ifname, link.index);
    // Asked only where it matters: looking takes time, which the guest counts.
    if !port.processing.is_empty() {
        settings.extend(processing::observe(&link, pollers));
    }
    let veth = link.kind.as_deref() == Some("veth");
    Ok(ObservedPort {
        host: port.host.clone(),
        wire: port.wire.clone(),
        ifname: link.name.clone(),
        driver: driver(ifname),
        mac: link.mac,
        mtu: link.mtu,
        state: link.state().to_owned(),
        carrier: link.carrier,
        bridge: link.bridge_state().map(str::to_owned),
        // Asked of bridges only: looking takes time.
        forward: link.bridge_state().and_then(|_| forward(ifname)),
        speed_mbps: if veth { None } else { netlink::ethtool::mbps(link.index) },
        channels: Channels::of(ifname),
        tx_queues: link.tx_queues,
        addresses: addresses.iter().map(ToString::to_string).collect(),
        qdiscs: qdisc::list(&mut netlink, link.index)?,
        stamps: stamps(ifname),
        settings,
        counters: counters(ifname),
        tx_packets: link.sent.packets,
        rx_packets: link.received.packets,
        rx_missed: link.rx_missed,
        rx_crc_errors: link.rx_crc_errors,
    })
}

pub(crate) fn driver(ifname: &str) -> Option<Driver> {
    let info = ethtool::driver_info(ifname).ok()?;
    Some(Driver {
        name: info.driver,
        version: info.version,
        firmware: info.firmware,
        bus: info.bus,
    })
}

pub(crate) fn counters(ifname: &str) -> BTreeMap<String, u64> {
    ethtool::counters(ifname).unwrap_or_default().into_iter().collect()
}

fn forward(ifname: &str) -> Option<ForwardCounters> {
    Some(FlowPort::open(ifname).ok()?.status().ok()?.forward)
}

pub(crate) fn stamps(ifname: &str) -> Option<Stamps> {
    let info = ethtool::timestamp_info(ifname).ok()?;
    Some(Stamps {
        tx_software: info.transmits_in_software(),
        tx_hardware: info.transmits_in_hardware(),
        rx_hardware: info.receives_all_in_hardware(),
        phc: info.phc_index,
    })
}

impl Observed {
    /// The port of `host` on `wire`.
    pub fn port(&self, host: &str, wire: &str) -> Option<&ObservedPort> {
        self.ports.iter().find(|p| p.host == host && p.wire == wire)
    }

    /// Packets that the ports' drivers gave back to their qdiscs, by `HOST.WIRE`.
    pub fn requeues(&self) -> BTreeMap<String, u64> {
        // The root's: mq and mqprio have added up their queues'.
        let of = |port: &ObservedPort| -> u64 {
            let roots = port.qdiscs.iter().filter(|qdisc| qdisc.parent == Handle::ROOT);
            roots.map(|root| u64::from(root.counters.requeues)).sum()
        };
        self.ports.iter().map(|port| (format!("{}.{}", port.host, port.wire), of(port))).collect()
    }

    /// Takes the driver's counters of `before` off, so that only what was counted
    /// since is left. The lists of free pages are told as they were then.
    pub fn count_since(&mut self, before: &Self) {
        for port in &mut self.ports {
            let Some(earlier) = before.port(&port.host, &port.wire) else { continue };
            for (name, count) in &mut port.counters {
                *count = count.saturating_sub(earlier.counters.get(name).copied().unwrap_or(0));
            }
            port.rx_missed = port.rx_missed.saturating_sub(earlier.rx_missed);
            port.rx_crc_errors = port.rx_crc_errors.saturating_sub(earlier.rx_crc_errors);
        }
        if let Some(pages) = before.system.get(free_pages::LONGEST_AT_START) {
            self.system.insert(free_pages::LONGEST_AT_START.to_owned(), pages.clone());
        }
    }
}
