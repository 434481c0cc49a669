//! Both ends of a flow: the configurations of its talker and listener, and where they run.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use anyhow::{Context, bail};
use teiji::Scheduling;
use teiji::listener::{ExpectedFlow, ListenerConfig, Pause, Source};
use teiji::talker::{Destination, TalkerConfig, TxStamps};
use teiji_core::time::Span;
use teiji_experiment::{Flow, PauseLength, Scenario, Transport};
use teiji_net::Applied;

/// Both ends of one flow; `None`: another machine's.
pub struct FlowRoles<'a> {
    pub talker: Option<InHost<'a, TalkerConfig>>,
    pub listener: Option<InHost<'a, ListenerConfig>>,
}

/// A role of a host on this machine.
pub struct InHost<'a, C> {
    pub config: C,
    pub namespace: BorrowedFd<'a>,
}

impl<'a, C> InHost<'a, C> {
    /// The role of `host`; `None` if that is another machine's.
    pub fn of(applied: &'a Applied, host: &str, config: C) -> Option<Self> {
        applied.namespace(host).map(|namespace| Self { config, namespace })
    }
}

impl<'a> FlowRoles<'a> {
    pub fn of(
        scenario: &Scenario,
        applied: &'a Applied,
        flow: &Flow,
        id: u16,
    ) -> anyhow::Result<Self> {
        let port = |host: &str, wire: &str| {
            applied.port(host, wire).with_context(|| {
                format!("flow `{}`: host `{host}` has no port on `{wire}`", flow.name)
            })
        };
        let (from, to) = (port(&flow.from, &flow.wire)?, port(&flow.to, flow.last_wire())?);
        if scenario.wire(&flow.wire).is_none() {
            bail!("flow `{}` is on no wire", flow.name);
        }
        let udp = |port, ip: Option<IpAddr>| -> anyhow::Result<(Destination, Source)> {
            let ip = ip.with_context(|| format!("flow `{}`: no address", flow.name))?;
            let any: IpAddr = match ip {
                IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
            };
            let to = Destination::Udp(SocketAddr::new(ip, port));
            Ok((to, Source::Udp(SocketAddr::new(any, port))))
        };
        let (destination, source) = match flow.transport {
            Transport::Udp4 { port } => udp(port, to.ipv4.map(IpAddr::from))?,
            Transport::Udp6 { port } => udp(port, to.ipv6.map(IpAddr::from))?,
            Transport::Ethernet { vlan } => (
                Destination::Ethernet { to: to.mac, vlan },
                Source::Ethernet { tagged: vlan.is_some() },
            ),
        };
        let cpu = |host: &str| scenario.host(host).and_then(|host| host.cpu);
        let talker = TalkerConfig {
            interface: from.ifname,
            destination,
            flow: id,
            payload: flow.payload,
            priority: flow.priority,
            dscp: flow.dscp,
            send_buffer: flow.send_buffer,
            launch: flow.mode.launch(),
            stamps: if flow.tx_stamps { TxStamps::Hardware } else { TxStamps::None },
            flow_control: flow.flow_control,
            scheduling: Scheduling {
                realtime: flow.realtime,
                cpu: flow.cpu.or_else(|| cpu(&flow.from)),
                lock_memory: flow.realtime.is_some(),
            },
        };
        let defaults = ListenerConfig::new(source);
        let listener = ListenerConfig {
            interface: Some(to.ifname),
            flows: vec![ExpectedFlow { id, frames: Some(flow.frames) }],
            hardware_stamps: true,
            busy_poll: flow.listener_busy_poll,
            flow_control: flow.flow_control.map(|level| (level, flow.payload)),
            pause: flow
                .listener_pause
                .map(|pause| Pause::new(pause, flow.listener_pause_length == PauseLength::Random)),
            nice: flow.listener_nice,
            receive_buffer: flow.listener_buffer.unwrap_or(defaults.receive_buffer),
            scheduling: Scheduling {
                realtime: flow.listener_realtime,
                cpu: cpu(&flow.to),
                lock_memory: false,
            },
            ..defaults
        };
        Ok(Self {
            talker: InHost::of(applied, &flow.from, talker),
            listener: InHost::of(applied, &flow.to, listener),
        })
    }
}

/// How long what waits may take when the last frame has been sent: in a slow reader's
/// buffer, and in the queues of bridges.
pub fn time_to_drain(scenario: &Scenario, flow: &Flow) -> Span {
    // Looks at a full buffer of the usual 4 MiB, each of 32 frames; and half as many more.
    const LOOKS: i64 = 90;
    let reader = flow.listener_pause.map_or(Span::ZERO, |pause| pause * LOOKS);
    if flow.downstream_wires.is_empty() { reader } else { reader + scenario.longest_wait() }
}
