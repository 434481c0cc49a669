//! What answers an experiment's question.

use serde::{Deserialize, Serialize};

/// Whose figures, and which, answer the question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judge {
    /// The flow, or the round trips; `None` for all.
    pub flow: Option<String>,
    /// Two cases that are compared, the baseline first; `None` for the baseline and the
    /// best of the others.
    #[serde(default)]
    pub cases: Option<[String; 2]>,
    /// The figure.
    pub by: JudgeBy,
    /// The cases are remedies for one situation: they are ranked, and the best is given as a
    /// file of its own.
    #[serde(default)]
    pub rank: bool,
}

/// What a flow is judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JudgeBy {
    /// The deviation of each interval from the period.
    #[default]
    Interval,
    /// The deviation of each departure from the planned one.
    Schedule,
    /// Frames that leave outside their class's gates (802.1Qbv).
    Gates,
    /// Bandwidth and burst of a shaped class (802.1Qav).
    Shaping,
    /// Frames that do not arrive.
    Loss,
    /// How long round trips take.
    #[serde(rename = "round-trip")]
    RoundTrip,
}

impl JudgeBy {
    /// Whether it is the figure of one flow or of one table of round trips. The others count frames, of all flows
    /// where none is named.
    pub const fn is_of_one_flow(self) -> bool {
        matches!(self, Self::Interval | Self::Shaping | Self::RoundTrip)
    }
}
