//! The report's tables.

use std::fmt::Write;

use super::escape::text;
use super::rows::named;
use super::{GLYPHS, colour};
use crate::comparison::{CaseView, Comparison, Figure, Measure};
use crate::figures::{Cell, Row, Source};
use crate::report::Report;
use crate::topics::stretches::{HEADING, Row as StretchRow, Stretches};
use crate::units::{count, duration, ratio};
use crate::wording;
use teiji_stats::Counts;

/// With more cases, the published figures stand below the measured ones.
const CASES_SIDE_BY_SIDE: usize = 2;

/// Measured figures, the published ones beside them, and their ratio.
pub fn figures(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let paper = comparison.has_paper();
    let columns = paper && comparison.cases.len() <= CASES_SIDE_BY_SIDE;
    let class = match (paper, columns) {
        (true, true) => "with-paper",
        (true, false) => "stacked",
        (false, _) => "plain",
    };
    let _ = writeln!(out, "<div class=\"wide\"><table class=\"figures {class}\">\n<thead>");
    figures_head(report, comparison, columns, out);
    let _ = writeln!(out, "</thead>\n<tbody>");
    for row in Row::every(comparison) {
        let class = if row == Row::One(Figure::Range) { " class=\"main\"" } else { "" };
        let name = match row {
            Row::One(Figure::Stddev) => format!("std dev {}", GLYPHS.sigma),
            _ => row.name(GLYPHS),
        };
        let _ = write!(out, "<tr{class}><th>{}</th>", text(&name));
        figures_row(comparison, row, columns, out);
        let _ = writeln!(out, "</tr>");
    }
    lost_row(comparison, columns, out);
    let _ = writeln!(out, "</tbody></table></div>");
    figures_notes(report, comparison, out);
}

fn figures_head(report: &Report<'_>, comparison: &Comparison<'_>, columns: bool, out: &mut String) {
    let n = comparison.cases.len();
    if columns {
        let _ = writeln!(
            out,
            "<tr class=\"groups\"><th></th><th class=\"group\" colspan=\"{n}\">measured</th>\
             <th class=\"group first-of-group\" colspan=\"{n}\">paper</th>\
             <th class=\"group first-of-group\" colspan=\"{n}\">measured / paper</th></tr>"
        );
    }
    let _ = write!(out, "<tr><th></th>");
    let groups = if columns { ["", "paper", "paper"].as_slice() } else { &[""] };
    for class in groups {
        for (index, view) in comparison.cases.iter().enumerate() {
            let first = if index == 0 && !class.is_empty() { " first-of-group" } else { "" };
            let _ = write!(out, "<th class=\"{class}{first}\">{}</th>", name(report, view));
        }
    }
    let _ = writeln!(out, "</tr>");
}

fn figures_row(comparison: &Comparison<'_>, row: Row, columns: bool, out: &mut String) {
    let none = || GLYPHS.none.to_owned();
    let views: Vec<&CaseView<'_>> = comparison.cases.iter().collect();
    let (measured, quoted) =
        (row.cells(&views, Source::Measured), row.cells(&views, Source::Published));
    let mut published = String::new();
    let mut ratios = String::new();
    for (index, (view, (measured, quoted))) in
        views.iter().zip(measured.into_iter().zip(quoted)).enumerate()
    {
        let first = if index == 0 { " first-of-group" } else { "" };
        let ratio = paper_ratio(view, row).map(|ratio| text(&ratio));
        let quoted = quoted.map(|cell| text(&cell.text(GLYPHS)));
        let beside = quoted.as_ref().map_or(String::new(), |quoted| {
            let ratio = ratio.as_ref().map_or(String::new(), |r| format!(" <b>{r}</b>"));
            format!("<span class=\"beside\">paper {quoted}{ratio}</span>")
        });
        let _ = write!(out, "<td>{}{beside}</td>", measured.map_or_else(none, median));
        let quoted = quoted.unwrap_or_else(none);
        let _ = write!(published, "<td class=\"paper{first}\">{quoted}</td>");
        let ratio = ratio.unwrap_or_default();
        let _ = write!(ratios, "<td class=\"paper{first}\">{ratio}</td>");
    }
    if columns {
        out.push_str(&published);
        out.push_str(&ratios);
    }
}

/// A ratio of means or extremes, which lie around zero, says nothing.
fn paper_ratio(view: &CaseView<'_>, row: Row) -> Option<String> {
    let Row::One(figure @ (Figure::Range | Figure::Stddev)) = row else { return None };
    ratio(view.figure(figure)?.median, view.paper.as_ref()?.figure(figure)?, GLYPHS)
}

/// What was lost beside the figures, which are of the others; nothing if nothing was.
fn lost_row(comparison: &Comparison<'_>, columns: bool, out: &mut String) {
    let lost = |view: &CaseView<'_>| wording::lost_of(&view.counts(), GLYPHS);
    if comparison.cases.iter().all(|view| lost(view).is_none()) {
        return;
    }
    let _ = write!(out, "<tr><th>{}</th>", wording::lost(comparison.testbed));
    for view in &comparison.cases {
        let (class, cell) = match lost(view) {
            Some(cell) => (" class=\"bad\"", text(&cell)),
            None => ("", GLYPHS.none.to_owned()),
        };
        let _ = write!(out, "<td{class}>{cell}</td>");
    }
    let beside = if columns { 2 * comparison.cases.len() } else { 0 };
    out.push_str(&"<td class=\"paper\"></td>".repeat(beside));
    let _ = writeln!(out, "</tr>");
}

fn figures_notes(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    if let Some(paper) = report.paper.as_ref().filter(|_| comparison.has_paper()) {
        let _ = writeln!(
            out,
            "<p class=\"note\">Paper: {} ({}), on {}.</p>",
            text(&paper.authors),
            text(&paper.year),
            text(&paper.short)
        );
    }
    let percentiles = comparison.percentiles();
    let p99 = percentiles.iter().find(|p| (**p - 99.0).abs() < 1e-9);
    if let Some(p) = p99.or(percentiles.last()) {
        let _ = writeln!(
            out,
            "<p class=\"note\">p{p} is the {} that {p} % of the {} do not exceed.</p>",
            comparison.measure.of_one(),
            comparison.measure.many()
        );
    }
    let survivors = wording::survivors(comparison);
    if !survivors.is_empty() {
        let _ = writeln!(out, "<p class=\"note\">{survivors}</p>");
    }
    if comparison.members() > 1 {
        let _ = writeln!(
            out,
            "<p class=\"note\">Median over {} seeds; below it the smallest and the largest where \
             they differ.</p>",
            comparison.members()
        );
    }
}

pub(super) fn name(report: &Report<'_>, view: &CaseView<'_>) -> String {
    named(report, &view.case.name)
}

/// The median; below it the ends.
pub(super) fn median(cell: Cell) -> String {
    let (median, spread) = cell.median_and_spread(GLYPHS);
    let spread = spread
        .map_or(String::new(), |ends| format!("<span class=\"spread\">{}</span>", text(&ends)));
    format!("{}{spread}", text(&median))
}

/// What became of the frames, or of the requests.
pub fn counts(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let rounds = comparison.measure == Measure::RoundTrip;
    let (what, completed) = if rounds { ("Requests", "answered") } else { ("Frames", "received") };
    let _ = write!(
        out,
        "<div class=\"wide\"><table>\n<thead><tr><th>{what}</th><th>planned</th><th>sent</th>\
         <th>{completed}</th><th title=\"for any reason: planned, not {completed}\">lost</th><th>late</th>"
    );
    if !rounds {
        let _ = write!(
            out,
            "<th title=\"of the lost ones, by ETF, as missed or invalid\">dropped</th>"
        );
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for view in &comparison.cases {
        let c = view.counts();
        let _ = write!(out, "<tr><th>{}</th>", name(report, view));
        let dropped = (!rounds).then_some(c.dropped());
        let missing = [c.planned, c.sent, c.received].map(|n| (n, n < c.planned));
        let troubles = [Some(c.lost), Some(c.late), dropped].into_iter().flatten();
        let all = missing.into_iter().chain(troubles.map(|n| (n, n > 0)));
        for (column, (n, bad)) in all.enumerate() {
            let class = if bad { " class=\"bad\"" } else { "" };
            let run = if column == missing.len() { in_a_row(&c) } else { String::new() };
            let _ = write!(out, "<td{class}>{}{run}</td>", count(n, GLYPHS));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}

/// Of the lost ones the longest run, if it is neither of one nor of all.
fn in_a_row(counts: &Counts) -> String {
    let run = counts.longest_run();
    run.map_or_else(String::new, |run| format!(" ({} in a row)", count(run, GLYPHS)))
}

/// How long each stretch of a path took, a row for each case; nothing if nothing is known.
pub fn where_the_time_goes(report: &Report<'_>, all: &[Stretches<'_>], out: &mut String) {
    let rows = || all.iter().flat_map(|stretches| &stretches.rows);
    if rows().next().is_none() {
        return;
    }
    let longest = rows().filter_map(|row| row.p99_9.or(row.median)).fold(1.0, f64::max);
    let _ = write!(
        out,
        "<h3>{HEADING}</h3>\n<div class=\"wide\"><table>\n\
         <thead><tr><th></th><th>min</th><th>median</th><th>mean</th><th>p99.9</th><th>max</th>\
         <th class=\"bar\">median, p99.9</th></tr></thead>\n<tbody>"
    );
    for row in rows() {
        let StretchRow { stretch, case, min, median, mean, p99_9, max } = *row;
        let _ = write!(
            out,
            "<tr><th>{} <span class=\"what\">{stretch}</span></th>",
            named(report, case)
        );
        for ns in [min, median, mean, p99_9, max] {
            let shown = ns.map_or(GLYPHS.none.to_owned(), |ns| text(&duration(ns, GLYPHS)));
            let _ = write!(out, "<td>{shown}</td>");
        }
        let width = |ns: Option<f64>| 100.0 * ns.unwrap_or(0.0).max(0.0) / longest;
        let _ = writeln!(
            out,
            "<td class=\"bar c{}\"><i style=\"width:{:.1}%\"></i><i style=\"width:{:.1}%\"></i></td></tr>",
            colour(report.summary, case),
            width(p99_9),
            width(median),
        );
    }
    let notes: Vec<&str> = all.iter().map(|stretches| stretches.note.as_str()).collect();
    let _ = writeln!(
        out,
        "</tbody></table></div>\n\
         <details>\n<summary>What the stretches are</summary>\n<p class=\"note\">{}</p>\n</details>",
        text(&notes.join(" "))
    );
}
