//! The comparison for machines: `teiji compare --json`.

use serde::Serialize;
use teiji_record::summary::Testbed;
use teiji_record::{Summary, Verdict};
use teiji_stats::{Counts, RoundCounts, TimestampPoint};

use super::{Pair, both, is_alike, pairs, remarks, verdict};
use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread};
use crate::units::Glyphs;

/// Name and version of the format.
pub const SCHEMA: &str = "teiji-compare/1";

/// Two runs side by side. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    before: Run,
    after: Run,
    cases: Vec<Case>,
    limits: Vec<Verdict>,
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Run {
    experiment: String,
    testbed: Testbed,
}

/// One flow, or one table of round trips, of a case that both runs have.
#[derive(Debug, Serialize)]
struct Case {
    name: String,
    of: String,
    measure: &'static str,
    /// Whether both runs were seen at the same timestamp point.
    comparable: bool,
    before: Option<Side>,
    after: Option<Side>,
    figures: Vec<Compared>,
    verdict: String,
}

#[derive(Debug, Serialize)]
struct Side {
    #[serde(rename = "vantage")]
    point: Option<TimestampPoint>,
    members: usize,
    counts: SideCounts,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum SideCounts {
    Frames(Counts),
    Requests(RoundCounts),
}

/// A figure, as `--fail-if` calls it.
#[derive(Debug, Serialize)]
struct Compared {
    figure: String,
    before: Option<Spread>,
    after: Option<Spread>,
    /// AFTER's median divided by BEFORE's, for figures that measure a width.
    ratio: Option<f64>,
}

/// The document of `teiji compare --json`, with the verdicts of [`limits`](super::limits).
pub fn document(before: &Summary, after: &Summary, limits: Vec<Verdict>) -> Document {
    let glyphs = &Glyphs::UNICODE;
    let run = |summary: &Summary| Run {
        experiment: summary.experiment.clone(),
        testbed: summary.testbed,
    };
    Document {
        schema: SCHEMA,
        before: run(before),
        after: run(after),
        cases: pairs(before, after).iter().flat_map(|pair| cases(pair, glyphs)).collect(),
        limits,
        remarks: remarks(before, after, glyphs),
    }
}

fn cases(pair: &Pair, glyphs: &Glyphs) -> Vec<Case> {
    let case = |(_, comparison): (String, Comparison<'_>)| {
        let side = |name: &str| comparison.cases.iter().find(|view| view.case.name == name);
        Case {
            name: pair.name.clone(),
            of: comparison.flow.to_owned(),
            measure: match comparison.measure {
                Measure::RoundTrip => "round-trip",
                Measure::Interval => "interval",
                Measure::Schedule => "schedule",
                Measure::Delay => "delay",
            },
            comparable: both(&comparison).is_some() && is_alike(&comparison),
            before: side(super::BEFORE).map(Side::of),
            after: side(super::AFTER).map(Side::of),
            figures: figures(&comparison),
            verdict: verdict(&comparison, glyphs),
        }
    };
    pair.comparisons().into_iter().map(case).collect()
}

impl Side {
    fn of(view: &CaseView<'_>) -> Self {
        let is_of_requests = view.members.iter().any(|member| member.rounds.is_some());
        Self {
            point: view.point,
            members: view.members.len(),
            counts: if is_of_requests {
                SideCounts::Requests(view.round_counts())
            } else {
                SideCounts::Frames(view.counts())
            },
        }
    }
}

fn figures(comparison: &Comparison<'_>) -> Vec<Compared> {
    let Some([old, new]) = both(comparison) else { return Vec::new() };
    let percentiles = comparison.percentiles().into_iter().map(Figure::Percentile);
    let compared = |figure: Figure| {
        let [before, after] = [old, new].map(|view| view.figure(figure));
        let is_width = figure.is_width() && is_alike(comparison);
        let ratio = before.zip(after).filter(|(before, _)| is_width && before.median > 0.0);
        Compared {
            figure: figure.to_string(),
            before,
            after,
            ratio: ratio.map(|(before, after)| after.median / before.median),
        }
    };
    Figure::PLAIN.into_iter().chain(percentiles).map(compared).collect()
}
