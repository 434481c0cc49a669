//! An interface and how it is set, for whoever looks at it without a plan. Everything here reads.
//! What the kernel, the driver or missing rights do not tell is `None` or empty.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;
use teiji_sys::interface::NoInterface;
use teiji_sys::phc::Phc;
use teiji_sys::sysfs::Sysfs;
use thiserror::Error;

use crate::interrupts;
use crate::netlink::link::{self, Link};
use crate::netlink::netdev::{self, Napi};
use crate::netlink::{KernelError, Netlink, ethtool, qdisc};
use crate::observe::{self, Driver, Stamps};
use crate::qdisc::{Handle, ObservedQdisc};
use crate::real_nic::Channels;
use crate::threads::Scheduled;

/// Why an interface cannot be looked at.
#[derive(Debug, Error)]
pub enum NicError {
    /// There is no such interface.
    #[error("{0}")]
    NoInterface(#[from] NoInterface),
    /// The kernel does not answer.
    #[error("cannot look at the network interfaces: {0}")]
    Kernel(#[from] KernelError),
}

/// An interface as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: Option<Driver>,
    /// PCI vendor and device, as in `lspci -n`: `8086:1533`.
    pub pci: Option<String>,
    /// `veth`, `vtsn`, `bridge` …; `None` for a NIC.
    pub kind: Option<String>,
    /// The bridge or bond that it is a port of.
    #[serde(default)]
    pub port_of: Option<String>,
    /// Administratively up.
    pub up: bool,
    /// The other end answers.
    pub carrier: bool,
    /// Speed in Mbit/s.
    pub speed_mbps: Option<u32>,
    /// Transmit queues in use.
    pub tx_queues: u32,
    /// What time stamps it takes.
    pub stamps: Option<Stamps>,
    /// Its PHC against `CLOCK_TAI`.
    pub phc: Option<PhcOffset>,
    /// Energy Efficient Ethernet.
    pub eee: Option<Eee>,
    /// Interrupt moderation.
    pub moderation: Option<Moderation>,
    /// Frames that the transmit and the receive ring hold.
    pub rings: Option<(u32, u32)>,
    /// Bytes that may wait in the ring of a transmit queue now (BQL): the most of its queues. `Some(0)` where the
    /// driver counts none, or has not transmitted yet.
    #[serde(default)]
    pub byte_queue_limit: Option<u64>,
    /// Frames transmitted since it was made or its driver loaded.
    #[serde(default)]
    pub tx_packets: u64,
    /// 802.3x PAUSE, sent and obeyed by the MAC.
    pub pause: Option<(bool, bool)>,
    /// Its qdiscs, roots first.
    pub qdiscs: Vec<ObservedQdisc>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
    /// It is polled by threads (`threaded` in sysfs).
    pub napi_threaded: Option<bool>,
    /// How many empty polls interrupts are deferred by (`napi_defer_hard_irqs`).
    pub defer_hard_irqs: Option<u32>,
    /// How long each of them waits (`gro_flush_timeout`).
    pub gro_flush_timeout: Option<Span>,
    /// Its NAPI instances with settings of their own, where the kernel names them (6.8 and newer).
    pub napis: Vec<Napi>,
    /// The PCI Express link may sleep (ASPM L1), if the kernel says.
    pub aspm_l1: Option<bool>,
    /// The kernel may put the NIC to sleep (runtime power management is `auto`).
    pub runtime_pm: Option<bool>,
    /// The driver's counters (`ethtool -S`).
    pub counters: BTreeMap<String, u64>,
    /// Frames that found no room in the receive ring, or in the NIC before it.
    pub rx_missed: u64,
    /// Frames that arrived damaged.
    pub rx_crc_errors: u64,
}

impl Nic {
    /// Its root qdisc, as far as the kernel lists one.
    pub fn root_qdisc(&self) -> Option<&ObservedQdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT)
    }
}

/// A PHC against `CLOCK_TAI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhcOffset {
    /// PHC − `CLOCK_TAI`.
    #[serde(rename = "ahead_ns")]
    pub ahead: Span,
    /// `ahead` is wrong by this at most.
    #[serde(rename = "within_ns")]
    pub within: Span,
}

/// Energy Efficient Ethernet (802.3az).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eee {
    /// It is allowed.
    pub enabled: bool,
    /// Both ends have agreed on it.
    pub active: bool,
}

/// Interrupt moderation, `ethtool -c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moderation {
    /// Delay after a frame was sent, in µs.
    pub tx_us: u32,
    /// Delay after a frame was received, in µs.
    pub rx_us: u32,
    /// The NIC chooses the delays.
    pub adaptive: bool,
}

/// An interrupt of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its number in `/proc/interrupts`.
    pub number: u32,
    /// The CPUs that may handle it, as a list.
    pub cpus: Option<String>,
    /// Its threads.
    pub threads: Vec<Scheduled>,
}

/// The interfaces of the calling thread's network namespace that are NICs, or stand for some: those
/// that have a MAC address of their own and rest on no other.
///
/// # Errors
/// If netlink does not answer.
pub fn names() -> Result<Vec<String>, NicError> {
    let mut netlink = Netlink::open()?;
    let links = link::list(&mut netlink)?;
    let nic = |link: &Link| {
        let kind = link.kind.as_deref();
        link.mac.is_some() && !link.loopback && matches!(kind, None | Some("vtsn" | "dsa"))
    };
    Ok(links.into_iter().filter(nic).map(|link| link.name).collect())
}

/// Looks at an interface of the calling thread's network namespace. `threads` are those of
/// [`scheduled`](crate::threads::scheduled), among which its interrupts' are found.
///
/// # Errors
/// [`NicError::NoInterface`] if there is none of this name.
pub fn look(name: &str, threads: &[Scheduled]) -> Result<Nic, NicError> {
    let mut netlink = Netlink::open()?;
    let link = find(&mut netlink, name)?;
    let index = link.index;
    let sysfs = Sysfs::open_or_mounted();
    let file = |below: &str| sysfs.read(&format!("class/net/{name}/{below}")).ok();
    let number = |below: &str| file(below)?.parse::<u32>().ok();
    let stamps = observe::stamps(name);
    let port_of = match link.master {
        Some(master) => link::list(&mut netlink)?.into_iter().find(|other| other.index == master),
        None => None,
    };
    Ok(Nic {
        port_of: port_of.map(|master| master.name),
        driver: observe::driver(name),
        pci: pci(file("device/vendor"), file("device/device")),
        up: link.up,
        carrier: link.carrier,
        speed_mbps: ethtool::mbps(index),
        tx_queues: Channels::of(name).map_or(link.tx_queues, Channels::tx_queues),
        phc: stamps.and_then(|stamps| phc(stamps.phc?)),
        stamps,
        eee: ethtool::eee(index).map(|(enabled, active)| Eee { enabled, active }),
        moderation: moderation(index),
        rings: ethtool::rings(index),
        byte_queue_limit: byte_queue_limit(&sysfs, name),
        tx_packets: link.sent.packets,
        pause: ethtool::pause(index),
        qdiscs: qdisc::list(&mut netlink, index)?,
        interrupts: interrupts_of(&sysfs, name, threads),
        napi_threaded: file("threaded").map(|value| value != "0"),
        defer_hard_irqs: number("napi_defer_hard_irqs"),
        gro_flush_timeout: file("gro_flush_timeout")
            .and_then(|value| value.parse().ok())
            .map(Span::from_ns),
        napis: netdev::napis(index).unwrap_or_default(),
        aspm_l1: file("device/link/l1_aspm").map(|value| value == "1"),
        runtime_pm: file("device/power/control").map(|value| value == "auto"),
        counters: observe::counters(name),
        rx_missed: link.rx_missed,
        rx_crc_errors: link.rx_crc_errors,
        kind: link.kind,
        name: link.name,
    })
}

/// The link of this name.
pub(crate) fn find(netlink: &mut Netlink, name: &str) -> Result<Link, NicError> {
    Ok(link::find(netlink, name)?.ok_or_else(|| NoInterface::here(name))?)
}

fn moderation(index: u32) -> Option<Moderation> {
    let [Some(tx_us), Some(rx_us)] = ethtool::moderation(index) else { return None };
    let adaptive = ethtool::adaptive_moderation(index).unwrap_or(false);
    Some(Moderation { tx_us, rx_us, adaptive })
}

fn pci(vendor: Option<String>, device: Option<String>) -> Option<String> {
    let (vendor, device) = (vendor?, device?);
    Some(format!("{}:{}", vendor.strip_prefix("0x")?, device.strip_prefix("0x")?))
}

/// The largest limit of its transmit queues (`Documentation/ABI/testing/sysfs-class-net-queues`).
fn byte_queue_limit(sysfs: &Sysfs, name: &str) -> Option<u64> {
    let queues = fs::read_dir(sysfs.path(&format!("class/net/{name}/queues"))).ok()?;
    let limit = |queue: fs::DirEntry| {
        let file = queue.path().join("byte_queue_limits/limit");
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    };
    queues.flatten().filter_map(limit).max()
}

/// The PHC of an interface against `CLOCK_TAI`; `None` if it has none, or may not be read.
pub fn phc_of(name: &str) -> Option<PhcOffset> {
    phc(observe::stamps(name)?.phc?)
}

fn phc(index: u32) -> Option<PhcOffset> {
    let offset = Phc::open(index).ok()?.offset().ok()?;
    Some(PhcOffset { ahead: offset.ahead, within: offset.within })
}

fn interrupts_of(sysfs: &Sysfs, name: &str, threads: &[Scheduled]) -> Vec<Interrupt> {
    let of = |number| {
        let prefix = interrupts::thread_prefix(number);
        let ours = |thread: &&Scheduled| thread.name.starts_with(&prefix);
        let cpus = fs::read_to_string(interrupts::affinity_file(number));
        Interrupt {
            number,
            cpus: cpus.ok().map(|list| list.trim().to_owned()),
            threads: threads.iter().filter(ours).cloned().collect(),
        }
    };
    interrupts::shown_by(sysfs, name).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_looked_at_without_rights_and_is_no_nic() {
        let lo = look("lo", &[]).unwrap();
        assert_eq!((lo.name.as_str(), lo.phc, lo.pci.as_deref()), ("lo", None, None));
        assert!(!names().unwrap().contains(&"lo".to_owned()));
    }

    #[test]
    fn a_missing_interface_is_answered_with_those_that_are_there() {
        let error = look("no-such-if0", &[]).unwrap_err().to_string();
        assert!(error.contains("no interface `no-such-if0` here; there are "), "{error}");
        assert!(error.contains("lo"), "{error}");
    }

    #[test]
    fn pci_numbers_are_those_of_lspci() {
        let hex = |text: &str| Some(text.to_owned());
        assert_eq!(pci(hex("0x8086"), hex("0x1533")).as_deref(), Some("8086:1533"));
        assert_eq!(pci(hex("0x8086"), None), None);
    }
}
