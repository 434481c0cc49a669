//! Whether cases differ in the direction that the paper says: a table.

use std::fmt::Write;

use super::GLYPHS;
use super::rows::table;
use crate::comparison::Comparison;
use crate::directions::{ALIKE, directions};
use crate::report::Report;

/// Nothing if the paper has no direction for these cases.
pub fn print(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let rows = directions(comparison, report.paper.as_ref(), GLYPHS);
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h3>Directions</h3>\n<p class=\"note\">From one case to the other, in the paper and here. \
         {ALIKE}</p>"
    );
    table(
        &["to", "figure", "paper", "measured", "direction"],
        rows.iter().map(|row| {
            let [before, after] = row.cases;
            let cells = [
                after.to_owned(),
                row.figure(GLYPHS).to_owned(),
                format!("{} ({})", row.said, row.paper.word()),
                format!("{} ({})", row.measured(GLYPHS), row.course.word()),
                row.agreement().to_owned(),
            ];
            (before, cells)
        }),
        report,
        out,
    );
}
