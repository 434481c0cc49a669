//! Round trips: what became of the requests, how long the replies took, and where the
//! time went.

use teiji_record::Summary;
use teiji_stats::Part;

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use super::{block, figures, frames};
use crate::comparison::{CaseView, Comparison, Figure, Spread, flows, round_trips};
use crate::paper::Paper;
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
        for said in wording::blocking(&comparison, screen.glyphs()) {
            let said = screen.foreign(&said);
            screen.wrapped(&said, 2, 2);
        }
        if let Some(support) = wording::support(&comparison, screen.glyphs()) {
            screen.wrapped_in(&support, 2, 2, Style::Dim);
        }
        parts(&comparison, &Part::WHOLE, wording::PARTS, label, screen);
        parts(&comparison, &Part::WITHIN, wording::PARTS_WITHIN, label, screen);
    }
}

/// The median and the longest of each of these parts, a row for each case that has any.
fn parts(
    comparison: &Comparison<'_>,
    parts: &[Part],
    note: &str,
    label: usize,
    screen: &mut Screen,
) {
    let glyphs = screen.glyphs();
    let of = |view: &CaseView<'_>, part: Part, figure: Figure| {
        let members = view.members.iter().filter_map(|m| m.rounds?.parts.get(&part));
        Spread::over(members.filter_map(|d| d.figure(figure)))
    };
    let with_parts: Vec<&CaseView<'_>> = comparison
        .cases
        .iter()
        .filter(|view| parts.iter().any(|part| of(view, *part, Figure::Max).is_some()))
        .collect();
    if with_parts.is_empty() {
        return;
    }
    let columns = parts
        .iter()
        .map(|part| Column {
            head: wording::part(*part).to_owned(),
            cells: with_parts
                .iter()
                .map(|view| {
                    let median = of(view, *part, Figure::Percentile(50.0)).map(|s| s.median);
                    let longest = of(view, *part, Figure::Max).map(|s| s.max);
                    let shown = |ns: Option<f64>| {
                        ns.map_or(glyphs.none.to_owned(), |ns| duration(ns, glyphs))
                    };
                    format!(
                        "{}{}{}",
                        shown(median),
                        " / ".replace(' ', glyphs.space),
                        shown(longest)
                    )
                })
                .collect(),
        })
        .collect();
    let section = Section {
        heading: ["Where the time goes".to_owned(), "median / longest".to_owned()],
        columns,
        style: Style::Plain,
        note: note.to_owned(),
    };
    let names: Vec<String> = with_parts.iter().map(|v| screen.foreign(&v.case.name)).collect();
    table::print(&[section], &names, label, screen);
}
