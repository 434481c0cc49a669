//! The periodic flows of a capture: of each its figures, what it is, and how to select it.

use teiji_record::Summary;

use super::screen::{Screen, Style, cells, left, right};
use crate::block::{Body, Row};
use crate::topics;
use crate::units::count;
use crate::wording;

/// Flows that are listed; all are in the JSON.
const LISTED: usize = 10;

/// Nothing unless there is more than one.
pub fn periodic(summary: &Summary, screen: &mut Screen) {
    let glyphs = screen.glyphs();
    let Some(block) = topics::periodic::block(summary, glyphs) else { return };
    let Body::Table(table) = &block.body else { return };
    screen.blank();
    let heading = format!("{}: {}", block.heading, count(table.rows.len() as u64, glyphs));
    screen.line(&screen.paint(&heading, Style::Bold));
    let shown = &table.rows[..table.rows.len().min(LISTED)];
    let facts = |row: &Row| {
        let [period, frames, range, _] = &row.cells[..] else { return Default::default() };
        [
            format!("every {period}"),
            format!("{frames}{}frames", glyphs.space),
            format!("range {range}"),
        ]
    };
    let facts: Vec<[String; 3]> = shown.iter().map(facts).collect();
    let width = |column: usize| facts.iter().map(|f| cells(&f[column])).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for (index, (row, [period, frames, range])) in shown.iter().zip(&facts).enumerate() {
        let facts = [left(period, widths[0]), right(frames, widths[1]), left(range, widths[2])];
        screen.line(&format!("  {}", facts.join("   ")));
        screen.wrapped(&screen.foreign(&row.item), 4, 6);
        let options = row.cells.last().map_or("", String::as_str);
        let select = if index == 0 { "analysed below" } else { options };
        screen.wrapped_in(&screen.foreign(select), 4, 6, Style::Dim);
    }
    if let Some(more) = wording::more_flows(table.rows.len(), LISTED, glyphs) {
        screen.wrapped(&more, 2, 2);
    }
    for note in &block.notes {
        screen.wrapped(note, 0, 2);
    }
    screen.blank();
}
