//! The periodic flows of a capture, where there is more than one.

use std::fmt::Write;

use super::GLYPHS;
use super::escape::text;
use super::rows::open;
use crate::report::Report;
use crate::units::{count, duration};

/// A row for each flow.
pub fn periodic(report: &Report<'_>, out: &mut String) {
    let all = &report.summary.periodic;
    if all.len() < 2 {
        return;
    }
    open("periodic", "Periodic flows in the capture", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">This page is about the first. To analyse another flow, add its options \
         to the command.</p>\n<div class=\"wide\"><table>\n<thead><tr><th></th><th>period</th>\
         <th>frames</th><th>range of the intervals</th><th>options</th></tr></thead>\n<tbody>"
    );
    for flow in all {
        let range = flow.range_ns.map_or(GLYPHS.none.to_owned(), |ns| duration(ns as f64, GLYPHS));
        let _ = writeln!(
            out,
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            text(&flow.flow),
            text(&duration(flow.period_ns as f64, GLYPHS)),
            count(flow.frames, GLYPHS),
            text(&range),
            text(&flow.options)
        );
    }
    let _ = writeln!(out, "</tbody></table></div>\n</section>");
}
