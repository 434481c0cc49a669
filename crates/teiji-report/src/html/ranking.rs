//! The cases ranked as remedies, and what to do on this machine.

use std::fmt::Write;

use super::GLYPHS;
use super::escape::text;
use super::rows::{named, open};
use crate::ranking::{FILE, columns, rows, rule, sentences};
use crate::report::Report;

/// Nothing where nobody asked for a ranking.
pub fn ranking(report: &Report<'_>, out: &mut String) {
    let Some(ranking) = &report.summary.ranking else { return };
    open("ranking", "Which case helps most", out);
    let _ = writeln!(out, "<div class=\"wide\"><table>\n<thead><tr><th></th>");
    for head in columns(ranking, GLYPHS) {
        let _ = write!(out, "<th>{}</th>", text(&head));
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in rows(ranking, GLYPHS) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", named(report, row.case));
        for cell in row.cells {
            let _ = write!(out, "<td>{}</td>", text(&cell));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(
        out,
        "</tbody></table></div>\n<p class=\"note\">{}</p>\n<h3>On this machine, do this</h3>",
        text(&rule(ranking, GLYPHS))
    );
    let said = sentences(report.summary, ranking, GLYPHS);
    let _ = writeln!(out, "<p class=\"prose\">{}</p>", text(&said.join(" ")));
    if let Some(file) = &report.recommended {
        let _ = writeln!(
            out,
            "<details>\n<summary>{FILE}: <code>teiji plan</code> prints its commands, <code>teiji \
             run</code> measures it again</summary>\n<pre>{}</pre>\n</details>",
            text(file)
        );
    }
    let _ = writeln!(out, "</section>");
}
