//! `report.html`: one file that opens offline, on a phone too, light and dark.
//!
//! Everything that can be finished here is: tables, histogram, tail, and a
//! still of the time series for paper and for browsers without scripts. The
//! script adds what moves: zoom, read-outs, switching cases.
//!
//! * `page` – the file around it: styles, scripts, data,
//! * `head`, `requirements`, `margin`, `periodic`, `results`, `rounds`, `delays`, `bands`, `ranking`,
//!   `activity`, `causes`, `outliers`, `closing` – the parts, from top to bottom,
//! * `block` – the parts that the terminal shows, too,
//! * `tables`, `rows`, `plots`, `offsets`, `still` – what they show, over `axis` and `svg`,
//! * `compare` – the page of two runs, from the same parts,
//! * `samples` – where the plots take their deviations from,
//! * `data` – the packed series, `escape` – text that others wrote.

mod activity;
mod axis;
mod bands;
mod block;
mod causes;
mod closing;
mod compare;
mod data;
mod delays;
mod escape;
mod head;
mod margin;
mod offsets;
mod outliers;
mod page;
mod periodic;
mod plots;
mod ranking;
mod requirements;
mod results;
mod rounds;
mod rows;
mod samples;
mod still;
mod svg;
mod tables;

use std::fmt::Write;

use teiji_record::Summary;

use crate::comparison::flows;
use crate::report::Report;
use crate::topics;
use crate::units::Glyphs;
use page::Page;

pub use compare::compare;

const GLYPHS: &Glyphs = &Glyphs::HTML;
/// Colours in the style sheet; further cases begin again.
const COLOURS: usize = 12;

/// The page.
pub fn render(report: &Report<'_>) -> String {
    let mut body = String::new();
    let above = topics::above(report.summary, GLYPHS);
    let below = topics::below(report.summary, GLYPHS, usize::MAX);
    head::head(report, &above, &below, &mut body);
    requirements::requirements(report, &mut body);
    margin::margin(report, &mut body);
    periodic::periodic(report, &mut body);
    for topic in &above {
        block::section(topic, report, &mut body, |_| {});
    }
    for (index, flow) in flows(report.summary).into_iter().enumerate() {
        results::results(report, flow, index, &mut body);
    }
    rounds::rounds(report, &mut body);
    delays::delays(report, &mut body);
    bands::bands(report, &mut body);
    ranking::ranking(report, &mut body);
    for topic in &below {
        block::section(topic, report, &mut body, |out| {
            if topic.id == offsets::TOPIC {
                offsets::offsets(report, out);
            }
        });
    }
    activity::activity(report, &mut body);
    causes::causes(report, &mut body);
    outliers::outliers(report, &mut body);
    closing::setup(report, &mut body);
    closing::study(report, &mut body);
    closing::closing(report, &mut body);
    let data = data::json(report);
    let Report { summary, generator, .. } = report;
    page::page(&Page { title: &summary.experiment, generator, data: &data }, &body)
}

/// The colour of a case, everywhere on the page.
fn colour(summary: &Summary, case: &str) -> usize {
    summary.cases.iter().position(|c| c.name == case).unwrap_or(0) % COLOURS
}

/// A list of sentences that are HTML already; nothing if there are none.
fn list(class: &str, sentences: impl Iterator<Item = String>, out: &mut String) {
    let mut items = String::new();
    for sentence in sentences {
        let _ = writeln!(items, "<li>{sentence}</li>");
    }
    if !items.is_empty() {
        let _ = writeln!(out, "<ul class=\"{class}\">\n{items}</ul>");
    }
}
