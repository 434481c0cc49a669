//! Measures one case on this machine: sets up its hosts, starts listeners and
//! talkers, waits for them, and takes everything back.
//!
//! `--on local` and the laboratory's guest both come through here.

mod clock_step;
mod deaths;
pub(crate) mod departure;
pub(crate) mod flow_roles;
pub mod kernel_trace;
pub mod loads;
mod outcome;
mod pause_events;
mod placement;
pub mod ptp;
mod receptions;
mod role;
mod round_trip_roles;
mod threads;

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use teiji::StopFlag;
use teiji::load::LoadKind;
use teiji_core::cpu_time::CpuTime;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::Scenario;
use teiji_net::activity;
use teiji_net::cpu_time::IdleTimes;
use teiji_net::{
    Applied, ApplyOptions, Binding, KeeperProgram, NetError, Plan, PortExchange, SshConnection,
};
use teiji_record::ObservedCase;
use teiji_sys::clock;

pub use outcome::{Logs, Outcome, TracedFlow};

use crate::interruption;
use clock_step::TaiOffset;
use departure::first_departure;
use flow_roles::{FlowRoles, time_to_drain};
use kernel_trace::{KernelTrace, Recorded, Why};
use role::{Gate, Start, Starter, join_all, spawn, thread_name};
use round_trip_roles::RoundTripRoles;
use threads::{Talk, Threads};

/// How long before the first wake-up, and after the last departure, the CPUs' times are read: so
/// that reading, some 100 µs, delays no frame, and next to nothing else is in the utilisation.
const BESIDE: Span = Span::from_millis(20);
/// How often a person sees progress.
const TICK_OF_PROGRESS: Duration = Duration::from_millis(200);

/// How a case is measured.
pub struct Setup<'a> {
    /// What is set up and measured.
    pub scenario: &'a Scenario,
    /// On which interfaces.
    pub binding: &'a Binding,
    /// Shifts the start within the kernel's tick, so that an ensemble sees
    /// different phases.
    pub seed: u64,
    /// Who gives NICs back if this program is killed.
    pub keeper: KeeperProgram,
    /// Take also NICs that are in use.
    pub take: bool,
    /// The machine is the laboratory's: interrupts and timers may go where they
    /// belong, and nobody wants them back.
    pub own_machine: bool,
    /// Background load.
    pub loads: &'a [LoadKind],
    /// Trace the kernel meanwhile, to tell what delays the frames.
    pub why: Option<Why>,
    /// The other machines, if the hosts of the scenario are on several.
    pub others: Option<&'a dyn OtherMachines>,
    /// Ends it early.
    pub stop: &'a StopFlag,
}

/// The other machines of an experiment, which measure its other hosts at the same time.
pub trait OtherMachines {
    /// Exchanges ports with them.
    fn ports(&self) -> &dyn PortExchange;

    /// All roles here are ready, and could begin at `earliest`; when those of all machines begin, by this
    /// machine's clock.
    ///
    /// # Errors
    /// If another machine is not going to be ready.
    fn agree(&self, earliest: Instant<Tai>) -> anyhow::Result<Instant<Tai>>;

    /// The senders here have ended. Returns when all others have.
    ///
    /// # Errors
    /// If another machine has failed.
    fn senders_ended(&self) -> anyhow::Result<()>;
}

/// Measures one case. `progress` is told the share that is done, now and then;
/// without it nothing but the measurement runs.
///
/// # Errors
/// If the scenario does not fit the machine, the kernel refuses a step, a program or thread fails,
/// or the measurement is interrupted. What was set is undone.
pub fn case(setup: &Setup<'_>, progress: Option<&mut dyn FnMut(f64)>) -> anyhow::Result<Outcome> {
    if !setup.own_machine {
        loads::allowed(setup.loads.iter().chain(&setup.scenario.loads))?;
    }
    ptp::check(setup.scenario, setup.binding, setup.others.is_some())?;
    let mut plan = Plan::compile(setup.scenario, setup.binding)?;
    if setup.why.is_some() {
        kernel_trace::check().map_err(NetError::from)?;
        plan = plan.with_trace(&kernel_trace::instance_name());
    }
    // The laboratory's guest is thrown away with what was changed.
    interruption::set_undo_pending(!setup.own_machine);
    let measured = apply_and_measure(setup, &plan, progress);
    interruption::set_undo_pending(false);
    measured
}

fn apply_and_measure(
    setup: &Setup<'_>,
    plan: &Plan,
    progress: Option<&mut dyn FnMut(f64)>,
) -> anyhow::Result<Outcome> {
    let applied = plan.apply_with(&ApplyOptions {
        keeper: setup.keeper.clone(),
        interrupted: Some(setup.stop.as_atomic()),
        take: setup.take,
        ssh: SshConnection::current(),
        exchange: setup.others.map(OtherMachines::ports),
    })?;
    let measured = measure(setup, plan, &applied, progress);
    let undone = applied.undo();
    let mut outcome = measured?;
    if let Err(error) = undone {
        outcome.logs.warnings.push(error.to_string());
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
    let synchronised = ptp::start(setup, applied)?;
    let before = applied.observe()?;
    let looked = activity::look();
    let running = loads::start(setup.loads, setup.scenario, applied, setup.stop)?;
    let tai_before = TaiOffset::now();
    let logs = run_traced(setup, applied, progress);
    let step = TaiOffset::now().step_since(tai_before);
    let loads = loads::stop(running, logs.as_ref().ok().map(|ran| (ran.logs.base, ran.until)));
    let mut activity = activity::look().since(&looked);
    let Ran { mut logs, cpu_time, traced, .. } = logs?;
    let seen = synchronised.map(|clocks| clocks.finish(logs.base)).transpose()?;
    let ptp::Seen { clocks, series: sync, warnings } = seen.unwrap_or_default();
    logs.warnings.extend(warnings);
    // Afterwards: the qdiscs' counters then belong to the measurement.
    let mut network = applied.observe()?;
    network.count_since(&before);
    activity.requeues = network.requeues();
    activity.byte_limits = applied.byte_limits()?;
    let differences = network.differences(plan);
    let computed = (0..)
        .zip(&setup.scenario.flows)
        .filter(|(_, flow)| plan.is_vtsn(flow.last_wire()))
        .map(|(id, _)| id)
        .collect();
    logs.warnings.extend(loads::problems(&loads).map(|problem| problem + "."));
    logs.warnings.extend(step.map(clock_step::warning));
    let observed = ObservedCase {
        machine: teiji_net::machine::observe(),
        machines: BTreeMap::new(),
        network,
        turns,
        loads,
        sync: clocks,
        activity,
        cpu_time,
        warnings: Vec::new(),
    };
    Ok(Outcome { logs, observed, differences, computed, traced, sync })
}

/// Runs the flows, and enters into their logs what the kernel tells of those that are traced.
fn run_traced(
    setup: &Setup<'_>,
    applied: &Applied,
    progress: Option<&mut dyn FnMut(f64)>,
) -> anyhow::Result<Ran<Vec<TracedFlow>>> {
    let trace = setup.why.map(|why| KernelTrace::prepare(why, setup.scenario, applied));
    let receptions = receptions::start(setup.scenario, applied)?;
    let pauses = pause_events::start(setup.scenario, applied)?;
    let Ran { mut logs, until, cpu_time, traced: recorded } =
        run_flows(setup, applied, trace.transpose()?, progress)?;
    if let Some(receptions) = receptions {
        receptions.finish(setup.scenario, &mut logs)?;
    }
    pauses.finish(&mut logs);
    let traced = recorded.map(|recorded| recorded.finish(setup.scenario, &mut logs));
    let traced = traced.and_then(|traced| or_warning(traced, &mut logs.warnings));
    Ok(Ran { logs, until, cpu_time, traced: traced.unwrap_or_default() })
}

/// What was measured is not lost for want of a trace.
fn or_warning<T>(traced: anyhow::Result<T>, warnings: &mut Vec<String>) -> Option<T> {
    let failed = |error| warnings.push(format!("There is no trace of the kernel: {error:#}."));
    traced.map_err(failed).ok()
}

/// What running the flows gave; `T` is what the kernel's trace is so far.
struct Ran<T> {
    logs: Logs,
    /// When the senders here had ended.
    until: Instant<Tai>,
    cpu_time: CpuTimes,
    traced: T,
}

/// Each CPU's time while frames were sent.
type CpuTimes = BTreeMap<u16, CpuTime>;

fn run_flows(
    setup: &Setup<'_>,
    applied: &Applied,
    trace: Option<KernelTrace>,
    progress: Option<&mut dyn FnMut(f64)>,
) -> anyhow::Result<Ran<Option<Recorded>>> {
    let flows = &setup.scenario.flows;
    let roles = (0..)
        .zip(flows)
        .map(|(id, flow)| FlowRoles::of(setup.scenario, applied, flow, id))
        .collect::<anyhow::Result<Vec<FlowRoles<'_>>>>()?;
    let round_trips = setup
        .scenario
        .numbered_round_trips()
        .map(|(id, rounds)| RoundTripRoles::of(setup.scenario, applied, rounds, id))
        .collect::<anyhow::Result<Vec<RoundTripRoles<'_>>>>()?;
    let deaths = deaths::prepare(setup.scenario, applied)?;
    let start = Start::default();
    thread::scope(|scope| {
        let starter = Starter(&start);
        let (ready, readiness) = mpsc::channel();
        let stop = setup.stop;
        let gate = || Gate::new(&ready, &start);
        let mut threads = Threads::default();
        for ((id, flow), roles) in (0..).zip(flows).zip(&roles) {
            let stopper = trace.as_ref().map_or(Ok(None), |trace| trace.stopper(flow))?;
            let longer = time_to_drain(setup.scenario, flow);
            let talk = Talk { id, flow, roles, longer, stopper };
            threads.talk(talk, scope, [gate(), gate()], stop)?;
        }
        for ((id, _), roles) in setup.scenario.numbered_round_trips().zip(&round_trips) {
            threads.start_requester(id, roles, scope, [gate(), gate()], stop)?;
        }
        drop(ready);
        let all = threads.count();
        let (mut dying, mut under_way, mut tracing) = (Vec::new(), Vec::new(), None);
        let mut abandoned = None;
        let agreed = if readiness.iter().take(all).count() == all {
            let earliest = first_departure(setup);
            let agreed = setup.others.map_or(Ok(earliest), |others| others.agree(earliest));
            agreed.map_err(|error| abandoned = Some(error)).ok()
        } else {
            None
        };
        let base = if let Some(base) = agreed {
            starter.start(base);
            for (id, death) in (0..).zip(&deaths) {
                let (running, over) = mpsc::channel();
                under_way.push(running);
                let come = move || death.come(base, &over);
                dying.push(spawn(scope, thread_name("death", id), come)?);
            }
            if let Some(trace) = trace {
                let duration = setup.scenario.duration();
                let record = move || trace.record(base, duration, stop);
                tracing = Some(spawn(scope, "kernel-trace".to_owned(), record)?);
            }
            let first = base - departure::longest_margin(setup.scenario) - BESIDE;
            teiji::stop::sleep_until(first, clock::now(), stop);
            base
        } else {
            // Somebody could not open: nobody starts, and joining tells why; or another machine
            // is not ready.
            drop(starter);
            clock::now()
        };
        let idle_before = IdleTimes::now();
        if let Some(progress) = progress {
            show(progress, base, setup.scenario.duration(), || threads.have_sent());
        }
        let sent = threads.join_senders(setup.scenario);
        let until = clock::now();
        clock::sleep_until(
            clock::now::<Tai>() + departure::longest_margin(setup.scenario) + BESIDE,
        );
        let cpu_time = IdleTimes::now().since(&idle_before);
        if let (Some(others), true) = (setup.others, agreed.is_some() && sent.is_whole()) {
            abandoned = others.senders_ended().err();
        }
        let joined = sent.join_listeners(setup.scenario);
        if let Some(abandoned) = abandoned {
            return Err(abandoned);
        }
        drop(under_way);
        let (talkers, listeners, rounds) = joined.all()?;
        let ports: Vec<&str> = deaths.iter().map(|death| death.port.as_str()).collect();
        join_all(dying, &ports, "end of port")?;
        let recorded = join_all(tracing.into_iter().collect(), &["kernel"], "trace of the");
        let mut warnings = Vec::new();
        let recorded = or_warning(recorded, &mut warnings).and_then(|mut all| all.pop());
        let (bases, apart) = Default::default();
        let logs = Logs { base, bases, apart, talkers, listeners, rounds, warnings };
        Ok(Ran { logs, until, cpu_time, traced: recorded })
    })
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
