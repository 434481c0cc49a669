//! A cycle in absolute time: wake-ups that do not drift.

use teiji_core::cycle::Schedule;
use teiji_core::domain::RtPriority;
use teiji_core::time::{Instant, Span, Tai};
use teiji_sys::clock;
use teiji_sys::sched::SchedError;
use thiserror::Error;

use crate::scheduling::{Entered, Scheduling};
use crate::stop::{self, StopFlag};

/// Why a cycle cannot start.
#[derive(Debug, Error)]
pub enum CycleError {
    /// The period is zero or negative.
    #[error("a period of {0} never ends; use a positive one, for example 1 ms")]
    Period(Span),
    /// The margin is negative.
    #[error("a margin of {0} would wake after the departure; use zero or more")]
    Margin(Span),
    /// The thread cannot be scheduled as requested.
    #[error(transparent)]
    Scheduling(#[from] SchedError),
}

/// A running cycle: an iterator that sleeps until the next wake-up and says
/// when it came. See the [crate's example](crate).
///
/// Wake-ups are absolute instants on `CLOCK_TAI`: a late one does not delay
/// those after it, and wake-ups that were slept through follow at once, so
/// that every cycle is seen. Stays on the thread that started it.
#[derive(Debug)]
pub struct Cycle {
    schedule: Schedule,
    next: u64,
    end: u64,
    last_seen: Instant<Tai>,
    stop: StopFlag,
    _scheduling: Entered,
}

/// What a cycle is to be, before it [starts](CycleBuilder::start).
#[derive(Clone, Debug)]
#[must_use = "a cycle runs after `start`"]
pub struct CycleBuilder {
    period: Span,
    margin: Span,
    base: Option<Instant<Tai>>,
    times: Option<u64>,
    scheduling: Scheduling,
    stop: StopFlag,
}

impl Cycle {
    /// A cycle with the given period, at whole multiples of it since 1970 TAI
    /// unless [`CycleBuilder::first_departure`] says otherwise.
    pub fn every(period: Span) -> CycleBuilder {
        CycleBuilder {
            period,
            margin: Span::ZERO,
            base: None,
            times: None,
            scheduling: Scheduling::default(),
            stop: StopFlag::new(),
        }
    }

    /// A cycle along `schedule`.
    pub fn along(schedule: &Schedule) -> CycleBuilder {
        Self::every(schedule.period).ahead(schedule.margin).first_departure(schedule.base)
    }

    /// The schedule it follows.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl CycleBuilder {
    /// Wakes this long before each departure: the transmission margin.
    pub fn ahead(mut self, margin: impl Into<Span>) -> Self {
        self.margin = margin.into();
        self
    }

    /// Runs at this `SCHED_FIFO` priority, while the cycle lives.
    pub fn realtime(mut self, priority: RtPriority) -> Self {
        self.scheduling.realtime = Some(priority);
        self
    }

    /// Runs on this CPU only, while the cycle lives.
    pub fn cpu(mut self, cpu: u16) -> Self {
        self.scheduling.cpu = Some(cpu);
        self
    }

    /// Locks the process's memory, so that no page fault delays a wake-up.
    pub fn lock_memory(mut self) -> Self {
        self.scheduling.lock_memory = true;
        self
    }

    /// Priority, CPU and memory in one.
    pub fn scheduling(mut self, scheduling: Scheduling) -> Self {
        self.scheduling = scheduling;
        self
    }

    /// The departure of cycle 0.
    pub fn first_departure(mut self, base: Instant<Tai>) -> Self {
        self.base = Some(base);
        self
    }

    /// Ends after this many cycles.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Ends early when this flag is set.
    pub fn stop(mut self, stop: &StopFlag) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Starts the cycle on the calling thread.
    ///
    /// # Errors
    /// See [`CycleError`]. Nothing is changed then.
    pub fn start(self) -> Result<Cycle, CycleError> {
        if self.period <= Span::ZERO {
            return Err(CycleError::Period(self.period));
        }
        if self.margin.is_negative() {
            return Err(CycleError::Margin(self.margin));
        }
        let scheduling = self.scheduling.enter()?;
        let now = clock::now();
        let base = self.base.unwrap_or_else(|| {
            Schedule::aligned_base(now + self.margin + self.period, self.period, Span::ZERO)
        });
        Ok(Cycle {
            schedule: Schedule { base, period: self.period, margin: self.margin },
            next: 0,
            end: self.times.unwrap_or(u64::MAX),
            last_seen: now,
            stop: self.stop,
            _scheduling: scheduling,
        })
    }
}

impl Iterator for Cycle {
    type Item = Wake;

    #[inline]
    fn next(&mut self) -> Option<Wake> {
        if self.next >= self.end {
            return None;
        }
        let planned = self.schedule.wake(self.next);
        if !stop::sleep_until(planned, self.last_seen, &self.stop) {
            return None;
        }
        let woke = clock::now();
        let index = self.next;
        self.last_seen = woke;
        self.next += 1;
        Some(Wake { index, planned, woke, margin: self.schedule.margin })
    }
}

/// One wake-up of a [`Cycle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    index: u64,
    planned: Instant<Tai>,
    woke: Instant<Tai>,
    margin: Span,
}

impl Wake {
    /// Which cycle, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// When this cycle's frame should be on the wire: one margin after the
    /// planned wake-up.
    pub fn departure(&self) -> Instant<Tai> {
        self.planned + self.margin
    }

    /// When the thread should have woken.
    pub fn planned(&self) -> Instant<Tai> {
        self.planned
    }

    /// When the thread woke.
    pub fn woke(&self) -> Instant<Tai> {
        self.woke
    }

    /// How late the thread woke.
    pub fn late(&self) -> Span {
        self.woke - self.planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_comes_once_and_never_early() {
        let base = clock::now::<Tai>() + Span::from_millis(20);
        let cycle = Cycle::every(Span::from_millis(2))
            .ahead(Span::from_millis(1))
            .first_departure(base)
            .times(10)
            .start()
            .unwrap();
        let wakes: Vec<_> = cycle.collect();
        assert_eq!(wakes.len(), 10);
        for (wake, k) in wakes.iter().zip(0_i64..) {
            assert_eq!(wake.index(), k.unsigned_abs());
            assert_eq!(wake.departure(), base + Span::from_millis(2) * k);
            assert_eq!(wake.planned(), wake.departure() - Span::from_millis(1));
            assert!(!wake.late().is_negative(), "{wake:?}");
        }
    }

    #[test]
    fn a_cycle_without_base_keeps_to_multiples_of_its_period() {
        let period = Span::from_millis(3);
        let mut cycle = Cycle::every(period).start().unwrap();
        let wake = cycle.next().unwrap();
        assert_eq!(wake.departure().as_ns() % period.as_ns(), 0);
        assert!(wake.late() < Span::from_secs(1), "the first wake-up is in the future");
    }

    #[test]
    fn cycles_that_were_slept_through_follow_at_once() {
        let base = clock::now::<Tai>() - Span::from_millis(50);
        let cycle = Cycle::every(Span::from_millis(1)).first_departure(base).times(40);
        let wakes: Vec<_> = cycle.start().unwrap().collect();
        assert_eq!(wakes.len(), 40);
        assert!(wakes[0].late() >= Span::from_millis(50));
    }

    #[test]
    fn a_stopped_cycle_ends() {
        let stop = StopFlag::new();
        let mut cycle = Cycle::every(Span::from_micros(100)).stop(&stop).start().unwrap();
        assert!(cycle.next().is_some());
        stop.stop();
        assert_eq!(cycle.next(), None);
    }

    #[test]
    fn impossible_cycles_are_refused() {
        let error = Cycle::every(Span::ZERO).start().unwrap_err().to_string();
        assert!(error.starts_with("a period of 0 s never ends"), "{error}");
        let backwards = Cycle::every(Span::from_millis(1)).ahead(Span::from_ns(-1)).start();
        assert!(matches!(backwards, Err(CycleError::Margin(_))));
    }
}
