//! The cases ranked as remedies, and what to do on this machine.

use std::fmt::Write;

use super::escape::text;
use super::rows::open;
use super::{GLYPHS, block};
use crate::ranking::{FILE, rule, sentences, table};
use crate::report::Report;

/// Nothing where nobody asked for a ranking.
pub fn ranking(report: &Report<'_>, out: &mut String) {
    let Some(ranking) = &report.summary.ranking else { return };
    open("ranking", "Which case helps most", out);
    block::table(&table(ranking, GLYPHS), report, out);
    let _ = writeln!(
        out,
        "<p class=\"note\">{}</p>\n<h3>On this machine, do this</h3>",
        text(&rule(ranking, GLYPHS))
    );
    let advice = sentences(report.summary, ranking, GLYPHS);
    let _ = writeln!(out, "<p class=\"prose\">{}</p>", text(&advice.join(" ")));
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
