//! A topic of the report: its heading, and a row for each case.

use super::screen::{Screen, Style, cells};
use super::table::{self, Column, Section};
use crate::block::{Block, Body, Table};

/// Prints `block`; names of cases take at least `label` columns.
pub fn print(block: &Block, label: usize, screen: &mut Screen) {
    match &block.body {
        Body::Table(table) => figures(block, table, label, screen),
        Body::Sentences(cases) => {
            screen.blank();
            let heading = screen.foreign(&block.heading);
            screen.wrapped_in(&heading, 0, 0, Style::Bold);
            for (case, sentences) in cases {
                let case = screen.paint(&format!("{}:", screen.foreign(case)), Style::Yellow);
                let sentences = screen.foreign(&sentences.join(" "));
                screen.wrapped(&format!("{case} {sentences}"), 2, 4);
            }
        }
    }
    for note in &block.notes {
        let note = screen.foreign(note);
        screen.wrapped_in(&note, 2, 2, Style::Dim);
    }
}

/// Of one item (a flow) the heading names it; of several each has a line above its cases.
fn figures(block: &Block, table: &Table, label: usize, screen: &mut Screen) {
    let items = table.items();
    let heading = match items[..] {
        [item] if !item.is_empty() => format!("{}: {item}", block.heading),
        _ => block.heading.clone(),
    };
    let mut names: Vec<String> = Vec::new();
    let mut columns: Vec<Column> = table
        .columns
        .iter()
        .map(|head| Column { head: screen.foreign(head), cells: Vec::new() })
        .collect();
    let several = items.len() > 1;
    for item in &items {
        if several {
            names.push(screen.foreign(item));
            for column in &mut columns {
                column.cells.push(String::new());
            }
        }
        let indent = if several { "  " } else { "" };
        for row in table.rows.iter().filter(|row| row.item == *item) {
            names.push(format!("{indent}{}", screen.foreign(&row.case)));
            for (column, cell) in columns.iter_mut().zip(&row.cells) {
                column.cells.push(screen.foreign(cell));
            }
        }
    }
    let section = Section {
        heading: [screen.foreign(&heading), screen.foreign(&block.about)],
        columns,
        style: Style::Plain,
        note: String::new(),
    };
    let longest = names.iter().map(|name| cells(name)).max().unwrap_or(0);
    table::print(&[section], &names, label.max(longest), screen);
}
