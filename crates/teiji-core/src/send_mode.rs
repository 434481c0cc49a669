//! When and how frames of a flow are handed to the kernel.

use serde::{Deserialize, Serialize};

use crate::time::{Instant, Span, Tai};

/// When and how a frame is handed to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendMode {
    /// Wake at the departure time and send: the paper's *normal*.
    OnWakeUp,
    /// One send after the other, none before its departure time: a tight loop. None is late.
    BackToBack,
    /// Wake one margin before the departure time and hand the frame over with
    /// its departure time (`SO_TXTIME`): the paper's *etf*.
    LaunchTime {
        /// The transmission margin.
        margin: Span,
        /// `SOF_TXTIME_DEADLINE_MODE`: send as soon as possible but not later
        /// than the launch time.
        deadline: bool,
    },
}

impl SendMode {
    /// How long before its departure a frame's sender wakes; zero without launch times.
    pub fn margin(self) -> Span {
        match self {
            Self::LaunchTime { margin, .. } => margin,
            Self::OnWakeUp | Self::BackToBack => Span::ZERO,
        }
    }

    /// When the sender of a frame with this departure should wake.
    pub fn planned_wake(self, departure: Instant<Tai>) -> Instant<Tai> {
        departure - self.margin()
    }

    /// What the launch time means; `None` without one.
    pub fn launch(self) -> Option<LaunchMode> {
        match self {
            Self::LaunchTime { deadline: false, .. } => Some(LaunchMode::Exact),
            Self::LaunchTime { deadline: true, .. } => Some(LaunchMode::Deadline),
            Self::OnWakeUp | Self::BackToBack => None,
        }
    }
}

/// What a launch time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchMode {
    /// The frame leaves at this instant.
    Exact,
    /// The frame leaves as soon as possible, but not later
    /// (`SOF_TXTIME_DEADLINE_MODE`).
    Deadline,
}
