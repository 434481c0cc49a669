//! Starts the loads of a case, ends them with it, and tells the report what they did.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, bail};
use teiji::load::{Ends, Flood, LoadKind, LoadReport, Running};
use teiji_core::time::{Instant, Monotonic, Tai};
use teiji_experiment::Scenario;
use teiji_net::Applied;
use teiji_record::{Manifest, Summary};
use teiji_report::Band;
use teiji_sys::clock;

/// The ports of loads, far from those of flows.
const FLOODED: u16 = 9_009;
/// Bytes of a flood's datagram: a frame of nearly the common length.
const PAYLOAD: u16 = 1_400;
/// Datagrams per second, on average: 45 Mbit/s, which the laboratory's one CPU can
/// receive beside its other loads.
const RATE: u32 = 4_000;

/// Starts the experiment's loads and those of the command line, around the first
/// flow: what goes over its wire goes from its sender (`…-tx`) or to it (`…-rx`), in
/// threads on the CPUs of their hosts. Without flows it is the responder of the first
/// round trips that has the load.
///
/// # Errors
/// If a load has no flow or round trips to go by, or one cannot be started.
pub fn start(
    kinds: &[LoadKind],
    scenario: &Scenario,
    applied: &Applied,
) -> anyhow::Result<Vec<Running>> {
    let mut all = scenario.loads.clone();
    all.extend(kinds.iter().filter(|kind| !scenario.loads.contains(kind)));
    all.iter().map(|kind| start_one(*kind, scenario, applied)).collect()
}

/// Whether these can be started on a machine that is not thrown away.
///
/// # Errors
/// If one needs the laboratory.
pub fn allowed<'a>(mut kinds: impl Iterator<Item = &'a LoadKind>) -> anyhow::Result<()> {
    match kinds.find(|kind| kind.needs_the_laboratory()) {
        Some(kind) => bail!(
            "the load `{kind}` is for the laboratory: the kernel of this machine would go on with it \
             if teiji were killed; leave it out"
        ),
        None => Ok(()),
    }
}

/// Ends them and gives what they did. `base`: the first departure, if there was one.
pub fn stop(running: Vec<Running>, base: Option<Instant<Tai>>) -> Vec<LoadReport> {
    let stop = |running: Running| {
        let ago = clock::now::<Monotonic>() - running.since();
        let began = clock::now::<Tai>() - ago;
        let lead_ms = base.map(|base| (base - began).as_ns() / 1_000_000);
        LoadReport { lead_ms, ..running.stop() }
    };
    running.into_iter().map(stop).collect()
}

fn start_one(kind: LoadKind, scenario: &Scenario, applied: &Applied) -> anyhow::Result<Running> {
    if !kind.needs_a_wire() {
        return Ok(Running::start(kind)?);
    }
    let ports = scenario.loaded_ports();
    let Some([from, to]) = ports.and_then(|ports| ports.way(kind)) else {
        bail!("the load `{kind}` needs a flow or round trips")
    };
    let port = match kind {
        LoadKind::UdpRx | LoadKind::TcpRx => FLOODED,
        _ => FLOODED + 1,
    };
    let namespace =
        |host| applied.namespace(host).with_context(|| format!("host `{host}` has no namespace"));
    let (to, wire) = to;
    let ip: IpAddr = applied
        .port(to, wire)
        .and_then(|port| port.ipv4)
        .with_context(|| format!("host `{to}` has no address on `{wire}`"))?
        .into();
    let cpu = |host: &str| scenario.host(host).and_then(|host| host.cpu);
    let (from, _) = from;
    let ends = Ends { from: namespace(from)?, to: namespace(to)?, cpus: [cpu(from), cpu(to)] };
    let to = SocketAddr::new(ip, port);
    if matches!(kind, LoadKind::TcpTx | LoadKind::TcpRx) {
        return Ok(Running::stream(kind, to, ends)?);
    }
    Ok(Running::flood(kind, Flood { to, payload: PAYLOAD, rate: RATE }, ends)?)
}

/// What the loads did over time, of each case and seed; of runs that recorded it.
pub fn bands(manifest: &Manifest, summary: &Summary) -> Vec<Band> {
    let mut bands = Vec::new();
    for case in &summary.cases {
        for member in &case.members {
            let observed = manifest.observed.get(&case.name, member.seed);
            let loads = observed.map_or(&[][..], |observed| &observed.loads);
            bands.extend(loads.iter().filter_map(|load| {
                Some(Band {
                    case: case.name.clone(),
                    seed: member.seed,
                    load: load.kind.to_string(),
                    unit: load.unit.clone(),
                    from_ns: load.lead_ms?.saturating_mul(-1_000_000),
                    step_ns: load.over_time.step.as_ns().max(1),
                    amounts: load.over_time.amounts.clone(),
                })
            }));
        }
    }
    bands
}

/// Why the case was not measured under its loads, a sentence for each.
pub fn problems(reports: &[LoadReport]) -> impl Iterator<Item = String> + '_ {
    reports.iter().filter_map(|report| {
        let problem = report.problem.as_ref()?;
        Some(format!(
            "the load `{}` did not run as it should: {problem}, so the measurement is not valid \
             under this load",
            report.kind
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_outlives_a_killed_program_is_refused_outside_of_the_laboratory() {
        let others: Vec<LoadKind> =
            LoadKind::ALL.into_iter().filter(|kind| *kind != LoadKind::Stall).collect();
        allowed(others.iter()).unwrap();
        let error = allowed([LoadKind::Cpu, LoadKind::Stall].iter()).unwrap_err().to_string();
        assert!(error.contains("the load `stall` is for the laboratory"), "{error}");
    }
}
