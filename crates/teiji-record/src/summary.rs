//! `summary.json`: the results of a run for machines. Documented in
//! `docs/summary.md`; the version is part of the file.

use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji_experiment::Judge;

use crate::json::{self, JsonFileError};
pub use crate::member::{ClockSummary, MemberSummary};
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
    /// The cases as remedies, if the experiment requests that.
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
    /// The virtual laboratory: deterministic virtual time, emulated NICs.
    Lab,
    /// This machine, real time.
    Local,
    /// Another machine, real time.
    Machine,
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
