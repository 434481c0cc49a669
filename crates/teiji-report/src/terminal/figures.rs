//! The figures of each case side by side, the paper's beside them.

use super::screen::{Screen, Style, cells};
use super::table::{self, Column, Section};
use crate::comparison::{CaseView, Comparison, Figure};
use crate::figures::{Row, Source};
use crate::paper::Paper;
use crate::units::Glyphs;
use crate::wording;

/// No percentile beyond this one, in percent; the report has all.
const TAIL: f64 = 99.99;

/// The rows for `comparison`: the last is the highest percentile up to p99.99, if there are
/// enough frames for p99.
fn rows(comparison: &Comparison<'_>) -> Vec<Row> {
    Row::with_tail(comparison.percentiles(), comparison.measure, TAIL)
}

/// The same with a percentile that both have.
pub fn rows_of_both(comparison: &Comparison<'_>, [one, two]: [&CaseView<'_>; 2]) -> Vec<Row> {
    let has = |view: &CaseView<'_>, p: f64| view.figure(Figure::Percentile(p)).is_some();
    let both = comparison.percentiles().into_iter().filter(|p| has(one, *p) && has(two, *p));
    Row::with_tail(both.collect(), comparison.measure, TAIL)
}

/// The names of rows that are always there.
pub fn widest_label(screen: &Screen) -> usize {
    cells(&Row::Extremes.name(screen.glyphs()))
}

/// The table of `comparison`; nothing if no case has a figure.
pub fn figures(
    comparison: &Comparison<'_>,
    paper: Option<&Paper>,
    label: usize,
    screen: &mut Screen,
) {
    if comparison.deviations().next().is_none() {
        return;
    }
    let glyphs = screen.glyphs();
    let rows = rows(comparison);
    let measured: Vec<&CaseView<'_>> = comparison.cases.iter().collect();
    let published: Vec<&CaseView<'_>> =
        comparison.cases.iter().filter(|view| view.paper.is_some()).collect();
    let mut columns_measured = measured_columns(&measured, &rows, screen);
    for (column, view) in columns_measured.iter_mut().zip(&measured) {
        let lost = wording::lost_of(&view.counts(), glyphs);
        let lost = lost.map(|lost| screen.paint(&lost, Style::Yellow));
        column.cells.push(lost.unwrap_or_else(|| glyphs.none.to_owned()));
    }
    let notes = [note(comparison, glyphs), wording::survivors(comparison)];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let mut sections = vec![Section {
        heading: [wording::heading(comparison, glyphs), seen(comparison, glyphs)],
        columns: columns_measured,
        style: Style::Plain,
        note: notes.join(" "),
    }];
    if let Some(paper) = paper.filter(|_| !published.is_empty()) {
        let mut columns = columns(&published, &rows, Source::Published, screen);
        // A case on its own needs no partner; its name may be just `capture`.
        if let ([view], [column]) = (measured.as_slice(), columns.as_mut_slice()) {
            column.head = screen.foreign(view.case.paper_result.as_deref().unwrap_or_default());
        }
        sections.push(Section {
            heading: ["paper".to_owned(), screen.foreign(&paper.short)],
            columns,
            style: Style::Dim,
            note: String::new(),
        });
    }
    let names = rows.iter().map(|row| row.name(glyphs));
    let names: Vec<String> = names.chain([wording::lost(comparison.testbed).to_owned()]).collect();
    table::print(&sections, &names, label, screen);
}

/// What a figure of several members is; empty for one.
pub fn note(comparison: &Comparison<'_>, glyphs: &Glyphs) -> String {
    let members: Vec<usize> = comparison.cases.iter().map(|view| view.members.len()).collect();
    let (Some(least), Some(most)) = (members.iter().min(), members.iter().max()) else {
        return String::new();
    };
    if *most < 2 {
        return String::new();
    }
    let dots = glyphs.ellipsis;
    let seeds = if least == most { most.to_string() } else { format!("up to {most}") };
    format!(
        "Smallest {dots} median {dots} largest of {seeds} seeds; min {dots} max over all of them."
    )
}

/// `on the wire (capture resolution 1 µs)`.
pub fn seen(comparison: &Comparison<'_>, glyphs: &Glyphs) -> String {
    let seen = wording::seen(comparison, glyphs);
    match seen.split_once(", ") {
        Some((place, resolution)) => format!("{place} ({resolution})"),
        None => seen,
    }
}

/// A column per case.
fn columns(views: &[&CaseView<'_>], rows: &[Row], source: Source, screen: &Screen) -> Vec<Column> {
    let glyphs = screen.glyphs();
    let mut columns: Vec<Column> = views
        .iter()
        .map(|view| Column { head: screen.foreign(&view.case.name), cells: Vec::new() })
        .collect();
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(row.cells(views, source)) {
            let text = cell.map_or(glyphs.none.to_owned(), |cell| cell.text(glyphs));
            column.cells.push(text);
        }
    }
    columns
}

/// The measured columns.
pub fn measured_columns(views: &[&CaseView<'_>], rows: &[Row], screen: &Screen) -> Vec<Column> {
    columns(views, rows, Source::Measured, screen)
}
