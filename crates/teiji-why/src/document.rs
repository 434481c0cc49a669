//! What `teiji why` has found, as a file of the run folder: `causes.json`.

use serde::{Deserialize, Serialize};

use crate::summary::FlowCauses;

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
    /// What delayed them.
    #[serde(flatten)]
    pub causes: FlowCauses,
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
