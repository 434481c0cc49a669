//! A run in the terminal: what became of the frames, the figures with the
//! paper beside them, the answer, and what must be known.

mod style;
mod table;

use std::fmt::Write;

use teiji_record::Summary;

use crate::answer::answer;
use crate::comparison::{CaseView, Comparison, Measure, flows};
use crate::paper::Paper;
use crate::units::{Glyphs, count};
use crate::wording;

use style::{Style, wrapped};

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

impl Options {
    fn glyphs(&self) -> &'static Glyphs {
        if self.unicode { &Glyphs::UNICODE } else { &Glyphs::ASCII }
    }

    fn style(&self) -> Style {
        Style { color: self.color, unicode: self.unicode }
    }
}

/// The table of a run.
pub fn render(summary: &Summary, options: &Options) -> String {
    let (glyphs, style) = (options.glyphs(), options.style());
    let paper = summary.paper.as_deref().and_then(|key| Paper::load(key).ok());
    let mut out = String::new();
    let names = flows(summary);
    for flow in &names {
        let comparison = Comparison::of(summary, flow, Measure::Interval, paper.as_ref());
        if names.len() > 1 {
            let _ = writeln!(out, "{}", style.bold(&format!("flow {flow}")));
        }
        for view in &comparison.cases {
            frames(view, longest_name(&comparison), options, &mut out);
        }
        let heading = wording::heading(&comparison, glyphs);
        let seen = wording::seen(&comparison, glyphs);
        let _ = writeln!(out, "\n{}", style.bold(&format!("{heading}, {seen}")));
        table::figures(&comparison, paper.as_ref(), options, &mut out);
        if comparison.members() > 1 {
            let note = format!(
                "median [smallest {} largest] of {} seeds",
                glyphs.ellipsis,
                comparison.members()
            );
            let _ = writeln!(out, "  {}", style.dim(&note));
        }
        out.push('\n');
    }
    let answer = answer(summary, glyphs);
    let lead = answer.lead.map_or(String::new(), |word| format!("{word}: "));
    let sentence = format!("{lead}{}", answer.sentence);
    let _ = writeln!(out, "{}", style.bold(&wrapped(&sentence, options.width)));
    for warning in &summary.warnings {
        let _ = writeln!(out, "{}", wrapped(warning, options.width));
    }
    out
}

fn longest_name(comparison: &Comparison<'_>) -> usize {
    let names = comparison.cases.iter().map(|view| view.case.name.chars().count());
    names.max().unwrap_or(0).max(8)
}

/// A case in one line: how many frames got through, and what did not.
fn frames(view: &CaseView<'_>, name_width: usize, options: &Options, out: &mut String) {
    let (glyphs, style) = (options.glyphs(), options.style());
    let counts = view.counts();
    let share =
        if counts.planned == 0 { 0.0 } else { counts.received as f64 / counts.planned as f64 };
    let numbers = format!("{}/{}", count(counts.received, glyphs), count(counts.planned, glyphs));
    let lost = format!("{} lost", count(counts.lost, glyphs));
    let lost = if counts.lost > 0 { style.warn(&lost) } else { lost };
    let bar = style.bar(share, options.width.saturating_sub(name_width + 36).clamp(8, 32));
    let name = &view.case.name;
    let _ = writeln!(out, "  {name:name_width$}  {bar}  {numbers:>15}   {lost}");
    for sentence in wording::shortfalls(view, glyphs) {
        for line in wrapped(&sentence, options.width.saturating_sub(4)).lines() {
            let _ = writeln!(out, "    {}", style.warn(line));
        }
    }
}

/// Two runs side by side, case by case.
pub fn compare(before: &Summary, after: &Summary, options: &Options) -> String {
    let (glyphs, style) = (options.glyphs(), options.style());
    let mut out = String::new();
    for flow in flows(before) {
        let one = Comparison::of(before, flow, Measure::Interval, None);
        let two = Comparison::of(after, flow, Measure::Interval, None);
        for view in &one.cases {
            let Some(other) = two.cases.iter().find(|c| c.case.name == view.case.name) else {
                let _ = writeln!(out, "{} is in the first run only\n", view.case.name);
                continue;
            };
            let heading = format!("{}, {}", view.case.name, wording::heading(&one, glyphs));
            let _ = writeln!(out, "{}", style.bold(&heading));
            if view.vantage != other.vantage {
                let _ = writeln!(
                    out,
                    "  seen {} in the first and {} in the second: do not compare",
                    view.vantage.map_or("nowhere", wording::vantage),
                    other.vantage.map_or("nowhere", wording::vantage)
                );
            }
            table::ratios(view, other, &one.percentiles(), options, &mut out);
            out.push('\n');
        }
        for view in &two.cases {
            if !one.cases.iter().any(|c| c.case.name == view.case.name) {
                let _ = writeln!(out, "{} is in the second run only\n", view.case.name);
            }
        }
    }
    let single = before.cases.iter().chain(&after.cases).all(|case| case.members.len() < 2);
    let note = if single {
        "One sample a case: no spread is known, so a small difference means nothing. \
         Ensembles (teiji run --seeds 1..16) have one."
    } else {
        "A ratio stands for a difference only where the spreads in brackets do not overlap."
    };
    let _ = writeln!(out, "{}", wrapped(note, options.width));
    out
}
