//! One flow: its figures, every frame, histogram, tail, and where the time
//! goes.

use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, block, list, plots, still, tables};
use crate::comparison::{Comparison, measure};
use crate::report::Report;
use crate::topics::stretches;
use crate::{directions, wording};

/// The section of `flow`, the `index`th of the page.
pub fn results(report: &Report<'_>, flow: &str, index: usize, out: &mut String) {
    let comparison =
        Comparison::of(report.summary, flow, measure(report.summary), report.paper.as_ref());
    let id = if index == 0 { "results".to_owned() } else { format!("results-{index}") };
    let _ = writeln!(
        out,
        "<section id=\"{id}\">\n<h2>{}</h2>\n<p class=\"note\">Flow <b>{}</b>, seen {}.</p>",
        text(&wording::heading(&comparison, GLYPHS)),
        text(flow),
        text(&wording::seen(&comparison, GLYPHS))
    );
    tables::figures(report, &comparison, out);
    if let Some(found) = directions::block(&comparison, report.paper.as_ref(), GLYPHS) {
        block::part(&found, report, out);
    }
    tables::counts(report, &comparison, out);
    shortfalls_and_caveats(&comparison, out);
    if report.points.iter().any(|p| p.flow == flow && !p.deviation_ns.is_empty()) {
        let _ = writeln!(
            out,
            "<h3>Deviation of every frame</h3>\n<div class=\"series\" data-flow=\"{}\">",
            text(flow)
        );
        still::still(report, &comparison, out);
        let _ = writeln!(out, "</div>");
    }
    let _ = writeln!(out, "<div class=\"pair\">");
    plots::histogram(report, &comparison, out);
    plots::tail(report, &comparison, out);
    let _ = writeln!(out, "</div>");
    tables::where_the_time_goes(report, stretches::of_frames(&comparison).as_slice(), out);
    let _ = writeln!(out, "</section>");
}

/// What did not go as planned, and how far the stamps can be trusted.
pub(super) fn shortfalls_and_caveats(comparison: &Comparison<'_>, out: &mut String) {
    let shortfalls = comparison.cases.iter().flat_map(|view| {
        let name = text(&view.case.name);
        let sentences = wording::shortfalls_in(comparison.testbed, view, GLYPHS);
        sentences.into_iter().map(move |sentence| format!("<b>{name}:</b> {}", text(&sentence)))
    });
    list("shortfalls", shortfalls, out);
    let caveats = wording::point_caveats(comparison, GLYPHS);
    list("caveats", caveats.iter().map(|sentence| text(sentence)), out);
}
