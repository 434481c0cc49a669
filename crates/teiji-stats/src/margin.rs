//! From the stations that frames passed to a transmission margin and an ETF
//! delta: how long each stretch takes, and which length is exceeded only with a
//! wanted probability.
//!
//! ```text
//!  planned wake-up    woken      enters qdisc    delta before launch    NIC       launch
//!        │  wake-up     │  hand-over   │               │                  │          │
//!        ├──────────────┴──────────────┤  (waits)      ├──── release ─────┤          │
//!        ├─────────────── margin ──────────────────────┼───────── delta ────────────┤
//! ```
//!
//! A frame is on time if it enters the qdisc before `delta` begins and is released
//! to the NIC within it. Each of the two may fail with half the probability, so
//! that both together stay below it, however they depend on each other.

mod forecast;
mod misses;
mod recommendation;

pub use forecast::{just_below, late_at_most};
pub use misses::{Misses, refuted};
pub use recommendation::{MemberBounds, Recommendation, supported_by};

use teiji_core::frame::{FrameRow, TxError};
use teiji_core::time::Span;

/// By how much a missed frame was late, at least.
const BARELY: Span = Span::from_ns(1);

/// One frame's way, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passage {
    wake_up: i64,
    hand_over: i64,
    /// At least this, if ETF dropped it as missed; `None` if it never began.
    release: Option<i64>,
}

/// The stretches that the frames of a flow passed, in the order of sending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stations {
    passages: Vec<Passage>,
    /// Frames that left but lack a stamp of the kernel's, so that nothing is known
    /// of their way.
    pub unstamped: u64,
    /// Frames that the sending kernel refused or dropped: they say nothing of the
    /// release but that it was too long.
    pub dropped: u64,
    /// Those of them that ETF dropped because its timer came after the launch
    /// time: of their release only the least is known.
    pub cut_short: u64,
}

impl Stations {
    /// The stretches of frames that woke `margin` before their departure. `delta`
    /// is that of the ETF they passed; without one a release begins when the
    /// frame enters the qdisc.
    pub fn of(frames: &[FrameRow], margin: Span, delta: Option<Span>) -> Self {
        let mut stations = Self::default();
        for frame in frames {
            let accepted = frame.tx_error.is_none();
            stations.dropped += u64::from(!accepted);
            let (Some(woke), Some(sched)) = (frame.woke, frame.tx_sched) else {
                stations.unstamped += u64::from(accepted && frame.handed_over.is_some());
                continue;
            };
            let missed = frame.tx_error == Some(TxError::Missed);
            stations.cut_short += u64::from(missed);
            // A missed frame was still in the qdisc when its launch time passed.
            let nic = frame.tx_kernel.or(missed.then_some(frame.scheduled + BARELY));
            let release = nic.map(|nic| {
                let due = delta.map_or(sched, |delta| sched.max(frame.scheduled - delta));
                (nic - due).as_ns()
            });
            stations.unstamped += u64::from(accepted && release.is_none());
            stations.passages.push(Passage {
                wake_up: (woke - (frame.scheduled - margin)).as_ns(),
                hand_over: (sched - woke).as_ns(),
                release,
            });
        }
        stations
    }

    /// Frames of which something is known.
    pub fn count(&self) -> u64 {
        self.passages.len() as u64
    }

    /// Planned wake-up → woken.
    pub fn wake_up(&self) -> Vec<i64> {
        self.passages.iter().map(|p| p.wake_up).collect()
    }

    /// Woken → entered the qdisc.
    pub fn hand_over(&self) -> Vec<i64> {
        self.passages.iter().map(|p| p.hand_over).collect()
    }

    /// Planned wake-up → entered the qdisc.
    pub fn to_qdisc(&self) -> Vec<i64> {
        self.passages.iter().map(|p| p.to_qdisc()).collect()
    }

    /// Due → handed to the NIC by its driver.
    pub fn release(&self) -> Vec<i64> {
        self.passages.iter().filter_map(|p| p.release).collect()
    }

    /// Adds the frames of another member.
    pub fn extend(&mut self, other: &Self) {
        self.passages.extend_from_slice(&other.passages);
        self.unstamped += other.unstamped;
        self.dropped += other.dropped;
        self.cut_short += other.cut_short;
    }
}

impl Passage {
    fn to_qdisc(self) -> i64 {
        self.wake_up.saturating_add(self.hand_over)
    }
}

#[cfg(test)]
#[path = "margin_tests.rs"]
mod tests;
