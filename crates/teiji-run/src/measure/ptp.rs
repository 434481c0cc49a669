//! Clock synchronisation during a measurement: starts `ptp4l` and `phc2sys` at each
//! host, waits until every clock has settled, and watches how far they are apart.
//!
//! How far is not asked of the programs, which only estimate it: the cards say
//! what their clocks show, both at known instants of one raw clock.

mod config;
mod daemon;
pub mod program;
pub mod series;
mod steady;
mod watch;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::quantity::format_span;
use teiji_core::time::{Instant, Monotonic, Span, Tai};
use teiji_experiment::{Host, PtpRole, Scenario};
use teiji_net::Applied;
use teiji_record::summary::ClockSummary;
use teiji_sys::{clock, netns};

use crate::measure::clock_step::TaiOffset;

use daemon::Daemon;
use program::Program;
use series::{Look, SyncSeries};
use watch::{Follower, PortClock, Sample};

/// Most time until all clocks follow; a servo that starts 1 ms and 40 ppm off
/// needs 10 to 30 s.
pub const LIMIT: Span = Span::from_secs(120);
/// How often the clocks are looked at until all of them follow.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often the clocks are looked at during the measurement.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// A clock and all looks at it.
type Watched = (Follower, Vec<Sample>);

/// Running programs and, once the measurement begins, the watch over the clocks.
#[derive(Debug)]
pub struct Synchronised {
    // Dropping ends the programs.
    daemons: Vec<Daemon>,
    settled: Span,
    /// Looks at each clock until it followed.
    converging: Vec<Vec<Sample>>,
    stop: Arc<AtomicBool>,
    watch: JoinHandle<Vec<Watched>>,
    _folder: tempfile::TempDir,
}

/// Synchronises the clocks of a case, if it asks for that. Returns when all
/// follow.
///
/// # Errors
/// If a program cannot be started or ends, a NIC has no clock, or the clocks do not settle.
pub fn start(
    scenario: &Scenario,
    applied: &Applied,
    stop: &StopFlag,
) -> anyhow::Result<Option<Synchronised>> {
    let hosts: Vec<&Host> = scenario.hosts.iter().filter(|host| host.ptp.is_some()).collect();
    if hosts.is_empty() {
        return Ok(None);
    }
    let folder = tempfile::Builder::new()
        .prefix("teiji-ptp-")
        .tempdir()
        .context("cannot make a folder for ptp4l's settings")?;
    let started = clock::now::<Monotonic>();
    let mut daemons = Vec::new();
    for host in &hosts {
        daemons.extend(ptp4l(host, applied, folder.path())?);
    }
    let mut watched = settle(followers(&hosts, applied)?, &daemons, stop)?;
    let mut system = Vec::new();
    for host in hosts.iter().filter(|host| host.ptp.is_some_and(|ptp| ptp.system_clock)) {
        let card = port_clock(host, 0, applied)?;
        daemons.push(phc2sys(host, &card, applied, folder.path())?);
        system.push(Follower::SystemClock { card });
    }
    watched.extend(settle(system, &daemons, stop)?);
    let settled = clock::now::<Monotonic>() - started;
    let ending = Arc::new(AtomicBool::new(false));
    let (watched, converging): (Vec<Follower>, Vec<Vec<Sample>>) = watched.into_iter().unzip();
    let flag = Arc::clone(&ending);
    let watch = thread::Builder::new()
        .name("clocks".to_owned())
        .spawn(move || watch_until(&flag, watched))
        .context("cannot start a thread to watch the clocks")?;
    Ok(Some(Synchronised { daemons, settled, converging, stop: ending, watch, _folder: folder }))
}

impl Synchronised {
    /// Ends the programs. What was seen of the clocks: in steady state, since [`start`] returned,
    /// summed up, and look by look from the beginning, around the first departure at `base`.
    ///
    /// # Errors
    /// If one of the programs had ended during the measurement.
    pub fn finish(
        self,
        base: Instant<Tai>,
    ) -> anyhow::Result<(Vec<ClockSummary>, Vec<SyncSeries>)> {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.watch.join().unwrap_or_default();
        for daemon in &self.daemons {
            daemon.check().context("during the measurement")?;
        }
        let tai = TaiOffset::now();
        let all = seen.into_iter().zip(self.converging).map(|((clock, samples), before)| {
            let looks = before.iter().chain(&samples).map(|sample| Look {
                raw_ns: sample.raw_ns,
                t_ns: (tai.tai(sample.at) - base).as_ns(),
                offset_ns: sample.offset_ns,
            });
            let series = SyncSeries { clock: clock.name(), samples: looks.collect() };
            (report(&clock, &samples, self.settled), series)
        });
        Ok(all.unzip())
    }
}

fn report(clock: &Follower, samples: &[Sample], settled: Span) -> ClockSummary {
    let offsets = || samples.iter().map(|sample| sample.offset_ns);
    let count = samples.len().max(1) as f64;
    let square = |ns: i64| (ns as f64) * (ns as f64);
    ClockSummary {
        clock: clock.name(),
        reference: clock.reference(),
        settled_ns: settled.as_ns(),
        samples: samples.len() as u64,
        mean_ns: offsets().map(|ns| ns as f64).sum::<f64>() / count,
        rms_ns: (offsets().map(square).sum::<f64>() / count).sqrt(),
        worst_ns: offsets().max_by_key(|ns| ns.unsigned_abs()).unwrap_or(0),
    }
}

/// What is missing here of the programs that a scenario needs, a sentence each.
pub fn missing_programs(scenario: &Scenario) -> Vec<String> {
    let settings = || scenario.hosts.iter().filter_map(|host| host.ptp);
    let phc2sys = settings().any(|ptp| ptp.system_clock || ptp.role == PtpRole::Boundary);
    let needed = [("ptp4l", settings().next().is_some()), ("phc2sys", phc2sys)];
    needed
        .into_iter()
        .filter(|(_, needed)| *needed)
        .filter_map(|(program, _)| daemon::missing(program))
        .collect()
}

/// Starts the programs of a host.
fn ptp4l(host: &Host, applied: &Applied, folder: &std::path::Path) -> anyhow::Result<Vec<Daemon>> {
    let interfaces: Vec<String> = host
        .ports
        .iter()
        .filter_map(|port| Some(applied.port(&host.name, &port.wire)?.ifname))
        .collect();
    let programs = program::of_host(host, &interfaces, folder);
    programs.iter().map(|program| start_one(program, host, applied)).collect()
}

/// Starts `phc2sys`, which makes the system's clock follow a card's.
fn phc2sys(
    host: &Host,
    card: &PortClock,
    applied: &Applied,
    folder: &std::path::Path,
) -> anyhow::Result<Daemon> {
    let program = program::system_clock(host, card.ifname(), tai_offset_s(), folder);
    start_one(&program, host, applied)
}

/// How far `CLOCK_TAI` is before `CLOCK_REALTIME`, in seconds.
pub fn tai_offset_s() -> i64 {
    clock::tai_offset().as_ns() / 1_000_000_000
}

fn start_one(program: &Program, host: &Host, applied: &Applied) -> anyhow::Result<Daemon> {
    if let Some((path, text)) = &program.settings {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let (name, log) = (program.name, program.log.clone());
    Daemon::start(
        name,
        &program.host,
        &program.arguments,
        namespace(host, applied)?,
        program.cpu,
        log,
    )
}

fn namespace(host: &Host, applied: &Applied) -> anyhow::Result<std::os::fd::OwnedFd> {
    let namespace = applied
        .namespace(&host.name)
        .with_context(|| format!("host `{}` has no namespace", host.name))?;
    Ok(namespace.try_clone_to_owned()?)
}

/// The clock of a host's port.
fn port_clock(host: &Host, index: usize, applied: &Applied) -> anyhow::Result<PortClock> {
    let missing = || format!("host `{}` has no port to take the time from", host.name);
    let port = host.ports.get(index).with_context(missing)?;
    let info = applied.port(&host.name, &port.wire).with_context(missing)?;
    let namespace = namespace(host, applied)?;
    let sysfs = netns::in_namespace(namespace.as_fd(), teiji_sys::sysfs::Sysfs::open)?
        .context("cannot read the clocks of the NICs")?;
    Ok(PortClock::new(format!("{}.{}", host.name, port.wire), info.ifname, Arc::new(sysfs)))
}

/// All clocks that follow, each with the grandmaster's.
fn followers(hosts: &[&Host], applied: &Applied) -> anyhow::Result<Vec<Follower>> {
    let role = |host: &Host| host.ptp.map(|ptp| ptp.role);
    let master = hosts.iter().find(|host| role(host) == Some(PtpRole::Grandmaster));
    let Some(master) = master else { bail!("no host is grandmaster") };
    let mut followers = Vec::new();
    for host in hosts.iter().filter(|host| role(host) != Some(PtpRole::Grandmaster)) {
        for index in 0..host.ports.len() {
            followers.push(Follower::Card {
                card: port_clock(host, index, applied)?,
                master: port_clock(master, 0, applied)?,
            });
        }
    }
    Ok(followers)
}

/// Waits until all clocks are in steady state; the looks at them.
fn settle(
    clocks: Vec<Follower>,
    daemons: &[Daemon],
    stop: &StopFlag,
) -> anyhow::Result<Vec<Watched>> {
    let begun = clock::now::<Monotonic>();
    let mut watched: Vec<Watched> = clocks.into_iter().map(|clock| (clock, Vec::new())).collect();
    loop {
        for daemon in daemons {
            daemon.check()?;
        }
        let mut worst = None;
        for (clock, samples) in &mut watched {
            let look = clock.look()?;
            samples.push(look);
            let offsets: Vec<i64> = samples.iter().map(|sample| sample.offset_ns).collect();
            if !steady::is_steady(&offsets) {
                worst = Some((clock.name(), clock.reference(), look.offset_ns));
            }
        }
        let Some((clock, reference, offset_ns)) = worst else { return Ok(watched) };
        if stop.is_stopped() {
            bail!("interrupted while the clocks were being synchronised");
        }
        if clock::now::<Monotonic>() - begun > LIMIT {
            bail!(
                "the clock of {clock} does not settle on {reference}: after {} it is {} off{}",
                format_span(LIMIT),
                format_span(Span::from_ns(offset_ns)),
                daemons.iter().map(Daemon::last_words).collect::<String>()
            );
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn watch_until(stop: &AtomicBool, clocks: Vec<Follower>) -> Vec<Watched> {
    let mut seen: Vec<Watched> = clocks.into_iter().map(|clock| (clock, Vec::new())).collect();
    while !stop.load(Ordering::Relaxed) {
        for (clock, samples) in &mut seen {
            // A look that fails is a sample less, and the number is reported.
            samples.extend(clock.look());
        }
        thread::sleep(SAMPLE_EVERY);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_summed_up() {
        let clock = Follower::for_tests();
        let samples =
            [-3, 1, 2].map(|offset_ns| Sample { raw_ns: 5, at: Instant::from_ns(7), offset_ns });
        let report = report(&clock, &samples, Span::from_secs(7));
        assert_eq!((report.samples, report.worst_ns), (3, -3));
        assert!(report.mean_ns.abs() < 1e-9);
        assert!((report.rms_ns - (14.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(report.settled_ns, 7_000_000_000);
    }
}
