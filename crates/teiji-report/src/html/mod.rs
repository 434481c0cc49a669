//! `report.html`: one file that opens offline, on a phone too, light and dark.
//!
//! Tables, histogram and tail are finished here; only the time series needs
//! the script, because it can be zoomed.

mod data;
mod escape;
mod plots;
mod svg;
mod tables;

use std::fmt::Write;

use crate::answer::answer;
use crate::comparison::{Comparison, Measure, flows};
use crate::report::Report;
use crate::units::Glyphs;
use crate::wording;

use escape::text;

const CSS: &str = include_str!("../../assets/report.css");
const JS: &str = include_str!("../../assets/report.js");
const UPLOT_CSS: &str = include_str!("../../assets/vendor/uPlot.min.css");
const UPLOT_JS: &str = include_str!("../../assets/vendor/uPlot.iife.min.js");
const GLYPHS: &Glyphs = &Glyphs::HTML;

/// The page.
pub fn render(report: &Report<'_>) -> String {
    let mut body = String::new();
    head(report, &mut body);
    for flow in flows(report.summary) {
        results(report, flow, &mut body);
    }
    outliers(report, &mut body);
    setup(report, &mut body);
    closing(report, &mut body);
    page(report, &body)
}

fn page(report: &Report<'_>, body: &str) -> String {
    let title = text(&report.summary.experiment);
    let generator = text(&report.generator);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"{generator}\">\n<title>{title} – Teiji</title>\n\
         <style>\n{UPLOT_CSS}\n{CSS}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script>\n{UPLOT_JS}\n</script>\n<script>\n{JS}</script>\n</body>\n</html>\n",
        data::json(report)
    )
}

fn head(report: &Report<'_>, out: &mut String) {
    let summary = report.summary;
    let _ = writeln!(
        out,
        "<header>\n<button id=\"theme\" type=\"button\" aria-label=\"light or dark\">◐</button>\n\
         <p class=\"kicker\">Teiji · {} · {}{}</p>",
        text(&summary.experiment),
        wording::testbed(summary.testbed),
        report.created.as_deref().map_or(String::new(), |at| format!(" · {}", text(at)))
    );
    if let Some(notice) = &report.notice {
        let _ = writeln!(out, "<p class=\"notice\">{}</p>", text(notice));
    }
    let answer = answer(summary, GLYPHS);
    let lead = answer.lead.map_or(String::new(), |word| format!("<strong>{word}:</strong> "));
    let _ = writeln!(
        out,
        "<h1>{}</h1>\n<p class=\"answer\">{lead}{}</p>\n</header>",
        text(&summary.question),
        text(&answer.sentence)
    );
}

fn results(report: &Report<'_>, flow: &str, out: &mut String) {
    let comparison = Comparison::of(report.summary, flow, Measure::Interval, report.paper.as_ref());
    let heading = wording::heading(&comparison, GLYPHS);
    let seen = wording::seen(&comparison, GLYPHS);
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", text(&heading));
    let _ =
        writeln!(out, "<p class=\"seen\">Flow <b>{}</b>, seen {}.</p>", text(flow), text(&seen));
    tables::figures(&comparison, report.paper.as_ref(), out);
    tables::counts(&comparison, out);
    let shortfalls = comparison.cases.iter().flat_map(|view| {
        let name = text(&view.case.name);
        let sentences = wording::shortfalls(view, GLYPHS);
        sentences.into_iter().map(move |said| format!("<b>{name}</b>: {}", text(&said)))
    });
    list("shortfalls", shortfalls, out);
    let caveats = wording::vantage_caveats(&comparison, GLYPHS);
    list("caveats", caveats.iter().map(|said| text(said)), out);
    let _ = writeln!(
        out,
        "<h3>Every frame</h3>\n<div class=\"series\" data-flow=\"{}\"></div>\n\
         <p class=\"hint screen\">Drag to zoom, double-click or double-tap to see all, \
         click a name to hide it.</p>",
        text(flow)
    );
    plots::histogram(report, &comparison, out);
    plots::tail(report, &comparison, out);
    tables::stations(&comparison, out);
    let _ = writeln!(out, "</section>");
}

fn list(class: &str, sentences: impl Iterator<Item = String>, out: &mut String) {
    let items = sentences.fold(String::new(), |mut items, said| {
        let _ = writeln!(items, "<li>{said}</li>");
        items
    });
    if !items.is_empty() {
        let _ = writeln!(out, "<ul class=\"{class}\">\n{items}</ul>");
    }
}

fn outliers(report: &Report<'_>, out: &mut String) {
    if report.outliers.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<section>\n<h2>Outliers</h2>\n<p class=\"seen\">The frames whose interval differs most. \
         Stations in time after the scheduled departure.</p>"
    );
    tables::outliers(&report.outliers, out);
    let _ = writeln!(out, "</section>");
}

fn setup(report: &Report<'_>, out: &mut String) {
    if report.setup.is_empty() {
        return;
    }
    let _ = writeln!(out, "<section>\n<h2>Set-up as observed</h2>");
    for (index, section) in report.setup.iter().enumerate() {
        let differs = section.entries.iter().any(crate::SetupEntry::differs);
        let open = if index == 0 || differs { " open" } else { "" };
        let _ = writeln!(out, "<details{open}>\n<summary>{}</summary>\n<dl>", text(&section.title));
        for entry in &section.entries {
            let asked = match &entry.asked {
                Some(asked) if entry.differs() => {
                    format!("<br><em class=\"differs\">asked for: {}</em>", text(asked))
                }
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "<dt>{}</dt><dd>{}{asked}</dd>",
                text(&entry.key),
                text(&entry.observed)
            );
        }
        let _ = writeln!(out, "</dl>\n</details>");
    }
    let _ = writeln!(out, "</section>");
}

fn closing(report: &Report<'_>, out: &mut String) {
    if let Some(paper) = &report.paper {
        let _ = writeln!(
            out,
            "<section>\n<h2>The study beside it</h2>\n<p>{}, <i>{}</i> ({}). Set-up there: {}.</p>",
            text(&paper.authors),
            text(&paper.title),
            text(&paper.year),
            text(&paper.short)
        );
        let _ = writeln!(out, "</section>");
    }
    if let Some(replay) = &report.replay {
        let _ = writeln!(
            out,
            "<section>\n<h2>Replay</h2>\n<pre>{}</pre>\n<p>{}</p>\n</section>",
            text(&replay.command),
            text(&replay.note)
        );
    }
    if !report.summary.warnings.is_empty() {
        let _ = writeln!(out, "<section>\n<h2>To be known</h2>");
        list("warnings", report.summary.warnings.iter().map(|said| text(said)), out);
        let _ = writeln!(out, "</section>");
    }
    if !report.limits.is_empty() {
        let _ = writeln!(out, "<section>\n<h2>What this does not prove</h2>");
        list("limits", report.limits.iter().map(|said| text(said)), out);
        let _ = writeln!(out, "</section>");
    }
    let _ = writeln!(out, "<footer>{}</footer>", text(&report.generator));
}
