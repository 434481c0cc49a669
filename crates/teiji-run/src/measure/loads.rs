//! Starts the loads of a case, ends them with it, and tells the report what they did.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji::load::{End, Ends, Flood, LoadKind, LoadReport, Running};
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
/// round trips that has the load. What is on another machine is started there; it is waited for
/// until `stop`.
///
/// # Errors
/// If a load has no flow or round trips to go by, or one cannot be started.
pub fn start(
    kinds: &[LoadKind],
    scenario: &Scenario,
    applied: &Applied,
    stop: &StopFlag,
) -> anyhow::Result<Vec<Running>> {
    let mut all = scenario.loads.clone();
    all.extend(kinds.iter().filter(|kind| !scenario.loads.contains(kind)));
    let start = |kind: &LoadKind| start_one(*kind, scenario, applied, stop).transpose();
    all.iter().filter_map(start).collect()
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

/// Ends them and gives what they did. `measured`: the first departure and when the last sender ended, if
/// something was measured.
pub fn stop(
    running: Vec<Running>,
    measured: Option<(Instant<Tai>, Instant<Tai>)>,
) -> Vec<LoadReport> {
    let (now, tai) = (clock::now::<Monotonic>(), clock::now::<Tai>());
    let monotonic = |at: Instant<Tai>| now - (tai - at);
    let stop = |running: Running| match measured {
        None => running.stop(),
        Some((base, until)) => {
            let lead_ms = Some((monotonic(base) - running.since()).as_ns() / 1_000_000);
            LoadReport { lead_ms, ..running.stop_after(monotonic(base), monotonic(until)) }
        }
    };
    running.into_iter().map(stop).collect()
}

/// `None`: both ends are on other machines.
fn start_one(
    kind: LoadKind,
    scenario: &Scenario,
    applied: &Applied,
    stop: &StopFlag,
) -> anyhow::Result<Option<Running>> {
    if !kind.needs_a_wire() {
        return Ok(Some(Running::start(kind)?));
    }
    let ports = scenario.loaded_ports();
    let Some([(from, _), (to, wire)]) = ports.and_then(|ports| ports.way(kind)) else {
        bail!("the load `{kind}` needs a flow or round trips")
    };
    let end = |host: &str| {
        let namespace = applied.namespace(host)?;
        Some(End { namespace, cpu: scenario.host(host).and_then(|host| host.cpu) })
    };
    let ends = Ends { from: end(from), to: end(to) };
    if ends.from.is_none() && ends.to.is_none() {
        return Ok(None);
    }
    let ip = applied.plan().port(to, wire).and_then(|port| port.ipv4);
    let ip: IpAddr = ip.with_context(|| format!("host `{to}` has no address on `{wire}`"))?.into();
    let port = match kind {
        LoadKind::UdpRx | LoadKind::TcpRx => FLOODED,
        _ => FLOODED + 1,
    };
    let to = SocketAddr::new(ip, port);
    Ok(Some(if matches!(kind, LoadKind::TcpTx | LoadKind::TcpRx) {
        Running::stream(kind, to, ends, stop)?
    } else {
        Running::flood(kind, Flood { to, payload: PAYLOAD, rate: RATE }, ends)?
    }))
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
                    load: load.name(),
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
