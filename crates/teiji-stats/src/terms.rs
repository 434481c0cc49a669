//! How a flow was meant to be sent: what its frames are compared with.

use teiji_core::send_mode::SendMode;
use teiji_core::time::{Instant, Span, Tai};

use crate::timestamp_point::TimestampPoint;

/// How a flow was meant to be sent, and what is known beside its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTerms {
    /// Distance between two departures.
    pub period: Span,
    /// When and how a frame is handed to the kernel.
    pub mode: SendMode,
    /// Transmit stamps were requested.
    pub stamps_requested: bool,
    /// Packets on the flow's socket that were not test frames.
    pub foreign: u64,
    /// Resolution of the analyser's stamps, where it is known.
    pub wire_resolution: Option<Span>,
    /// The listener's machine has another clock than the sender's.
    pub apart: bool,
}

impl FlowTerms {
    /// The latest instant at which a frame scheduled for `scheduled` may be
    /// handed over. With a launch time that is the launch time. Without one
    /// every frame leaves after its instant, so the deadline is the implicit
    /// one of periodic tasks, the next departure (Liu and Layland 1973): a
    /// sender that passes it has overrun its cycle.
    /// One that is sent back to back has none.
    pub(crate) fn deadline(&self, scheduled: Instant<Tai>) -> Option<Instant<Tai>> {
        match self.mode {
            SendMode::OnWakeUp => Some(scheduled + self.period),
            SendMode::BackToBack => None,
            SendMode::LaunchTime { .. } => Some(scheduled),
        }
    }

    /// True if stamps of `point` are of the clock that the flow's schedule is made in.
    pub(crate) fn is_schedules_clock(&self, point: TimestampPoint) -> bool {
        point.clock_is_tai() && !(self.apart && point == TimestampPoint::RxKernel)
    }
}
