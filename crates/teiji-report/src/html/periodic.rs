//! The periodic flows of a capture, where there is more than one.

use std::fmt::Write;

use super::escape::text;
use super::rows::open;
use super::{GLYPHS, block};
use crate::block::Body;
use crate::report::Report;
use crate::topics;

/// A row for each flow, its options as code.
pub fn periodic(report: &Report<'_>, out: &mut String) {
    let Some(topic) = topics::periodic::block(report.summary, GLYPHS) else { return };
    let Body::Table(table) = &topic.body else { return };
    open(topic.id, &topic.heading, out);
    block::paragraphs(&topic, out);
    let _ = write!(out, "<div class=\"wide\"><table>\n<thead><tr><th></th>");
    for head in &table.columns {
        let _ = write!(out, "<th>{head}</th>");
    }
    let _ = writeln!(out, "</tr></thead>\n<tbody>");
    for row in &table.rows {
        let _ = write!(out, "<tr><th>{}</th>", text(&row.item));
        if let [figures @ .., options] = &row.cells[..] {
            for figure in figures {
                let _ = write!(out, "<td>{}</td>", text(figure));
            }
            let _ = write!(out, "<td><code>{}</code></td>", text(options));
        }
        let _ = writeln!(out, "</tr>");
    }
    let _ = writeln!(out, "</tbody></table></div>");
    block::notes(&topic, out);
    let _ = writeln!(out, "</section>");
}
