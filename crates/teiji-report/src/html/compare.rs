//! The page of two runs side by side: a section for each flow of each case that both have.

use std::fmt::Write;

use teiji_record::{Summary, Verdict};

use super::escape::text;
use super::page::{Page, page};
use super::results::shortfalls_and_caveats;
use super::rows::{named, open};
use super::{GLYPHS, closing, list, plots, requirements, tables};
use crate::compare::{AFTER, BEFORE, Pair, both, is_alike, pairs, quotient, remarks, verdict};
use crate::comparison::{Comparison, Figure, Measure, flows};
use crate::facts::facts;
use crate::figures::{Row, Source};
use crate::report::Report;
use crate::topics::stretches;
use crate::verdicts::{LIMITS, headline};
use crate::wording;

/// `limits` are the verdicts of [`compare::limits`](crate::compare::limits); `generator` is
/// program and version.
pub fn compare(before: &Summary, after: &Summary, limits: &[Verdict], generator: &str) -> String {
    let mut body = String::new();
    let pairs = pairs(before, after);
    head(before, after, limits, &pairs, &mut body);
    if !limits.is_empty() {
        open("limits", "Limits (--fail-if)", &mut body);
        requirements::table("limit", limits, &text, &mut body);
        let _ = writeln!(body, "</section>");
    }
    for (index, pair) in pairs.iter().enumerate() {
        case(index, pair, generator, &mut body);
    }
    let remarks = remarks(before, after, GLYPHS);
    if !remarks.is_empty() {
        open("remarks", "Remarks", &mut body);
        list("warnings", remarks.iter().map(|sentence| text(sentence)), &mut body);
        let _ = writeln!(body, "</section>");
    }
    closing::footer(generator, &mut body);
    let title = format!("{}: {BEFORE} and {AFTER}", after.experiment);
    page(&Page { title: &title, generator, data: "[]" }, &body)
}

fn head(before: &Summary, after: &Summary, limits: &[Verdict], pairs: &[Pair], out: &mut String) {
    let _ = writeln!(
        out,
        "<header>\n<div class=\"kicker\"><p><b>Teiji</b> · two runs side by side</p>\
         <button id=\"theme\" type=\"button\" class=\"screen\" hidden>Dark</button></div>\n\
         <h1>{}: {BEFORE} and {AFTER}</h1>",
        text(&after.experiment)
    );
    if let Some(headline) = headline(limits, LIMITS, GLYPHS) {
        requirements::headline(&headline, out);
    }
    let _ = writeln!(out, "<dl>");
    for (which, summary) in [(BEFORE, before), (AFTER, after)] {
        let comparisons: Vec<Comparison<'_>> = flows(summary)
            .into_iter()
            .map(|flow| Comparison::of(summary, flow, Measure::Interval, None))
            .collect();
        let facts = facts(summary, &comparisons, GLYPHS);
        let summary_line = format!("{} · {facts}", summary.experiment);
        let _ = writeln!(out, "<dt>{which}</dt><dd>{}</dd>", text(&summary_line));
    }
    let _ = write!(out, "</dl>\n<nav class=\"contents screen\" aria-label=\"Contents\">");
    for (index, pair) in pairs.iter().enumerate() {
        let _ = write!(out, "<a href=\"#case-{index}\">{}</a> ", text(&pair.name));
    }
    let _ = writeln!(out, "</nav>\n</header>");
}

fn case(index: usize, pair: &Pair, generator: &str, out: &mut String) {
    let report = Report::of(&pair.summary, generator);
    let comparisons = pair.comparisons();
    if comparisons.is_empty() {
        open(&format!("case-{index}"), &text(&pair.name), out);
        let _ = writeln!(out, "<p class=\"prose\">Not measured.</p>\n</section>");
    }
    for (place, (title, comparison)) in comparisons.into_iter().enumerate() {
        let id = match place {
            0 => format!("case-{index}"),
            _ => format!("case-{index}-{place}"),
        };
        open(&id, &text(&title), out);
        let _ = writeln!(
            out,
            "<p class=\"note\">{}, seen {}.</p>",
            text(&wording::heading(&comparison, GLYPHS)),
            text(&wording::seen(&comparison, GLYPHS))
        );
        let _ = writeln!(out, "<p class=\"prose\">{}</p>", text(&verdict(&comparison, GLYPHS)));
        figures(&report, &comparison, out);
        tables::counts(&report, &comparison, out);
        shortfalls_and_caveats(&comparison, out);
        let _ = writeln!(out, "<div class=\"pair\">");
        plots::histogram(&report, &comparison, out);
        plots::tail(&report, &comparison, out);
        let _ = writeln!(out, "</div>");
        tables::where_the_time_goes(&report, stretches::of_frames(&comparison).as_slice(), out);
        let _ = writeln!(out, "</section>");
    }
}

/// Both sides and, where they were seen at the same place, their ratio.
fn figures(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let Some(views) = both(comparison) else { return };
    let ratios = is_alike(comparison);
    let _ = write!(out, "<div class=\"wide\"><table class=\"figures\">\n<thead><tr><th></th>");
    for view in views {
        let _ = write!(out, "<th>{}</th>", named(report, &view.case.name));
    }
    if ratios {
        let _ = write!(out, "<th>{AFTER}/{BEFORE}</th>");
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in Row::every(comparison) {
        let class = if row == Row::One(Figure::Range) { " class=\"main\"" } else { "" };
        let _ = write!(out, "<tr{class}><th scope=\"row\">{}</th>", text(&row.name(GLYPHS)));
        for cell in row.cells(&views, Source::Measured) {
            let shown = cell.map_or_else(|| GLYPHS.none.to_owned(), tables::median);
            let _ = write!(out, "<td>{shown}</td>");
        }
        if ratios {
            let ratio = quotient(row, views, GLYPHS).unwrap_or_default();
            let _ = write!(out, "<td>{}</td>", text(&ratio));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}
