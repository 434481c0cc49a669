//! The second half of the page: set-up, warnings, replay, limits.

use std::fmt::Write;

use super::escape::text;
use super::list;
use crate::report::{Report, SetupSection};

/// Sections that stand open before the reader clicks.
const OPEN: usize = 2;

/// The set-up as observed.
pub fn setup(report: &Report<'_>, out: &mut String) {
    if report.setup.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<section id=\"setup\">\n<h2>Set-up as observed</h2>\n<p class=\"note\">Read back from \
         the running system, not copied from the experiment. Settings that differ from the \
         experiment are marked.</p>"
    );
    for (index, section) in report.setup.iter().enumerate() {
        part(section, index < OPEN, out);
    }
    let _ = writeln!(out, "</section>");
}

fn part(section: &SetupSection, first: bool, out: &mut String) {
    let differing = section.entries.iter().filter(|entry| entry.differs()).count();
    let open = if first || differing > 0 { " open" } else { "" };
    let flag = match differing {
        0 => String::new(),
        n => format!("<span class=\"flag\">{n} not as configured</span>"),
    };
    let _ =
        writeln!(out, "<details{open}>\n<summary>{}{flag}</summary>\n<dl>", text(&section.title));
    for entry in &section.entries {
        let observed = text(&entry.observed);
        let value = match entry.planned.as_ref().filter(|_| entry.differs()) {
            Some(planned) => {
                format!(
                    "<dd class=\"differs\">{observed}<em>configured: {}</em></dd>",
                    text(planned)
                )
            }
            None => format!("<dd>{observed}</dd>"),
        };
        let _ = writeln!(out, "<dt>{}</dt>{value}", text(&entry.key));
    }
    let _ = writeln!(out, "</dl>\n</details>");
}

/// The study whose figures stand beside the measured ones.
pub fn study(report: &Report<'_>, out: &mut String) {
    let Some(paper) = &report.paper else { return };
    let _ = writeln!(
        out,
        "<section id=\"study\">\n<h2>The published study</h2>\n<p class=\"prose\">{}: <i>{}</i>, \
         {}.</p>",
        text(&paper.authors),
        text(&paper.title),
        text(&paper.year)
    );
    let published = paper.beside(report.summary);
    list("published", published.iter().map(|sentence| text(sentence)), out);
    let differences = &report.summary.paper_differences;
    if !differences.is_empty() {
        let _ = writeln!(out, "<p class=\"prose\">In what this set-up differs from it:</p>");
        list("differences", differences.iter().map(|sentence| text(sentence)), out);
    }
    let _ = writeln!(out, "<details>\n<summary>Set-up of the study</summary>\n<dl>");
    for (key, value) in &paper.setup {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", text(key), text(value));
    }
    let _ = writeln!(out, "</dl>\n</details>\n</section>");
}

/// Warnings, how to replay, and what it does not prove.
pub fn closing(report: &Report<'_>, out: &mut String) {
    if !report.summary.warnings.is_empty() {
        let _ = writeln!(out, "<section id=\"warnings\">\n<h2>Warnings</h2>");
        list("warnings", report.summary.warnings.iter().map(|sentence| text(sentence)), out);
        let _ = writeln!(out, "</section>");
    }
    if let Some(replay) = &report.replay {
        let _ = writeln!(
            out,
            "<section id=\"replay\">\n<h2>Replay</h2>\n<pre>{}</pre>\n<p class=\"prose\">{}</p>\n\
             </section>",
            text(&replay.command),
            text(&replay.note)
        );
    }
    if !report.limits.is_empty() {
        let _ = writeln!(out, "<section id=\"limits\">\n<h2>What this does not prove</h2>");
        list("limits", report.limits.iter().map(|sentence| text(sentence)), out);
        let _ = writeln!(out, "</section>");
    }
    footer(&report.generator, out);
}

/// The last line of a page.
pub fn footer(generator: &str, out: &mut String) {
    let _ = writeln!(
        out,
        "<footer>Made by {}. Everything on this page is inside this file; nothing is loaded. \
         Time series drawn with uPlot (MIT licence).</footer>",
        text(generator)
    );
}
