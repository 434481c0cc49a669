//! What two CPUs cost each other by taking turns: the round trip between a thread
//! on each of them while both are busy with ordinary work as well.
//!
//! On real processors that is the price of waking another CPU. An emulator that
//! runs its CPUs in turn adds the time until the other one's turn has come.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::{self, Thread};

use serde::{Deserialize, Serialize};
use teiji_core::domain::RtPriority;
use teiji_core::time::{Span, Tai};
use teiji_sys::clock;
use teiji_sys::sched::SchedError;

use crate::Scheduling;

/// `SCHED_FIFO` priority of the two threads: above all that an experiment uses.
const PRIORITY: Option<RtPriority> = RtPriority::new(98);
/// From one round trip to the next, plus up to [`SPREAD`], so that they meet
/// every phase of what is periodic.
const PAUSE: Span = Span::from_micros(300);
const SPREAD: i64 = 101;

/// Round trips between two busy CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// The requester's CPU and the responder's.
    pub cpus: [u16; 2],
    /// How many round trips were made.
    pub round_trips: u32,
    /// Their mean.
    pub mean: Span,
    /// The longest.
    pub worst: Span,
}

/// Makes `round_trips` round trips, at least one, between threads on two CPUs.
///
/// # Errors
/// Without the privilege to schedule in real time, or on a CPU that is not there.
pub fn measure(cpus: [u16; 2], round_trips: u32) -> Result<Turns, SchedError> {
    let round_trips = round_trips.max(1);
    let done = AtomicBool::new(false);
    let exchanged = Exchanged::default();
    thread::scope(|scope| {
        // However this ends, the other threads do.
        let _end = Raise(&done);
        for cpu in cpus {
            let done = &done;
            scope.spawn(move || be_busy(cpu, done));
        }
        let _scheduled = on(cpus[0]).enter()?;
        let (ready, is_ready) = mpsc::channel();
        let requester = thread::current();
        let (exchanged, done) = (&exchanged, &done);
        let responder = scope.spawn(move || respond(cpus[1], exchanged, &requester, &ready, done));
        is_ready.recv().unwrap_or(Ok(()))?;
        let (mean, worst) = measure_round_trips(exchanged, responder.thread(), round_trips);
        done.store(true, Ordering::Release);
        responder.thread().unpark();
        Ok(Turns { cpus, round_trips, mean, worst })
    })
}

/// Requests and replies so far.
#[derive(Default)]
struct Exchanged {
    requests: AtomicU32,
    replies: AtomicU32,
}

struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn on(cpu: u16) -> Scheduling {
    Scheduling { realtime: PRIORITY, cpu: Some(cpu), lock_memory: false }
}

/// Mean and longest round trip.
fn measure_round_trips(
    exchanged: &Exchanged,
    responder: &Thread,
    round_trips: u32,
) -> (Span, Span) {
    let (mut sum, mut worst) = (Span::ZERO, Span::ZERO);
    let mut at = clock::now::<Tai>();
    for number in 1..=round_trips {
        at = at + PAUSE + Span::from_micros(i64::from(number) * 37 % SPREAD);
        clock::sleep_until(at);
        let start = clock::now::<Tai>();
        exchanged.requests.store(number, Ordering::Release);
        responder.unpark();
        while exchanged.replies.load(Ordering::Acquire) != number {
            thread::park();
        }
        let trip = clock::now::<Tai>() - start;
        sum = sum + trip;
        worst = worst.max(trip);
    }
    (Span::from_ns(sum.as_ns() / i64::from(round_trips)), worst)
}

fn respond(
    cpu: u16,
    exchanged: &Exchanged,
    requester: &Thread,
    ready: &mpsc::Sender<Result<(), SchedError>>,
    done: &AtomicBool,
) {
    let (scheduled, result) = match on(cpu).enter() {
        Ok(scheduled) => (Some(scheduled), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // The requester waits for this.
    let _ = ready.send(result);
    if scheduled.is_none() {
        return;
    }
    let mut seen = 0;
    while !done.load(Ordering::Acquire) {
        let latest = exchanged.requests.load(Ordering::Acquire);
        if latest == seen {
            thread::park();
        } else {
            seen = latest;
            exchanged.replies.store(seen, Ordering::Release);
            requester.unpark();
        }
    }
}

/// Ordinary work on `cpu`; none where it may not go.
fn be_busy(cpu: u16, done: &AtomicBool) {
    let scheduling = Scheduling { cpu: Some(cpu), ..Scheduling::default() };
    let Ok(_scheduled) = scheduling.enter() else { return };
    while !done.load(Ordering::Acquire) {
        std::hint::black_box(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_made_and_the_worst_is_not_below_the_mean() {
        let cpus = teiji_sys::sched::allowed_cpus();
        let cpus = [cpus[0], cpus[cpus.len() - 1]];
        match measure(cpus, 5) {
            Ok(turns) => {
                assert_eq!((turns.cpus, turns.round_trips), (cpus, 5));
                assert!(turns.mean > Span::ZERO && turns.worst >= turns.mean, "{turns:?}");
            }
            Err(
                error @ (SchedError::NoRealtimeRight { .. } | SchedError::NoRealtimeBudget { .. }),
            ) => println!("SKIP: {error}"),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_leaves_no_thread() {
        let here = teiji_sys::sched::allowed_cpus()[0];
        measure([here, 8_000], 1).unwrap_err();
        measure([8_000, here], 1).unwrap_err();
    }
}
