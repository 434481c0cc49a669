//! `summary.json`: the results of a run for machines. Documented in
//! `docs/summary.md`; the version is part of the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji::ReceiveHeadroom;
use teiji_core::activity::Activity;
use teiji_core::cpu_time::CpuTime;
use teiji_core::time::Span;
use teiji_experiment::Judge;
use teiji_stats::{DelayStatistics, FlowStatistics, RoundStatistics, WireStatistics};

use crate::bridge_headroom::BridgeHeadroom;
use crate::card::NicCount;
use crate::json::{self, JsonFileError};
use crate::ranking::Ranking;
use crate::verdict::Verdict;

/// Format name and version of the file this crate writes.
pub const SCHEMA: &str = "teiji-summary/2";

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the experiment, or of the capture that was analysed.
    pub experiment: String,
    /// The question it asks.
    pub question: String,
    /// Whose figures, and which, answer it; where nobody said, the intervals of the
    /// first flow.
    #[serde(default)]
    pub judge: Judge,
    /// Flows that are load.
    #[serde(default)]
    pub background: Vec<String>,
    /// Key of the paper beside it.
    pub paper: Option<String>,
    /// In what the set-up differs from that paper's; full sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paper_differences: Vec<String>,
    /// Where it ran.
    pub testbed: Testbed,
    /// Cases in the experiment's order.
    pub cases: Vec<CaseSummary>,
    /// The periodic flows of a capture, the analysed one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periodic: Vec<PeriodicFlow>,
    /// What a reader must know: noise, emulation, resolution, shortfalls.
    /// Full sentences.
    pub warnings: Vec<String>,
    /// Whether each case fulfils what is required of it; empty if nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// The cases as remedies, if the experiment asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

impl Summary {
    /// The summary of `cases`, with nothing else known.
    pub fn new(experiment: impl Into<String>, testbed: Testbed, cases: Vec<CaseSummary>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            experiment: experiment.into(),
            question: String::new(),
            judge: Judge::default(),
            background: Vec::new(),
            paper: None,
            paper_differences: Vec::new(),
            testbed,
            cases,
            periodic: Vec::new(),
            warnings: Vec::new(),
            verdicts: Vec::new(),
            ranking: None,
        }
    }

    /// Reads the file, if it is of this version.
    ///
    /// # Errors
    /// If the file cannot be read, is not a summary, or has another version.
    pub fn read(path: &Path) -> Result<Self, JsonFileError> {
        json::read(path, SCHEMA)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), JsonFileError> {
        json::write(path, self)
    }
}

/// Where an experiment ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Testbed {
    /// The virtual laboratory: deterministic virtual time, emulated cards.
    Lab,
    /// This machine, real time.
    Local,
    /// Several machines, real time, each with a clock of its own.
    Machines,
    /// No run: a capture that somebody recorded.
    Capture,
}

/// A periodic flow that was found in a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodicFlow {
    /// What its frames have in common.
    pub flow: String,
    /// The options of `teiji analyze` that select it.
    pub options: String,
    /// How many frames, without copies.
    pub frames: u64,
    /// Its period, in ns.
    pub period_ns: i64,
    /// Range of its intervals' deviations from the period, in ns; `None` without
    /// an interval.
    pub range_ns: Option<i64>,
    /// True for the flow whose statistics are given.
    pub analysed: bool,
}

/// One case, with one member per seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Name of the case.
    pub name: String,
    /// One line for people.
    pub about: String,
    /// Key under `[result.…]` of the paper's figures.
    pub paper_result: Option<String>,
    /// The members of the ensemble, one per seed, in order. A member that
    /// failed is not here but in [`Summary::warnings`].
    pub members: Vec<MemberSummary>,
}

impl CaseSummary {
    /// The members of the case `name`, with nothing else known.
    pub fn new(name: impl Into<String>, members: Vec<MemberSummary>) -> Self {
        Self { name: name.into(), about: String::new(), paper_result: None, members }
    }
}

/// One case at one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberSummary {
    /// The seed.
    pub seed: u64,
    /// Parquet file, relative to the run folder.
    pub records: Option<String>,
    /// Capture, relative to the run folder.
    pub capture: Option<String>,
    /// Statistics of each flow by name.
    pub flows: BTreeMap<String, FlowStatistics>,
    /// Its round trips, by name. Their records lie beside the others
    /// (`RunFolder::rounds_name`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub round_trips: BTreeMap<String, RoundStatistics>,
    /// Of two captures the delay of each flow from the first to the second, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delays: BTreeMap<String, DelayStatistics>,
    /// What each flow did on its wire, by name; of a wire whose time is computed more
    /// than its rate.
    #[serde(default)]
    pub wire: BTreeMap<String, WireStatistics>,
    /// Of each flow with flow control its listener's headroom, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rooms: BTreeMap<String, ReceiveHeadroom>,
    /// What frames of lower levels that are under way can hold up round trips by, by their
    /// name ([`teiji_experiment::Scenario::blocking`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub blocking: BTreeMap<String, Span>,
    /// Of each bridge's port with flow control its queue space for what it forwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridge_rooms: Vec<BridgeHeadroom>,
    /// Frames that did not leave or arrive as they were meant to, as the cards
    /// counted them.
    #[serde(default)]
    pub cards: Vec<NicCount>,
    /// What the kernel's packet processing did; empty where nobody looked.
    #[serde(default)]
    pub activity: Activity,
    /// Each CPU's time while frames were sent, by number; empty where nobody looked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_time: BTreeMap<u16, CpuTime>,
    /// True if the run ended before all frames were sent.
    pub incomplete: bool,
    /// The clocks that PTP kept, card by card, then the system's; empty without PTP.
    #[serde(default)]
    pub clocks: Vec<ClockSummary>,
}

/// How well one clock followed another during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockSummary {
    /// `HOST.WIRE` of the clock, or `the system`.
    pub clock: String,
    /// `HOST.WIRE` of the grandmaster's, or of the card the system's clock follows.
    pub reference: String,
    /// From the start of the programs until it followed, in ns.
    pub settled_ns: i64,
    /// Looks at both clocks, each at one instant.
    pub samples: u64,
    /// Mean offset from the reference, in ns.
    pub mean_ns: f64,
    /// Root of the mean square of the offsets, in ns.
    pub rms_ns: f64,
    /// The offset farthest from zero, in ns.
    pub worst_ns: i64,
}
