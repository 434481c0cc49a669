//! Columns of right-aligned figures in sections beside each other, or below
//! each other where the terminal is too narrow.

use std::ops::Range;

use super::screen::{Screen, Style, cells, left, right};

/// Between two columns.
const GAP: usize = 3;
/// Between two sections.
const SECTION_GAP: usize = 6;
/// Before the names of the rows.
const INDENT: usize = 2;

/// Columns that belong together.
pub struct Section {
    /// What the figures are, and a second line that says where they come from.
    pub heading: [String; 2],
    pub columns: Vec<Column>,
    pub style: Style,
    /// What the cells show, if that must be said; below the table.
    pub note: String,
}

/// One column, a cell for each row.
pub struct Column {
    pub head: String,
    pub cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().chain([&self.head]).map(|text| cells(text)).max().unwrap_or(0)
    }
}

impl Section {
    fn columns_width(&self, columns: Range<usize>) -> usize {
        self.columns[columns].iter().map(|column| GAP + column.width()).sum()
    }

    fn heading_width(&self) -> usize {
        self.heading.iter().map(|text| cells(text)).max().unwrap_or(0)
    }
}

/// A piece of a section that is shown at once.
struct Part<'a> {
    section: &'a Section,
    columns: Range<usize>,
}

/// Prints `sections` with one name per row, `label` columns wide.
pub fn print(sections: &[Section], rows: &[String], label: usize, screen: &mut Screen) {
    let all = |section| Part { section, columns: 0..section.columns.len() };
    let beside: Vec<Part<'_>> = sections.iter().map(all).collect();
    if width(&beside, label) <= screen.width() {
        return block(&beside, rows, label, screen);
    }
    for section in sections {
        let mut start = 0;
        while start < section.columns.len() {
            let fits = |end: &usize| {
                width(&[Part { section, columns: start..*end }], label) <= screen.width()
            };
            let end = (start + 1..=section.columns.len()).rev().find(fits).unwrap_or(start + 1);
            block(&[Part { section, columns: start..end }], rows, label, screen);
            start = end;
        }
    }
}

/// Where each part begins, and the whole width.
fn starts(parts: &[Part<'_>], label: usize) -> (Vec<usize>, usize) {
    let mut at = 0;
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let before = if index == 0 { INDENT + label } else { 0 };
        out.push(at);
        let columns = part.section.columns_width(part.columns.clone());
        // The gap before a section's first column is part of what separates it.
        let columns = if index == 0 { before + columns } else { columns.saturating_sub(GAP) };
        let heading = part.section.heading_width();
        at += columns.max(heading) + SECTION_GAP;
    }
    (out, at.saturating_sub(SECTION_GAP))
}

fn width(parts: &[Part<'_>], label: usize) -> usize {
    let last_columns = parts
        .first()
        .map_or(0, |part| INDENT + label + part.section.columns_width(part.columns.clone()));
    let (starts, whole) = starts(parts, label);
    // A heading that is too long is broken, it does not make the table wider.
    if starts.len() == 1 { last_columns } else { whole }
}

fn block(parts: &[Part<'_>], rows: &[String], label: usize, screen: &mut Screen) {
    let (starts, _) = starts(parts, label);
    let none = screen.glyphs().none;
    screen.blank();
    // A section that goes on says nothing twice.
    if parts.iter().all(|part| part.columns.start == 0) {
        headings(parts, &starts, screen);
    }
    let heads = |column: &Column| column.head.clone();
    table_line("", Style::Bold, parts, &starts, label, heads, screen);
    for (index, name) in rows.iter().enumerate() {
        let shown = |part: &Part<'_>| {
            part.section.columns[part.columns.clone()]
                .iter()
                .any(|column| column.cells.get(index).is_some_and(|text| text != none))
        };
        if !parts.iter().any(shown) {
            continue;
        }
        let cell = |column: &Column| column.cells.get(index).cloned().unwrap_or_default();
        table_line(name, Style::Plain, parts, &starts, label, cell, screen);
    }
    for part in parts.iter().filter(|part| part.columns.end == part.section.columns.len()) {
        screen.wrapped_in(&part.section.note, INDENT, INDENT, Style::Dim);
    }
}

fn headings(parts: &[Part<'_>], starts: &[usize], screen: &mut Screen) {
    if let [part] = parts {
        let [what, place] = &part.section.heading;
        screen.wrapped_in(what, 0, 0, Style::Bold);
        screen.wrapped_in(place, 0, 0, Style::Dim);
        return;
    }
    for (line, style) in [(0, Style::Bold), (1, Style::Dim)] {
        let mut text = String::new();
        for (part, start) in parts.iter().zip(starts) {
            text = left(&text, *start);
            text.push_str(&screen.paint(&part.section.heading[line], style));
        }
        if cells(&text) > 0 {
            screen.line(&text);
        }
    }
}

fn table_line(
    name: &str,
    style: Style,
    parts: &[Part<'_>],
    starts: &[usize],
    label: usize,
    cell: impl Fn(&Column) -> String,
    screen: &mut Screen,
) {
    let mut text = format!("{:INDENT$}{}", "", left(name, label));
    for (index, (part, start)) in parts.iter().zip(starts).enumerate() {
        if index > 0 {
            text = left(&text, *start);
        }
        for (place, column) in part.section.columns[part.columns.clone()].iter().enumerate() {
            if index == 0 || place > 0 {
                text.push_str(&" ".repeat(GAP));
            }
            let style = if style == Style::Plain { part.section.style } else { style };
            let content = screen.paint(&cell(column), style);
            text.push_str(&right(&content, column.width()));
        }
    }
    screen.line(&text);
}
