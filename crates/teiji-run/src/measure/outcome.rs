//! What measuring one case on one machine gives: what its talkers and listeners recorded, and
//! the machine as observed. The guest sends it to its host.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use teiji::roundtrip::ReflectedCounts;
use teiji::{ListenerLog, RequesterLog, TalkerLog};
use teiji_core::time::{Instant, Tai};
use teiji_record::{ObservedCase, Sighting};
use teiji_why::document::Tracing;
use teiji_why::summary::FlowCauses;

use crate::measure::ptp::series::SyncSeries;

/// What the threads of a case recorded.
#[derive(Debug, Serialize, Deserialize)]
pub struct Logs {
    /// When the case begins; a flow's first frame leaves its offset later.
    pub base: Instant<Tai>,
    /// The same by the clocks of other machines, where the senders of flows are on such, by flow.
    pub bases: BTreeMap<u16, Instant<Tai>>,
    /// Flows whose ends are on different machines: no instant of their listeners is of their
    /// senders' clocks.
    pub apart: BTreeSet<u16>,
    /// One per flow, in the scenario's order.
    pub talkers: Vec<TalkerLog>,
    /// One per flow, in the scenario's order.
    pub listeners: Vec<ListenerLog>,
    /// One per table of round trips, in the scenario's order: the requests, and what
    /// the responder counted.
    pub rounds: Vec<(RequesterLog, ReflectedCounts)>,
    /// Sentences for the report.
    pub warnings: Vec<String>,
}

impl Logs {
    /// When the case began by the clock of a flow's sender.
    pub fn base_of(&self, flow: u16) -> Instant<Tai> {
        self.bases.get(&flow).copied().unwrap_or(self.base)
    }
}

/// What delayed a flow's frames, where the kernel was traced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedFlow {
    /// The flow, or the round trips.
    pub flow: String,
    /// These are round trips.
    pub round_trips: bool,
    /// What tracing has cost.
    pub tracing: Tracing,
    /// What delayed them.
    pub causes: FlowCauses,
}

/// The result of one case on the machine it ran on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What the threads recorded.
    pub logs: Logs,
    /// The machine during the case.
    #[serde(with = "as_json")]
    pub observed: ObservedCase,
    /// Where the kernel's settings differ from what the experiment requested.
    pub differences: Vec<String>,
    /// Flows over a `vtsn` wire: the listener's hardware stamps are the wire's
    /// own time, computed.
    pub computed: BTreeSet<u16>,
    /// What delayed the frames, where the kernel was traced.
    #[serde(with = "as_json")]
    pub traced: Vec<TracedFlow>,
    /// How the clocks followed, where they were synchronised, look by look.
    pub sync: Vec<SyncSeries>,
}

impl Outcome {
    /// What an analyser would have seen on the `vtsn` wires. A frame is stamped
    /// where it arrives, when it arrives there, by the listener's clock.
    pub fn computed_sightings(&self) -> impl Iterator<Item = Sighting> + '_ {
        let arrivals = self.logs.listeners.iter().flat_map(|listener| &listener.arrivals);
        arrivals.filter(|rx| self.computed.contains(&rx.flow)).filter_map(|rx| {
            let at = Instant::from_ns(rx.rx_hardware?.as_ns());
            Some(Sighting { flow: rx.flow, seq: rx.seq, at })
        })
    }

    /// The bytes that travel from guest to host.
    ///
    /// # Errors
    /// If it cannot be serialised.
    pub fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        postcard::to_stdvec(self).context("cannot pack the measurement")
    }

    /// Reads what [`Outcome::to_bytes`] wrote; both ends are the same binary.
    ///
    /// # Errors
    /// If the bytes are not those of an [`Outcome`].
    pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        postcard::from_bytes(bytes).context("cannot read the guest's measurement")
    }
}

/// A value as JSON within another format: it has parts that only a self-describing format can
/// carry.
mod as_json {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value).map_err(S::Error::custom)?.serialize(to)
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}
