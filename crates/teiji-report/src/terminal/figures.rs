//! The figures of each case side by side, the paper's beside them.

use super::screen::{Screen, Style, cells};
use super::table::{self, Column, Section};
use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread};
use crate::paper::Paper;
use crate::units::{Glyphs, Scale};
use crate::wording;

/// No percentile beyond this one, in percent; the report has all.
const TAIL: f64 = 99.99;

/// One row of the table.
#[derive(Clone, Copy)]
pub enum Row {
    /// A figure.
    One(Figure),
    /// The two extremes.
    Extremes,
}

impl Row {
    /// The rows for `comparison`: the last is the highest percentile up to
    /// p99.99, if there are enough frames for p99.
    pub fn all(comparison: &Comparison<'_>) -> Vec<Self> {
        Self::up_to(comparison.percentiles(), comparison.measure)
    }

    /// The same with a percentile that both have.
    pub fn of_both(
        comparison: &Comparison<'_>,
        one: &CaseView<'_>,
        two: &CaseView<'_>,
    ) -> Vec<Self> {
        let has = |view: &CaseView<'_>, p: f64| view.figure(Figure::Percentile(p)).is_some();
        let both = comparison.percentiles().into_iter().filter(|p| has(one, *p) && has(two, *p));
        Self::up_to(both.collect(), comparison.measure)
    }

    fn up_to(percentiles: Vec<f64>, measure: Measure) -> Vec<Self> {
        if measure == Measure::RoundTrip {
            // Of a latency every step of the tail is a figure of its own.
            let mut rows = vec![Self::One(Figure::Mean), Self::Extremes, Self::One(Figure::Stddev)];
            rows.extend(percentiles.into_iter().map(|p| Self::One(Figure::Percentile(p))));
            return rows;
        }
        let mut rows = vec![
            Self::One(Figure::Mean),
            Self::Extremes,
            Self::One(Figure::Range),
            Self::One(Figure::Stddev),
        ];
        let tail = percentiles.into_iter().rev().find(|p| *p <= TAIL + 1e-9);
        rows.extend(tail.filter(|p| *p >= 99.0).map(|p| Self::One(Figure::Percentile(p))));
        rows
    }

    pub fn name(self, glyphs: &Glyphs) -> String {
        match self {
            Self::One(Figure::Mean) => "mean".to_owned(),
            Self::One(Figure::Min) => "min".to_owned(),
            Self::One(Figure::Max) => "max".to_owned(),
            Self::One(Figure::Range) => "range".to_owned(),
            Self::One(Figure::Stddev) => glyphs.sigma.to_owned(),
            Self::One(Figure::Percentile(p)) => format!("p{p}"),
            Self::Extremes => format!("min {} max", glyphs.ellipsis),
        }
    }

    /// The ends, with the median between them where there are several members;
    /// of the extremes the outermost of all members.
    fn measured(self, view: &CaseView<'_>) -> Option<Value> {
        match self {
            Self::One(figure) => view.figure(figure).map(Value::Spread),
            Self::Extremes => {
                let (low, high) = (view.figure(Figure::Min)?, view.figure(Figure::Max)?);
                Some(Value::Ends(low.min, high.max))
            }
        }
    }

    fn published(self, view: &CaseView<'_>) -> Option<Value> {
        let paper = view.paper.as_ref()?;
        match self {
            Self::One(figure) => Spread::over(figure.published(paper)).map(Value::Spread),
            Self::Extremes => match (paper.min_ns, paper.max_ns) {
                (Some(low), Some(high)) => Some(Value::Ends(low, high)),
                (None, Some(high)) => Some(Value::UpTo(high)),
                _ => None,
            },
        }
    }
}

/// What a cell shows.
#[derive(Clone, Copy)]
pub enum Value {
    Spread(Spread),
    Ends(f64, f64),
    UpTo(f64),
}

impl Value {
    fn numbers(self) -> Vec<f64> {
        match self {
            Self::Spread(s) if s.members > 1 => vec![s.min, s.median, s.max],
            Self::Spread(s) => vec![s.median],
            Self::Ends(low, high) => vec![low, high],
            Self::UpTo(high) => vec![high],
        }
    }

    fn text(self, scale: Scale, glyphs: &Glyphs) -> String {
        let (space, dots) = (glyphs.space, glyphs.ellipsis);
        match self {
            Self::Spread(s) if s.members > 1 && s.min < s.max => format!(
                "{}{space}{dots}{space}{}",
                scale.number(s.min, glyphs),
                scale.interval(s.median, s.max, glyphs)
            ),
            Self::Spread(s) => scale.text(s.median, glyphs),
            Self::Ends(low, high) => scale.interval(low, high, glyphs),
            Self::UpTo(high) => format!("{dots}{space}{}", scale.text(high, glyphs)),
        }
    }
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
    let rows = Row::all(comparison);
    let measured: Vec<&CaseView<'_>> = comparison.cases.iter().collect();
    let published: Vec<&CaseView<'_>> =
        comparison.cases.iter().filter(|view| view.paper.is_some()).collect();
    let mut sections = vec![Section {
        heading: [wording::heading(comparison, glyphs), seen(comparison, glyphs)],
        columns: measured_columns(&measured, &rows, screen),
        style: Style::Plain,
        note: note(comparison, glyphs),
    }];
    if let Some(paper) = paper.filter(|_| !published.is_empty()) {
        let mut columns = columns(&published, &rows, Row::published, Scale::quoting, screen);
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
    let names: Vec<String> = rows.iter().map(|row| row.name(glyphs)).collect();
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

/// A column per case; every row has one `scale`.
fn columns(
    views: &[&CaseView<'_>],
    rows: &[Row],
    value: fn(Row, &CaseView<'_>) -> Option<Value>,
    scale: fn(Vec<f64>) -> Scale,
    screen: &Screen,
) -> Vec<Column> {
    let glyphs = screen.glyphs();
    let mut columns: Vec<Column> = views
        .iter()
        .map(|view| Column { head: screen.foreign(&view.case.name), cells: Vec::new() })
        .collect();
    for row in rows {
        let values: Vec<Option<Value>> = views.iter().map(|view| value(*row, view)).collect();
        let scale = scale(values.iter().flatten().flat_map(|v| v.numbers()).collect());
        for (column, value) in columns.iter_mut().zip(values) {
            let text = value.map_or(glyphs.none.to_owned(), |v| v.text(scale, glyphs));
            column.cells.push(text);
        }
    }
    columns
}

/// The measured columns.
pub fn measured_columns(views: &[&CaseView<'_>], rows: &[Row], screen: &Screen) -> Vec<Column> {
    columns(views, rows, Row::measured, Scale::fitting, screen)
}
