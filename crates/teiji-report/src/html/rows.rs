//! Sections with a table that has a row for each case.

use std::fmt::Write;

use super::colour;
use super::escape::text;
use crate::report::Report;

/// Begins a section.
pub fn open(id: &str, heading: &str, out: &mut String) {
    let _ = writeln!(out, "<section id=\"{id}\">\n<h2>{heading}</h2>");
}

/// A case's name, with its colour.
pub fn named(report: &Report<'_>, case: &str) -> String {
    format!("<i class=\"swatch c{}\"></i>{}", colour(report.summary, case), text(case))
}

/// A row for each case, with its colour; the texts are escaped here.
pub fn table<'a, const N: usize, const M: usize>(
    head: &[&str; M],
    rows: impl Iterator<Item = (&'a str, [String; N])>,
    report: &Report<'_>,
    out: &mut String,
) {
    let _ = write!(out, "<div class=\"wide\"><table>\n<thead><tr><th></th>");
    for name in head {
        let _ = write!(out, "<th>{name}</th>");
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for (case, cells) in rows {
        let _ = write!(out, "<tr><th>{}</th>", named(report, case));
        for cell in cells {
            let _ = write!(out, "<td>{}</td>", text(&cell));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}
