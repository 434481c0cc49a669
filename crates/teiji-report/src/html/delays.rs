//! The delay between two captures: a section for each flow.

use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, plots, still, tables};
use crate::comparison::Comparison;
use crate::delay::{self, LISTED};
use crate::report::Report;
use crate::wording;

/// Nothing for anything but two captures.
pub fn delays(report: &Report<'_>, out: &mut String) {
    let flows = delay::flows(report.summary);
    for (index, (flow, statistics)) in flows.iter().take(LISTED).enumerate() {
        let comparison = Comparison::of_delays(report.summary, flow);
        let id = if index == 0 { "results".to_owned() } else { format!("results-{index}") };
        let _ = writeln!(
            out,
            "<section id=\"{id}\">\n<h2>{}</h2>\n<p class=\"note\">Flow <b>{}</b>. {}</p>",
            text(&wording::heading(&comparison, GLYPHS)),
            text(flow),
            text(&delay::counts(statistics, GLYPHS))
        );
        if let Some(delay) = &statistics.delay {
            tables::figures(report, &comparison, out);
            series(report, &comparison, out);
            let _ = writeln!(out, "<div class=\"pair\">");
            plots::histogram(report, &comparison, out);
            // A tail of absolute values says nothing of delays below zero.
            if delay.min_ns >= 0 {
                plots::tail(report, &comparison, out);
            }
            let _ = writeln!(out, "</div>");
        }
        let _ = writeln!(out, "</section>");
    }
    if let Some(more) = wording::more_flows(flows.len(), LISTED, GLYPHS) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", text(&more));
    }
}

fn series(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    if report.points.iter().any(|p| p.flow == comparison.flow && !p.deviation_ns.is_empty()) {
        let _ = writeln!(
            out,
            "<h3>Delay of every frame</h3>\n<div class=\"series\" data-flow=\"{}\">",
            text(comparison.flow)
        );
        still::still(report, comparison, out);
        let _ = writeln!(out, "</div>");
    }
}
