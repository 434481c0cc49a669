//! The table of a run in the terminal.

use std::fmt::Write;

use teiji_record::Summary;

use crate::answer::answer;
use crate::comparison::{Comparison, Figure, Measure, flows};
use crate::paper::Paper;
use crate::units::{Glyphs, Scale};
use crate::wording;

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns.
    pub width: usize,
    /// Escape sequences for colour are understood.
    pub color: bool,
    /// More than ASCII can be shown.
    pub unicode: bool,
}

/// The table of a run.
pub fn render(summary: &Summary, options: &Options) -> String {
    let glyphs = if options.unicode { &Glyphs::UNICODE } else { &Glyphs::ASCII };
    let paper = summary.paper.as_deref().and_then(|key| Paper::load(key).ok());
    let mut out = String::new();
    for flow in flows(summary) {
        let comparison = Comparison::of(summary, flow, Measure::Interval, paper.as_ref());
        for view in &comparison.cases {
            let counts = view.counts();
            let _ = writeln!(
                out,
                "  {:12} {}/{} received, {} lost",
                view.case.name, counts.received, counts.sent, counts.lost
            );
            for sentence in wording::shortfalls(view, glyphs) {
                let _ = writeln!(out, "    {sentence}");
            }
        }
        let heading = wording::heading(&comparison, glyphs);
        let _ = writeln!(out, "\n{heading}, {}", wording::seen(&comparison, glyphs));
        figures(&comparison, glyphs, &mut out);
    }
    let _ = writeln!(out, "\n{}", answer(summary, glyphs).sentence);
    for warning in &summary.warnings {
        let _ = writeln!(out, "{warning}");
    }
    out
}

fn figures(comparison: &Comparison<'_>, glyphs: &Glyphs, out: &mut String) {
    let _ = write!(out, "{:12}", "");
    for view in &comparison.cases {
        let _ = write!(out, "{:>18}", view.case.name);
    }
    if comparison.has_paper() {
        for view in &comparison.cases {
            let _ = write!(out, "{:>18}", format!("paper {}", view.case.name));
        }
    }
    out.push('\n');
    let fixed = [
        ("mean", Figure::Mean),
        ("min", Figure::Min),
        ("max", Figure::Max),
        ("range", Figure::Range),
        (glyphs.sigma, Figure::Stddev),
    ];
    let percentiles: Vec<(String, Figure)> = comparison
        .percentiles()
        .iter()
        .map(|p| (format!("p{p}"), Figure::Percentile(*p)))
        .collect();
    let rows = fixed
        .iter()
        .map(|(name, figure)| (*name, *figure))
        .chain(percentiles.iter().map(|(name, figure)| (name.as_str(), *figure)));
    for (name, figure) in rows {
        let measured: Vec<Option<f64>> =
            comparison.cases.iter().map(|v| Some(v.figure(figure)?.median)).collect();
        let published: Vec<Option<f64>> =
            comparison.cases.iter().map(|v| figure.published(v.paper.as_ref()?)).collect();
        let scale = Scale::fitting(measured.iter().chain(&published).copied().flatten());
        let _ = write!(out, "  {name:10}");
        let shown = if comparison.has_paper() { published.as_slice() } else { &[] };
        for value in measured.iter().chain(shown) {
            let text = value.map_or(glyphs.none.to_owned(), |ns| scale.text(ns, glyphs));
            let _ = write!(out, "{text:>18}");
        }
        out.push('\n');
    }
}

/// Two runs, one after the other.
pub fn compare(before: &Summary, after: &Summary, options: &Options) -> String {
    format!("before\n{}\nafter\n{}", render(before, options), render(after, options))
}
