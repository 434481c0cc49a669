//! What was required, and whether it holds: the headline, and a table over all cases.

use std::fmt::Write;

use teiji_record::Verdict;

use super::escape::text;
use super::rows::{named, open};
use crate::report::Report;
use crate::verdicts::{Headline, heading, word};

const fn class(holds: bool) -> &'static str {
    if holds { "pass" } else { "fail" }
}

/// The verdict on all requirements.
pub fn headline(headline: &Headline, out: &mut String) {
    let _ = writeln!(
        out,
        "<p class=\"verdict {}\"><strong>{}</strong> {}</p>",
        class(headline.holds),
        heading(headline.holds),
        text(&headline.sentence)
    );
}

/// Nothing where nothing was required.
pub fn requirements(report: &Report<'_>, out: &mut String) {
    if report.summary.verdicts.is_empty() {
        return;
    }
    open("requirements", "Requirements", out);
    table("required", &report.summary.verdicts, &|case| named(report, case), out);
    let _ = writeln!(out, "</section>");
}

/// A row for each verdict; `named` is a case as HTML.
pub fn table(
    required: &str,
    verdicts: &[Verdict],
    named: &dyn Fn(&str) -> String,
    out: &mut String,
) {
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table class=\"verdicts\">\n<thead><tr><th></th><th>{required}</th><th></th>\
         <th>measured</th></tr></thead>\n<tbody>"
    );
    for verdict in verdicts {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>",
            named(&verdict.case),
            text(&verdict.requirement),
            class(verdict.holds),
            word(verdict.holds),
            text(&verdict.measured)
        );
    }
    let _ = writeln!(out, "</tbody></table></div>");
}
