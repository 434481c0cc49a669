//! Measuring a transmission margin: a run with much time, one at the recommended
//! margin, one just below it.

mod experiment;
mod interface;
mod text;

pub use experiment::{FlowBench, Wanted};
pub use interface::{InterfaceBench, NEAREST_BRIDGE};
pub use text::text;

use std::path::PathBuf;

use serde::Serialize;
use teiji::load::LoadReport;
use teiji_core::time::Span;
use teiji_stats::margin::contradicts;
use teiji_stats::{Misses, Recommendation, Series, Stations};

use crate::output;

/// Frames that should be late just below the margin, at least, and one in
/// [`LATE_SHARE`].
const LATE_FRAMES: u64 = 10;
const LATE_SHARE: u64 = 1_000;
/// How often the first run is repeated with more time, if it had too little.
const ATTEMPTS: u8 = 3;

/// What a margin is measured on.
pub trait Bench {
    /// Sends frames with this margin and delta. `round` tells apart runs that
    /// must be independent of each other.
    fn run(&self, margin: Span, delta: Span, round: u64) -> anyhow::Result<Trial>;
    /// Margin and delta with which nothing should be late.
    fn generous(&self) -> (Span, Span);
    /// The ETF that frames pass.
    fn etf(&self) -> Etf;
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

/// What one run showed.
pub struct Trial {
    pub stations: Stations,
    pub misses: Misses,
    pub loads: Vec<LoadReport>,
    /// Its run folder.
    pub folder: Option<PathBuf>,
    /// The kernel it ran on.
    pub kernel: Option<String>,
    /// It was stopped early, or a part is missing.
    pub incomplete: bool,
}

/// A stretch in figures.
#[derive(Debug, Serialize)]
pub struct Stretch {
    pub name: &'static str,
    pub median_ns: i64,
    /// `None` if there are fewer than a thousand samples.
    pub p999_ns: Option<i64>,
    pub worst_ns: i64,
    /// The upper bound at half the miss probability, if this stretch decides.
    pub bound_ns: Option<i64>,
}

/// A run at a given margin.
#[derive(Debug, Serialize)]
pub struct Confirmation {
    pub margin_ns: i64,
    /// `None` without ETF.
    pub delta_ns: Option<i64>,
    pub misses: Misses,
    pub run: Option<PathBuf>,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub struct Findings {
    pub schema: &'static str,
    pub subject: String,
    pub testbed: &'static str,
    pub kernel: Option<String>,
    /// What was asked for; the recommendation says what was reached.
    pub wanted_probability: f64,
    pub loads: Vec<LoadReport>,
    pub stretches: Vec<Stretch>,
    pub recommendation: Recommendation,
    pub measured: Confirmation,
    pub check: Confirmation,
    /// The check does not contradict the recommendation.
    pub confirmed: bool,
    /// `None` where no measured frame would have been late.
    pub below: Option<Below>,
    /// Why the figures are not what they should be.
    pub problems: Vec<String>,
}

/// What happened just below the recommended margin.
#[derive(Debug, Serialize)]
pub struct Below {
    #[serde(flatten)]
    pub run: Confirmation,
    /// Late frames that the first run's frames predict.
    pub predicted: u64,
}

/// Measures, recommends, checks, and shows what lies below.
pub fn measure(
    bench: &dyn Bench,
    subject: String,
    testbed: &'static str,
    probability: f64,
) -> anyhow::Result<Findings> {
    let mut problems = Vec::new();
    let (mut margin, mut delta) = bench.generous();
    output::aside(format_args!("  1 of 3: measuring, with a margin of {margin}"));
    let mut first = bench.run(margin, delta, 0)?;
    for attempt in 1..ATTEMPTS {
        let more = first.misses.missed > 0 || first.misses.invalid > 0;
        if !more || first.incomplete || bench.etf() != Etf::Ours {
            break;
        }
        (margin, delta) = (margin * 2, delta * 2);
        output::aside(format_args!("  not enough for every frame; again with {margin}"));
        first = bench.run(margin, delta, u64::from(attempt))?;
    }
    let Some(recommendation) = Recommendation::of(&first.stations, probability) else {
        anyhow::bail!(
            "no frame has both of the kernel's transmit stamps, so nothing is known of its way; \
             does the driver take software time stamps (`ethtool -T`)?"
        );
    };
    problems.extend(doubts(&first, bench.etf() != Etf::Ours));
    let (at, with) =
        (Span::from_ns(recommendation.margin_ns), Span::from_ns(recommendation.delta_ns));
    // A delta that belongs to the interface stays; the margin makes up for it.
    let at = match bench.etf() {
        Etf::Theirs(delta) => at - with + with.max(delta),
        Etf::Ours | Etf::None => at,
    };
    output::aside(format_args!("  2 of 3: checking a margin of {at}"));
    let check = bench.run(at, with, u64::from(ATTEMPTS))?;
    let confirmed = !check.incomplete
        && !contradicts(check.misses.total(), check.misses.frames, recommendation.probability);
    problems
        .extend(crate::loads::problems(&check.loads).map(|said| format!("In the check, {said}.")));
    let wanted = (first.stations.count() / LATE_SHARE).max(LATE_FRAMES);
    let below = match first.stations.just_below(at, with, wanted) {
        Some((under, with)) => {
            output::aside(format_args!("  3 of 3: showing what happens at {under}"));
            let trial = bench.run(under, with, u64::from(ATTEMPTS) + 1)?;
            let predicted = first.stations.predicted(under, with);
            Some(Below { run: confirmation(under, with, bench, &trial), predicted })
        }
        None => None,
    };
    Ok(Findings {
        schema: "teiji-margin-report/1",
        subject,
        testbed,
        kernel: first.kernel.clone(),
        wanted_probability: probability,
        stretches: stretches(&first.stations, &recommendation),
        measured: confirmation(margin, delta, bench, &first),
        check: confirmation(at, with, bench, &check),
        loads: first.loads,
        recommendation,
        confirmed,
        below,
        problems,
    })
}

fn confirmation(margin: Span, delta: Span, bench: &dyn Bench, trial: &Trial) -> Confirmation {
    let delta = match bench.etf() {
        Etf::Ours => Some(delta),
        Etf::Theirs(delta) => Some(delta),
        Etf::None => None,
    };
    Confirmation {
        margin_ns: margin.as_ns(),
        delta_ns: delta.map(Span::as_ns),
        misses: trial.misses,
        run: trial.folder.clone(),
    }
}

/// Why the first run is not what it should be.
fn doubts(first: &Trial, fixed: bool) -> Vec<String> {
    let mut said: Vec<String> = crate::loads::problems(&first.loads)
        .map(|problem| format!("While measuring, {problem}."))
        .collect();
    if first.incomplete {
        said.push("The measurement was stopped early or a part of it is missing.".to_owned());
    }
    let Misses { frames, missed, invalid, .. } = first.misses;
    if missed + invalid > 0 {
        let room = if fixed { "; give --margin and ETF's delta more room" } else { "" };
        said.push(format!(
            "{} of {frames} frames were dropped by ETF while measuring, so the longest ways are \
             not among the samples{room}.",
            missed + invalid
        ));
    }
    let unstamped = first.stations.unstamped;
    if unstamped > 0 {
        said.push(format!("{unstamped} frames lack a stamp; nothing is known of their ways."));
    }
    said
}

fn stretches(stations: &Stations, recommendation: &Recommendation) -> Vec<Stretch> {
    let upper = |bound: &teiji_stats::TailBound| bound.upper_ns().map(|(ns, _)| ns);
    [
        ("wake-up", stations.wake_up(), None),
        ("hand-over, woken to qdisc", stations.hand_over(), None),
        ("both together", stations.to_qdisc(), upper(&recommendation.to_qdisc)),
        ("qdisc and driver, due to card", stations.release(), upper(&recommendation.release)),
    ]
    .into_iter()
    .filter_map(|(name, samples, bound_ns)| {
        let deviation = samples.into_iter().collect::<Series>().finish()?;
        let at = |p: f64| {
            deviation.percentiles.iter().find(|found| (found.p - p).abs() < 1e-9).map(|q| q.ns)
        };
        Some(Stretch {
            name,
            median_ns: at(50.0).unwrap_or(deviation.max_ns),
            p999_ns: at(99.9),
            worst_ns: deviation.max_ns,
            bound_ns,
        })
    })
    .collect()
}
