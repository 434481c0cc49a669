//! Round trips: their figures, every one of them, histogram, tail, and where the time
//! goes.

use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, block, list, plots, still, tables};
use crate::comparison::{Comparison, round_trips};
use crate::report::Report;
use crate::topics::stretches;
use crate::{directions, wording};

/// A section for each table of round trips.
pub fn rounds(report: &Report<'_>, out: &mut String) {
    for (index, name) in round_trips(report.summary).into_iter().enumerate() {
        let comparison = Comparison::of_round_trips(report.summary, name, report.paper.as_ref());
        let _ = writeln!(
            out,
            "<section id=\"round-trips-{index}\">\n<h2>{}</h2>\n<p class=\"note\">Seen {}.</p>",
            text(&wording::heading(&comparison, GLYPHS)),
            text(&wording::seen(&comparison, GLYPHS))
        );
        if comparison.deviations().next().is_some() {
            tables::figures(report, &comparison, out);
        }
        let caveats = wording::blocking(&comparison, GLYPHS);
        let caveats = caveats.into_iter().chain(wording::support(&comparison, GLYPHS));
        list("caveats", caveats.map(|caveat| text(&caveat)), out);
        if let Some(found) = directions::block(&comparison, report.paper.as_ref(), GLYPHS) {
            block::part(&found, report, out);
        }
        tables::counts(report, &comparison, out);
        let shortfalls = comparison.cases.iter().flat_map(|view| {
            let name = text(&view.case.name);
            let sentences = wording::shortfalls_in(comparison.testbed, view, GLYPHS);
            sentences.into_iter().map(move |sentence| format!("<b>{name}:</b> {}", text(&sentence)))
        });
        list("shortfalls", shortfalls, out);
        series(report, &comparison, out);
        let _ = writeln!(out, "<div class=\"pair\">");
        plots::histogram(report, &comparison, out);
        plots::tail(report, &comparison, out);
        let _ = writeln!(out, "</div>");
        tables::where_the_time_goes(report, &stretches::of_round_trips(&comparison), out);
        let _ = writeln!(out, "</section>");
    }
}

fn series(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let name = comparison.flow;
    if report.points.iter().any(|p| p.flow == name && !p.deviation_ns.is_empty()) {
        let _ = writeln!(
            out,
            "<h3>Every round trip</h3>\n<div class=\"series\" data-flow=\"{}\">",
            text(name)
        );
        still::still(report, comparison, out);
        let _ = writeln!(out, "</div>");
    }
}
