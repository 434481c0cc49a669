//! What frames did on a wire whose time is computed, and what the load was: a row for
//! each case.

use teiji_record::Summary;

use super::screen::{Screen, Style};
use super::table::{self, Column, Section};
use crate::units::{bit_rate, count, duration};
use crate::{cards, gates, load, rooms, shaping, silence, waits, wording};

/// Frames against gates, a column for each flow.
pub fn gates(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = gates::rows(summary);
    let glyphs = screen.glyphs();
    let cases = distinct(rows.iter().map(|row| row.case));
    let flows = distinct(rows.iter().map(|row| row.flow));
    if rows.is_empty() {
        return;
    }
    let cell = |case: &str, flow: &str| {
        let row = rows.iter().find(|row| row.case == case && row.flow == flow);
        row.map_or_else(String::new, |row| {
            let part = format!("{} of {}", count(row.outside, glyphs), count(row.frames, glyphs));
            match row.outside {
                0 => part,
                _ => format!("{part}, {}", duration(row.worst_ns as f64, glyphs)),
            }
        })
    };
    let columns = flows
        .iter()
        .map(|flow| Column {
            head: screen.foreign(flow),
            cells: cases.iter().map(|case| cell(case, flow)).collect(),
        })
        .collect();
    let section = Section {
        heading: [
            "Frames outside the gates of their class".to_owned(),
            "on the wire; how far at worst".to_owned(),
        ],
        columns,
        style: Style::Plain,
        note: String::new(),
    };
    print(&[section], &cases, label, screen);
    for note in gates::notes(&rows) {
        let note = screen.foreign(&note);
        screen.wrapped(&note, 2, 2);
    }
    screen.blank();
}

/// Shaped classes against their reservations, a section for each flow.
pub fn shaping(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = shaping::rows(summary);
    let glyphs = screen.glyphs();
    let cases = distinct(rows.iter().map(|row| row.case));
    let flows = distinct(rows.iter().map(|row| row.flow));
    if rows.is_empty() {
        return;
    }
    let sections: Vec<Section> = flows
        .iter()
        .map(|flow| {
            let column = |head: &str, cell: &dyn Fn(&shaping::ShapingRow<'_>) -> String| Column {
                head: head.to_owned(),
                cells: cases
                    .iter()
                    .map(|case| {
                        let row = rows.iter().find(|r| r.case == *case && r.flow == *flow);
                        row.map_or_else(String::new, cell)
                    })
                    .collect(),
            };
            let bytes = |n: u64| format!("{}{}bytes", count(n, glyphs), glyphs.space);
            Section {
                heading: [
                    format!("The class of {}", screen.foreign(flow)),
                    "on the wire, beside what is reserved".to_owned(),
                ],
                columns: vec![
                    column("bandwidth", &|row| bit_rate(row.shaping.bandwidth_bps, glyphs)),
                    column("reserved", &|row| bit_rate(row.shaping.reserved_bps, glyphs)),
                    column("burst", &|row| bytes(row.shaping.burst_bytes)),
                    column("bound", &|row| bytes(row.shaping.bound_bytes)),
                ],
                style: Style::Plain,
                note: String::new(),
            }
        })
        .collect();
    print(&sections, &cases, label, screen);
    for note in shaping::notes(&rows) {
        let note = screen.foreign(&note);
        screen.wrapped(&note, 2, 2);
    }
    screen.blank();
}

/// Room for what still comes after silence was asked for.
pub fn rooms(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = rooms::rows(summary);
    let (heading, names) = match distinct(rows.iter().map(|row| row.flow))[..] {
        [] => return,
        [flow] => (
            format!("Room for what still comes: {}", screen.foreign(flow)),
            rows.iter().map(|row| row.case.to_owned()).collect(),
        ),
        _ => (
            "Room for what still comes".to_owned(),
            rows.iter().map(|row| format!("{}: {}", row.case, row.flow)).collect::<Vec<_>>(),
        ),
    };
    let cells: Vec<_> = rows.iter().map(|row| row.cells(screen.glyphs())).collect();
    let column = |(index, head): (usize, &&str)| Column {
        head: (*head).to_owned(),
        cells: cells.iter().map(|row| row[index].clone()).collect(),
    };
    let section = Section {
        heading: [
            heading,
            "of the receiver's buffer, in bytes that the kernel charges to it".to_owned(),
        ],
        columns: rooms::HEADINGS.iter().enumerate().map(column).collect(),
        style: Style::Plain,
        note: wording::ROOMS.to_owned(),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    print(&[section], &names, label.max(longest), screen);
    screen.blank();
}

/// What still came after silence was asked for, a section for each flow.
pub fn silence(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = silence::rows(summary);
    let glyphs = screen.glyphs();
    for flow in distinct(rows.iter().map(|row| row.flow)) {
        let own: Vec<&silence::SilenceRow<'_>> =
            rows.iter().filter(|row| row.flow == flow).collect();
        let cases: Vec<&str> = own.iter().map(|row| row.case).collect();
        let column = |head: &str, cell: &dyn Fn(&silence::SilenceRow<'_>) -> String| Column {
            head: head.to_owned(),
            cells: own.iter().map(|row| cell(row)).collect(),
        };
        let longest = |row: &silence::SilenceRow<'_>| {
            row.longest_ns.map_or_else(|| glyphs.none.to_owned(), |ns| duration(ns as f64, glyphs))
        };
        let section = Section {
            heading: [
                format!("From asking for silence to silence: {}", screen.foreign(flow)),
                "at the receiver; the most frames that still came, and the longest time".to_owned(),
            ],
            columns: vec![
                column("asked", &|row| count(row.asks, glyphs)),
                column("frames", &|row| count(row.most_frames, glyphs)),
                column("until the last", &longest),
            ],
            style: Style::Plain,
            note: wording::SILENCE.to_owned(),
        };
        print(&[section], &cases, label, screen);
        screen.blank();
    }
}

/// Which flow waited for which, and frames that the cards counted as late or dropped.
pub fn waits_and_cards(summary: &Summary, screen: &mut Screen) {
    let mut said: Vec<(&str, Vec<String>)> = Vec::new();
    let waited = waits::rows(summary);
    let waited = waited.iter().map(|row| (row.case, vec![row.sentence(screen.glyphs())]));
    for (case, sentences) in waited.chain(cards::sentences(summary, screen.glyphs())) {
        match said.iter_mut().find(|(known, _)| *known == case) {
            Some((_, all)) => all.extend(sentences),
            None => said.push((case, sentences)),
        }
    }
    if !said.is_empty() {
        screen.blank();
    }
    for (case, sentences) in said {
        let case = screen.foreign(case);
        let case = screen.paint(&format!("{case}:"), Style::Yellow);
        let sentences = screen.foreign(&sentences.join(" "));
        screen.wrapped(&format!("{case} {sentences}"), 2, 4);
    }
}

/// The load, a section for each flow.
pub fn load(summary: &Summary, label: usize, screen: &mut Screen) {
    let rows = load::rows(summary);
    let glyphs = screen.glyphs();
    for flow in distinct(rows.iter().map(|row| row.flow)) {
        let own: Vec<&load::LoadRow<'_>> = rows.iter().filter(|row| row.flow == flow).collect();
        let cases: Vec<&str> = own.iter().map(|row| row.case).collect();
        let column = |head: &str, cell: &dyn Fn(&load::LoadRow<'_>) -> String| Column {
            head: head.to_owned(),
            cells: own.iter().map(|row| cell(row)).collect(),
        };
        let rate = |row: &load::LoadRow<'_>| {
            row.rate_bps.map_or_else(|| glyphs.none.to_owned(), |bps| bit_rate(bps, glyphs))
        };
        let section = Section {
            heading: [format!("Load: {}", screen.foreign(flow)), String::new()],
            columns: vec![
                column("sent", &|row| count(row.sent, glyphs)),
                column("received", &|row| count(row.received, glyphs)),
                column("on the wire", &rate),
            ],
            style: Style::Plain,
            note: String::new(),
        };
        print(&[section], &cases, label, screen);
    }
}

fn print(sections: &[Section], cases: &[&str], label: usize, screen: &mut Screen) {
    let names: Vec<String> = cases.iter().map(|case| screen.foreign(case)).collect();
    table::print(sections, &names, label, screen);
}

/// Each once, in the order of their first.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
