//! How well the clocks followed: a row for each case, a column for each clock.

use teiji_record::Summary;

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use crate::clocks::{FollowedClock, followed};
use crate::units::duration;

/// Nothing where no clock had to follow.
pub fn clocks(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = followed(summary);
    let mut cases: Vec<&str> = rows.iter().map(|row| row.case).collect();
    cases.dedup();
    let mut clocks: Vec<(&str, &str)> = Vec::new();
    for row in &rows {
        if !clocks.contains(&(row.clock, row.reference)) {
            clocks.push((row.clock, row.reference));
        }
    }
    if clocks.is_empty() {
        return;
    }
    let section = |heading: [&str; 2], pick: fn(&FollowedClock<'_>) -> f64| Section {
        heading: heading.map(str::to_owned),
        columns: clocks
            .iter()
            .map(|&(clock, _)| Column {
                head: screen.foreign(clock),
                cells: cases
                    .iter()
                    .map(|case| {
                        let row = rows.iter().find(|row| row.case == *case && row.clock == clock);
                        row.map_or_else(String::new, |row| duration(pick(row), screen.glyphs()))
                    })
                    .collect(),
            })
            .collect(),
        style: Style::Plain,
        note: String::new(),
    };
    let sections = [
        section(["Offset of clocks kept by PTP", "root of the mean square"], |row| row.rms_ns),
        section(["", "at worst"], |row| row.worst_ns),
    ];
    let names: Vec<String> = cases.iter().map(|case| screen.foreign(case)).collect();
    table::print(&sections, &names, label, screen);
}
