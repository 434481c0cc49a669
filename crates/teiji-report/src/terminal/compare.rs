//! Two runs side by side: each case that both have, with ratios, and what the difference is
//! worth.

use teiji_record::{Summary, Verdict};

use super::figures::{measured_columns, note, rows_of_both, seen, widest_label};
use super::screen::{Screen, Style, cells};
use super::table::{self, Column, Section};
use super::{Options, frames, requirements};
use crate::compare::{AFTER, BEFORE, both, decisive, is_alike, pairs, quotient, remarks, verdict};
use crate::comparison::{CaseView, Comparison, Measure, flows};
use crate::facts::facts;
use crate::figures::Row;
use crate::verdicts::{LIMITS, headline};
use crate::wording;

/// `limits` are the verdicts of [`compare::limits`](crate::compare::limits). Ends with a
/// newline.
pub fn compare(before: &Summary, after: &Summary, limits: &[Verdict], options: &Options) -> String {
    let mut screen = Screen::new(*options);
    for (which, summary) in [(BEFORE, before), (AFTER, after)] {
        run(which, summary, &mut screen);
    }
    if let Some(headline) = headline(limits, LIMITS, screen.glyphs()) {
        requirements::headline(&headline, &mut screen);
    }
    for pair in pairs(before, after) {
        let comparisons = pair.comparisons();
        if comparisons.is_empty() {
            let label = head(&pair.name, &mut screen);
            frames::unmeasured(&pair.summary, label, &mut screen);
        }
        for (title, comparison) in comparisons {
            one_case(&title, &pair.summary, &comparison, &mut screen);
        }
    }
    if !limits.is_empty() {
        screen.blank();
        screen.line(&screen.paint("Limits", Style::Bold));
        requirements::list(limits, &mut screen);
    }
    let remarks = remarks(before, after, screen.glyphs());
    if !remarks.is_empty() {
        screen.blank();
    }
    for sentence in remarks {
        screen.remark(&sentence);
    }
    screen.finish()
}

fn run(which: &str, summary: &Summary, screen: &mut Screen) {
    let comparisons: Vec<Comparison<'_>> = flows(summary)
        .into_iter()
        .map(|flow| Comparison::of(summary, flow, Measure::Interval, None))
        .collect();
    let facts = screen.foreign(&facts(summary, &comparisons, screen.glyphs()));
    let name = screen.foreign(&summary.experiment);
    let which = screen.paint(&format!("{which:8}").replace(' ', "\u{a0}"), Style::Bold);
    let dot = screen.glyphs().dot;
    screen.wrapped(&format!("{which}{name} {dot} {facts}"), 0, 8);
}

/// Prints the title of a case; returns the width of the first column.
fn head(title: &str, screen: &mut Screen) -> usize {
    screen.blank();
    let title = screen.foreign(title);
    screen.line(&screen.paint(&title, Style::Bold));
    widest_label(screen).max(cells(BEFORE))
}

fn one_case(title: &str, pair: &Summary, comparison: &Comparison<'_>, screen: &mut Screen) {
    let glyphs = screen.glyphs();
    let label = head(title, screen);
    frames::bars(pair, comparison, label, screen);
    frames::shortfalls(comparison, screen);
    let Some(views) = both(comparison) else { return };
    let (decisive, _) = decisive(comparison);
    if views.iter().any(|view| view.figure(decisive).is_none()) {
        screen.blank();
    } else {
        figures(comparison, views, label, screen);
    }
    screen.wrapped(&verdict(comparison, glyphs), 2, 2);
}

fn figures(
    comparison: &Comparison<'_>,
    views: [&CaseView<'_>; 2],
    label: usize,
    screen: &mut Screen,
) {
    let glyphs = screen.glyphs();
    let rows = rows_of_both(comparison, views);
    let mut columns = measured_columns(&views, &rows, screen);
    if is_alike(comparison) {
        let ratio = |row: &Row| quotient(*row, views, glyphs).unwrap_or_default();
        let cells = rows.iter().map(ratio).collect();
        columns.push(Column { head: format!("{AFTER}/{BEFORE}"), cells });
    }
    let heading = [wording::heading(comparison, glyphs), seen(comparison, glyphs)];
    let note = note(comparison, glyphs);
    let section = Section { heading, columns, style: Style::Plain, note };
    let names: Vec<String> = rows.iter().map(|row| row.name(glyphs)).collect();
    table::print(&[section], &names, label, screen);
}
