//! Measures a case on several machines at once, which may have different architectures. Each sets up
//! its own hosts by this program, which was copied there over SSH; this one coordinates them, and
//! merges their outcomes.
//!
//! ```text
//!   here                        each machine
//!   Measure                ──→  applies its part of the plan
//!                          ←──  Ports: its ports are up
//!   Ports: of all          ──→  waits for its wires, opens its roles
//!                          ←──  Ready: it could begin then
//!   Start: begin then      ──→  measures
//!                          ←──  SendersEnded
//!   SendersEnded: all have ──→  its listeners end, it takes everything back
//!                          ←──  Outcome, or Failed at any time
//!   Alive: every 5 s       ──→  takes everything back, too, after 30 s without an order
//! ```

mod agent;
mod clock;
mod machine;
mod merge;
mod names;
mod places;
mod port;
mod protocol;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant as WallInstant};

use anyhow::{anyhow, bail};
use teiji::StopFlag;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::Scenario;
use teiji_remote::SshOptions;

use crate::measure::flow_roles::time_to_drain;
use crate::measure::{Outcome, departure, ptp};
use crate::progress::Progress;
pub use agent::serve;
use clock::ClockDifference;
use machine::Machine;
pub use names::{Names, PortPlace};
use places::Place;
pub use places::Places;
pub use port::{Nic, Port, Shell};
use protocol::{Order, Report};
pub use protocol::{PartJob, Whole};

/// How often a person's wish to stop is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the machines may take for a step of theirs, beside what is measured.
const PATIENCE: Duration = Duration::from_secs(120);
/// Readings of a machine's clock; the quickest answer has the least uncertainty.
const READINGS: u32 = 8;
/// From telling the machines to the earliest instant that all of them could begin at.
const LEAD: Span = Span::from_millis(100);

/// The machines of an experiment, connected.
#[derive(Debug)]
pub struct Machines {
    all: Vec<Machine>,
    reports: Receiver<(usize, Report)>,
}

impl Machines {
    /// Connects to them, and puts this program there.
    ///
    /// # Errors
    /// If one cannot be reached or does not run this program.
    pub fn connect(
        places: &Places,
        ssh: &SshOptions,
        progress: &dyn Progress,
    ) -> anyhow::Result<Self> {
        let (sender, reports) = mpsc::channel();
        let connect = |(index, place): (usize, &Place)| {
            let _step = progress.step(&format!("connect to {}", place.name()), 0);
            Machine::connect(place, ssh, index, sender.clone())
        };
        let all = places.iter().enumerate().map(connect).collect::<anyhow::Result<_>>()?;
        Ok(Self { all, reports })
    }

    /// True if hosts are on different machines.
    pub fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Measures a case. `tick` gets the measured share, from 0 to 1, some times per second.
    ///
    /// # Errors
    /// The error of the first machine that failed, with its name. All have restored their settings.
    pub fn measure(
        &mut self,
        scenario: &Scenario,
        whole: &Whole,
        stop: &StopFlag,
        tick: &mut dyn FnMut(f64),
    ) -> anyhow::Result<Outcome> {
        let measured = self.measure_parts(scenario, whole, stop, tick);
        if measured.is_err() {
            self.end();
        }
        measured
    }

    fn measure_parts(
        &mut self,
        scenario: &Scenario,
        whole: &Whole,
        stop: &StopFlag,
        tick: &mut dyn FnMut(f64),
    ) -> anyhow::Result<Outcome> {
        let mut stopping = Stopping { stop, sent: false };
        for machine in &mut self.all {
            machine.measure(whole)?;
        }
        let mut nothing = || {};
        self.exchange_ports(scenario, &mut stopping)?;
        // The clocks of NICs settle first, then the system's.
        let settling = if scenario.uses_ptp() { ptp::LIMIT * 2 } else { Span::ZERO };
        let patience = PATIENCE + settling.to_std().unwrap_or_default();
        let ready = self.gather(patience, &mut stopping, &mut nothing, Report::ready)?;
        let clocks = self.read_clocks(&mut stopping)?;
        let bases = begin(&ready, &clocks, departure::grid(scenario));
        for (machine, &base) in self.all.iter().zip(&bases) {
            machine.send(Order::Start(base))?;
        }
        let (began, lasts) = (WallInstant::now(), scenario.duration());
        let mut watch = || {
            let passed = began.elapsed().as_secs_f64();
            tick((passed / lasts.as_secs_f64().max(1e-9)).min(1.0));
        };
        let until = PATIENCE + lasts.to_std().unwrap_or_default();
        self.gather(until, &mut stopping, &mut watch, Report::senders_ended)?;
        self.send(&Order::SendersEnded)?;
        let drain = scenario.flows.iter().map(|flow| time_to_drain(scenario, flow));
        let drain = drain.max().and_then(Span::to_std).unwrap_or_default();
        let parts = self.gather(PATIENCE + drain, &mut stopping, &mut nothing, Report::outcome)?;
        let outcomes: Vec<Outcome> =
            parts.iter().map(|part| Outcome::from_bytes(part)).collect::<anyhow::Result<_>>()?;
        let names: Vec<&str> = self.all.iter().map(|machine| machine.name.as_str()).collect();
        let hosts: Vec<_> = self
            .all
            .iter()
            .map(|machine| machine.hosts(scenario))
            .collect::<anyhow::Result<_>>()?;
        merge::outcomes(scenario, &names, &hosts, &clocks, outcomes)
    }

    /// Waits until all ports are up, and gives all to each machine.
    fn exchange_ports(
        &mut self,
        scenario: &Scenario,
        stopping: &mut Stopping<'_>,
    ) -> anyhow::Result<()> {
        let reports = self.gather(PATIENCE, stopping, &mut || {}, Report::ports)?;
        let (ports, leads): (Vec<_>, Vec<Span>) = reports.into_iter().unzip();
        let machines = self.all.iter().map(|machine| machine.name.as_str());
        let leads: Vec<(&str, Span)> = machines.zip(leads).collect();
        if let Some(sentence) = two_scales(&leads).filter(|_| scenario.uses_ptp()) {
            bail!(sentence);
        }
        self.send(&Order::Ports(ports.concat()))
    }

    /// Something from each machine, in their order.
    fn gather<T>(
        &mut self,
        patience: Duration,
        stopping: &mut Stopping<'_>,
        tick: &mut dyn FnMut(),
        pick: impl Fn(Report) -> Option<T>,
    ) -> anyhow::Result<Vec<T>> {
        let until = WallInstant::now() + patience;
        let mut found: Vec<Option<T>> = self.all.iter().map(|_| None).collect();
        while found.iter().any(Option::is_none) {
            if let Some((index, report)) = self.next(until, stopping)? {
                // Another report is of a case that failed before.
                found[index] = pick(report).or(found[index].take());
            } else {
                tick();
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The next report, if there is one soon.
    fn next(
        &mut self,
        until: WallInstant,
        stopping: &mut Stopping<'_>,
    ) -> anyhow::Result<Option<(usize, Report)>> {
        if stopping.begins() {
            self.send(&Order::Stop)?;
        }
        match self.reports.recv_timeout(LOOK_EVERY) {
            Ok((index, report)) => {
                let machine = &mut self.all[index];
                machine.note(&report);
                match report {
                    Report::Failed(message) => bail!("{}: {message}", machine.name),
                    Report::Gone(message) => {
                        bail!("the connection to {} ended{message}", machine.name)
                    }
                    report => Ok(Some((index, report))),
                }
            }
            Err(RecvTimeoutError::Timeout) if WallInstant::now() > until => {
                let names: Vec<&str> =
                    self.all.iter().filter(|m| m.busy()).map(|m| m.name.as_str()).collect();
                bail!("no answer from {} in time", names.join(", "))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(anyhow!("all connections have ended")),
        }
    }

    fn send(&self, order: &Order) -> anyhow::Result<()> {
        self.all.iter().try_for_each(|machine| machine.send(order.clone()))
    }

    /// How far each machine's clock is from this one's.
    fn read_clocks(&mut self, stopping: &mut Stopping<'_>) -> anyhow::Result<Vec<ClockDifference>> {
        let until = WallInstant::now() + PATIENCE;
        let mut clocks = Vec::new();
        for index in 0..self.all.len() {
            let mut best: Option<ClockDifference> = None;
            for _ in 0..READINGS {
                let before = teiji_sys::clock::now();
                self.all[index].send(Order::Clock)?;
                let there = loop {
                    if let Some((from, Report::Clock(there))) = self.next(until, stopping)? {
                        if from == index {
                            break there;
                        }
                    }
                };
                let read = ClockDifference::read(before, there, teiji_sys::clock::now());
                best = Some(best.map_or(read, |best| best.better(read)));
            }
            clocks.extend(best);
        }
        Ok(clocks)
    }

    /// Ends the part of each machine, and waits until all have restored their settings.
    fn end(&mut self) {
        let until = WallInstant::now() + PATIENCE;
        for machine in self.all.iter().filter(|machine| machine.busy()) {
            // A machine whose connection has ended needs no order.
            let _ = machine.send(Order::Abandon);
        }
        while self.all.iter().any(Machine::busy) && WallInstant::now() < until {
            if let Ok((index, report)) = self.reports.recv_timeout(LOOK_EVERY) {
                self.all[index].note(&report);
            }
        }
    }
}

/// Why PTP cannot make the clocks equal, if the lead of `CLOCK_TAI` over the wall clock differs between
/// machines.
fn two_scales(leads: &[(&str, Span)]) -> Option<String> {
    let (first, lead) = leads.first()?;
    let (other, differs) = leads.iter().find(|(_, of)| of != lead)?;
    Some(format!(
        "CLOCK_TAI is {lead} ahead of the wall clock on {first}, and {differs} on {other}, so `ptp` cannot \
         make both clocks equal: have chrony set it on both (`leapsectz right/UTC` in chrony.conf), \
         or on neither"
    ))
}

/// A person's wish to stop, passed on once.
struct Stopping<'a> {
    stop: &'a StopFlag,
    sent: bool,
}

impl Stopping<'_> {
    fn begins(&mut self) -> bool {
        let begins = self.stop.is_stopped() && !self.sent;
        self.sent |= begins;
        begins
    }
}

/// The start of each machine, by its own clock: as soon as all are ready, and at the same reading where
/// the clocks agree within their uncertainty. `grid`: a start may be later by whole multiples.
fn begin(ready: &[Instant<Tai>], clocks: &[ClockDifference], grid: Span) -> Vec<Instant<Tai>> {
    let here = ready.iter().zip(clocks).map(|(&at, clock)| clock.here(at)).max();
    let here = here.unwrap_or_else(teiji_sys::clock::now) + LEAD;
    let on_grid = |ready: Instant<Tai>, clock: &ClockDifference| {
        let later = (clock.there(here) - ready).as_ns().max(0);
        let grid = grid.as_ns().max(1);
        ready + Span::from_ns(later.div_euclid(grid).saturating_add(1).saturating_mul(grid))
    };
    let Some((first, reference)) = ready.first().zip(clocks.first()) else { return Vec::new() };
    let base = on_grid(*first, reference);
    let of_machine = |(ready, clock): (&Instant<Tai>, &ClockDifference)| {
        if clock.may_equal(reference) { base } else { on_grid(*ready, clock) }
    };
    ready.iter().zip(clocks).map(of_machine).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Span = Span::from_millis(4);

    fn at(ms: i64) -> Instant<Tai> {
        Instant::from_ns(ms * 1_000_000)
    }

    /// A clock that shows `ahead` ms more, read within 2 ms.
    fn clock(ahead: i64) -> ClockDifference {
        ClockDifference::read(at(100), at(101 + ahead), at(102))
    }

    #[test]
    fn machines_with_and_without_leap_seconds_are_reported() {
        let (none, all) = (Span::ZERO, Span::from_secs(37));
        assert_eq!(two_scales(&[("a", all), ("b", all)]), None);
        assert_eq!(two_scales(&[]), None);
        let message = two_scales(&[("a", all), ("b", all), ("c", none)]).unwrap();
        assert!(message.contains("37 s ahead of the wall clock on a, and 0 s on c"), "{message}");
    }

    #[test]
    fn clocks_that_agree_begin_at_one_reading_when_the_last_is_ready() {
        let bases = begin(&[at(1_000), at(1_500)], &[clock(0), clock(1)], GRID);
        assert_eq!(bases[0], bases[1]);
        assert!(bases[0] >= at(1_600) && bases[0] < at(1_610), "{bases:?}");
        assert_eq!((bases[0] - at(1_000)).as_ns() % GRID.as_ns(), 0);
    }

    #[test]
    fn a_clock_that_is_an_hour_ahead_begins_then_by_its_own_reading() {
        let hour = 3_600_000;
        let bases = begin(&[at(1_000), at(hour + 1_500)], &[clock(0), clock(hour)], GRID);
        assert!((at(hour + 1_600)..at(hour + 1_610)).contains(&bases[1]), "{bases:?}");
        assert!((at(1_600)..at(1_610)).contains(&bases[0]), "{bases:?}");
    }
}
