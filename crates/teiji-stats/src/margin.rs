//! From the stations that frames passed to a transmission margin and an ETF
//! delta: how long each stretch takes, and which length is exceeded only with a
//! wanted probability.
//!
//! ```text
//!  planned wake-up    woken      enters qdisc    delta before launch    card      launch
//!        │  wake-up     │  hand-over   │               │                  │          │
//!        ├──────────────┴──────────────┤  (waits)      ├──── release ─────┤          │
//!        ├─────────────── margin ──────────────────────┼───────── delta ────────────┤
//! ```
//!
//! A frame is on time if it enters the qdisc before `delta` begins and is released
//! to the card within it. Each of the two may fail with half the probability, so
//! that both together stay below it, however they depend on each other.

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

use crate::fold::{FrameView, Outcome};
use crate::tail::order::ln_at_most;
use crate::tail::{CONFIDENCE, Evidence, NoFit, TailBound};

/// One frame's way, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passage {
    wake_up: i64,
    hand_over: i64,
    /// `None` if ETF dropped it before.
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
    /// release.
    pub dropped: u64,
}

/// How a frame failed to be on time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misses {
    /// Frames that were to be sent.
    pub frames: u64,
    /// Refused by ETF on entry: the launch time had passed.
    pub invalid: u64,
    /// Dropped by ETF: it came to the frame after the launch time.
    pub missed: u64,
    /// The send call failed.
    pub send_failed: u64,
    /// Came to the card after the launch time.
    pub late: u64,
    /// Never attempted.
    pub unsent: u64,
}

impl Misses {
    /// Counts what became of frames.
    pub fn of(frames: impl IntoIterator<Item = FrameView>) -> Self {
        let mut misses = Self::default();
        for frame in frames {
            misses.frames += 1;
            match frame.outcome {
                Outcome::Invalid => misses.invalid += 1,
                Outcome::Missed => misses.missed += 1,
                Outcome::SendFailed => misses.send_failed += 1,
                Outcome::Accepted if frame.handed_over.is_none() => misses.unsent += 1,
                Outcome::Accepted => {
                    let at = frame.tx_kernel.or(frame.tx_sched);
                    misses.late += u64::from(at.is_some_and(|at| at > frame.scheduled));
                }
            }
        }
        misses
    }

    /// With those of another member.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            invalid: self.invalid + other.invalid,
            missed: self.missed + other.missed,
            send_failed: self.send_failed + other.send_failed,
            late: self.late + other.late,
            unsent: self.unsent + other.unsent,
        }
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.invalid + self.missed + self.send_failed + self.late + self.unsent
    }
}

impl Stations {
    /// The stretches of frames that woke `margin` before their departure. `delta`
    /// is that of the ETF they passed; without one a release begins when the
    /// frame enters the qdisc.
    pub fn of(
        frames: impl IntoIterator<Item = FrameView>,
        margin: Span,
        delta: Option<Span>,
    ) -> Self {
        let mut stations = Self::default();
        for frame in frames {
            let accepted = frame.outcome == Outcome::Accepted;
            stations.dropped += u64::from(!accepted);
            let (Some(woke), Some(sched)) = (frame.woke, frame.tx_sched) else {
                stations.unstamped += u64::from(accepted && frame.handed_over.is_some());
                continue;
            };
            let release = frame.tx_kernel.map(|card| {
                let due = delta.map_or(sched, |delta| sched.max(frame.scheduled - delta));
                (card - due).as_ns()
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

    /// Adds the frames of another member.
    pub fn extend(&mut self, other: Self) {
        self.passages.extend(other.passages);
        self.unstamped += other.unstamped;
        self.dropped += other.dropped;
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

    /// Due → handed to the card by its driver.
    pub fn release(&self) -> Vec<i64> {
        self.passages.iter().filter_map(|p| p.release).collect()
    }

    /// How many of these frames would not have been on time with this margin and
    /// delta.
    pub fn predicted(&self, margin: Span, delta: Span) -> u64 {
        let begin = (margin - delta).as_ns();
        let late = |p: &&Passage| {
            p.to_qdisc().max(begin).saturating_add(p.release.unwrap_or(0)) > margin.as_ns()
        };
        self.passages.iter().filter(late).count() as u64
    }

    /// The longest margin below `from`, in whole microseconds, at which at least
    /// `misses` of these frames would not have been on time, with the delta to go
    /// with it: the same share of the margin as before. `None` if there is none.
    pub fn just_below(&self, from: Span, delta: Span, misses: u64) -> Option<(Span, Span)> {
        let at = |us: i64| {
            let margin = Span::from_micros(us);
            let share = i128::from(delta.as_ns()) * i128::from(margin.as_ns());
            let with = share / i128::from(from.as_ns().max(1));
            (margin, Span::from_ns(i64::try_from(with).unwrap_or(i64::MAX)))
        };
        let enough = |us: i64| {
            let (margin, delta) = at(us);
            self.predicted(margin, delta) >= misses.max(1)
        };
        let (mut most, mut least) = (from.as_ns() / 1_000, 1);
        if !enough(least) {
            return None;
        }
        // The misses only grow as the margin shrinks.
        while most - least > 1 {
            let middle = least + (most - least) / 2;
            if enough(middle) {
                least = middle;
            } else {
                most = middle;
            }
        }
        Some(at(least))
    }
}

impl Passage {
    fn to_qdisc(self) -> i64 {
        self.wake_up.saturating_add(self.hand_over)
    }
}

/// A margin and a delta, and what each rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The probability of a miss that it is for.
    pub probability: f64,
    /// True if the samples, by themselves or with a fit, reach that probability;
    /// otherwise [`Recommendation::probability`] is the least they do reach.
    pub reached: bool,
    /// Why no tail could be fitted where one was needed for the wanted probability.
    pub refused: Option<NoFit>,
    /// The transmission margin, in nanoseconds: whole microseconds.
    pub margin_ns: i64,
    /// ETF's `delta`, in nanoseconds: whole microseconds.
    pub delta_ns: i64,
    /// Planned wake-up → qdisc, at half the probability.
    pub to_qdisc: TailBound,
    /// Due → card, at half the probability.
    pub release: TailBound,
}

impl Recommendation {
    /// The shortest margin and delta for a miss probability. Where the samples do
    /// not reach it, those for the probability that order statistics do reach are
    /// given and said to be so. `None` without samples of both stretches.
    pub fn of(stations: &Stations, probability: f64) -> Option<Self> {
        let (to_qdisc, release) = (stations.to_qdisc(), stations.release());
        let bounds = |probability: f64| {
            let half = probability / 2.0;
            Some((TailBound::of(&to_qdisc, half)?, TailBound::of(&release, half)?))
        };
        let (mut qdisc, mut card) = bounds(probability)?;
        let reached = qdisc.upper_ns().is_some() && card.upper_ns().is_some();
        let refused = [&qdisc, &card]
            .into_iter()
            .filter_map(|bound| bound.fit.as_ref().err().copied())
            .find(|reason| *reason != NoFit::NotNeeded);
        let mut reachable = probability;
        if !reached {
            // A little more than the least, against rounding.
            reachable = (2.02 * qdisc.supported.max(card.supported)).min(0.99);
            (qdisc, card) = bounds(reachable)?;
        }
        let upper = |bound: &TailBound| bound.upper_ns().map_or(bound.worst_ns, |(ns, _)| ns);
        let delta = whole_micros(upper(&card).max(1));
        Some(Self {
            probability: reachable,
            reached,
            refused,
            margin_ns: whole_micros(upper(&qdisc).max(1)).saturating_add(delta),
            delta_ns: delta,
            to_qdisc: qdisc,
            release: card,
        })
    }

    /// What the weaker of the two bounds rests on.
    pub fn evidence(&self) -> Option<Evidence> {
        let of = |bound: &TailBound| bound.upper_ns().map(|(_, evidence)| evidence);
        match (of(&self.to_qdisc)?, of(&self.release)?) {
            (Evidence::OrderStatistics, Evidence::OrderStatistics) => {
                Some(Evidence::OrderStatistics)
            }
            _ => Some(Evidence::TailFit),
        }
    }
}

/// Rounded up to whole microseconds, in nanoseconds.
fn whole_micros(ns: i64) -> i64 {
    ns.saturating_add(999) / 1_000 * 1_000
}

/// Whether so many misses among so many frames contradict a miss probability: they
/// do if as many or more would come by chance in fewer than 5 % of such runs.
pub fn contradicts(misses: u64, frames: u64, probability: f64) -> bool {
    let Some(fewer) = misses.checked_sub(1) else { return false };
    // P(at least `misses`) < 5 %  ⇔  P(at most `misses` − 1) > 95 %.
    ln_at_most(frames as f64, probability)
        .take(usize::try_from(fewer).unwrap_or(usize::MAX).saturating_add(1))
        .any(|ln| ln > CONFIDENCE.ln())
}

#[cfg(test)]
#[path = "margin_tests.rs"]
mod tests;
