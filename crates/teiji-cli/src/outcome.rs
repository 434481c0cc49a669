//! What measuring one case on one machine gives: the logs of its talkers and
//! listeners, and the machine as observed. The guest sends it to its host.

use std::collections::BTreeSet;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use teiji::roundtrip::ReflectedCounts;
use teiji::{ListenerLog, RequesterLog, TalkerLog};
use teiji_core::time::{Instant, Tai};
use teiji_record::Sighting;
use teiji_record::summary::ClockSummary;

use crate::measure::Logs;
use crate::ptp::series::SyncSeries;
use crate::setup::ObservedCase;

/// The result of one case on the machine it ran on.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// [`ObservedCase`] as JSON: it has parts that only a self-describing
    /// format can carry.
    observed_json: String,
    /// Where the kernel's settings differ from what the experiment asked for.
    pub differences: Vec<String>,
    /// Departure of every flow's first frame.
    pub base: Instant<Tai>,
    /// One per flow, in the scenario's order.
    pub talkers: Vec<TalkerLog>,
    /// One per flow, in the scenario's order.
    pub listeners: Vec<ListenerLog>,
    /// One per table of round trips, in the scenario's order.
    pub rounds: Vec<(RequesterLog, ReflectedCounts)>,
    /// Flows over a `vtsn` wire: the listener's hardware stamps are the wire's
    /// own time, computed.
    pub computed: BTreeSet<u16>,
    /// How the clocks followed, where they were synchronised.
    pub sync: Vec<SyncSeries>,
    /// The same, summed up.
    pub clocks: Vec<ClockSummary>,
    /// Sentences for the report.
    pub warnings: Vec<String>,
}

impl Outcome {
    pub fn new(
        observed: &ObservedCase,
        differences: Vec<String>,
        logs: Logs,
    ) -> anyhow::Result<Self> {
        let observed_json =
            serde_json::to_string(observed).context("cannot write down what was observed")?;
        let Logs { base, talkers, listeners, rounds, computed, sync, clocks, warnings, .. } = logs;
        Ok(Self {
            observed_json,
            differences,
            base,
            talkers,
            listeners,
            rounds,
            computed,
            sync,
            clocks,
            warnings,
        })
    }

    /// What an analyser would have seen on the `vtsn` wires. A frame is stamped
    /// where it arrives, when it arrives there, by the listener's clock.
    pub fn computed_sightings(&self) -> impl Iterator<Item = Sighting> + '_ {
        let arrivals = self.listeners.iter().flat_map(|listener| &listener.arrivals);
        arrivals.filter(|rx| self.computed.contains(&rx.flow)).filter_map(|rx| {
            let at = Instant::from_ns(rx.rx_hardware?.as_ns());
            Some(Sighting { flow: rx.flow, seq: rx.seq, at })
        })
    }

    /// The machine as observed.
    pub fn observed(&self) -> anyhow::Result<ObservedCase> {
        serde_json::from_str(&self.observed_json).context("cannot read what was observed")
    }

    /// The machine as observed, as JSON for the manifest.
    pub fn observed_value(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_str(&self.observed_json).context("cannot read what was observed")
    }

    /// The bytes that travel from guest to host.
    pub fn to_bytes(&self) -> anyhow::Result<Vec<u8>> {
        postcard::to_stdvec(self).context("cannot pack the measurement")
    }

    /// Reads what [`Outcome::to_bytes`] wrote; both ends are the same binary.
    pub fn from_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        postcard::from_bytes(bytes).context("cannot read the guest's measurement")
    }
}
