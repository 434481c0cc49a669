//! The report as one HTML file.

use crate::report::Report;
use crate::terminal::{self, Options};

/// The page.
pub fn render(report: &Report<'_>) -> String {
    let options = Options { width: 100, color: false, unicode: true };
    let table = terminal::render(report.summary, &options);
    let escaped = table.replace('&', "&amp;").replace('<', "&lt;");
    format!("<!doctype html><meta charset=utf-8><title>Teiji</title><pre>{escaped}</pre>\n")
}
