//! Whether each frame of a talker was on time, and if not, why: from its record, the timestamps
//! that it has, and what the kernel is known to do with launch times.

use std::collections::BTreeMap;

use serde::Serialize;
use teiji::talker::{LaunchMode, TxStamps};
use teiji::{TalkerLog, TxError, TxRecord};
use teiji_core::time::Span;
use teiji_net::launch::LaunchTimes;
use teiji_sys::phc::Offset;

/// What "on time" means for the frames of a talker.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// A frame transmitted later than this after its schedule is late; with launch times one
    /// transmitted earlier than this before it is early.
    pub tolerance: Span,
    /// How frames carry launch times; `None`: they are sent at the wake-up.
    pub launch: Option<LaunchMode>,
    /// What the interface's qdiscs make of launch times, if the kernel reports it.
    pub launch_times: Option<LaunchTimes>,
    /// The best timestamp that a frame can have.
    pub stamps: TxStamps,
    /// The PHC against `CLOCK_TAI`, before the first frame and after the last.
    pub phc: Option<[Offset; 2]>,
}

/// The last timestamp point of a frame without transmit timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// Not even the qdisc.
    Nothing,
    /// The qdisc, not the driver.
    Qdisc,
    /// The driver; the NIC gave no timestamp.
    Driver,
}

/// The outcome of a frame: the first that applies, in the order of [`Criteria::outcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The send call failed with this errno.
    Refused(i32),
    /// ETF: the launch time had passed.
    Missed,
    /// ETF: the launch time was unusable.
    Invalid,
    /// Timestamps were requested, and this frame has none of its transmission.
    NoTimestamp(Reached),
    /// Transmitted too late, by this much after the schedule.
    Late {
        /// After its schedule.
        by: Span,
        /// Its sender woke too late already.
        woke_late: bool,
    },
    /// Transmitted too early.
    Early {
        /// Before its schedule.
        by: Span,
    },
    /// Transmitted, or without timestamps handed over, in time.
    OnTime,
}

/// The number of frames by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Send calls.
    pub attempted: u64,
    /// Transmitted on time.
    pub on_time: u64,
    /// Transmitted too late.
    pub late: u64,
    /// Of the late ones, those whose sender woke too late already.
    pub woke_late: u64,
    /// How late the latest was; 0 if none.
    pub worst_late_ns: i64,
    /// Transmitted too early.
    pub early: u64,
    /// Dropped by ETF: the launch time had passed.
    pub dropped_missed: u64,
    /// Dropped by ETF: the launch time was unusable.
    pub dropped_invalid: u64,
    /// Without any timestamp.
    pub no_timestamp_before_qdisc: u64,
    /// Without timestamp after the qdisc's.
    pub no_timestamp_after_qdisc: u64,
    /// Without timestamp after the driver's.
    pub no_timestamp_after_driver: u64,
    /// Refused send calls by errno.
    pub refused: BTreeMap<i32, u64>,
}

impl Criteria {
    /// When a frame was transmitted, after its schedule; `None` without that timestamp.
    pub fn transmitted(&self, frame: &TxRecord) -> Option<Span> {
        match self.stamps {
            TxStamps::None => None,
            TxStamps::Kernel => Some(frame.tx_kernel? - frame.scheduled),
            TxStamps::Hardware => {
                Some(Span::from_ns(frame.tx_hardware?.as_ns() - frame.scheduled.as_ns()))
            }
        }
    }

    /// The PHC − `CLOCK_TAI` when the frame at this place of `all` was sent.
    fn phc_ahead(&self, at: usize, all: usize) -> Span {
        let Some([before, after]) = self.phc else { return Span::ZERO };
        let drift = i128::from((after.ahead - before.ahead).as_ns());
        let part = drift * at as i128 / all.max(1) as i128;
        before.ahead + Span::from_ns(i64::try_from(part).unwrap_or(0))
    }

    /// The outcome of `frame`, the one at this place of `all`.
    pub fn outcome(&self, frame: &TxRecord, at: usize, all: usize) -> Outcome {
        match frame.tx_error {
            Some(TxError::SendFailed(errno)) => return Outcome::Refused(errno),
            Some(TxError::Missed) => return Outcome::Missed,
            Some(TxError::Invalid) => return Outcome::Invalid,
            None => {}
        }
        let woke_late = self.is_late(frame.woke - frame.scheduled);
        if self.stamps == TxStamps::None {
            let by = frame.handed_over - frame.scheduled;
            let late = self.is_late(by);
            return if late { Outcome::Late { by, woke_late } } else { Outcome::OnTime };
        }
        let Some(raw) = self.transmitted(frame) else {
            return Outcome::NoTimestamp(match (frame.tx_sched, frame.tx_kernel) {
                (_, Some(_)) => Reached::Driver,
                (Some(_), None) => Reached::Qdisc,
                (None, None) => Reached::Nothing,
            });
        };
        // A PHC that is not on CLOCK_TAI: its timestamps are converted to CLOCK_TAI. The NIC takes
        // launch times by its PHC, so they are kept only if that holds by both clocks.
        let mut by = raw;
        if self.stamps == TxStamps::Hardware && self.phc.is_some() {
            by = raw - self.phc_ahead(at, all);
            if self.launch.is_some() && raw > by {
                by = raw;
            }
        }
        if by > self.tolerance {
            Outcome::Late { by, woke_late }
        } else if self.earliest().is_some_and(|earliest| by < earliest) {
            Outcome::Early { by: -by }
        } else {
            Outcome::OnTime
        }
    }

    /// Without timestamps a launch time holds if the frame was handed over before it.
    fn is_late(&self, after_schedule: Span) -> bool {
        after_schedule > if self.launch.is_some() { Span::ZERO } else { self.tolerance }
    }

    /// How long before its schedule a frame may be transmitted, as a negative span; `None` if
    /// any time will do, or what the kernel does with launch times is not known well enough.
    fn earliest(&self) -> Option<Span> {
        let early = match (self.launch?, self.launch_times?) {
            (LaunchMode::Deadline, _) | (_, LaunchTimes::Taprio) => return None,
            // The driver has it early where the NIC does the rest.
            (_, LaunchTimes::Etf(Span::ZERO)) if self.stamps != TxStamps::Hardware => return None,
            (_, LaunchTimes::Etf(early)) => early,
            (_, LaunchTimes::Ignored) => Span::ZERO,
        };
        Some(-(early + self.tolerance))
    }
}

impl Counts {
    /// The outcomes of all frames of `log`.
    pub fn of(log: &TalkerLog, criteria: &Criteria) -> Self {
        let mut counts = Self { attempted: log.frames.len() as u64, ..Self::default() };
        for (at, frame) in log.frames.iter().enumerate() {
            counts.add(criteria.outcome(frame, at, log.frames.len()));
        }
        counts
    }

    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::OnTime => self.on_time += 1,
            Outcome::Late { by, woke_late } => {
                self.late += 1;
                self.woke_late += u64::from(woke_late);
                self.worst_late_ns = self.worst_late_ns.max(by.as_ns());
            }
            Outcome::Early { .. } => self.early += 1,
            Outcome::Missed => self.dropped_missed += 1,
            Outcome::Invalid => self.dropped_invalid += 1,
            Outcome::NoTimestamp(Reached::Nothing) => self.no_timestamp_before_qdisc += 1,
            Outcome::NoTimestamp(Reached::Qdisc) => self.no_timestamp_after_qdisc += 1,
            Outcome::NoTimestamp(Reached::Driver) => self.no_timestamp_after_driver += 1,
            Outcome::Refused(errno) => *self.refused.entry(errno).or_default() += 1,
        }
    }

    /// Frames that were not transmitted on time, as far as that is known.
    pub fn not_on_time(&self) -> u64 {
        self.attempted - self.on_time
    }

    /// Frames that were transmitted for certain; without timestamps those handed over.
    pub fn transmitted(&self) -> u64 {
        self.on_time + self.late + self.early
    }
}

#[cfg(test)]
#[path = "punctuality_tests.rs"]
mod tests;
