//! Loads: what an ordinary machine does beside sending on time.
//!
//! Each kind keeps ordinary threads (never real-time) busy until it is stopped,
//! and then says what it did: a load that did nothing, or stood still for a part
//! of the time, has a [`problem`](LoadReport::problem), because what was measured
//! then was not measured under that load.

mod compute;
mod connection;
mod datagrams;
mod disk;
mod pace;
mod stall;
mod streams;
mod timeline;

use std::fmt;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};
use teiji_core::time::{Instant, Monotonic};
use teiji_sys::clock;
use teiji_sys::error::SysError;
use teiji_sys::sched::{self, Pinned};
use teiji_sys::tracefs::TraceError;
use thiserror::Error;

use crate::stop::StopFlag;

pub use connection::Connection;
pub use datagrams::Flood;
use pace::{Pace, Work};
pub use teiji_core::load::LoadKind;
pub use timeline::Timeline;

/// A load that reaches less than this share of its rate is not the load that was
/// asked for.
const LEAST_PERCENT: u64 = 80;

/// Why a load cannot run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A thread could not be started.
    #[error("cannot start a thread of the load `{kind}`: {error}")]
    Thread {
        /// Which load.
        kind: LoadKind,
        /// What the system says.
        error: SysError,
    },
    /// The file of a load of the disk.
    #[error(
        "the load `disk` cannot make its file in {}: {error}; TMPDIR names another folder",
        folder.display()
    )]
    File {
        /// Where it was to be.
        folder: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The kernel's part of one that disables interrupts.
    #[error(
        "the load `stall` needs the kernel's tracer hwlat, which kernels with PREEMPT_RT have: {0}"
    )]
    Stall(#[from] TraceError),
    /// The sockets or namespaces of one between hosts.
    #[error("the load `{kind}` cannot open its socket: {error}")]
    Socket {
        /// Which load.
        kind: LoadKind,
        /// What the system says.
        error: std::io::Error,
    },
}

/// What a load did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Which load.
    pub kind: LoadKind,
    /// The machine that it kept busy, where others were measured, too.
    #[serde(default)]
    pub machine: Option<String>,
    /// How much it did, in [`LoadReport::unit`].
    pub done: u64,
    /// What is counted.
    pub unit: String,
    /// How long it ran, in milliseconds.
    pub ran_ms: u64,
    /// How much it was to do per second, if it has a rate.
    #[serde(default)]
    pub wanted_per_s: Option<u32>,
    /// When it was done.
    #[serde(default)]
    pub over_time: Timeline,
    /// How long before the first departure it began, in milliseconds, if somebody knows.
    #[serde(default)]
    pub lead_ms: Option<i64>,
    /// Of a TCP stream: its connection.
    #[serde(default)]
    pub connection: Option<Connection>,
    /// Why what was measured beside it was not measured under this load.
    pub problem: Option<String>,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, unit, .. } = self;
        write!(f, "{}: {done} {unit}, {} per second", self.name(), self.per_s())?;
        self.wanted_per_s.map_or(Ok(()), |wanted| write!(f, " ({wanted} wanted)"))?;
        self.connection.map_or(Ok(()), |Connection { round_trip, shortest, retransmitted }| {
            write!(
                f,
                "; round trips of {round_trip}, the shortest {shortest}, \
                 {retransmitted} segments sent again"
            )
        })
    }
}

impl LoadReport {
    /// That of a load which did so much in its unit, in so many milliseconds.
    pub fn new(kind: LoadKind, done: u64, ran_ms: u64) -> Self {
        Self {
            kind,
            machine: None,
            done,
            unit: kind.unit().to_owned(),
            ran_ms,
            wanted_per_s: None,
            over_time: Timeline::default(),
            lead_ms: None,
            connection: None,
            problem: None,
        }
    }

    /// What it is called, for people.
    pub fn name(&self) -> String {
        let kind = self.kind;
        self.machine.as_ref().map_or_else(|| kind.to_string(), |of| format!("{kind} on {of}"))
    }

    /// How much it did per second.
    pub fn per_s(&self) -> u64 {
        let rate = u128::from(self.done) * 1_000 / u128::from(self.ran_ms.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// With what its other end did, on another machine.
    #[must_use]
    pub fn with_other_end(self, other: Self) -> Self {
        // Only the receiving end counts.
        let (receiving, sending) = if self.done > 0 { (self, other) } else { (other, self) };
        Self {
            connection: receiving.connection.or(sending.connection),
            wanted_per_s: receiving.wanted_per_s.or(sending.wanted_per_s),
            // Why the sender ended explains why nothing came.
            problem: sending.problem.or(receiving.problem),
            ..receiving
        }
    }

    /// With what it did beside another member; over time it is still its own.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            ran_ms: self.ran_ms + other.ran_ms,
            problem: self.problem.or(other.problem),
            ..self
        }
    }
}

/// An end of a load between hosts.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// Its host's namespace.
    pub namespace: BorrowedFd<'a>,
    /// The CPU of its thread; `None`: any.
    pub cpu: Option<u16>,
}

/// The two ends of a load between hosts. `None`: it is on another machine, which starts it.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The sending end.
    pub from: Option<End<'a>>,
    /// The receiving end.
    pub to: Option<End<'a>>,
}

impl Ends<'_> {
    const fn is_whole(&self) -> bool {
        self.from.is_some() && self.to.is_some()
    }
}

/// A load that runs; it ends with [`Running::stop`] or when dropped.
#[derive(Debug)]
pub struct Running {
    kind: LoadKind,
    since: Instant<Monotonic>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Work>>,
    wanted_per_s: Option<u32>,
    /// The other end is on another machine: it neither starts nor ends with this one.
    is_half: bool,
}

impl Running {
    /// Starts a load on every CPU that this process may use.
    ///
    /// # Errors
    /// If a thread cannot be started. [`LoadKind::needs_a_wire`] ones start with
    /// [`Running::flood`] or [`Running::stream`].
    pub fn start(kind: LoadKind) -> Result<Self, LoadError> {
        let work = match kind {
            LoadKind::Cpu => compute::cpu,
            LoadKind::Timer => compute::timer,
            LoadKind::Memory => compute::memory,
            LoadKind::Disk => return Self::disk(&std::env::temp_dir()),
            LoadKind::Stall => {
                let stalls = stall::start()?;
                let mut running = Self::begin(kind);
                running.spawn(move |pace| stall::count(stalls, pace))?;
                return Ok(running);
            }
            LoadKind::UdpTx | LoadKind::UdpRx | LoadKind::TcpTx | LoadKind::TcpRx => {
                return Ok(Self::begin(kind));
            }
        };
        let mut running = Self::begin(kind);
        for _ in sched::allowed_cpus() {
            running.spawn(work)?;
        }
        Ok(running)
    }

    /// Writes to a file of at most 64 MiB in `folder`, and forces it to the disk.
    ///
    /// # Errors
    /// If the file cannot be made, or a thread not be started.
    pub fn disk(folder: &Path) -> Result<Self, LoadError> {
        let file = disk::open(folder)
            .map_err(|error| LoadError::File { folder: folder.to_owned(), error })?;
        let mut running = Self::begin(LoadKind::Disk);
        running.spawn(move |pace| disk::write(file, pace))?;
        Ok(running)
    }

    /// When it began.
    pub const fn since(&self) -> Instant<Monotonic> {
        self.since
    }

    /// Starts a flood of datagrams between two namespaces, or an end of it.
    ///
    /// # Errors
    /// If a namespace cannot be entered, a socket opened or a thread started.
    pub fn flood(kind: LoadKind, flood: Flood, ends: Ends<'_>) -> Result<Self, LoadError> {
        let failed = |error| LoadError::Socket { kind, error };
        let mut running = Self::begin(kind);
        running.is_half = !ends.is_whole();
        if let Some(to) = ends.to {
            let sink = flood.sink(to.namespace).map_err(failed)?;
            running.wanted_per_s = Some(flood.rate);
            running.spawn_on(to.cpu, move |pace| datagrams::receive(&sink, pace))?;
        }
        if let Some(from) = ends.from {
            let source = flood.source(from.namespace).map_err(failed)?;
            running.spawn_on(from.cpu, move |pace| datagrams::send(&source, pace))?;
        }
        Ok(running)
    }

    /// Starts a TCP stream between two namespaces, to this address, or an end of it. If the receiving end
    /// is on another machine, it is waited for until `stop`.
    ///
    /// # Errors
    /// If a namespace cannot be entered, the connection made or a thread started.
    pub fn stream(
        kind: LoadKind,
        to: SocketAddr,
        ends: Ends<'_>,
        stop: &StopFlag,
    ) -> Result<Self, LoadError> {
        let failed = |error| LoadError::Socket { kind, error };
        let (sink, source) = streams::open(to, &ends, stop).map_err(failed)?;
        let mut running = Self::begin(kind);
        running.is_half = !ends.is_whole();
        let cpu = |end: Option<End<'_>>| end.and_then(|end| end.cpu);
        // The sender first: why it ended explains why nothing came.
        if let Some(source) = source {
            running.spawn_on(cpu(ends.from), move |pace| streams::send(source, pace))?;
        }
        if let Some(sink) = sink {
            running.spawn_on(cpu(ends.to), move |pace| streams::receive(&sink, pace))?;
        }
        Ok(running)
    }

    /// Starts a thread on a CPU, or on any.
    fn spawn_on(
        &mut self,
        cpu: Option<u16>,
        work: impl FnOnce(&mut Pace) + Send + 'static,
    ) -> Result<(), LoadError> {
        self.spawn(move |pace| match cpu.map(Pinned::to).transpose() {
            Ok(_pinned) => work(pace),
            Err(error) => pace.fail(error.to_string()),
        })
    }

    fn begin(kind: LoadKind) -> Self {
        Self {
            kind,
            since: clock::now(),
            stop: Arc::default(),
            workers: Vec::new(),
            wanted_per_s: None,
            is_half: false,
        }
    }

    fn spawn(&mut self, work: impl FnOnce(&mut Pace) + Send + 'static) -> Result<(), LoadError> {
        let mut pace = Pace::new(self.stop.clone(), self.since);
        let worker = thread::Builder::new()
            .name(format!("load {}", self.kind))
            .spawn(move || {
                work(&mut pace);
                pace.end()
            })
            .map_err(|error| LoadError::Thread {
                kind: self.kind,
                error: SysError::new("clone", error),
            })?;
        self.workers.push(worker);
        Ok(())
    }

    /// Ends the load, and says what it did.
    pub fn stop(self) -> LoadReport {
        let since = self.since;
        self.stop_after(since, clock::now())
    }

    /// The same where something was measured only from then until then: whatever else happened is no
    /// problem.
    pub fn stop_after(mut self, from: Instant<Monotonic>, until: Instant<Monotonic>) -> LoadReport {
        let mut ran = clock::now::<Monotonic>() - self.since;
        self.stop.store(true, Ordering::Relaxed);
        let mut done = 0;
        let mut over_time = Timeline::default();
        let mut connection = None;
        let mut problem = self.workers.is_empty().then(|| "it was not started".to_owned());
        for worker in self.workers.drain(..) {
            match worker.join() {
                Ok(work) => {
                    done += work.done;
                    connection = connection.or(work.connection);
                    problem = problem.or_else(|| work.problem(from, until));
                    if self.is_half {
                        ran = work.lasted();
                    }
                    over_time.merge(work.over_time);
                }
                Err(_) => problem = Some("one of its threads panicked".to_owned()),
            }
        }
        let ran_ms = u64::try_from(ran.as_ns() / 1_000_000).unwrap_or(0);
        let mut report = LoadReport {
            wanted_per_s: self.wanted_per_s,
            over_time,
            connection,
            problem,
            ..LoadReport::new(self.kind, done, ran_ms)
        };
        let (reached, wanted) = (report.per_s(), u64::from(self.wanted_per_s.unwrap_or(0)));
        if report.problem.is_none() && reached * 100 < wanted * LEAST_PERCENT {
            let why = format!("only {reached} of {wanted} datagrams per second arrived");
            report.problem = Some(why);
        }
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
