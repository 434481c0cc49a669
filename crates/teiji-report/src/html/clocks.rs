//! How well the clocks followed: a table over all cases.

use std::fmt::Write;

use super::GLYPHS;
use super::offsets::offsets;
use super::rows::{open, table};
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
    open("clocks", "Clocks", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">How far each clock was from the one it follows by PTP, seen during the \
         measurement by reading both at one instant. Settled: close to it, and no longer coming \
         closer; only then the measurement began.{worst}</p>"
    );
    table(
        &["clock", "follows", "rms", "worst", "settled after"],
        rows.iter().map(|row| {
            let cells = [
                row.clock.to_owned(),
                row.reference.to_owned(),
                duration(row.rms_ns, GLYPHS),
                duration(row.worst_ns, GLYPHS),
                duration(row.settled_ns, GLYPHS),
            ];
            (row.case, cells)
        }),
        report,
        out,
    );
    offsets(report, out);
    let _ = writeln!(out, "</section>");
}
