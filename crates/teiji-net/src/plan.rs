//! What an experiment changes on this machine, step by step. Pure: compiling
//! and printing a plan touches nothing.
//!
//! ```text
//!   Scenario + Binding ── compile ─→ Plan ── apply ─→ Applied ── observe ─→ Observed
//!                                     │                  └────── undo ─→ as it was
//!                                     └ commands(), script()
//! ```

mod ends;
pub(crate) mod inspect;
mod step;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use teiji_core::wire::MacAddr;
use teiji_experiment::scenario::{Host, Nic, Port, Scenario, Transport, Wire};
use thiserror::Error;

use crate::binding::{Binding, BindingError};
use crate::processing::{self, ProcessingSetting};
use crate::qdisc::{self, PlannedQdisc, QdiscError};
use crate::system;
use crate::vtsn::{self, Setting};

pub(crate) use step::{Action, Step};

/// Prefix of a wire's IPv4 network.
pub(crate) const IPV4_PREFIX: u8 = 24;
/// What a host's bridge is called.
pub const BRIDGE: &str = "br0";
/// Prefix of a wire's IPv6 network.
pub(crate) const IPV6_PREFIX: u8 = 64;

/// Why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The binding does not fit the experiment.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// A wire names a host that does not exist, or that has no port on it.
    #[error(
        "wire `{wire}` goes to `{host}`, which has no port on it; `teiji check` explains the file"
    )]
    NoPort {
        /// The wire.
        wire: String,
        /// The host.
        host: String,
    },
    /// Fewer queues than the qdisc takes.
    #[error(
        "{host}'s port on `{wire}` has {has} transmit queues, its {kind} needs {needs}; set \
         queues = {needs} or change the ranges"
    )]
    Queues {
        /// The host.
        host: String,
        /// The wire.
        wire: String,
        /// The root qdisc.
        kind: String,
        /// What the port was given.
        has: u16,
        /// What the qdisc takes.
        needs: u16,
    },
    /// A qdisc that the kernel cannot take.
    #[error("{host}'s port on `{wire}`: {error}")]
    Qdisc {
        /// The host.
        host: String,
        /// The wire.
        wire: String,
        /// Why.
        error: QdiscError,
    },
    /// A veth pair has no interrupts.
    #[error(
        "{host}'s port on `{wire}` would be the end of a veth pair, which has no interrupts: \
         leave `irq` out, write nic = \"vtsn\", bind the wire to NICs (--bind), or run with --on \
         lab"
    )]
    NoInterrupts {
        /// The host.
        host: String,
        /// The wire.
        wire: String,
    },
}

/// How a port comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The end of a veth pair that the plan creates.
    Veth,
    /// The end of a vtsn pair that the plan creates.
    Vtsn,
    /// An interface of this machine, moved into the host's namespace.
    Interface,
    /// Another machine's.
    Elsewhere,
}

/// A port as the plan wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPort {
    /// The host.
    pub host: String,
    /// The wire.
    pub wire: String,
    /// Its name in the host's namespace.
    pub ifname: String,
    /// Made or moved.
    pub attachment: Attachment,
    /// Its MAC address; `None` for a NIC, which keeps its own, and elsewhere.
    pub mac: Option<MacAddr>,
    /// It belongs to its host's bridge, [`BRIDGE`].
    pub bridged: bool,
    /// Its IPv4 address, /24; `None` on a bridge.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address, /64; `None` on a bridge, and if nothing in the experiment uses
    /// IPv6. The port then has IPv6 switched off and sends nothing by itself.
    pub ipv6: Option<Ipv6Addr>,
    /// Number of transmit queues; `None` leaves a NIC as it is.
    pub queues: Option<u16>,
    /// Root qdisc and what hangs below it, in order; empty: the default.
    pub qdiscs: Vec<PlannedQdisc>,
    /// Settings of a `vtsn` NIC; of its wire at the wire's first end.
    pub settings: Vec<Setting>,
    /// Who processes its frames.
    pub processing: Vec<ProcessingSetting>,
}

impl PlannedPort {
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (IpAddr, u8)> {
        let v4 = self.ipv4.map(|ip| (IpAddr::V4(ip), IPV4_PREFIX));
        let v6 = self.ipv6.map(|ip| (IpAddr::V6(ip), IPV6_PREFIX));
        v4.into_iter().chain(v6)
    }
}

/// What will be changed, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) hosts: Vec<String>,
    pub(crate) ports: Vec<PlannedPort>,
    pub(crate) steps: Vec<Step>,
    /// Packets are traced on their way in.
    pub(crate) traced: bool,
    /// Ring buffers of tracepoints that somebody else makes, and that go with the plan.
    pub(crate) traces: Vec<String>,
}

impl Plan {
    /// Works out what `scenario` needs with its ports where `binding` says.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn compile(scenario: &Scenario, binding: &Binding) -> Result<Self, PlanError> {
        binding.check(scenario)?;
        let here = || scenario.hosts.iter().filter(|host| !binding.is_elsewhere(&host.name));
        let hosts: Vec<String> = here().map(|h| h.name.clone()).collect();
        let (ports, wires) = ports(scenario, binding)?;
        let ipv6 = uses_ipv6(scenario);
        let mut steps = Vec::new();
        for host in here() {
            let mut step = |action| steps.push(Step { host: host.name.clone(), action });
            step(Action::Namespace);
            // A bridge passes IPv6 on without speaking it.
            for (path, value) in quiet(ipv6 && !host.bridge) {
                step(Action::Sysctl { path, value });
            }
            step(Action::LoopbackUp);
            if host.bridge {
                step(Action::Bridge);
            }
        }
        for host in here() {
            for setting in system::of_host(host) {
                steps.push(Step { host: host.name.clone(), action: Action::System { setting } });
            }
            if host.system.pagelist_high_fraction.is_some() {
                steps.push(Step { host: host.name.clone(), action: Action::ShortFreeLists });
            }
        }
        for &(near, far) in &wires {
            if matches!(ports[near].attachment, Attachment::Veth | Attachment::Vtsn) {
                let host = ports[near].host.clone();
                steps.push(Step { host, action: Action::Pair { near, far } });
            }
        }
        for host in &hosts {
            for (port, planned) in ports.iter().enumerate().filter(|(_, p)| p.host == *host) {
                let actions = prepare(port, planned);
                steps.extend(actions.into_iter().map(|action| Step { host: host.clone(), action }));
            }
        }
        // Only now has every wire both ends up.
        let here = |port: &PlannedPort| port.attachment != Attachment::Elsewhere;
        for (port, planned) in ports.iter().enumerate().filter(|(_, port)| here(port)) {
            let step = |action| Step { host: planned.host.clone(), action };
            steps.push(step(Action::Carrier { port }));
            for peer in ends::reached_hosts(port, &ports, &wires) {
                if planned.bridged {
                    steps.push(step(Action::Forward { port, to: peer }));
                    continue;
                }
                for (ip, _) in ports[peer].addresses() {
                    steps.push(step(Action::Neighbour { port, peer, ip }));
                }
            }
        }
        Ok(Self { hosts, ports, steps, traced: scenario.is_traced(), traces: Vec::new() })
    }

    /// Has ring buffers of tracepoints ([`teiji_sys::tracefs::Instance`]) of this name removed with
    /// what the plan changes, also if this program is killed.
    #[must_use = "the plan has it"]
    pub fn with_trace(mut self, name: &str) -> Self {
        self.traces.push(name.to_owned());
        self
    }

    /// The hosts, in the experiment's order.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The ports, in the experiment's order of hosts.
    pub fn ports(&self) -> &[PlannedPort] {
        &self.ports
    }

    /// True if the plan makes vtsn pairs, for which the kernel needs the module.
    pub fn needs_vtsn(&self) -> bool {
        self.ports.iter().any(|p| p.attachment == Attachment::Vtsn)
    }

    /// True if `wire` is a vtsn pair that the plan makes.
    pub fn is_vtsn(&self, wire: &str) -> bool {
        self.ports.iter().any(|p| p.wire == wire && p.attachment == Attachment::Vtsn)
    }

    /// The port of `host` on `wire`.
    pub fn port(&self, host: &str, wire: &str) -> Option<&PlannedPort> {
        self.ports.iter().find(|p| p.host == host && p.wire == wire)
    }
}

/// The ports of all hosts, and for each wire the indices of its two ends.
type Ports = (Vec<PlannedPort>, Vec<(usize, usize)>);

fn ports(scenario: &Scenario, binding: &Binding) -> Result<Ports, PlanError> {
    let ipv6 = uses_ipv6(scenario);
    let mut ports = Vec::new();
    for host in &scenario.hosts {
        for port in &host.ports {
            let bound = binding.interface(&host.name, &port.wire);
            let ifname = match bound {
                Some(interface) => interface.to_owned(),
                None => pair_name(scenario, &port.wire),
            };
            let wire = scenario.wire(&port.wire);
            let elsewhere = binding.is_elsewhere(&host.name);
            let made = bound.is_none() && !elsewhere;
            let vtsn = wire.filter(|wire| wire.nic == Nic::Vtsn && made);
            let attachment = match (bound, vtsn) {
                _ if elsewhere => Attachment::Elsewhere,
                (Some(_), _) => Attachment::Interface,
                (None, Some(_)) => Attachment::Vtsn,
                (None, None) => Attachment::Veth,
            };
            let processing = processing::of_port(port);
            if attachment == Attachment::Veth
                && processing.iter().any(ProcessingSetting::needs_interrupts)
            {
                let (host, wire) = (host.name.clone(), port.wire.clone());
                return Err(PlanError::NoInterrupts { host, wire });
            }
            ports.push(PlannedPort {
                host: host.name.clone(),
                wire: port.wire.clone(),
                ifname,
                attachment,
                mac: made.then_some(port.mac),
                bridged: host.bridge,
                ipv4: port.ipv4,
                ipv6: port.ipv6.filter(|_| ipv6),
                queues: queues(&host.name, port, attachment == Attachment::Veth)?,
                settings: vtsn.map_or_else(Vec::new, |wire| settings(host, port, wire)),
                processing,
                qdiscs: port.qdisc.as_ref().map_or(Ok(Vec::new()), qdisc::compile).map_err(
                    |error| PlanError::Qdisc {
                        host: host.name.clone(),
                        wire: port.wire.clone(),
                        error,
                    },
                )?,
            });
        }
    }
    let end = |wire: &Wire, host: &String| {
        ports
            .iter()
            .position(|p| p.host == *host && p.wire == wire.name)
            .ok_or_else(|| PlanError::NoPort { wire: wire.name.clone(), host: host.clone() })
    };
    let wires = scenario
        .wires
        .iter()
        .map(|wire| Ok((end(wire, &wire.between[0])?, end(wire, &wire.between[1])?)))
        .collect::<Result<_, PlanError>>()?;
    Ok((ports, wires))
}

/// A vtsn port's settings. The wire's are those of its first end.
fn settings(host: &Host, port: &Port, wire: &Wire) -> Vec<Setting> {
    let mut settings = vtsn::of_port(port);
    if wire.between[0] == host.name {
        settings.splice(..0, vtsn::of_wire(wire));
    }
    settings
}

fn queues(host: &str, port: &Port, veth: bool) -> Result<Option<u16>, PlanError> {
    let needs = port.qdisc.as_ref().map_or(1, qdisc::queues_needed);
    match port.queues {
        Some(has) if has < needs => Err(PlanError::Queues {
            host: host.to_owned(),
            wire: port.wire.clone(),
            kind: port.qdisc.as_ref().map_or("qdisc", |tree| tree.root.kind()).to_owned(),
            has,
            needs,
        }),
        Some(has) => Ok(Some(has)),
        None => Ok((veth || needs > 1).then_some(needs)),
    }
}

/// What one port needs before its wire can carry traffic. The qdisc comes
/// after the link went up: some drivers (igb) count their queues only then.
fn prepare(port: usize, planned: &PlannedPort) -> Vec<Action> {
    let mut actions = Vec::new();
    if planned.attachment == Attachment::Interface {
        actions.push(Action::Move { port });
    }
    if planned.attachment != Attachment::Veth {
        actions.extend(planned.queues.map(|queues| Action::Channels { port, queues }));
    }
    let settings = planned.settings.iter().cloned();
    actions.extend(settings.map(|setting| Action::Setting { port, setting }));
    if planned.bridged {
        actions.push(Action::Enslave { port });
    }
    let addresses = planned.addresses();
    actions.extend(addresses.map(|(ip, prefix)| Action::Address { port, ip, prefix }));
    actions.push(Action::Up { port });
    let qdiscs = planned.qdiscs.iter().cloned();
    actions.extend(qdiscs.map(|qdisc| Action::Qdisc { port, qdisc }));
    // Interrupts have their threads only now.
    let processing = planned.processing.iter().cloned();
    actions.extend(processing.map(|setting| Action::Processing { port, setting }));
    actions
}

/// The name of a pair's end in its namespace: the wire's, if an interface can be
/// called so.
fn pair_name(scenario: &Scenario, wire: &str) -> String {
    let usable =
        |name: &str| name.len() <= 15 && !matches!(name, "lo" | "all" | "default" | BRIDGE);
    let index = scenario.wires.iter().position(|w| w.name == wire).unwrap_or(0);
    if scenario.wires.iter().all(|w| usable(&w.name)) {
        wire.to_owned()
    } else {
        format!("wire{index}")
    }
}

fn uses_ipv6(scenario: &Scenario) -> bool {
    let flows = scenario.flows.iter().map(|flow| flow.transport);
    let mut all = flows.chain(scenario.round_trips.iter().map(|round| round.transport));
    all.any(|transport| matches!(transport, Transport::Udp6 { .. }))
}

/// Settings that keep a namespace's ports from sending anything by themselves.
/// Set as defaults before a port arrives, so that it is born quiet.
fn quiet(ipv6: bool) -> Vec<(&'static str, &'static str)> {
    if !ipv6 {
        return vec![("net/ipv6/conf/default/disable_ipv6", "1")];
    }
    vec![
        // Addresses are usable at once and nobody is asked about them.
        ("net/ipv6/conf/default/accept_dad", "0"),
        ("net/ipv6/conf/default/accept_ra", "0"),
        ("net/ipv6/conf/default/router_solicitations", "0"),
        // No link-local address of its own (IN6_ADDR_GEN_MODE_NONE).
        ("net/ipv6/conf/default/addr_gen_mode", "1"),
        // Multicast reports at link-up are repeated after up to this many
        // milliseconds: let them be over before anything is measured.
        ("net/ipv6/conf/default/mldv2_unsolicited_report_interval", "1"),
    ]
}
