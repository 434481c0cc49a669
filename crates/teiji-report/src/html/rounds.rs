//! Round trips: their figures, every one of them, histogram, tail, and where the time
//! goes.

use std::fmt::Write;

use teiji_stats::Part;

use super::escape::text;
use super::{GLYPHS, directions, list, plots, still, tables};
use crate::comparison::{Comparison, Figure, Spread, round_trips};
use crate::report::Report;
use crate::units::{count, duration};
use crate::wording;

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
        let support = wording::support(&comparison, GLYPHS);
        list("caveats", support.iter().map(|said| text(said)), out);
        directions::print(report, &comparison, out);
        counts(report, &comparison, out);
        let shortfalls = comparison.cases.iter().flat_map(|view| {
            let name = text(&view.case.name);
            let said = wording::shortfalls_in(report.summary.testbed, view, GLYPHS);
            said.into_iter().map(move |said| format!("<b>{name}:</b> {}", text(&said)))
        });
        list("shortfalls", shortfalls, out);
        series(report, &comparison, out);
        let _ = writeln!(out, "<div class=\"pair\">");
        plots::histogram(report, &comparison, out);
        plots::tail(report, &comparison, out);
        let _ = writeln!(out, "</div>");
        parts(report, &comparison, out);
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

/// What became of the requests.
fn counts(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table>\n<thead><tr><th>Requests</th><th>planned</th><th>sent</th>\
         <th>answered</th><th>lost</th><th>late</th></tr></thead>\n<tbody>"
    );
    for view in &comparison.cases {
        let c = view.round_counts();
        let _ = write!(out, "<tr><th>{}</th>", tables::name(report, view));
        let missing = [c.planned, c.sent, c.answered].map(|n| (n, n < c.planned));
        for (n, bad) in missing.into_iter().chain([c.lost, c.late].map(|n| (n, n > 0))) {
            let class = if bad { " class=\"bad\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", count(n, GLYPHS));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}

/// Where the time goes.
fn parts(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let mut rows = String::new();
    for part in Part::ALL {
        for view in &comparison.cases {
            let over = |figure: Figure| {
                let members = view.members.iter().filter_map(|m| m.rounds?.parts.get(&part));
                Spread::over(members.filter_map(|d| figure.of(d)))
            };
            let cells = [
                over(Figure::Min).map(|s| s.min),
                over(Figure::Percentile(50.0)).map(|s| s.median),
                over(Figure::Mean).map(|s| s.median),
                over(Figure::Percentile(99.9)).map(|s| s.median),
                over(Figure::Max).map(|s| s.max),
            ];
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let _ = write!(
                rows,
                "<tr><th>{} <span class=\"what\">{}</span></th>",
                tables::name(report, view),
                wording::part(part)
            );
            for ns in cells {
                let shown = ns.map_or(GLYPHS.none.to_owned(), |ns| text(&duration(ns, GLYPHS)));
                let _ = write!(rows, "<td>{shown}</td>");
            }
            let _ = writeln!(rows, "</tr>");
        }
    }
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h3>Where the time goes</h3>\n<p class=\"note\">{}</p>\n<div class=\"wide\"><table>\n\
         <thead><tr><th></th><th>min</th><th>median</th><th>mean</th><th>p99.9</th><th>max</th>\
         </tr></thead>\n<tbody>{rows}</tbody></table></div>",
        text(wording::PARTS)
    );
}
