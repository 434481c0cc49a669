//! Whether cases differ in the direction that the paper says: a table.

use std::fmt::Write;

use super::GLYPHS;
use super::rows::table;
use crate::comparison::{Comparison, Figure, Spread};
use crate::directions::directions;
use crate::report::Report;
use crate::units::Scale;

/// Nothing if the paper has no direction for these cases.
pub fn print(report: &Report<'_>, comparison: &Comparison<'_>, out: &mut String) {
    let rows = directions(comparison, report.paper.as_ref(), GLYPHS);
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<h3>Directions</h3>\n<p class=\"note\">From one case to the other, in the paper and here. \
         Alike: the seeds of both cases overlap, or single ones differ by less than a quarter.</p>"
    );
    let spread = |s: &Spread| {
        let scale = Scale::fitting([s.min, s.max]);
        if s.members > 1 {
            scale.interval(s.min, s.max, GLYPHS)
        } else {
            scale.text(s.median, GLYPHS)
        }
    };
    table(
        &["to", "figure", "paper", "measured", "direction"],
        rows.iter().map(|row| {
            let [before, after] = row.cases;
            let figure = match row.figure {
                Figure::Max => "max",
                Figure::Mean => "mean",
                _ => GLYPHS.sigma,
            };
            let [one, two] = &row.measured;
            let agrees = if row.agrees() { "agrees" } else { "does not" };
            let cells = [
                after.to_owned(),
                figure.to_owned(),
                format!("{} ({})", row.said, row.paper.word()),
                format!("{} → {} ({})", spread(one), spread(two), row.course.word()),
                agrees.to_owned(),
            ];
            (before, cells)
        }),
        report,
        out,
    );
}
