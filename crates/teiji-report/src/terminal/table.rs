//! The figures as columns.

use std::fmt::Write;

use super::Options;
use crate::comparison::{CaseView, Comparison, Figure, Spread};
use crate::paper::Paper;
use crate::units::{Glyphs, Scale, ratio};

/// One row: its name and a cell per column.
struct Row {
    name: String,
    cells: Vec<String>,
}

/// Rows of the table, in order.
fn rows(percentiles: &[f64], glyphs: &Glyphs) -> Vec<(String, Figure)> {
    let mut rows = vec![
        ("mean".to_owned(), Figure::Mean),
        ("min".to_owned(), Figure::Min),
        ("max".to_owned(), Figure::Max),
        ("range".to_owned(), Figure::Range),
        (glyphs.sigma.to_owned(), Figure::Stddev),
    ];
    // The middle says little about a tail, and the table stays short.
    let tail = percentiles.iter().filter(|p| **p >= 99.0);
    rows.extend(tail.map(|p| (format!("p{p}"), Figure::Percentile(*p))));
    rows
}

/// Each case's figures, and the published ones beside them.
pub fn figures(
    comparison: &Comparison<'_>,
    paper: Option<&Paper>,
    options: &Options,
    out: &mut String,
) {
    let glyphs = options.glyphs();
    let beside = comparison.has_paper();
    let names: Vec<&str> = comparison.cases.iter().map(|view| view.case.name.as_str()).collect();
    let mut heads: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    if beside {
        heads.extend(names.iter().map(|name| (*name).to_owned()));
    }
    let mut table = Vec::new();
    for (name, figure) in rows(&comparison.percentiles(), glyphs) {
        let measured: Vec<Option<Spread>> =
            comparison.cases.iter().map(|view| view.figure(figure)).collect();
        let published: Vec<Option<f64>> =
            comparison.cases.iter().map(|view| figure.published(view.paper.as_ref()?)).collect();
        if measured.iter().all(Option::is_none) {
            continue;
        }
        let mut cells = spreads(&measured, glyphs);
        if beside {
            let scale = Scale::fitting(published.iter().copied().flatten());
            let text =
                |ns: &Option<f64>| ns.map_or(glyphs.none.to_owned(), |ns| scale.text(ns, glyphs));
            cells.extend(published.iter().map(text));
        }
        table.push(Row { name, cells });
    }
    let gap = beside.then_some(names.len());
    if let Some(paper) = paper.filter(|_| beside) {
        let widths = widths(&heads, &table);
        let left: usize = widths[..names.len()].iter().map(|w| w + 2).sum();
        let title = format!("paper ({})", paper.short);
        let _ = writeln!(out, "  {:8}{:left$}    {title}", "", "");
    }
    print(&heads, &table, gap, out);
}

/// Two cases and how many times the second is the first.
pub fn ratios(
    before: &CaseView<'_>,
    after: &CaseView<'_>,
    percentiles: &[f64],
    options: &Options,
    out: &mut String,
) {
    let glyphs = options.glyphs();
    let mut table = Vec::new();
    for (name, figure) in rows(percentiles, glyphs) {
        let pair = [before.figure(figure), after.figure(figure)];
        if pair.iter().all(Option::is_none) {
            continue;
        }
        let mut cells = spreads(&pair, glyphs);
        // Means and extremes lie around zero: their ratio says nothing.
        let width = matches!(figure, Figure::Range | Figure::Stddev | Figure::Percentile(_));
        let change = match pair {
            [Some(one), Some(two)] if width => ratio(two.median, one.median, glyphs),
            _ => None,
        };
        cells.push(change.unwrap_or_default());
        table.push(Row { name, cells });
    }
    let heads = ["first", "second", "second / first"].map(str::to_owned);
    print(&heads, &table, None, out);
}

/// Cells that share a unit; with several members their spread.
fn spreads(values: &[Option<Spread>], glyphs: &Glyphs) -> Vec<String> {
    let scale = Scale::fitting(values.iter().flatten().map(|s| s.median));
    let one = |spread: &Option<Spread>| match spread {
        None => glyphs.none.to_owned(),
        Some(s) if s.members < 2 => scale.text(s.median, glyphs),
        Some(s) => {
            let around = Scale::fitting([s.min, s.max]).interval(s.min, s.max, glyphs);
            format!("{} [{around}]", scale.text(s.median, glyphs))
        }
    };
    values.iter().map(one).collect()
}

fn widths(heads: &[String], table: &[Row]) -> Vec<usize> {
    heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = table.iter().map(|row| row.cells[column].chars().count());
            cells.chain([head.chars().count()]).max().unwrap_or(0)
        })
        .collect()
}

/// Prints right-aligned columns; the published ones stand apart.
fn print(heads: &[String], table: &[Row], gap: Option<usize>, out: &mut String) {
    let widths = widths(heads, table);
    let mut line = |name: &str, cells: &[String]| {
        let mut text = format!("  {name:8}");
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            if gap == Some(column) {
                text.push_str("    ");
            }
            let _ = write!(text, "  {cell:>width$}");
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line("", heads);
    for row in table {
        line(&row.name, &row.cells);
    }
}
