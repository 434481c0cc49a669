//! Sections, and the cases' names in them.

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
