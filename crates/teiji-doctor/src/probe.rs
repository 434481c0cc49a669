//! What findings cost on this machine: how late a real-time thread wakes, with idle states and
//! without, and what reading the clock takes. Runs for the time that it is given, on the CPU where
//! it is started.

use std::fs::File;
use std::io::Write as _;
use std::thread;

use serde::{Deserialize, Serialize};
use teiji_core::domain::RtPriority;
use teiji_core::time::{Monotonic, Span};
use teiji_sys::clock;
use teiji_sys::sched::{self, Realtime};
use thiserror::Error;

/// The thread wakes this often …
const PERIOD: Span = Span::from_millis(1);
/// … so many times with idle states, then without, and so on: what the machine does meanwhile falls
/// on both alike.
const BLOCK: usize = 50;
/// Below a sender's usual 80, and above what the kernel gives to interrupts.
const PRIORITY: RtPriority = RtPriority::new(79).expect("from 1 to 99");
/// Readings of the clock for its cost.
const READINGS: i64 = 10_000;

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No real-time priority.
    #[error(transparent)]
    Priority(#[from] sched::SchedError),
    /// Too short for a block of each kind.
    #[error("--probe {0} is too short to measure anything: give it 200ms or more")]
    TooShort(Span),
    /// The measuring thread ended without a result.
    #[error("the measuring thread could not be started")]
    Thread,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// How late the thread woke, as the machine is.
    pub as_is: Lateness,
    /// The same with idle states held off (`/dev/cpu_dma_latency`); `None` where that may not be
    /// opened.
    pub awake: Option<Lateness>,
    /// What reading the clock takes.
    #[serde(rename = "clock_reading_ns")]
    pub clock_reading: Span,
}

/// How late a thread of real-time priority 79 woke from its absolute timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// How many times it woke.
    pub wakes: usize,
    /// Half of them were not later.
    #[serde(rename = "median_ns")]
    pub median: Span,
    /// 99 % of them were not later.
    #[serde(rename = "p99_ns")]
    pub p99: Span,
    /// The latest.
    #[serde(rename = "max_ns")]
    pub max: Span,
}

impl Lateness {
    fn of(mut late: Vec<Span>) -> Option<Self> {
        late.sort_unstable();
        let wakes = late.len();
        // Nearest rank.
        let at = |share: usize| late.get((wakes * share).div_ceil(100).checked_sub(1)?).copied();
        Some(Self { wakes, median: at(50)?, p99: at(99)?, max: at(100)? })
    }
}

impl Probe {
    /// Measures for this long.
    ///
    /// # Errors
    /// Without the right to a real-time priority, or if the time is too short.
    pub fn run(duration: Span) -> Result<Self, ProbeError> {
        let wakes = usize::try_from(duration.as_ns() / PERIOD.as_ns()).unwrap_or(0);
        let rounds = wakes / (2 * BLOCK);
        if rounds == 0 {
            return Err(ProbeError::TooShort(duration));
        }
        // Its own thread: the priority ends with it.
        thread::spawn(move || measure(rounds)).join().map_err(|_| ProbeError::Thread)?
    }
}

fn measure(rounds: usize) -> Result<Probe, ProbeError> {
    // Without the right to lock memory, page faults are in the result as they are in a sender's.
    let _ = sched::lock_memory();
    let mut as_is = Vec::with_capacity(rounds * BLOCK);
    let mut awake = Vec::with_capacity(rounds * BLOCK);
    let _priority = Realtime::enter(PRIORITY)?;
    for _ in 0..rounds {
        wake(&mut as_is);
        let request = hold_awake();
        // Where idle states may not be held off, it is all one kind.
        wake(if request.is_some() { &mut awake } else { &mut as_is });
    }
    let before = clock::now::<Monotonic>();
    for _ in 0..READINGS {
        std::hint::black_box(clock::now::<Monotonic>());
    }
    let clock_reading = Span::from_ns((clock::now::<Monotonic>() - before).as_ns() / READINGS);
    Ok(Probe {
        as_is: Lateness::of(as_is).ok_or(ProbeError::Thread)?,
        awake: Lateness::of(awake),
        clock_reading,
    })
}

fn wake(late: &mut Vec<Span>) {
    let mut at = clock::now::<Monotonic>() + PERIOD;
    // The first wake-up would have the change of idle states in it.
    clock::sleep_until(at);
    for _ in 0..BLOCK {
        at += PERIOD;
        clock::sleep_until(at);
        late.push(clock::now::<Monotonic>() - at);
    }
}

/// Requests a wake-up latency of 0 as long as the file is open (`pm_qos_interface`).
fn hold_awake() -> Option<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_by_rank() {
        let late = Lateness::of((1..=200).rev().map(Span::from_ns).collect()).unwrap();
        let ns = |span: Span| span.as_ns();
        assert_eq!((late.wakes, ns(late.median), ns(late.p99), ns(late.max)), (200, 100, 198, 200));
        assert_eq!(Lateness::of(Vec::new()), None);
    }

    #[test]
    fn a_short_probe_is_marked_as_short() {
        let error = Probe::run(Span::from_millis(99)).unwrap_err();
        assert!(error.to_string().contains("too short"), "{error}");
    }

    #[test]
    fn a_probe_measures_wakes_of_both_kinds() {
        match Probe::run(Span::from_millis(200)) {
            Ok(probe) => {
                let awake = probe.awake.map_or(0, |awake| awake.wakes);
                assert_eq!(probe.as_is.wakes + awake, 200);
                assert!(probe.clock_reading > Span::ZERO);
            }
            Err(ProbeError::Priority(error)) => println!("SKIP: {error}"),
            Err(other) => panic!("{other}"),
        }
    }
}
