//! What a machine had before a profile was applied, and giving it that again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use teiji_experiment::scenario::{Pfifo, Prioflow, Qdisc};

use super::services::ServicesBefore;
use super::{InPlaceError, schedules};
use crate::before::KernelBefore;
use crate::flow::{FlowPort, NO_LIMIT, PrioflowChange};
use crate::netlink::{KernelError, Netlink, ethtool, link, qdisc};
use crate::plan::PlannedPort;
use crate::qdisc::{Handle, ObservedQdisc, PlannedQdisc, ROOT_HANDLE};
use crate::real_nic::{self, Before, Channels, Refusal};
use crate::vtsn::Setting;

/// The machine as it was, as far as a profile changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineBefore {
    ports: Vec<PortBefore>,
    kernel: KernelBefore,
    #[serde(default)]
    services: ServicesBefore,
}

/// A NIC as it was; `None` where the profile leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PortBefore {
    #[serde(rename = "card")]
    nic: Before,
    /// It had the kernel's own qdisc, and gets another one.
    default_qdisc: bool,
    /// It had flow control, and gets other settings of it.
    prioflow: Option<Prioflow>,
    moderation: Option<ModerationBefore>,
    pause: Option<PauseBefore>,
    eee: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ModerationBefore {
    tx_us: Option<u32>,
    rx_us: Option<u32>,
    adaptive: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PauseBefore {
    autoneg: bool,
    tx: bool,
    rx: bool,
}

/// A NIC does not go away by what a profile does.
const NO_WAIT: Duration = Duration::ZERO;

/// Remembers what the port has of what it is to get, or says why it may not be changed.
pub(super) fn look(netlink: &mut Netlink, port: &PlannedPort) -> Result<PortBefore, InPlaceError> {
    let all = link::list(netlink).map_err(InPlaceError::Look)?;
    let nic = real_nic::find(&all, &port.ifname)?;
    let Some(mac) = nic.mac.filter(|_| !nic.loopback) else {
        return Err(Refusal::NotEthernet(port.ifname.clone()).into());
    };
    let mut prioflow = None;
    if !port.qdiscs.is_empty() {
        let mut qdiscs = qdisc::list(netlink, nic.index).map_err(InPlaceError::Look)?;
        let root = |one: &&ObservedQdisc| one.parent == Handle::ROOT && one.handle != Handle(0);
        let gets = port.qdiscs.first().map(|qdisc| &qdisc.settings);
        let has = qdiscs.iter().find(root).map(|root| &root.settings);
        if let (Some(Qdisc::Prioflow(_)), Some(Qdisc::Prioflow(settings))) = (gets, has) {
            prioflow = Some(*settings);
        }
        // Those for received frames stay.
        qdiscs.retain(|qdisc| qdisc.parent != Handle::INGRESS);
        if prioflow.is_none() {
            real_nic::refuse_by_qdiscs(nic, &qdiscs)?;
        }
    }
    let mut before = Before {
        ifname: port.ifname.clone(),
        mac,
        up: nic.up,
        addresses: Vec::new(),
        routes: Vec::new(),
        bridge: None,
        channels: port.queues.and_then(|_| Channels::of(&port.ifname)),
        files: Vec::new(),
        gso_max_size: None,
        kernel: KernelBefore::default(),
    };
    if !port.processing.is_empty() {
        before.gso_max_size = nic.gso_max_size;
        before.remember_processing();
        if schedules(port) {
            before.remember_interrupt_threads();
        }
    }
    let changes = |wanted: fn(&Setting) -> bool| port.settings.iter().any(wanted);
    let index = nic.index;
    let moderation = || {
        let [tx_us, rx_us] = ethtool::moderation(index);
        let adaptive = ethtool::adaptive_moderation(index);
        ModerationBefore { tx_us, rx_us, adaptive }
    };
    let pause = || {
        let (tx, rx) = ethtool::pause(index)?;
        Some(PauseBefore { autoneg: ethtool::pause_is_negotiated(index)?, tx, rx })
    };
    let eee = || Some(ethtool::eee(index)?.0);
    Ok(PortBefore {
        default_qdisc: !port.qdiscs.is_empty() && prioflow.is_none(),
        prioflow,
        moderation: changes(|one| matches!(one, Setting::Moderation { .. })).then(moderation),
        pause: changes(|one| matches!(one, Setting::Pause { .. })).then(pause).flatten(),
        eee: changes(|one| matches!(one, Setting::Eee { .. })).then(eee).flatten(),
        nic: before,
    })
}

impl MachineBefore {
    pub(super) const fn new(
        ports: Vec<PortBefore>,
        kernel: KernelBefore,
        services: ServicesBefore,
    ) -> Self {
        Self { ports, kernel, services }
    }

    /// What is not there any more, and took its settings with it: NICs, and files such as those of an
    /// interrupt.
    pub fn missing(&self) -> Vec<String> {
        let mut missing: Vec<String> = self.kernel.missing().map(str::to_owned).collect();
        let Ok(mut netlink) = Netlink::open() else { return missing };
        for PortBefore { nic, .. } in &self.ports {
            if real_nic::again(&mut netlink, nic).is_none() {
                missing.push(nic.ifname.clone());
            }
            missing.extend(nic.kernel.missing().map(str::to_owned));
        }
        missing
    }

    /// Puts back what differs, the last first. Doing it twice does no harm. Returns what could not be put
    /// back, as sentences.
    pub fn put_back(&self) -> Vec<String> {
        let mut netlink = match Netlink::open() {
            Ok(netlink) => netlink,
            Err(error) => return vec![error.to_string()],
        };
        let mut not_restored = self.services.put_back();
        not_restored.extend(self.ports.iter().rev().flat_map(|port| port.put_back(&mut netlink)));
        not_restored.extend(self.kernel.put_back());
        not_restored
    }
}

/// A root qdisc that makes room for the kernel's own: when it goes, they are made anew.
const fn passing() -> PlannedQdisc {
    let settings = Qdisc::Pfifo(Pfifo { limit: 1_000 });
    PlannedQdisc { parent: Handle::ROOT, handle: Some(ROOT_HANDLE), settings }
}

/// Has the interface have `prioflow` with these settings; one that is there keeps its packets.
pub(super) fn give_prioflow(ifname: &str, settings: &Prioflow) -> Result<(), String> {
    let change = PrioflowChange::from(settings);
    // Also those that have no limit.
    let change = PrioflowChange { bytes: change.bytes.or(Some(NO_LIMIT)), ..change };
    let mut port = FlowPort::open(ifname).map_err(|error| error.to_string())?;
    port.enable(&change).map(drop).map_err(|error| error.to_string())
}

impl PortBefore {
    fn put_back(&self, netlink: &mut Netlink) -> Vec<String> {
        let ifname = &self.nic.ifname;
        // A NIC that was taken out, or whose module was unloaded, took its settings with it.
        let Some(nic) = real_nic::again(netlink, &self.nic) else { return Vec::new() };
        let mut not_restored = Vec::new();
        let mut note = |what: &str, result: Result<(), String>| {
            if let Err(error) = result {
                not_restored.push(format!("{ifname}: {what} was not put back: {error}"));
            }
        };
        let text = |result: Result<(), KernelError>| result.map_err(|error| error.to_string());
        if self.default_qdisc {
            let there = qdisc::list(netlink, nic.index).unwrap_or_default();
            let ours = |one: &ObservedQdisc| one.parent == Handle::ROOT && one.handle != Handle(0);
            if there.iter().any(ours) {
                note("its default qdisc", text(qdisc::delete_root(netlink, nic.index)));
            }
        }
        if let Some(settings) = &self.prioflow {
            note("its flow control", give_prioflow(ifname, settings));
        }
        if let Some(ModerationBefore { tx_us, rx_us, adaptive }) = self.moderation {
            if ethtool::moderation(nic.index) != [tx_us, rx_us] {
                let set = ethtool::set_moderation(nic.index, tx_us, rx_us);
                note("its interrupt moderation", text(set));
            }
            let is = ethtool::adaptive_moderation(nic.index);
            if let Some(adaptive) = adaptive.filter(|was| is != Some(*was)) {
                let set = ethtool::set_adaptive_moderation(nic.index, adaptive);
                note("its adaptive interrupt moderation", text(set));
            }
        }
        if let Some(PauseBefore { autoneg, tx, rx }) = self.pause {
            let same = ethtool::pause(nic.index) == Some((tx, rx))
                && ethtool::pause_is_negotiated(nic.index) == Some(autoneg);
            if !same {
                note("PAUSE", text(ethtool::put_pause(nic.index, autoneg, tx, rx)));
            }
        }
        if let Some(on) = self.eee {
            if ethtool::eee(nic.index).map(|(enabled, _)| enabled) != Some(on) {
                note("EEE", text(ethtool::set_eee(nic.index, on)));
            }
        }
        let queues = Channels::of(ifname);
        not_restored.extend(real_nic::restore(netlink, &self.nic, NO_WAIT));
        if self.default_qdisc && Channels::of(ifname) != queues {
            // The kernel's own qdiscs were made for the queues that there were.
            let again = qdisc::replace(netlink, nic.index, &passing());
            let again = again.and_then(|()| qdisc::delete_root(netlink, nic.index));
            if let Err(error) = again {
                not_restored.push(format!("{ifname}: its default qdisc was not put back: {error}"));
            }
        }
        if !self.nic.up && nic.up {
            if let Err(error) = link::set_up(netlink, nic.index, false) {
                not_restored
                    .push(format!("{ifname} was down and could not be set down again: {error}"));
            }
        }
        not_restored
    }
}
