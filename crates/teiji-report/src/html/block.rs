//! A topic of the report: a section with a table or a list, and a row for each case.

use std::fmt::Write;

use super::escape::text;
use super::list;
use super::rows::{named, open};
use crate::block::{Block, Body, Table};
use crate::report::Report;

/// The section of `block`; `more` adds what comes after its table.
pub fn section(
    block: &Block,
    report: &Report<'_>,
    out: &mut String,
    more: impl FnOnce(&mut String),
) {
    open(block.id, &text(&block.heading), out);
    content(block, report, out);
    more(out);
    let _ = writeln!(out, "</section>");
}

/// The same inside of another section.
pub fn part(block: &Block, report: &Report<'_>, out: &mut String) {
    let _ = writeln!(out, "<h3>{}</h3>", text(&block.heading));
    content(block, report, out);
}

fn content(block: &Block, report: &Report<'_>, out: &mut String) {
    paragraphs(block, out);
    match &block.body {
        Body::Table(figures) => table(figures, report, out),
        Body::Sentences(cases) => {
            let all = cases.iter().flat_map(|(case, sentences)| {
                sentences.iter().map(move |one| format!("<b>{}:</b> {}", text(case), text(one)))
            });
            list("shortfalls", all, out);
        }
    }
    notes(block, out);
}

/// What the figures are, and the explanation.
pub fn paragraphs(block: &Block, out: &mut String) {
    for above in [&block.about, &block.explanation] {
        if let Some(first) = above.chars().next() {
            let rest = &above[first.len_utf8()..];
            let stop = if above.ends_with('.') { "" } else { "." };
            let _ = writeln!(
                out,
                "<p class=\"note\">{}{}{stop}</p>",
                text(&first.to_uppercase().to_string()),
                text(rest)
            );
        }
    }
}

/// The sentences below.
pub fn notes(block: &Block, out: &mut String) {
    list("caveats", block.notes.iter().map(|note| text(note)), out);
}

/// A row for each case and item, the case with its colour.
pub fn table(table: &Table, report: &Report<'_>, out: &mut String) {
    let _ = write!(out, "<div class=\"wide\"><table>\n<thead><tr><th></th>");
    let item = Some(table.item).filter(|item| !item.is_empty());
    for head in item.into_iter().chain(table.columns.iter().map(String::as_str)) {
        let _ = write!(out, "<th>{}</th>", text(head));
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in &table.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", named(report, &row.case));
        for cell in item.map(|_| &row.item).into_iter().chain(&row.cells) {
            let _ = write!(out, "<td>{}</td>", text(cell));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
}
