//! Ending a run from outside: a flag and a movable deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use teiji_core::time::{Instant, Span, Tai};
use teiji_sys::clock::{self, Slept, SystemClock};

/// How long a talker, listener or cycle may take to see a [`StopFlag`].
pub const STOP_LATENCY: Span = Span::from_millis(100);

/// Asks runs to end early. Clones share the flag; it can be set from any
/// thread, also from the one that handles signals.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every run that looks at this flag, within [`STOP_LATENCY`].
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for code that takes an [`AtomicBool`].
    pub fn as_atomic(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether a stop was requested.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// When a listener gives up waiting. Clones share the instant, which may be
/// moved while the listener runs: for example to "a moment from now", by the
/// thread that sees the talker finish.
#[derive(Clone, Debug)]
pub struct Deadline(Arc<AtomicI64>);

impl Deadline {
    /// No deadline, until one is [set](Self::set).
    pub fn never() -> Self {
        Self::at(Instant::from_ns(i64::MAX))
    }

    /// This instant.
    pub fn at(instant: Instant<Tai>) -> Self {
        Self(Arc::new(AtomicI64::new(instant.as_ns())))
    }

    /// Moves the deadline.
    pub fn set(&self, instant: Instant<Tai>) {
        self.0.store(instant.as_ns(), Ordering::Relaxed);
    }

    /// The deadline as it is now.
    pub fn get(&self) -> Instant<Tai> {
        Instant::from_ns(self.0.load(Ordering::Relaxed))
    }
}

/// Sleeps until clock `C` shows `at`; false if `stop` was set first. `now` is a recent
/// reading of the clock: sleeps shorter than [`STOP_LATENCY`] from there are a single
/// system call, longer ones look at the flag in between.
#[inline]
pub fn sleep_until<C: SystemClock>(at: Instant<C>, now: Instant<C>, stop: &StopFlag) -> bool {
    let mut now = now;
    loop {
        if stop.is_stopped() {
            return false;
        }
        let far = at - now > STOP_LATENCY;
        let next = if far { now + STOP_LATENCY } else { at };
        if clock::sleep_until(next) == Slept::Reached && !far {
            return true;
        }
        now = clock::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_long_sleep_ends_soon_after_the_flag() {
        let stop = StopFlag::new();
        let other = stop.clone();
        let start = clock::now::<Tai>();
        let stopper = thread::spawn(move || {
            thread::sleep(std::time::Duration::from_millis(30));
            other.stop();
        });
        assert!(!sleep_until(start + Span::from_secs(3_600), start, &stop));
        assert!(clock::now::<Tai>() - start < Span::from_secs(5));
        stopper.join().unwrap();
    }

    #[test]
    fn a_sleep_over_several_steps_ends_at_its_instant() {
        let start = clock::now::<Tai>();
        let at = start + Span::from_millis(250);
        assert!(sleep_until(at, start, &StopFlag::new()));
        assert!(clock::now::<Tai>() >= at);
    }

    #[test]
    fn a_deadline_is_moved_for_all_its_users() {
        let deadline = Deadline::never();
        deadline.clone().set(Instant::from_ns(5));
        assert_eq!(deadline.get().as_ns(), 5);
    }
}
