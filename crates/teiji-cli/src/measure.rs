//! Measures one case on this machine: sets up its hosts, starts listeners and
//! talkers, waits for them, and takes everything back.
//!
//! `--on local` and the laboratory's guest both come through here.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use teiji::listener::{ExpectedFlow, ListenerConfig, Source};
use teiji::load::LoadKind;
use teiji::roundtrip::ReflectedCounts;
use teiji::talker::{Destination, LaunchMode, Prepared, TalkerConfig, TxStamps};
use teiji::{Deadline, Listener, ListenerLog, RequesterLog, Scheduling, StopFlag, TalkerLog};
use teiji_core::cycle::Schedule;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::{Flow, Qdisc, Scenario, SendMode, Taprio, Transport};
use teiji_net::activity;
use teiji_net::{Applied, ApplyOptions, Binding, KeeperProgram, Plan};
use teiji_record::summary::ClockSummary;
use teiji_sys::{clock, netns};

use crate::loads;
use crate::outcome::Outcome;
use crate::placement;
use crate::ptp::{self, SyncSeries};
use crate::round_trip_roles::RoundTripRoles;
use crate::setup::ObservedCase;

/// From "everybody is ready" to the first wake-up.
const LEAD: Span = Span::from_millis(100);
/// What it is where a card is used. Two to three seconds after its link came up
/// igb reads its PHY in the timer softirq and busy-waits there for up to 330 µs
/// (`igb_update_phy_info`), which delayed frames and made ETF miss some; IPv6
/// looks for neighbours in these seconds, too.
const LEAD_OF_CARDS: Span = Span::from_secs(4);
/// How long after the last departure a listener waits for stragglers.
const GRACE: Span = Span::from_millis(300);
/// The period of the kernel's timer tick on Debian (HZ=250): the grid against
/// which a seed shifts the start.
const TICK: Span = Span::from_millis(4);
/// How often a person sees progress.
const TICK_OF_PROGRESS: Duration = Duration::from_millis(200);

/// How a case is measured.
pub struct Setup<'a> {
    pub scenario: &'a Scenario,
    pub binding: &'a Binding,
    /// Shifts the start within the kernel's tick, so that an ensemble sees
    /// different phases.
    pub seed: u64,
    /// Who gives cards back if this program is killed.
    pub keeper: KeeperProgram,
    /// The machine is the laboratory's: interrupts and timers may go where they
    /// belong, and nobody wants them back.
    pub own_machine: bool,
    /// What the machine does beside.
    pub loads: &'a [LoadKind],
    pub stop: &'a StopFlag,
}

/// Measures one case. `progress` is told the share that is done, now and then;
/// without it nothing but the measurement runs.
pub fn case(setup: &Setup<'_>, progress: Option<&mut dyn FnMut(f64)>) -> anyhow::Result<Outcome> {
    let plan = Plan::compile(setup.scenario, setup.binding)?;
    let applied = plan.apply_with(&ApplyOptions {
        keeper: setup.keeper.clone(),
        interrupted: Some(setup.stop.as_atomic()),
    })?;
    let measured = measure(setup, &plan, &applied, progress);
    let undone = applied.undo();
    let mut outcome = measured?;
    if let Err(error) = undone {
        outcome.warnings.push(error.to_string());
    }
    Ok(outcome)
}

fn measure(
    setup: &Setup<'_>,
    plan: &Plan,
    applied: &Applied,
    progress: Option<&mut dyn FnMut(f64)>,
) -> anyhow::Result<Outcome> {
    let turns = if setup.own_machine {
        placement::place(setup.scenario, applied)?;
        placement::turns(setup.scenario)?
    } else {
        Vec::new()
    };
    let synchronised = ptp::start(setup.scenario, applied, setup.stop)?;
    let before = applied.observe()?;
    let looked = activity::look();
    let running = loads::start(setup.loads, setup.scenario, applied)?;
    let logs = run_flows(setup, applied, progress);
    let loads = loads::stop(running);
    let mut activity = activity::look().since(&looked);
    let mut logs = logs?;
    let (sync, series) =
        synchronised.map_or_else(|| Ok((Vec::new(), Vec::new())), ptp::Synchronised::finish)?;
    // Afterwards: the qdiscs' counters then belong to the measurement.
    let mut network = applied.observe()?;
    network.count_since(&before);
    activity.requeues = network.requeues();
    let differences = network.differences(plan);
    logs.computed = (0..)
        .zip(&setup.scenario.flows)
        .filter(|(_, flow)| plan.is_vtsn(&flow.wire))
        .map(|(id, _)| id)
        .collect();
    logs.warnings.extend(loads::problems(&loads).map(|problem| problem + "."));
    logs.clocks.clone_from(&sync);
    logs.sync = series;
    let observed = ObservedCase {
        machine: teiji_net::machine::observe(),
        network,
        turns,
        loads,
        sync,
        activity,
    };
    Outcome::new(&observed, differences, logs)
}

/// What talkers and listeners recorded.
pub struct Logs {
    /// Departure of every flow's first frame.
    pub base: Instant<Tai>,
    /// One per flow, in the scenario's order.
    pub talkers: Vec<TalkerLog>,
    /// One per flow, in the scenario's order.
    pub listeners: Vec<ListenerLog>,
    /// One per table of round trips, in the scenario's order: what was asked, and what
    /// the responder counted.
    pub rounds: Vec<(RequesterLog, ReflectedCounts)>,
    /// Flows whose listener's hardware stamps are the wire's time.
    pub computed: BTreeSet<u16>,
    /// How the clocks followed, where they were synchronised, look by look …
    pub sync: Vec<SyncSeries>,
    /// … and summed up.
    pub clocks: Vec<ClockSummary>,
    /// Sentences for the report.
    pub warnings: Vec<String>,
}

/// A talker or listener on its thread.
type Role<'scope, T> = ScopedJoinHandle<'scope, anyhow::Result<T>>;

fn run_flows(
    setup: &Setup<'_>,
    applied: &Applied,
    progress: Option<&mut dyn FnMut(f64)>,
) -> anyhow::Result<Logs> {
    let (flows, asked) = (&setup.scenario.flows, &setup.scenario.round_trips);
    let roles = (0..)
        .zip(flows)
        .map(|(id, flow)| Roles::of(setup.scenario, applied, flow, id))
        .collect::<anyhow::Result<Vec<Roles<'_>>>>()?;
    let round_trips = setup
        .scenario
        .numbered_round_trips()
        .map(|(id, asked)| RoundTripRoles::of(setup.scenario, applied, asked, id))
        .collect::<anyhow::Result<Vec<RoundTripRoles<'_>>>>()?;
    thread::scope(|scope| {
        let (ready, readiness) = mpsc::channel();
        let stop = setup.stop;
        let mut starts = Vec::new();
        let mut gate = || {
            let (begin, gate) = Gate::new(&ready);
            starts.push(begin);
            gate
        };
        let mut talkers = Vec::new();
        let mut listeners = Vec::new();
        for (flow, roles) in flows.iter().zip(&roles) {
            let deadline = Deadline::never();
            let gate_of_listener = gate();
            let until = deadline.clone();
            let listen = move || {
                enter(roles.listener_namespace)?;
                let listener = Listener::open(&roles.listener)?;
                gate_of_listener.wait()?;
                Ok(listener.run(&until, stop)?)
            };
            let gate_of_talker = gate();
            let talk = move || {
                // However this ends, the listener must not wait for ever.
                let _end = EndOf(deadline);
                enter(roles.talker_namespace)?;
                let talker = Prepared::new(&roles.talker, flow.frames)?.ready()?;
                let base = gate_of_talker.wait()?;
                Ok(talker.run(&schedule(flow, base), stop)?)
            };
            listeners.push(spawn(scope, "listener", listen)?);
            talkers.push(spawn(scope, "talker", talk)?);
        }
        let mut responders = Vec::new();
        let mut requesters = Vec::new();
        for roles in &round_trips {
            let deadline = Deadline::never();
            let until = deadline.clone();
            responders.push(spawn(scope, "responder", roles.respond(gate(), until, stop))?);
            requesters.push(spawn(scope, "requester", roles.ask(gate(), deadline, stop))?);
        }
        drop(ready);
        let base = if readiness.iter().take(starts.len()).count() == starts.len() {
            let base = first_departure(setup);
            for begin in starts {
                // A role that is gone has its reason, which is told below.
                let _ = begin.send(base);
            }
            base
        } else {
            // Somebody could not open: nobody starts, and joining tells why.
            drop(starts);
            clock::now()
        };
        if let Some(progress) = progress {
            let ended = || {
                talkers.iter().all(ScopedJoinHandle::is_finished)
                    && requesters.iter().all(ScopedJoinHandle::is_finished)
            };
            show(progress, base, setup.scenario.duration(), ended);
        }
        let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
        let asked: Vec<&str> = asked.iter().map(|asked| asked.name.as_str()).collect();
        let joined = Joined {
            talkers: join_all(talkers, &names, "talker of flow"),
            requesters: join_all(requesters, &asked, "requester of"),
            listeners: join_all(listeners, &names, "listener of flow"),
            responders: join_all(responders, &asked, "responder of"),
        };
        let (talkers, listeners, rounds) = joined.all()?;
        let (computed, sync, clocks, warnings) = Default::default();
        Ok(Logs { base, talkers, listeners, rounds, computed, sync, clocks, warnings })
    })
}

/// What the threads of all roles gave.
struct Joined {
    talkers: anyhow::Result<Vec<TalkerLog>>,
    requesters: anyhow::Result<Vec<RequesterLog>>,
    listeners: anyhow::Result<Vec<ListenerLog>>,
    responders: anyhow::Result<Vec<ReflectedCounts>>,
}

/// What talkers, listeners, and both ends of round trips recorded.
type RoleLogs = (Vec<TalkerLog>, Vec<ListenerLog>, Vec<(RequesterLog, ReflectedCounts)>);

impl Joined {
    /// All of it; of several failures the one that is a cause, not a consequence.
    fn all(self) -> anyhow::Result<RoleLogs> {
        let Self { talkers, requesters, listeners, responders } = self;
        match (talkers, requesters, listeners, responders) {
            (Ok(talkers), Ok(requesters), Ok(listeners), Ok(responders)) => {
                Ok((talkers, listeners, requesters.into_iter().zip(responders).collect()))
            }
            (talkers, requesters, listeners, responders) => {
                let mut errors: Vec<anyhow::Error> =
                    [talkers.err(), requesters.err(), listeners.err(), responders.err()]
                        .into_iter()
                        .flatten()
                        .collect();
                let cause = errors.iter().position(|error| !is_consequence(error)).unwrap_or(0);
                Err(errors.swap_remove(cause))
            }
        }
    }
}

/// What a role waits at between being ready and starting.
pub struct Gate {
    ready: mpsc::Sender<()>,
    start: mpsc::Receiver<Instant<Tai>>,
}

/// Another role could not start, so this one did not either.
#[derive(Debug, thiserror::Error)]
#[error("not started, because another role could not be opened")]
pub struct Abandoned;

impl Gate {
    fn new(ready: &mpsc::Sender<()>) -> (mpsc::Sender<Instant<Tai>>, Self) {
        let (begin, start) = mpsc::channel();
        (begin, Self { ready: ready.clone(), start })
    }

    /// Says "ready" and waits for the first departure's time.
    pub fn wait(self) -> Result<Instant<Tai>, Abandoned> {
        let Self { ready, start } = self;
        ready.send(()).map_err(|_| Abandoned)?;
        drop(ready);
        start.recv().map_err(|_| Abandoned)
    }
}

/// Sets a listener's or responder's deadline when its talker or requester has ended.
pub struct EndOf(pub Deadline);

impl Drop for EndOf {
    fn drop(&mut self) {
        self.0.set(clock::now::<Tai>() + GRACE);
    }
}

pub fn enter(namespace: BorrowedFd<'_>) -> anyhow::Result<()> {
    Ok(netns::enter(namespace)?)
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'scope,
) -> anyhow::Result<Role<'scope, T>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn_scoped(scope, work)
        .context("cannot start a thread")
}

/// The roles' results; of several failures the one that is a cause, not a
/// consequence.
fn join_all<T>(roles: Vec<Role<'_, T>>, names: &[&str], what: &str) -> anyhow::Result<Vec<T>> {
    let mut results = Vec::new();
    let mut failure: Option<anyhow::Error> = None;
    for (role, name) in roles.into_iter().zip(names) {
        let joined = role.join().unwrap_or_else(|_| Err(anyhow!("it panicked")));
        match joined.with_context(|| format!("the {what} `{name}`")) {
            Ok(result) => results.push(result),
            Err(error) if failure.as_ref().is_none_or(is_consequence) => failure = Some(error),
            Err(_) => {}
        }
    }
    failure.map_or(Ok(results), Err)
}

fn is_consequence(error: &anyhow::Error) -> bool {
    error.root_cause().is::<Abandoned>()
}

fn show(
    progress: &mut dyn FnMut(f64),
    base: Instant<Tai>,
    duration: Span,
    ended: impl Fn() -> bool,
) {
    while !ended() {
        let passed = clock::now::<Tai>() - base;
        progress((passed.as_secs_f64() / duration.as_secs_f64().max(1e-9)).clamp(0.0, 1.0));
        thread::sleep(TICK_OF_PROGRESS);
    }
}

fn schedule(flow: &Flow, base: Instant<Tai>) -> Schedule {
    Schedule { base: base + flow.offset, period: flow.period, margin: margin(flow) }
}

fn margin(flow: &Flow) -> Span {
    match flow.mode {
        SendMode::OnWakeUp => Span::ZERO,
        SendMode::LaunchTime { margin, .. } => margin,
    }
}

fn first_departure(setup: &Setup<'_>) -> Instant<Tai> {
    let margin = setup.scenario.flows.iter().map(margin).max().unwrap_or(Span::ZERO);
    let lead = if setup.binding.has_cards() { LEAD_OF_CARDS } else { LEAD };
    let earliest = clock::now::<Tai>() + lead + margin;
    match gates(setup.scenario) {
        // A flow's place in the cycle is part of the question, so a seed moves
        // the start by whole cycles.
        Some(gates) => {
            let cycles = phase(setup.seed).as_ns() / gates.cycle.as_ns().max(1);
            let base = Schedule::aligned_base(earliest, gates.cycle, gates.base_time);
            base + gates.cycle * cycles
        }
        None => Schedule::aligned_base(earliest, TICK, phase(setup.seed)),
    }
}

/// The first gate table of a scenario.
fn gates(scenario: &Scenario) -> Option<&Taprio> {
    scenario.hosts.iter().flat_map(|host| &host.ports).find_map(|port| match &port.qdisc {
        Some(Qdisc::Taprio(taprio)) => Some(taprio),
        _ => None,
    })
}

/// A phase within the tick for each seed (SplitMix64, Steele et al. 2014), in
/// whole microseconds so that launch times stay readable.
fn phase(seed: u64) -> Span {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    Span::from_micros(i64::try_from(z % 4_000).unwrap_or(0))
}

/// Both ends of one flow.
struct Roles<'a> {
    talker: TalkerConfig,
    talker_namespace: BorrowedFd<'a>,
    listener: ListenerConfig,
    listener_namespace: BorrowedFd<'a>,
}

impl<'a> Roles<'a> {
    fn of(scenario: &Scenario, applied: &'a Applied, flow: &Flow, id: u16) -> anyhow::Result<Self> {
        let port = |host: &str| {
            applied.port(host, &flow.wire).with_context(|| {
                format!("flow `{}`: host `{host}` has no port on `{}`", flow.name, flow.wire)
            })
        };
        let namespace = |host: &str| {
            applied.namespace(host).with_context(|| format!("host `{host}` has no namespace"))
        };
        let (from, to) = (port(&flow.from)?, port(&flow.to)?);
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
            Transport::Udp4 { port } => udp(port, Some(to.ipv4.into()))?,
            Transport::Udp6 { port } => udp(port, to.ipv6.map(IpAddr::from))?,
            Transport::Ethernet { vlan } => (
                Destination::Ethernet { to: to.mac, vlan },
                Source::Ethernet { tagged: vlan.is_some() },
            ),
        };
        let cpu = |host: &str| scenario.host(host).and_then(|host| host.cpu);
        let launch = match flow.mode {
            SendMode::OnWakeUp => None,
            SendMode::LaunchTime { deadline: false, .. } => Some(LaunchMode::Exact),
            SendMode::LaunchTime { deadline: true, .. } => Some(LaunchMode::Deadline),
        };
        let talker = TalkerConfig {
            interface: from.ifname,
            destination,
            flow: id,
            payload: flow.payload,
            priority: flow.priority,
            launch,
            stamps: if flow.tx_stamps { TxStamps::Hardware } else { TxStamps::None },
            scheduling: Scheduling {
                realtime: flow.realtime,
                cpu: flow.cpu.or_else(|| cpu(&flow.from)),
                lock_memory: flow.realtime.is_some(),
            },
        };
        let listener = ListenerConfig {
            interface: Some(to.ifname),
            flows: vec![ExpectedFlow { id, frames: Some(flow.frames) }],
            hardware_stamps: true,
            busy_poll: flow.listener_busy_poll,
            scheduling: Scheduling {
                realtime: flow.listener_realtime,
                cpu: cpu(&flow.to),
                lock_memory: false,
            },
            ..ListenerConfig::new(source)
        };
        Ok(Self {
            talker,
            talker_namespace: namespace(&flow.from)?,
            listener,
            listener_namespace: namespace(&flow.to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_spread_over_the_tick() {
        let phases: Vec<i64> = (0..64).map(|seed| phase(seed).as_ns()).collect();
        assert!(phases.iter().all(|p| (0..TICK.as_ns()).contains(p)));
        let quarters: std::collections::BTreeSet<i64> =
            phases.iter().map(|p| p / 1_000_000).collect();
        assert_eq!(quarters.len(), 4);
    }
}
