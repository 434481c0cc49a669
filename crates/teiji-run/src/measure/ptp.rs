//! Clock synchronisation during a measurement: starts `ptp4l` and `phc2sys` at each
//! host of this machine, waits until every clock has settled, and watches how far each is from its
//! reference.
//!
//! How far is not asked of the programs, which only estimate it, where both clocks are here: they are
//! read. Of a clock that follows another machine's, `ptp4l`'s estimate is all that there is.

mod daemon;
mod estimate;
pub mod program;
pub mod series;
mod steady;
mod watch;

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, bail};
use teiji::StopFlag;
use teiji_core::time::{Instant, Monotonic, Span, Tai};
use teiji_experiment::{Host, Ptp, PtpRole, PtpTimestamps, Scenario};
use teiji_net::{Applied, Binding};
use teiji_record::summary::ClockSummary;
use teiji_sys::clock;

use crate::measure::Setup;
use crate::measure::clock_step::TaiOffset;
use crate::mistake;

use daemon::Daemon;
use estimate::EstimateLog;
use program::Program;
use series::{Look, SyncSeries};
use watch::{Follower, PortClock, Sample};

/// What the system's clock is called.
pub const SYSTEM: &str = "the system";
/// Most time until all clocks follow; a servo that starts 1 ms and 40 ppm off
/// needs 10 to 30 s.
pub const LIMIT: Span = Span::from_secs(120);
/// How often the clocks are looked at until all of them follow.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often the clocks are looked at during the measurement.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// A host of this machine with PTP.
struct Participant<'a> {
    host: &'a Host,
    ptp: Ptp,
    /// The interfaces of its ports.
    interfaces: Vec<String>,
    /// The clocks of its ports; none with software timestamps.
    clocks: Vec<PortClock>,
}

/// A clock and all looks at it.
#[derive(Debug)]
struct Watched {
    clock: Follower,
    /// It has settled when it stays this close.
    within: Span,
    samples: Vec<Sample>,
    /// As many of the samples are from before the last look that found nothing.
    stale: usize,
}

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

/// What was seen of the clocks.
#[derive(Debug, Default)]
pub struct Seen {
    /// In steady state, since [`start`] returned, summed up.
    pub clocks: Vec<ClockSummary>,
    /// Look by look, from the start of the programs.
    pub series: Vec<SyncSeries>,
    /// Sentences for the report.
    pub warnings: Vec<String>,
}

/// Whether the clocks of a case can be synchronised, as far as that is known before anything is set up;
/// over `several` machines, those of this one's hosts.
///
/// # Errors
/// [`Mistake`](crate::Mistake) for what cannot be, and an error for a program that is missing here.
pub fn check(scenario: &Scenario, binding: &Binding, several: bool) -> anyhow::Result<()> {
    let software =
        |host: &&Host| host.ptp.is_some_and(|ptp| ptp.timestamps == PtpTimestamps::Software);
    if let (Some(host), false) = (scenario.hosts.iter().find(software), several) {
        mistake!(
            "PTP with software timestamps synchronises system clocks, and all hosts of this machine \
             share one: leave `timestamps` out of the `ptp` of `{}`, or bind the hosts to NICs of \
             different machines (HOST=ssh:root@board/INTERFACE)",
            host.name
        );
    }
    match missing_programs(scenario, binding, several).into_iter().next() {
        Some(sentence) => bail!(sentence),
        None => Ok(()),
    }
}

/// Synchronises the clocks of a case on this machine, if it requests that. Returns when all follow.
///
/// # Errors
/// If a program cannot be started or ends, a NIC has no clock, or the clocks do not settle.
pub fn start(setup: &Setup<'_>, applied: &Applied) -> anyhow::Result<Option<Synchronised>> {
    let Setup { scenario, stop, .. } = *setup;
    let is_here = |host: &str| applied.namespace(host).is_some();
    let hosts = scenario.hosts.iter().filter(|host| is_here(&host.name));
    let hosts = hosts.filter_map(|host| Some((host, host.ptp?)));
    let hosts = hosts.map(|(host, ptp)| Participant::new(host, ptp, applied));
    let hosts = hosts.collect::<anyhow::Result<Vec<Participant<'_>>>>()?;
    if hosts.is_empty() {
        return Ok(None);
    }
    if !setup.own_machine {
        set_grandmaster(&hosts, applied)?;
    }
    let folder = tempfile::Builder::new()
        .prefix("teiji-ptp-")
        .tempdir()
        .context("cannot make a folder for ptp4l's settings")?;
    let started = clock::now::<Monotonic>();
    let mut daemons = Vec::new();
    for of in &hosts {
        let stamps_all = of.clocks.iter().all(PortClock::stamps_all);
        let programs = program::of_host(of.host, &of.interfaces, stamps_all, folder.path());
        for program in &programs {
            daemons.push(start_one(program, of.host, applied)?);
        }
    }
    let mut watched = settle(followers(scenario, &hosts, folder.path())?, &daemons, stop)?;
    let several = setup.others.is_some();
    let system = program::system_clock_host(scenario, is_here, several);
    if let Some(of) = hosts.iter().find(|of| system == Some(of.host)) {
        let nic = of.clock(0)?;
        daemons.push(phc2sys(of.host, nic, applied, folder.path())?);
        let follower = Watched::new(Follower::SystemClock { nic: nic.clone() }, of.ptp);
        watched.extend(settle(vec![follower], &daemons, stop)?);
    }
    let settled = clock::now::<Monotonic>() - started;
    let ending = Arc::new(AtomicBool::new(false));
    let converging = watched.iter_mut().map(|clock| std::mem::take(&mut clock.samples)).collect();
    let flag = Arc::clone(&ending);
    let watch = thread::Builder::new()
        .name("clocks".to_owned())
        .spawn(move || watch_until(&flag, watched))
        .context("cannot start a thread to watch the clocks")?;
    Ok(Some(Synchronised { daemons, settled, converging, stop: ending, watch, _folder: folder }))
}

impl<'a> Participant<'a> {
    fn new(host: &'a Host, ptp: Ptp, applied: &Applied) -> anyhow::Result<Self> {
        let namespace = namespace(host, applied)?;
        let (mut interfaces, mut clocks) = (Vec::new(), Vec::new());
        for port in &host.ports {
            let Some(info) = applied.port(&host.name, &port.wire) else { continue };
            interfaces.push(info.ifname.clone());
            if ptp.timestamps == PtpTimestamps::Hardware {
                let name = format!("{}.{}", host.name, port.wire);
                clocks.push(PortClock::open(name, info.ifname, namespace.as_fd())?);
            }
        }
        Ok(Self { host, ptp, interfaces, clocks })
    }

    fn clock(&self, index: usize) -> anyhow::Result<&PortClock> {
        let missing = || format!("host `{}` has no port to take the time from", self.host.name);
        self.clocks.get(index).with_context(missing)
    }
}

impl Watched {
    fn new(clock: Follower, ptp: Ptp) -> Self {
        Self { clock, within: ptp.settles_within(), samples: Vec::new(), stale: 0 }
    }
}

impl Synchronised {
    /// Ends the programs. What was seen of the clocks, on a time that is around the first departure at
    /// `base`.
    ///
    /// # Errors
    /// If one of the programs had ended during the measurement, or a clock follows nobody at its end.
    pub fn finish(self, base: Instant<Tai>) -> anyhow::Result<Seen> {
        self.stop.store(true, Ordering::Relaxed);
        let watched = self.watch.join().unwrap_or_default();
        for daemon in &self.daemons {
            daemon.check().context("during the measurement")?;
        }
        let tai = TaiOffset::now();
        let since_base = |at: Instant<Monotonic>| (tai.tai(at) - base).as_ns();
        let mut seen = Seen::default();
        for (Watched { mut clock, samples, .. }, mut before) in
            watched.into_iter().zip(self.converging)
        {
            if let Some(since) = clock.lost_since() {
                bail!(
                    "the clock of {} had no master for the last {} of the measurement: PTP messages, or \
                     their timestamps, were lost{}",
                    clock.name(),
                    to_millis(clock::now::<Monotonic>() - since),
                    self.daemons.iter().map(Daemon::last_words).collect::<String>()
                );
            }
            let samples = once_each(samples);
            seen.warnings.extend(gap(&samples).map(|(from, long)| {
                let after = to_millis(Span::from_ns(since_base(from)));
                format!(
                    "The clock of {} had no master for {}, from {after} after the first departure: \
                     one-way figures of that time contain its drift.",
                    clock.name(),
                    to_millis(long)
                )
            }));
            seen.clocks.push(report(&clock, &samples, self.settled));
            before.extend(samples);
            let look = |sample: Sample| Look {
                raw_ns: sample.raw_ns,
                t_ns: since_base(sample.at),
                offset_ns: sample.offset_ns,
            };
            let samples = once_each(before).into_iter().map(look).collect();
            seen.series.push(SyncSeries { clock: clock.name(), samples });
        }
        Ok(seen)
    }
}

/// Rounded down: more digits say nothing.
fn to_millis(span: Span) -> Span {
    Span::from_millis(span.as_ns().div_euclid(1_000_000))
}

/// Looks that found the same estimate are one.
fn once_each(mut samples: Vec<Sample>) -> Vec<Sample> {
    samples.dedup_by_key(|sample| sample.at);
    samples
}

/// The first time for which nothing was known of a clock: from when, and how long.
fn gap(samples: &[Sample]) -> Option<(Instant<Monotonic>, Span)> {
    let pairs = samples.windows(2).map(|pair| (pair[0].at, pair[1].at - pair[0].at));
    pairs.into_iter().find(|(_, long)| *long > estimate::HOLDS)
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

/// What is missing here of the programs that a scenario needs, a sentence each; over `several` machines
/// those of this one's hosts.
pub fn missing_programs(scenario: &Scenario, binding: &Binding, several: bool) -> Vec<String> {
    let is_here = |host: &str| !binding.is_elsewhere(host);
    let hosts = || scenario.hosts.iter().filter(|host| is_here(&host.name));
    let roles = || hosts().filter_map(|host| Some(host.ptp?.role));
    let phc2sys = roles().any(|role| role == PtpRole::Boundary)
        || program::system_clock_host(scenario, is_here, several).is_some();
    let needed = [("ptp4l", roles().next().is_some()), ("phc2sys", phc2sys)];
    needed
        .into_iter()
        .filter(|(_, needed)| *needed)
        .filter_map(|(program, _)| daemon::missing(program))
        .collect()
}

/// Sets the clocks that all others follow, if nobody has set them since the machine was switched on.
fn set_grandmaster(hosts: &[Participant<'_>], applied: &Applied) -> anyhow::Result<()> {
    for of in hosts.iter().filter(|of| of.ptp.role == PtpRole::Grandmaster) {
        for (clock, port) in of.clocks.iter().zip(&of.host.ports) {
            // The clock of a pair that was made for the experiment shows what that requests.
            if !applied.plan().is_vtsn(&port.wire) {
                clock.set_once()?;
            }
        }
    }
    Ok(())
}

/// Starts `phc2sys`, which makes the system's clock follow a NIC's.
fn phc2sys(
    host: &Host,
    nic: &PortClock,
    applied: &Applied,
    folder: &std::path::Path,
) -> anyhow::Result<Daemon> {
    let program = program::system_clock(host, nic.ifname(), tai_offset_s(), folder);
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

/// All clocks of this machine that follow the grandmaster's.
fn followers(
    scenario: &Scenario,
    hosts: &[Participant<'_>],
    folder: &Path,
) -> anyhow::Result<Vec<Watched>> {
    let leads = |ptp: Option<Ptp>| ptp.is_some_and(|ptp| ptp.role == PtpRole::Grandmaster);
    let Some(master) = scenario.hosts.iter().find(|host| leads(host.ptp)) else {
        bail!("no host is grandmaster")
    };
    let here = hosts.iter().find(|of| of.host.name == master.name);
    let mut followers = Vec::new();
    for of in hosts.iter().filter(|of| of.ptp.role != PtpRole::Grandmaster) {
        let here = here.filter(|_| of.ptp.timestamps == PtpTimestamps::Hardware);
        if let Some(master) = here {
            for nic in &of.clocks {
                let (nic, master) = (nic.clone(), master.clock(0)?.clone());
                followers.push(Watched::new(Follower::Nic { nic, master }, of.ptp));
            }
            continue;
        }
        let wire = || master.ports.first().map_or("", |port| port.wire.as_str());
        let (clock, reference) = match of.ptp.timestamps {
            PtpTimestamps::Hardware => {
                (of.clock(0)?.name().to_owned(), format!("{}.{}", master.name, wire()))
            }
            PtpTimestamps::Software => {
                (SYSTEM.to_owned(), format!("the system clock of {}", master.name))
            }
        };
        let reference = format!("{reference}, as ptp4l estimates");
        let log = EstimateLog::open(&program::log(folder, &of.host.name, "ptp4l"))?;
        followers.push(Watched::new(Follower::Estimated { clock, reference, log }, of.ptp));
    }
    Ok(followers)
}

/// Waits until all clocks are in steady state.
fn settle(
    mut clocks: Vec<Watched>,
    daemons: &[Daemon],
    stop: &StopFlag,
) -> anyhow::Result<Vec<Watched>> {
    let begun = clock::now::<Monotonic>();
    loop {
        for daemon in daemons {
            daemon.check()?;
        }
        let mut unsettled = None;
        for Watched { clock, within, samples, stale } in &mut clocks {
            let look = clock.look()?;
            match look {
                Some(look) => samples.push(look),
                None => *stale = samples.len(),
            }
            let offsets: Vec<i64> = samples[*stale..].iter().map(|look| look.offset_ns).collect();
            if !steady::is_steady(&offsets, *within) {
                unsettled = Some((clock.name(), clock.reference(), look, *within));
            }
        }
        let Some((clock, reference, look, within)) = unsettled else { return Ok(clocks) };
        if stop.is_stopped() {
            bail!("interrupted while the clocks were being synchronised");
        }
        if clock::now::<Monotonic>() - begun > LIMIT {
            bail!(
                "the clock of {clock} does not settle on {reference}: {}{}",
                unsettled_after(LIMIT, look, within),
                daemons.iter().map(Daemon::last_words).collect::<String>()
            );
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// What is wrong with a clock that does not settle, and what to do.
fn unsettled_after(limit: Span, look: Option<Sample>, within: Span) -> String {
    match look {
        Some(look) => format!(
            "after {limit} its offset is {}; if it does not get smaller on this machine, increase \
             `within` of its `ptp`, which is {within}",
            Span::from_ns(look.offset_ns)
        ),
        None => format!(
            "after {limit} ptp4l has no master: check the cable, and whether the NICs timestamp PTP \
             messages (otherwise write timestamps = \"software\")"
        ),
    }
}

fn watch_until(stop: &AtomicBool, mut clocks: Vec<Watched>) -> Vec<Watched> {
    while !stop.load(Ordering::Relaxed) {
        for Watched { clock, samples, .. } in &mut clocks {
            // A look that fails is a sample less, and the number is reported.
            samples.extend(clock.look().ok().flatten());
        }
        thread::sleep(SAMPLE_EVERY);
    }
    clocks
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

    #[test]
    fn looks_at_one_estimate_are_one_sample_and_a_gap_is_found() {
        let at = |seconds: i64| Instant::from_ns(seconds * 1_000_000_000);
        let look = |raw_ns, seconds| Sample { raw_ns, at: at(seconds), offset_ns: 3 };
        let samples = once_each(vec![look(1, 1), look(2, 1), look(3, 2), look(4, 6), look(5, 6)]);
        assert_eq!(samples, [look(1, 1), look(3, 2), look(4, 6)]);
        assert_eq!(gap(&samples), None);
        let longer = [look(1, 1), look(2, 6), look(3, 20)];
        assert_eq!(gap(&longer), Some((at(1), Span::from_secs(5))));
    }

    #[test]
    fn clocks_that_do_not_settle_are_reported_with_the_next_step() {
        let look = Sample { raw_ns: 0, at: Instant::from_ns(0), offset_ns: -2_000_000 };
        let off = unsettled_after(LIMIT, Some(look), Span::from_micros(100));
        assert!(
            off.starts_with("after 120 s its offset is -2 ms;") && off.contains("100 µs"),
            "{off}"
        );
        let nobody = unsettled_after(LIMIT, None, Span::from_micros(100));
        assert!(nobody.contains("timestamps = \"software\""), "{nobody}");
    }
}
