//! Starts the loads of a case, and ends them with it.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, bail};
use teiji::load::{Flood, LoadKind, LoadReport, Running};
use teiji_experiment::Scenario;
use teiji_net::Applied;

/// The ports that are flooded, far from those of flows.
const FLOODED: u16 = 9_009;
/// Bytes of a flood's datagram: a frame of nearly the common length.
const PAYLOAD: u16 = 1_400;
/// Datagrams a second, on average: 45 Mbit/s, which the laboratory's one CPU can
/// receive beside its other loads.
const RATE: u32 = 4_000;

/// Starts loads around the first flow: floods go over its wire, from its sender
/// (`udp-tx`) or to it (`udp-rx`).
pub fn start(
    kinds: &[LoadKind],
    scenario: &Scenario,
    applied: &Applied,
) -> anyhow::Result<Vec<Running>> {
    kinds.iter().map(|kind| start_one(*kind, scenario, applied)).collect()
}

/// Ends them and gives what they did.
pub fn stop(running: Vec<Running>) -> Vec<LoadReport> {
    running.into_iter().map(Running::stop).collect()
}

fn start_one(kind: LoadKind, scenario: &Scenario, applied: &Applied) -> anyhow::Result<Running> {
    if !kind.needs_a_wire() {
        return Ok(Running::start(kind)?);
    }
    let Some(flow) = scenario.flows.first() else { bail!("the load `{kind}` needs a flow") };
    let (from, to, port) = match kind {
        LoadKind::UdpRx => (&flow.to, &flow.from, FLOODED),
        _ => (&flow.from, &flow.to, FLOODED + 1),
    };
    let namespace =
        |host| applied.namespace(host).with_context(|| format!("host `{host}` has no namespace"));
    let ip: IpAddr = applied
        .port(to, &flow.wire)
        .with_context(|| format!("host `{to}` has no port on `{}`", flow.wire))?
        .ipv4
        .into();
    let flood = Flood { to: SocketAddr::new(ip, port), payload: PAYLOAD, rate: RATE };
    Ok(Running::flood(kind, flood, namespace(from)?, namespace(to)?)?)
}

/// Why the case was not measured under its loads, a sentence for each.
pub fn problems(reports: &[LoadReport]) -> impl Iterator<Item = String> + '_ {
    reports.iter().filter_map(|report| {
        let problem = report.problem.as_ref()?;
        Some(format!(
            "the load `{}` did not run as it should: {problem}; what was measured is not valid \
             under it",
            report.kind
        ))
    })
}
