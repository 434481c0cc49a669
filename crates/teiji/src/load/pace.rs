//! What one thread of a load has done, and for how long it stood still.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use teiji_core::time::{Instant, Monotonic, Span};
use teiji_sys::clock;

use super::connection::Connection;
use super::timeline::Timeline;

/// A pause longer than this share of the whole run is a problem, in per cent …
const PAUSE_PERCENT: i64 = 10;
/// … if it is longer than this as well: an ordinary thread may wait its turn.
const PAUSE: Span = Span::from_millis(500);

/// Kept by the thread while it works.
pub(super) struct Pace {
    stop: Arc<AtomicBool>,
    since: Instant<Monotonic>,
    work: Work,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Work {
    /// How much was done, in the load's unit.
    pub done: u64,
    /// When it was done, from the load's beginning.
    pub over_time: Timeline,
    /// This thread counts for the report; others only feed it.
    counts: bool,
    /// The first and the last time that something was done.
    busy: Option<(Instant<Monotonic>, Instant<Monotonic>)>,
    longest_pause: Span,
    failure: Option<(Instant<Monotonic>, String)>,
    /// Of the sender of a stream.
    pub connection: Option<Connection>,
}

impl Pace {
    /// Of a load that began at `since`.
    pub(super) fn new(stop: Arc<AtomicBool>, since: Instant<Monotonic>) -> Self {
        let work = Work {
            done: 0,
            over_time: Timeline::default(),
            counts: true,
            busy: None,
            longest_pause: Span::ZERO,
            failure: None,
            connection: None,
        };
        Self { stop, since, work }
    }

    /// Notes that so much was done; false when the load should end.
    pub(super) fn did(&mut self, amount: u64) -> bool {
        if amount > 0 {
            let now = clock::now();
            let (first, last) = self.work.busy.unwrap_or((now, now));
            self.work.busy = Some((first, now));
            self.work.longest_pause = self.work.longest_pause.max(now - last);
            self.work.done += amount;
            self.work.over_time.add(now - self.since, amount);
        }
        self.goes_on()
    }

    /// True until the load should end.
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Why this thread cannot go on.
    pub(super) fn fail(&mut self, why: String) {
        self.work.failure = Some((clock::now(), why));
    }

    /// What the kernel knew of the connection.
    pub(super) fn had(&mut self, connection: Connection) {
        self.work.connection = Some(connection);
    }

    /// This thread's work is counted by another one.
    pub(super) fn only_feeds(&mut self) {
        self.work.counts = false;
    }

    pub(super) fn end(self) -> Work {
        self.work
    }
}

impl Work {
    /// Why this was no load from then until then.
    pub(super) fn problem(
        &self,
        from: Instant<Monotonic>,
        until: Instant<Monotonic>,
    ) -> Option<String> {
        // The other end of a half may have ended since.
        if let Some((_, why)) = self.failure.as_ref().filter(|(at, _)| *at < until) {
            return Some(why.clone());
        }
        if !self.counts {
            return None;
        }
        let Some((first, last)) = self.busy else {
            return Some("one of its threads did nothing".to_owned());
        };
        let ran = until - from;
        let long = Span::from_ns(ran.as_ns() / 100 * PAUSE_PERCENT).max(PAUSE);
        let pause = self.longest_pause.max(first - from).max(until - last);
        (pause > long).then(|| format!("one of its threads stood still for {pause} of {ran}"))
    }

    /// From the first to the last time that something was done.
    pub(super) fn lasted(&self) -> Span {
        self.busy.map_or(Span::ZERO, |(first, last)| last - first)
    }
}
