//! What `teiji why` has found, as a file of the run folder: `causes.json`.

use serde::{Deserialize, Serialize};

use crate::stream::Ps;
use crate::summary::{FlowCauses, Spread};

/// The file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes {
    /// [`Causes::SCHEMA`].
    pub schema: String,
    /// By case, seed and flow.
    pub flows: Vec<MemberFlow>,
}

/// What delayed the frames of a flow in a case at a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberFlow {
    /// The case.
    pub case: String,
    /// The seed.
    pub seed: u64,
    /// The flow, or the round trips.
    pub flow: String,
    /// These are round trips.
    #[serde(default)]
    pub round_trips: bool,
    /// Its kernel was traced while it was measured; `None` if it was repeated for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// What delayed them.
    #[serde(flatten)]
    pub causes: FlowCauses,
}

/// How the kernel was traced, and what that costs: the time from the expiry of the sender's timer until
/// its system call had returned; or of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracing {
    /// Of the frames before tracing began.
    pub untraced: Spans,
    /// Of those that were traced.
    pub traced: Spans,
    /// It ended at this frame, which was handed over too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<LateFrame>,
}

/// A frame that was handed over late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFrame {
    /// Its number.
    pub seq: u64,
    /// How long after its timer.
    pub handed_over_ps: Ps,
}

/// How long frames or round trips took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// How many.
    pub count: usize,
    /// How long half of them took at most.
    pub median_ps: Ps,
}

impl Spans {
    /// Of these times.
    pub fn of(mut times: Vec<Ps>) -> Self {
        Self { count: times.len(), median_ps: Spread::of(&mut times).median_ps }
    }
}

impl Default for Causes {
    fn default() -> Self {
        Self { schema: Self::SCHEMA.to_owned(), flows: Vec::new() }
    }
}

impl Causes {
    /// Format and version.
    pub const SCHEMA: &'static str = "teiji-causes/1";

    /// Adds what was found of a flow; it takes the place of what was found before.
    pub fn put(&mut self, flow: MemberFlow) {
        let same = |one: &MemberFlow| {
            (&one.case, one.seed, &one.flow) == (&flow.case, flow.seed, &flow.flow)
        };
        match self.flows.iter().position(same) {
            Some(at) => self.flows[at] = flow,
            None => self.flows.push(flow),
        }
    }
}
