//! What an experiment says, resolved: values only, defaults filled in.

mod blocking;
mod instruction;
mod judge;
mod level_table;
mod loaded;
mod nic;
mod prioflow;
mod qdisc;
mod requirement;
mod round_trips;
mod system;

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use teiji_core::load::LoadKind;
use teiji_core::time::Span;
use teiji_core::wire::ethernet::{self, MacAddr, VlanTag};
use teiji_core::wire::ip::{IPV4_HEADER, IPV6_HEADER, UDP_HEADER_LEN};

pub use crate::keys::flow::Flow;
pub use crate::keys::host::{Host, Ptp, System};
pub use crate::keys::port::{Moderation, Phc, Ring, VtsnSettings};
pub use crate::keys::prioflow::Prioflow;
pub use crate::keys::processing::{Irq, Napi, Processing};
pub use crate::keys::qdisc::Etf;
pub use crate::keys::round_trips::RoundTrips;
pub use crate::keys::wire::Wire;
pub use instruction::InstructionTime;
pub use judge::{Judge, JudgeBy};
pub use level_table::LevelTable;
pub use loaded::{LoadedPorts, PortName};
pub use nic::Nic;
pub use prioflow::{LevelSource, LinkMode, PauseScope};
pub use qdisc::{
    Cbs, FqCodel, Gate, Mqprio, Pfifo, Prio, Qdisc, QdiscTree, QueueRange, Taprio, TaprioMode,
};
pub use requirement::{AllowedLoss, Relation, RequiredCount, RequiredFigure, Requirement};
pub use system::{Policy, RtRuntime};
pub use teiji_core::send_mode::SendMode;

/// A question with the cases that answer it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Short name: letters, digits and `-`; names run folders.
    pub name: String,
    /// The question, one sentence, for the top of the report.
    pub question: String,
    /// Key of the published figures to stand beside the result
    /// (`papers/<key>.toml`).
    pub paper: Option<String>,
    /// In what the set-up differs from the paper's, full sentences.
    #[serde(default)]
    pub paper_differences: Vec<String>,
    /// Seed used when the command line gives none.
    pub seed: u64,
    /// What answers the question.
    pub judge: Judge,
    /// The cases, in the file's order. Never empty.
    pub cases: Vec<Case>,
}

/// One case: a name and the complete scenario it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Letters, digits and `-`.
    pub name: String,
    /// One line for people, may be empty.
    pub about: String,
    /// Key under `[result.…]` of the paper's figures this case stands beside.
    pub paper_result: Option<String>,
    /// The kernel it runs on in the laboratory, `debian:6.12-rt` or such; `None`
    /// leaves the choice to the command line.
    pub kernel: Option<String>,
    /// How long the laboratory's processor takes for an instruction.
    pub instruction: InstructionTime,
    /// Everything the case needs.
    pub scenario: Scenario,
    /// What it must fulfil.
    pub requirements: Vec<Requirement>,
}

/// Hosts, the wires between them and the flows over those.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// In the file's order.
    pub hosts: Vec<Host>,
    /// In the file's order.
    pub wires: Vec<Wire>,
    /// In the file's order; the index is the flow identifier on the wire.
    pub flows: Vec<Flow>,
    /// In the file's order; their identifiers on the wire follow those of the flows.
    pub round_trips: Vec<RoundTrips>,
    /// Background load.
    pub loads: Vec<LoadKind>,
}

impl Experiment {
    /// The names of the flows that are load wherever they are sent.
    pub fn background(&self) -> Vec<String> {
        let all = || self.cases.iter().flat_map(|case| &case.scenario.flows);
        let mut names: Vec<String> = Vec::new();
        for flow in all() {
            if !names.contains(&flow.name)
                && all().filter(|other| other.name == flow.name).all(|other| other.background)
            {
                names.push(flow.name.clone());
            }
        }
        names
    }

    /// How long an instruction takes in the laboratory, each time once, with its cases.
    pub fn instruction_times(&self) -> Vec<(InstructionTime, Vec<&str>)> {
        let mut times: Vec<(InstructionTime, Vec<&str>)> = Vec::new();
        for case in &self.cases {
            match times.iter_mut().find(|(time, _)| *time == case.instruction) {
                Some((_, cases)) => cases.push(&case.name),
                None => times.push((case.instruction, vec![&case.name])),
            }
        }
        times
    }
}

impl Scenario {
    /// The host called `name`.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|h| h.name == name)
    }

    /// The CPUs that are some host's own, each once, in the order of the hosts.
    pub fn cpus(&self) -> Vec<u16> {
        let mut cpus = Vec::new();
        for cpu in self.hosts.iter().filter_map(|host| host.cpu) {
            if !cpus.contains(&cpu) {
                cpus.push(cpu);
            }
        }
        cpus
    }

    /// True if a clock is synchronised.
    pub fn uses_ptp(&self) -> bool {
        self.hosts.iter().any(|host| host.ptp.is_some())
    }

    /// True if PTP synchronises system clocks, not those of NICs alone.
    pub fn synchronises_system_clocks(&self) -> bool {
        let of_system = |ptp: Ptp| ptp.system_clock || ptp.timestamps == PtpTimestamps::Software;
        self.hosts.iter().filter_map(|host| host.ptp).any(of_system)
    }

    /// True if packets of a flow or round trips are traced through a receiving kernel.
    pub fn is_traced(&self) -> bool {
        self.flows.iter().any(|flow| flow.listener_trace)
            || self.round_trips.iter().any(|requests| requests.responder_trace)
    }

    /// The wire called `name`.
    pub fn wire(&self, name: &str) -> Option<&Wire> {
        self.wires.iter().find(|w| w.name == name)
    }

    /// The port of `host` on `wire`.
    pub fn port(&self, host: &str, wire: &str) -> Option<&Port> {
        self.host(host)?.ports.iter().find(|p| p.wire == wire)
    }

    /// The flow called `name` and its identifier on the wire.
    pub fn flow(&self, name: &str) -> Option<(u16, &Flow)> {
        (0..).zip(&self.flows).find(|(_, f)| f.name == name)
    }

    /// The round trips called `name`.
    pub fn round_trips(&self, name: &str) -> Option<&RoundTrips> {
        self.round_trips.iter().find(|r| r.name == name)
    }

    /// The round trips with their identifiers on the wire.
    pub fn numbered_round_trips(&self) -> impl Iterator<Item = (u16, &RoundTrips)> {
        let first = u16::try_from(self.flows.len()).unwrap_or(u16::MAX);
        (first..).zip(&self.round_trips)
    }

    /// How long all frames of a flow occupy its wire.
    fn time_on_the_wire(&self, flow: &Flow) -> Span {
        let frame = self.wire(&flow.wire).map_or(Span::ZERO, |wire| {
            wire.rate.serialisation(flow.transport.octets(flow.payload))
        });
        let frames = i64::try_from(flow.frames).unwrap_or(i64::MAX);
        Span::from_ns(frame.as_ns().saturating_mul(frames))
    }

    /// Whether frames pass bridges on their way.
    pub fn has_bridges(&self) -> bool {
        self.hosts.iter().any(|host| host.bridge)
    }

    /// How long the slowest wire takes for all frames of all flows: no queue on the way of
    /// one takes longer to empty. A day at most.
    pub fn longest_wait(&self) -> Span {
        const DAY_NS: i64 = 24 * 3_600 * 1_000_000_000;
        let Some(rate) = self.wires.iter().map(|wire| wire.rate).min() else { return Span::ZERO };
        let of_flow = |flow: &Flow| {
            let frame = rate.serialisation(flow.transport.octets(flow.payload)).as_ns();
            frame.saturating_mul(i64::try_from(flow.frames).unwrap_or(i64::MAX))
        };
        Span::from_ns(self.flows.iter().map(of_flow).fold(0, i64::saturating_add).min(DAY_NS))
    }

    /// How long flows and round trips take, from the first departure to the end of
    /// the last period of the longest. Round trips without a period end earlier
    /// unless no reply comes.
    pub fn duration(&self) -> Span {
        let flows = self.flows.iter().map(|flow| match flow.mode {
            SendMode::BackToBack => flow.duration().max(self.time_on_the_wire(flow)),
            SendMode::OnWakeUp | SendMode::LaunchTime { .. } => flow.duration(),
        });
        let round_trips = self.round_trips.iter().map(RoundTrips::longest);
        flows.chain(round_trips).max().unwrap_or(Span::ZERO)
    }
}

/// What a host does in clock synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PtpRole {
    /// Its clock is the time of all.
    Grandmaster,
    /// Its clock follows.
    Slave,
    /// It follows on one port and leads on the others.
    Boundary,
}

/// Who timestamps PTP's messages, and so which clock they synchronise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PtpTimestamps {
    /// The NIC: its own clock.
    #[default]
    Hardware,
    /// The driver and the kernel: the system clock.
    Software,
}

impl Ptp {
    /// How close to its reference a clock stays that has settled.
    pub fn settles_within(self) -> Span {
        self.within.unwrap_or(match self.timestamps {
            PtpTimestamps::Hardware => Span::from_micros(1),
            PtpTimestamps::Software => Span::from_micros(100),
        })
    }
}

/// How clocks are synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PtpProfile {
    /// IEEE 1588's default profile over Ethernet: end-to-end delay, a
    /// synchronisation per second.
    Default,
    /// IEEE 802.1AS (gPTP): peer delay, eight synchronisations per second.
    Gptp,
}

/// A host's end of a wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// The wire it is on.
    pub wire: String,
    /// Its MAC address: `02:74:65:6a:<wire>:<end>` unless the file says so.
    /// Real NICs keep their own.
    pub mac: MacAddr,
    /// Its IPv4 address, in a /24 per network: `10.<network>.0.<end>`, counted from 1. A
    /// network is a wire, or all that bridges join, with the number of its first wire.
    /// `None` on a bridge.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address, in a /64 per network: `fd74:656a:<network>::<end>`; `None` on a
    /// bridge.
    pub ipv6: Option<Ipv6Addr>,
    /// Number of transmit queues to set (`ethtool -L`, or at veth creation):
    /// what the file says, or else what `qdisc` needs.
    pub queues: Option<u16>,
    /// The root queueing discipline; `None` leaves the kernel's default.
    pub qdisc: Option<QdiscTree>,
    /// Settings of a `vtsn` NIC.
    #[serde(rename = "card")]
    pub vtsn: VtsnSettings,
    /// Who processes its frames.
    pub processing: Processing,
}

/// The lengths of a slow reader's processing delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseLength {
    /// Always for the same time.
    #[default]
    Equal,
    /// Exponentially distributed, with that time as their mean.
    Random,
}

impl Flow {
    /// The wire it arrives by.
    pub fn last_wire(&self) -> &str {
        self.downstream_wires.last().unwrap_or(&self.wire)
    }

    /// How long it takes, from the experiment's first instant to the end of the
    /// last period.
    pub fn duration(&self) -> Span {
        let frames = i64::try_from(self.frames).unwrap_or(i64::MAX);
        let periods = self.period.as_ns().saturating_mul(frames);
        Span::from_ns(periods.saturating_add(self.offset.as_ns()))
    }
}

/// How a flow's frames are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// UDP over IPv4 on this destination port.
    Udp4 {
        /// Destination port.
        port: u16,
    },
    /// UDP over IPv6 on this destination port.
    Udp6 {
        /// Destination port.
        port: u16,
    },
    /// A raw Ethernet frame with [`teiji_core::wire::TEIJI_ETHERTYPE`].
    Ethernet {
        /// An 802.1Q tag to put in front.
        vlan: Option<VlanTag>,
    },
}

impl Transport {
    /// The most payload that fits into a frame.
    #[expect(clippy::cast_possible_truncation, reason = "48 at most")]
    pub const fn most_payload(self) -> u16 {
        let headers = match self {
            Self::Udp4 { .. } => IPV4_HEADER + UDP_HEADER_LEN,
            Self::Udp6 { .. } => IPV6_HEADER + UDP_HEADER_LEN,
            Self::Ethernet { .. } => 0,
        };
        ethernet::MOST_DATA - headers as u16
    }

    /// The bytes that a frame with this payload occupies the wire for: everything
    /// around it included.
    pub fn octets(self, payload: u16) -> u64 {
        let tag = if matches!(self, Self::Ethernet { vlan: Some(_) }) { ethernet::TAG } else { 0 };
        // What the most payload leaves of the longest frame.
        let headers = ethernet::LONGEST - self.most_payload() + tag;
        let frame = u64::from(headers) + u64::from(payload);
        frame.max(ethernet::SHORTEST.into()) + u64::from(ethernet::AROUND)
    }
}
