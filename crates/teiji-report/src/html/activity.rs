//! What the kernel did meanwhile: a table with a column for each case.

use std::fmt::Write;

use super::GLYPHS;
use super::escape::text;
use super::rows::{named, open};
use crate::report::Report;
use crate::topics::activity::rows;

/// Nothing where nobody looked.
pub fn activity(report: &Report<'_>, out: &mut String) {
    let rows = rows(report.summary, GLYPHS);
    if rows.is_empty() {
        return;
    }
    let several = report.summary.cases.iter().any(|case| case.members.len() > 1);
    let members = if several { " Median of the seeds." } else { "" };
    open("activity", "What the kernel did", out);
    let _ = writeln!(
        out,
        "<p class=\"note\">System-wide, over the whole case. Wait time: runnable, while \
         another thread ran.{members}</p>\n\
         <div class=\"wide\"><table>\n<thead><tr><th></th>"
    );
    for case in &report.summary.cases {
        let _ = write!(out, "<th>{}</th>", named(report, &case.name));
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(&row.label));
        for cell in row.cells {
            let _ = write!(out, "<td>{}</td>", text(cell.as_deref().unwrap_or(GLYPHS.none)));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>\n</section>");
}
