//! The search for a transmission margin: what was found, and each of its runs.

use std::fmt::Write;

use super::escape::text;
use super::list;
use crate::report::{MarginRun, Report};

/// Nothing if the run was not the last check of a search.
pub fn margin(report: &Report<'_>, out: &mut String) {
    let Some(search) = &report.margin else { return };
    let _ = writeln!(out, "<section id=\"margin\">\n<h2>Transmission margin</h2>");
    for sentence in &search.sentences {
        let _ = writeln!(out, "<p class=\"prose\">{}</p>", text(sentence));
    }
    list("caveats", search.problems.iter().map(|problem| text(problem)), out);
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table>\n<thead><tr><th>Run</th><th>margin</th><th>delta</th>\
         <th>not on time</th><th>predicted, at most</th><th class=\"words\">because</th></tr></thead>\n<tbody>"
    );
    for run in &search.runs {
        let MarginRun { what, margin, delta, not_on_time, predicted, reasons, folder } = run;
        let what = match folder {
            Some(folder) => {
                format!("<a href=\"../{}/report.html\">{}</a>", text(folder), text(what))
            }
            None => text(what),
        };
        let _ = write!(out, "<tr><th>{what}</th>");
        for cell in [margin, delta, not_on_time, predicted] {
            let _ = write!(out, "<td>{}</td>", text(cell));
        }
        let _ = writeln!(out, "<td class=\"words\">{}</td></tr>", text(reasons));
    }
    let _ = writeln!(out, "</tbody></table></div>\n</section>");
}
