//! Round trips: what became of the requests, how long the replies took, and where the
//! time went.

use teiji_record::Summary;

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use super::{block, figures, frames};
use crate::comparison::{Comparison, flows, round_trips};
use crate::paper::Paper;
use crate::topics::stretches::{self, Stretches};
use crate::units::duration;
use crate::{directions, wording};

/// All round trips of a run, one table after the other.
pub fn rounds(summary: &Summary, paper: Option<&Paper>, label: usize, screen: &mut Screen) {
    let names = round_trips(summary);
    for name in names.iter().copied() {
        let comparison = Comparison::of_round_trips(summary, name, paper);
        if !flows(summary).is_empty() || names.len() > 1 {
            screen.blank();
            let name = screen.foreign(name);
            screen.line(&screen.paint(&name, Style::Bold));
        }
        frames::bars(summary, &comparison, label, screen);
        frames::shortfalls(&comparison, screen);
        figures::figures(&comparison, paper, label, screen);
        if let Some(found) = directions::block(&comparison, paper, screen.glyphs()) {
            block::print(&found, label, screen);
        }
        for sentence in wording::blocking(&comparison, screen.glyphs()) {
            let sentence = screen.foreign(&sentence);
            screen.wrapped(&sentence, 2, 2);
        }
        if let Some(support) = wording::support(&comparison, screen.glyphs()) {
            screen.wrapped_in(&support, 2, 2, Style::Dim);
        }
        for stretches in stretches::of_round_trips(&comparison) {
            parts(&stretches, label, screen);
        }
    }
}

/// The median and the longest of each part, a row for each case that has any.
fn parts(stretches: &Stretches<'_>, label: usize, screen: &mut Screen) {
    let glyphs = screen.glyphs();
    let (mut parts, mut cases) = (Vec::new(), Vec::new());
    for row in &stretches.rows {
        if !parts.contains(&row.stretch) {
            parts.push(row.stretch);
        }
        if !cases.contains(&row.case) {
            cases.push(row.case);
        }
    }
    let shown = |ns: Option<f64>| ns.map_or(glyphs.none.to_owned(), |ns| duration(ns, glyphs));
    let slash = " / ".replace(' ', glyphs.space);
    let cell = |part: &str, case: &str| {
        let row = stretches.rows.iter().find(|row| row.stretch == part && row.case == case);
        let (median, longest) = (row.and_then(|row| row.median), row.and_then(|row| row.max));
        format!("{}{slash}{}", shown(median), shown(longest))
    };
    let column = |part: &&str| Column {
        head: (*part).to_owned(),
        cells: cases.iter().map(|case| cell(part, case)).collect(),
    };
    let section = Section {
        heading: [stretches::HEADING.to_owned(), "median / longest".to_owned()],
        columns: parts.iter().map(column).collect(),
        style: Style::Plain,
        note: stretches.note.clone(),
    };
    let names: Vec<String> = cases.iter().map(|case| screen.foreign(case)).collect();
    table::print(&[section], &names, label, screen);
}
