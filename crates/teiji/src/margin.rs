//! The transmission margin: how long before its departure a frame is prepared.
//!
//! * [`Margin`] – a length, from `teiji margin`, measured in a second, or given,
//! * [`Watch`] – how much of it is left while frames are sent,
//! * [`Calibration`] – what `teiji margin` saved.

mod calibration;
mod watch;

pub use calibration::{Calibration, CalibrationError, SCHEMA, running_kernel};
pub use watch::{Headroom, Reading, Watch};

use std::panic::resume_unwind;
use std::thread;

use teiji_core::domain::RtPriority;
use teiji_core::time::Span;
use teiji_sys::error::SysError;
use thiserror::Error;

use crate::cycle::{Cycle, CycleError};

/// A transmission margin (the ETF study, §3). It must exceed the worst wake-up
/// latency of the machine, or frames miss their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Margin {
    span: Span,
    worst: Option<Span>,
}

/// Why a margin could not be measured.
#[derive(Debug, Error)]
pub enum MarginError {
    /// The measuring cycle could not start.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// No thread to measure on.
    #[error("cannot start a thread to measure the wake-up latency: {0}")]
    Thread(SysError),
}

const WAKE_UPS: u64 = 1_000;
const PERIOD: Span = Span::from_millis(1);
/// Room for building a frame and handing it over.
const HAND_OVER: Span = Span::from_micros(100);

impl Margin {
    /// A margin of this length.
    pub fn of(span: Span) -> Self {
        Self { span, worst: None }
    }

    /// The margin that `teiji margin` recommended for this machine and saved: the
    /// file that `TEIJI_MARGIN` names, or `teiji-margin.json` in the working
    /// directory.
    ///
    /// # Errors
    /// If there is none, or it is of another machine.
    pub fn calibrated() -> Result<Self, CalibrationError> {
        let saved = Calibration::read_for_this_machine(&Calibration::path())?;
        Ok(Self { span: saved.margin(), worst: Some(Span::from_ns(saved.worst_ns)) })
    }

    /// Measures for one second how late a thread of real-time priority
    /// `priority` wakes on this machine, as it is loaded now, and gives twice
    /// the worst case plus 100 µs for the hand-over. An estimate to start
    /// with: loads that come later, and events rarer than one in a thousand,
    /// are not in it. [`Margin::calibrated`] is better.
    ///
    /// # Errors
    /// If the thread cannot be started, or may not have that priority.
    pub fn estimated(priority: RtPriority) -> Result<Self, MarginError> {
        let measure = || -> Result<Span, MarginError> {
            let cycle = Cycle::every(PERIOD).realtime(priority).times(WAKE_UPS).start()?;
            Ok(cycle.map(|wake| wake.late()).max().unwrap_or(Span::ZERO))
        };
        let worst = thread::scope(|scope| {
            thread::Builder::new()
                .name("margin".into())
                .spawn_scoped(scope, measure)
                .map_err(|error| MarginError::Thread(SysError::new("clone", error)))?
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        Ok(Self { span: worst * 2 + HAND_OVER, worst: Some(worst) })
    }

    /// The margin.
    pub fn span(self) -> Span {
        self.span
    }

    /// The worst latency it was measured from, if it was.
    pub fn worst_latency(self) -> Option<Span> {
        self.worst
    }
}

impl From<Margin> for Span {
    fn from(margin: Margin) -> Self {
        margin.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_sys::sched::SchedError;

    #[test]
    fn an_estimated_margin_is_longer_than_the_worst_latency() {
        match Margin::estimated(RtPriority::new(50).unwrap()) {
            Ok(margin) => assert!(margin.span() > margin.worst_latency().unwrap()),
            Err(MarginError::Cycle(CycleError::Scheduling(
                error @ (SchedError::NoRealtimeRight { .. } | SchedError::NoRealtimeBudget { .. }),
            ))) => println!("SKIP: {error}"),
            Err(other) => panic!("{other}"),
        }
    }
}
