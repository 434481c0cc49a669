//! A scenario while it is read: what could not be read is `None`, so that the
//! rest is still checked.

pub(crate) mod networks;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use teiji_core::domain::SocketPriority;
use teiji_core::load::LoadKind;
use teiji_core::wire::MacAddr;

use crate::fields::Found;
pub(crate) use crate::keys::flow::FlowDraft;
pub(crate) use crate::keys::host::HostDraft;
pub(crate) use crate::keys::round_trips::RoundTripsDraft;
pub(crate) use crate::keys::wire::WireDraft;
use networks::Networks;

use crate::scenario::{
    Host, Port, Processing, Ptp, Qdisc, QdiscTree, Scenario, System, VtsnSettings,
};

pub(crate) struct PortDraft {
    pub host: String,
    pub wire: String,
    pub mac: Option<MacAddr>,
    /// Absent on a bridge, as the next.
    pub ipv4: Found<Ipv4Addr>,
    pub ipv6: Found<Ipv6Addr>,
    pub queues: Found<u16>,
    pub qdisc: Found<QdiscTree>,
    pub vtsn: Option<VtsnSettings>,
    pub processing: Option<Processing>,
}

pub(crate) struct ScenarioDraft {
    pub hosts: Vec<HostDraft>,
    /// By host: absent, wrong, or its part.
    pub ptp: BTreeMap<String, Found<Ptp>>,
    /// By host likewise: what its kernel does.
    pub systems: BTreeMap<String, Found<System>>,
    pub wires: Vec<WireDraft>,
    pub ports: Vec<PortDraft>,
    pub flows: Vec<FlowDraft>,
    pub round_trips: Vec<RoundTripsDraft>,
    pub loads: Option<Vec<LoadKind>>,
}

impl ScenarioDraft {
    pub fn wire(&self, name: &str) -> Option<&WireDraft> {
        self.wires.iter().find(|w| w.name == name)
    }

    pub fn port(&self, host: &str, wire: &str) -> Option<&PortDraft> {
        self.ports.iter().find(|p| p.host == host && p.wire == wire)
    }

    /// The ports that a way passes, as host and wire: both ends of each of its wires.
    pub fn passed<'a>(
        &'a self,
        from: &'a str,
        wire: &'a str,
        downstream: &'a [String],
    ) -> Vec<(&'a str, &'a str)> {
        let mut at = from;
        let mut ports = Vec::new();
        for wire in std::iter::once(wire).chain(downstream.iter().map(String::as_str)) {
            let ends = self.wire(wire).and_then(|wire| wire.between.as_ref());
            let Some(far) = ends.and_then(|ends| ends.iter().find(|end| *end != at)) else { break };
            ports.extend([(at, wire), (far.as_str(), wire)]);
            at = far;
        }
        ports
    }

    pub fn networks(&self) -> Networks<'_> {
        Networks::new(&self.wires, &self.hosts)
    }

    pub fn is_bridge(&self, host: &str) -> bool {
        self.networks().is_bridge(host)
    }

    /// What a frame from a host, sent with a priority, meets at a port on its way. A bridge
    /// sees the frame, not the priority: all that pass it have 0.
    pub fn leaf_at(&self, host: &str, wire: &str, sent_with: SocketPriority) -> Option<&Qdisc> {
        let priority = if self.is_bridge(host) { SocketPriority::LEAST } else { sent_with };
        self.port(host, wire)?.qdisc.as_value()?.leaf_of(priority)
    }

    /// The scenario, if everything could be read.
    pub fn finish(self) -> Option<Scenario> {
        let mut hosts = Vec::new();
        for draft in self.hosts {
            let ptp = self.ptp.get(&draft.name).copied().unwrap_or(Found::Absent).settle().ok()?;
            let system = self.systems.get(&draft.name).copied().unwrap_or(Found::Absent);
            let system = system.or_default(System::default())?;
            hosts.push(Host { ptp, system, ..draft.finish()? });
        }
        for draft in self.ports {
            let host = hosts.iter_mut().find(|h| h.name == draft.host)?;
            host.ports.push(draft.finish()?);
        }
        let wires = self.wires.into_iter().map(WireDraft::finish).collect::<Option<_>>()?;
        let flows = self.flows.into_iter().map(FlowDraft::finish).collect::<Option<_>>()?;
        let round_trips =
            self.round_trips.into_iter().map(RoundTripsDraft::finish).collect::<Option<_>>()?;
        Some(Scenario { hosts, wires, flows, round_trips, loads: self.loads? })
    }
}

impl HostDraft {
    pub fn is_bridge(&self) -> bool {
        self.bridge == Some(true)
    }
}

impl PortDraft {
    fn finish(self) -> Option<Port> {
        let qdisc = self.qdisc.settle().ok()?;
        let queues = self.queues.settle().ok()?;
        Some(Port {
            wire: self.wire,
            mac: self.mac?,
            ipv4: self.ipv4.settle().ok()?,
            ipv6: self.ipv6.settle().ok()?,
            queues: queues.or_else(|| qdisc.as_ref().and_then(QdiscTree::queues)),
            qdisc,
            vtsn: self.vtsn?,
            processing: self.processing?,
        })
    }
}
