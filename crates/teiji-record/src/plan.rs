//! What a flow was meant to do: the part of the experiment that its records
//! are judged by.

use serde::{Deserialize, Serialize};
use teiji_core::cycle::Schedule;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::{Flow, SendMode};

/// One flow as it was meant to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPlan {
    /// Flow identifier in the test header: index in the scenario.
    pub flow: u16,
    /// Its name in the experiment.
    pub name: String,
    /// How many frames were to be sent.
    pub frames: u64,
    /// Departure of frame 0.
    pub base: Instant<Tai>,
    /// Distance between two departures.
    pub period: Span,
    /// When and how a frame was to be handed to the kernel.
    pub mode: SendMode,
    /// Transmit stamps were requested.
    pub tx_stamps: bool,
}

impl FlowPlan {
    /// The plan of the scenario's flow number `flow` in a case that begins at `start`.
    pub fn new(flow: u16, from: &Flow, start: Instant<Tai>) -> Self {
        Self {
            flow,
            name: from.name.clone(),
            frames: from.frames,
            base: start + from.offset,
            period: from.period,
            mode: from.mode,
            tx_stamps: from.tx_stamps,
        }
    }

    /// When its frames were to leave, and their sender to wake.
    pub fn schedule(&self) -> Schedule {
        Schedule { base: self.base, period: self.period, margin: self.mode.margin() }
    }

    /// Departure of frame `seq`.
    pub fn departure(&self, seq: u64) -> Instant<Tai> {
        self.schedule().departure(seq)
    }
}
