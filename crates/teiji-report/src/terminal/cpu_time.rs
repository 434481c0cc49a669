//! How busy each CPU was: a row for each case, a column for each CPU.

use teiji_record::Summary;

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use crate::cpu_time::{HEADING, busiest, percent, rows};

/// More columns are for the report.
const MOST: usize = 8;

/// Nothing where nobody looked.
pub fn cpu_time(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = rows(summary);
    if rows.is_empty() {
        return;
    }
    let shown = busiest(&rows, MOST);
    let all = busiest(&rows, usize::MAX).len();
    let columns = shown.iter().map(|cpu| Column {
        head: format!("CPU {cpu}"),
        cells: rows.iter().map(|row| percent(row.utilisation.get(cpu), screen.glyphs())).collect(),
    });
    let section = Section {
        heading: [HEADING.to_owned(), String::new()],
        columns: columns.collect(),
        style: Style::Plain,
        note: if shown.len() < all {
            format!("The busiest {} of {all} CPUs; all of them: the report.", shown.len())
        } else {
            String::new()
        },
    };
    let names: Vec<String> = rows.iter().map(|row| screen.foreign(row.case)).collect();
    table::print(&[section], &names, label, screen);
}
