//! What was required, and whether it holds: a table over all cases.

use std::fmt::Write;

use super::rows::{open, table};
use crate::report::Report;

/// Nothing where nothing was required.
pub fn verdicts(report: &Report<'_>, out: &mut String) {
    if report.summary.verdicts.is_empty() {
        return;
    }
    open("requirements", "Requirements", out);
    table(
        &["required", "verdict", "measured"],
        report.summary.verdicts.iter().map(|verdict| {
            let word = if verdict.holds { "pass" } else { "fail" };
            let cells = [verdict.requirement.clone(), word.to_owned(), verdict.measured.clone()];
            (verdict.case.as_str(), cells)
        }),
        report,
        out,
    );
    let _ = writeln!(out, "</section>");
}
