//! What became of the frames: a bar per case, and what went wrong in words.

use std::fmt::Write;

use teiji_record::Summary;
use teiji_record::summary::Testbed;
use teiji_stats::Counts;

use super::screen::{Screen, Style, cells, left, right};
use crate::comparison::{CaseView, Comparison};
use crate::units::{Glyphs, count};
use crate::wording;

const WIDEST_BAR: usize = 32;
/// A shorter bar shows nothing.
const SHORTEST_BAR: usize = 8;

/// One line per case of the run: how much arrived.
pub fn bars(summary: &Summary, comparison: &Comparison<'_>, label: usize, screen: &mut Screen) {
    let lines: Vec<Line> =
        comparison.cases.iter().map(|view| Line::of(view, summary.testbed, screen)).collect();
    let widest = |of: fn(&Line) -> &str| lines.iter().map(|l| cells(of(l))).max().unwrap_or(0);
    let arrived = widest(|line| &line.arrived);
    let lost = widest(|line| &line.lost);
    let others = widest(|line| &line.others);
    let around = 2 + label + 3 + 2 + arrived + 3 + lost + others;
    let bar = screen.width().saturating_sub(around).min(WIDEST_BAR);
    for line in &lines {
        let mut text = format!("  {}   ", left(&line.name, label));
        if bar >= SHORTEST_BAR {
            text.push_str(&line.bar(bar, screen));
            text.push_str("  ");
        }
        text.push_str(&right(&line.arrived, arrived));
        let lost = right(&line.lost, lost);
        let style = if line.counts.lost > 0 { Style::Yellow } else { Style::Plain };
        text.push_str("   ");
        text.push_str(&screen.paint(&lost, style));
        text.push_str(&line.others);
        screen.line(&text);
    }
    for case in &summary.cases {
        let empty = case.members.iter().all(|m| m.flows.is_empty() && m.round_trips.is_empty());
        if empty && !comparison.cases.iter().any(|view| view.case.name == case.name) {
            unmeasured_line(&case.name, label, screen);
        }
    }
}

/// All cases of a run that measured nothing.
pub fn unmeasured(summary: &Summary, label: usize, screen: &mut Screen) {
    for case in &summary.cases {
        unmeasured_line(&case.name, label, screen);
    }
}

fn unmeasured_line(name: &str, label: usize, screen: &mut Screen) {
    let name = left(&screen.foreign(name), label);
    let note = screen.paint("not measured", Style::Red);
    screen.line(&format!("  {name}   {note}"));
}

/// What did not go as planned in a run, per case, and what may help.
pub fn advice(comparison: &Comparison<'_>, screen: &mut Screen) {
    let remarks = |view: &CaseView<'_>, glyphs: &Glyphs| {
        let mut remarks = wording::shortfalls_in(comparison.testbed, view, glyphs);
        remarks.extend(wording::advice(view, glyphs));
        remarks
    };
    if sentences(comparison, remarks, screen) && comparison.testbed != Testbed::Capture {
        screen.wrapped("The report lists the frames and their timestamps (\"Outliers\").", 2, 4);
    }
}

/// What did not go as planned, per case.
pub fn shortfalls(comparison: &Comparison<'_>, screen: &mut Screen) {
    sentences(
        comparison,
        |view, glyphs| wording::shortfalls_in(comparison.testbed, view, glyphs),
        screen,
    );
}

/// Prints the `remarks` on each case; false if that is nothing.
fn sentences(
    comparison: &Comparison<'_>,
    remarks: impl Fn(&CaseView<'_>, &Glyphs) -> Vec<String>,
    screen: &mut Screen,
) -> bool {
    let mut any = false;
    for view in &comparison.cases {
        let remarks = remarks(view, screen.glyphs());
        if remarks.is_empty() {
            continue;
        }
        if !any {
            screen.blank();
            any = true;
        }
        let name = screen.foreign(&view.case.name);
        let name = screen.paint(&format!("{name}:"), Style::Yellow);
        screen.wrapped(&format!("{name} {}", remarks.join(" ")), 2, 4);
    }
    any
}

/// The pieces of a case's line.
struct Line {
    name: String,
    counts: Counts,
    arrived: String,
    lost: String,
    others: String,
}

impl Line {
    fn of(view: &CaseView<'_>, testbed: Testbed, screen: &Screen) -> Self {
        let glyphs = screen.glyphs();
        let counts = view.counts();
        let arrived =
            format!("{}/{}", count(counts.received, glyphs), count(counts.planned, glyphs));
        let lost = wording::lost(testbed);
        Self {
            name: screen.foreign(&view.case.name),
            counts,
            arrived,
            lost: format!("{}{}{lost}", count(counts.lost, glyphs), glyphs.space),
            others: others(&counts, view.case.members.iter().any(|m| m.incomplete), glyphs),
        }
    }

    fn bar(&self, columns: usize, screen: &Screen) -> String {
        let (received, planned) = (self.counts.received, self.counts.planned.max(self.counts.sent));
        let columns_u64 = columns as u64;
        // Neither a lost frame nor a received one is ever rounded away.
        let full = match (received, planned) {
            (0, _) | (_, 0) => 0,
            (r, p) if r >= p => columns_u64,
            (r, p) => {
                let share = u128::from(r) * u128::from(columns_u64) / u128::from(p);
                u64::try_from(share).unwrap_or(columns_u64).clamp(1, columns_u64 - 1)
            }
        };
        let full = usize::try_from(full).unwrap_or(columns);
        let style = match full {
            0 => Style::Red,
            full if full == columns => Style::Green,
            _ => Style::Yellow,
        };
        let (block, empty) = screen.blocks();
        let missing = screen.paint(&empty.repeat(columns - full), Style::Dim);
        format!("{}{missing}", screen.paint(&block.repeat(full), style))
    }
}

/// What became of the lost ones, as far as that is known, and what else happened:
/// ` (2 in a row, 3 dropped), 2 late`.
fn others(counts: &Counts, incomplete: bool, glyphs: &Glyphs) -> String {
    let some =
        |n: u64, what: &str| (n > 0).then(|| format!("{}{}{what}", count(n, glyphs), glyphs.space));
    let by = [
        some(counts.longest_run().unwrap_or(0), "in a row"),
        some(counts.dropped(), "dropped"),
        some(counts.unsent(), "unsent"),
    ];
    let by: Vec<String> = by.into_iter().flatten().collect();
    let mut out = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    if let Some(late) = some(counts.late, "late") {
        let _ = write!(out, ", {late}");
    }
    if incomplete {
        out.push_str(", ended early");
    }
    out
}
