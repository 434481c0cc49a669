//! Whether cases differ in the direction that the paper says: a row for each figure.

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use crate::comparison::Comparison;
use crate::directions::{ALIKE, Direction, directions};
use crate::paper::Paper;

/// The table; nothing if the paper has no direction for these cases.
pub fn print(
    comparison: &Comparison<'_>,
    paper: Option<&Paper>,
    label: usize,
    screen: &mut Screen,
) {
    let glyphs = screen.glyphs();
    let rows = directions(comparison, paper, glyphs);
    if rows.is_empty() {
        return;
    }
    let names: Vec<String> = rows
        .iter()
        .map(|row| {
            let [one, two] = row.cases.map(|name| screen.foreign(name));
            screen.foreign(&format!("{one} → {two}, {}", row.figure(glyphs)))
        })
        .collect();
    let column = |head: &str, cell: &dyn Fn(&Direction<'_>) -> String| Column {
        head: head.to_owned(),
        cells: rows.iter().map(|row| screen.foreign(&cell(row))).collect(),
    };
    let section = Section {
        heading: ["Directions".to_owned(), "the paper's, and these".to_owned()],
        columns: vec![
            column("paper", &|row| {
                let word = row.paper.word();
                let is_said = row.said.ends_with(word);
                if is_said { row.said.clone() } else { format!("{}, {word}", row.said) }
            }),
            column("measured", &|row| format!("{}, {}", row.measured(glyphs), row.course.word())),
            column("", &|row| row.agreement().to_owned()),
        ],
        style: Style::Plain,
        note: ALIKE.to_owned(),
    };
    table::print(&[section], &names, label, screen);
}
