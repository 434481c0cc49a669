//! How busy each CPU was: a row for each case, a column for each CPU.

use std::fmt::Write;

use super::GLYPHS;
use super::escape::text;
use super::rows::{named, open};
use crate::cpu_time::{HEADING, busiest, percent, rows};
use crate::report::Report;

/// Nothing where nobody looked.
pub fn cpu_time(report: &Report<'_>, out: &mut String) {
    let rows = rows(report.summary);
    if rows.is_empty() {
        return;
    }
    let several = report.summary.cases.iter().any(|case| case.members.len() > 1);
    let members = if several { " Of the seeds, the highest." } else { "" };
    open("cpu-time", HEADING, out);
    let _ = writeln!(
        out,
        "<p class=\"note\">The share of the time in which each CPU was not idle, by the kernel's \
         account, from just before the first wake-up to just after the last departure.{members}\
         </p>\n<div class=\"wide\"><table>\n<thead><tr><th></th>"
    );
    let cpus = busiest(&rows, usize::MAX);
    for cpu in &cpus {
        let _ = write!(out, "<th>CPU {cpu}</th>");
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in &rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", named(report, row.case));
        for cpu in &cpus {
            let _ = write!(out, "<td>{}</td>", text(&percent(row.utilisation.get(cpu), GLYPHS)));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>\n</section>");
}
