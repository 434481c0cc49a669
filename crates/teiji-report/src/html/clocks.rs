//! How well the clocks followed: a table over all cases.

use std::fmt::Write;

use super::escape::text;
use super::{GLYPHS, colour};
use crate::clocks::followed;
use crate::report::Report;
use crate::units::duration;

/// Nothing where no clock had to follow.
pub fn clocks(report: &Report<'_>, out: &mut String) {
    let rows = followed(report.summary);
    if rows.is_empty() {
        return;
    }
    let seeds = report.summary.cases.iter().map(|case| case.members.len()).max().unwrap_or(0);
    let worst = if seeds > 1 { " Of the seeds, the worst." } else { "" };
    let _ = writeln!(
        out,
        "<section id=\"clocks\">\n<h2>Clocks</h2>\n<p class=\"note\">How far each clock was from \
         the one it follows by PTP, seen during the measurement by reading both at one \
         instant.{worst}</p>\n<div class=\"wide\"><table>\n<thead><tr><th></th><th>follows</th>\
         <th>rms</th><th>worst</th><th>settled after</th></tr></thead>\n<tbody>"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "<tr><th><i class=\"swatch c{}\"></i>{} <span class=\"what\">{}</span></th>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            colour(report.summary, row.case),
            text(row.case),
            text(row.clock),
            text(row.reference),
            text(&duration(row.rms_ns, GLYPHS)),
            text(&duration(row.worst_ns, GLYPHS)),
            text(&duration(row.settled_ns, GLYPHS)),
        );
    }
    let _ = writeln!(out, "</tbody></table></div>\n</section>");
}
