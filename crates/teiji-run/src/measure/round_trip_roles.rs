//! Both ends of round trips, ready to become threads of a measurement.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context, bail};
use teiji::roundtrip::{ReflectedCounts, ReflectorConfig, Requester, RequesterConfig};
use teiji::{Deadline, Reflector, RequesterLog, Scheduling, StopFlag};
use teiji_core::domain::RtPriority;
use teiji_experiment::{RoundTrips, Scenario, Transport};
use teiji_net::Applied;

use crate::measure::flow_roles::InHost;
use crate::measure::role::{Gate, enter};

/// Requester and responder; `None`: another machine's.
pub struct RoundTripRoles<'a> {
    requester: Option<InHost<'a, RequesterConfig>>,
    responder: Option<InHost<'a, ReflectorConfig>>,
}

impl<'a> RoundTripRoles<'a> {
    /// The ends of `rounds`, whose identifier on the wire is `id`.
    pub fn of(
        scenario: &Scenario,
        applied: &'a Applied,
        rounds: &RoundTrips,
        id: u16,
    ) -> anyhow::Result<Self> {
        let name = &rounds.name;
        let port = |host: &str, wire: &str| {
            applied.port(host, wire).with_context(|| {
                format!("round trips `{name}`: host `{host}` has no port on `{wire}`")
            })
        };
        let (from, to) = (port(&rounds.from, &rounds.wire)?, port(&rounds.to, rounds.last_wire())?);
        let missing = || format!("round trips `{name}`: no address");
        let (ip, any, port): (IpAddr, IpAddr, u16) = match rounds.transport {
            Transport::Udp4 { port } => {
                let ip = to.ipv4.with_context(missing)?;
                (ip.into(), Ipv4Addr::UNSPECIFIED.into(), port)
            }
            Transport::Udp6 { port } => {
                let ip = to.ipv6.with_context(missing)?;
                (ip.into(), Ipv6Addr::UNSPECIFIED.into(), port)
            }
            Transport::Ethernet { .. } => bail!("round trips `{name}` are of UDP"),
        };
        let scheduling = |host: &str, realtime: Option<RtPriority>| Scheduling {
            realtime,
            cpu: scenario.host(host).and_then(|host| host.cpu),
            lock_memory: realtime.is_some(),
        };
        let requester = RequesterConfig {
            destination: SocketAddr::new(ip, port),
            interface: Some(from.ifname),
            count: rounds.count,
            period: rounds.period,
            timeout: rounds.timeout,
            payload: rounds.payload,
            flow: id,
            priority: rounds.priority,
            dscp: rounds.dscp,
            scheduling: scheduling(&rounds.from, rounds.realtime),
        };
        let responder = ReflectorConfig {
            address: SocketAddr::new(any, port),
            interface: Some(to.ifname),
            priority: rounds.priority,
            dscp: rounds.dscp,
            busy_poll: rounds.responder_busy_poll,
            scheduling: scheduling(&rounds.to, rounds.responder_realtime),
        };
        Ok(Self {
            requester: InHost::of(applied, &rounds.from, requester),
            responder: InHost::of(applied, &rounds.to, responder),
        })
    }

    /// The responder's work here: answers until `until`.
    pub fn respond<'s>(
        &'s self,
        gate: Gate<'s>,
        until: Deadline,
        stop: &'s StopFlag,
    ) -> Option<impl FnOnce() -> anyhow::Result<ReflectedCounts> + Send + 's> {
        let InHost { config, namespace } = self.responder.as_ref()?;
        Some(move || {
            enter(*namespace)?;
            let responder = Reflector::open(config)?.ready()?;
            gate.pass();
            Ok(responder.run(&until, stop)?)
        })
    }

    /// The requester's work here.
    pub fn requester<'s>(
        &'s self,
        gate: Gate<'s>,
        stop: &'s StopFlag,
    ) -> Option<impl FnOnce() -> anyhow::Result<RequesterLog> + Send + 's> {
        let InHost { config, namespace } = self.requester.as_ref()?;
        Some(move || {
            enter(*namespace)?;
            let requester = Requester::open(config)?.ready()?;
            let base = gate.wait()?;
            Ok(requester.run(base, stop))
        })
    }
}
