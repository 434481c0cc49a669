//! Measuring a transmission margin: members with much time, a check at what they
//! recommend, longer margins if it fails, and what happens with shorter ones.

mod experiment;
mod interface;
mod search;
mod section;
mod text;

pub use experiment::{FlowBench, Wanted};
pub use interface::{InterfaceBench, NEAREST_BRIDGE};
pub use search::{MOST_RUNS, measure};
pub use section::publish;
pub use text::text;

use std::path::PathBuf;

use serde::Serialize;
use teiji::load::LoadReport;
use teiji_core::time::Span;
use teiji_stats::{Misses, Recommendation, Stations};

/// What a margin is measured on.
pub trait Bench {
    /// Sends frames with this margin and delta. `round` tells apart runs that
    /// must be independent of each other.
    ///
    /// # Errors
    /// If nothing could be measured.
    fn run(&self, margin: Span, delta: Span, round: u64) -> anyhow::Result<Trial>;
    /// Margin and delta with which nothing should be late.
    fn generous(&self) -> (Span, Span);
    /// The ETF that frames pass.
    fn etf(&self) -> Etf;
    /// Distance between two frames.
    fn period(&self) -> Span;
}

/// The ETF that frames pass on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Etf {
    /// Its delta is set for each run.
    Ours,
    /// Its delta is this one and stays.
    Theirs(Span),
    /// There is none.
    None,
}

/// What one run showed: its members are independent of each other.
pub struct Trial {
    /// Its members.
    pub members: Vec<Member>,
    /// What the loads did.
    pub loads: Vec<LoadReport>,
    /// Its run folder.
    pub folder: Option<PathBuf>,
    /// The kernel it ran on.
    pub kernel: Option<String>,
    /// It was stopped early, or a part is missing.
    pub incomplete: bool,
}

/// The frames of one start.
pub struct Member {
    /// How long the stretches of the way took.
    pub stations: Stations,
    /// Frames that were not on time.
    pub misses: Misses,
}

impl Trial {
    /// All members' frames that were not on time.
    pub fn misses(&self) -> Misses {
        self.members.iter().map(|member| member.misses).sum()
    }
}

/// A stretch in figures.
#[derive(Debug, Serialize)]
pub struct Stretch {
    /// What it is called.
    pub name: &'static str,
    /// Median, in ns.
    pub median_ns: i64,
    /// `None` if there are fewer than a thousand samples.
    pub p999_ns: Option<i64>,
    /// Longest, in ns.
    pub worst_ns: i64,
    /// The upper bound at half the miss probability, if this stretch decides.
    pub bound_ns: Option<i64>,
}

/// A run at a given margin.
#[derive(Debug, Serialize)]
pub struct Confirmation {
    /// The transmission margin, in ns.
    pub margin_ns: i64,
    /// `None` without ETF.
    pub delta_ns: Option<i64>,
    /// Frames that were not on time.
    pub misses: Misses,
    /// Of each member.
    pub members: Vec<Misses>,
    /// Its run folder, if it has one.
    pub run: Option<PathBuf>,
}

impl Confirmation {
    fn of(margin: Span, delta: Span, bench: &dyn Bench, trial: &Trial) -> Self {
        let delta = match bench.etf() {
            Etf::Ours => Some(delta),
            Etf::Theirs(delta) => Some(delta),
            Etf::None => None,
        };
        Self {
            margin_ns: margin.as_ns(),
            delta_ns: delta.map(Span::as_ns),
            misses: trial.misses(),
            members: trial.members.iter().map(|member| member.misses).collect(),
            run: trial.folder.clone(),
        }
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Name and version of the format.
    pub schema: &'static str,
    /// What was measured, for people.
    pub subject: String,
    /// `lab` or `local`.
    pub testbed: &'static str,
    /// The kernel it ran on.
    pub kernel: Option<String>,
    /// What was requested; the recommendation says what was reached.
    pub wanted_probability: f64,
    /// What the loads did.
    pub loads: Vec<LoadReport>,
    /// The stretches of a frame's way.
    pub stretches: Vec<Stretch>,
    /// What is recommended.
    pub recommendation: Recommendation,
    /// The run that was measured first.
    pub measured: Confirmation,
    /// Margins that were checked and did not hold, in order.
    pub refuted: Vec<Confirmation>,
    /// The last check.
    pub check: Confirmation,
    /// The check does not contradict the recommendation.
    pub confirmed: bool,
    /// Shorter margins, the longest first; none where no measured frame would
    /// have been late.
    pub below: Vec<Below>,
    /// Distance between two frames.
    pub period_ns: i64,
    /// How long it took to measure one frame here, in nanoseconds of a clock on the
    /// wall.
    pub cost_ns: u64,
    /// Why the figures are not what they should be.
    pub problems: Vec<String>,
}

/// What happened below the recommended margin.
#[derive(Debug, Serialize)]
pub struct Below {
    /// Its run folder, if it has one.
    #[serde(flatten)]
    pub run: Confirmation,
    /// Late frames that the measured frames foretell, at most.
    pub predicted_at_most: u64,
}
