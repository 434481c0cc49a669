//! Both ends of round trips, ready to become threads of a measurement.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::BorrowedFd;

use anyhow::{Context, bail};
use teiji::roundtrip::{ReflectedCounts, ReflectorConfig, Requester, RequesterConfig};
use teiji::{Deadline, Reflector, RequesterLog, Scheduling, StopFlag};
use teiji_core::domain::RtPriority;
use teiji_core::time::Span;
use teiji_experiment::{RoundTrips, Scenario, Transport};
use teiji_net::Applied;

use crate::measure::role::{EndOf, Gate, enter};

/// Requester and responder.
pub struct RoundTripRoles<'a> {
    requester: RequesterConfig,
    requester_namespace: BorrowedFd<'a>,
    responder: ReflectorConfig,
    responder_namespace: BorrowedFd<'a>,
}

impl<'a> RoundTripRoles<'a> {
    /// The ends of `asked`, whose identifier on the wire is `id`.
    pub fn of(
        scenario: &Scenario,
        applied: &'a Applied,
        asked: &RoundTrips,
        id: u16,
    ) -> anyhow::Result<Self> {
        let name = &asked.name;
        let port = |host: &str, wire: &str| {
            applied.port(host, wire).with_context(|| {
                format!("round trips `{name}`: host `{host}` has no port on `{wire}`")
            })
        };
        let namespace = |host: &str| {
            applied.namespace(host).with_context(|| format!("host `{host}` has no namespace"))
        };
        let (from, to) = (port(&asked.from, &asked.wire)?, port(&asked.to, asked.last_wire())?);
        let missing = || format!("round trips `{name}`: no address");
        let (ip, any, port): (IpAddr, IpAddr, u16) = match asked.transport {
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
        Ok(Self {
            requester: RequesterConfig {
                destination: SocketAddr::new(ip, port),
                interface: Some(from.ifname),
                count: asked.count,
                period: asked.period,
                timeout: asked.timeout,
                payload: asked.payload,
                flow: id,
                priority: asked.priority,
                dscp: asked.dscp,
                scheduling: scheduling(&asked.from, asked.realtime),
            },
            requester_namespace: namespace(&asked.from)?,
            responder: ReflectorConfig {
                address: SocketAddr::new(any, port),
                interface: Some(to.ifname),
                priority: asked.priority,
                dscp: asked.dscp,
                busy_poll: asked.responder_busy_poll,
                scheduling: scheduling(&asked.to, asked.responder_realtime),
            },
            responder_namespace: namespace(&asked.to)?,
        })
    }

    /// The responder's work: answers until `until`.
    pub fn respond<'s>(
        &'s self,
        gate: Gate<'s>,
        until: Deadline,
        stop: &'s StopFlag,
    ) -> impl FnOnce() -> anyhow::Result<ReflectedCounts> + Send + 's {
        move || {
            enter(self.responder_namespace)?;
            let responder = Reflector::open(&self.responder)?.ready()?;
            gate.pass();
            Ok(responder.run(&until, stop)?)
        }
    }

    /// The requester's work: asks, and sets the responder's `deadline` when it ends,
    /// however that is.
    pub fn ask<'s>(
        &'s self,
        gate: Gate<'s>,
        deadline: Deadline,
        stop: &'s StopFlag,
    ) -> impl FnOnce() -> anyhow::Result<RequesterLog> + Send + 's {
        // From now on: the responder ends even if this is never called.
        let end = EndOf { deadline, longer: Span::ZERO };
        move || {
            let _end = end;
            enter(self.requester_namespace)?;
            let requester = Requester::open(&self.requester)?.ready()?;
            let base = gate.wait()?;
            Ok(requester.run(base, stop))
        }
    }
}
