//! The periodic flows of a capture, where there is more than one.

use teiji_record::Summary;
use teiji_record::summary::PeriodicFlow;

use super::screen::{Screen, Style, cells, left, right};
use crate::units::{count, duration};

/// Flows that are listed; all are in the JSON.
const LISTED: usize = 10;

/// Of each flow its figures, what it is, and how to select it.
pub fn periodic(summary: &Summary, screen: &mut Screen) {
    let all = &summary.periodic;
    if all.len() < 2 {
        return;
    }
    screen.blank();
    let glyphs = screen.glyphs();
    let heading = format!("Periodic flows in the capture: {}", count(all.len() as u64, glyphs));
    screen.line(&screen.paint(&heading, Style::Bold));
    let shown = &all[..all.len().min(LISTED)];
    let facts = |flow: &PeriodicFlow| {
        let range = flow.range_ns.map_or(glyphs.none.to_owned(), |ns| duration(ns as f64, glyphs));
        [
            format!("every {}", duration(flow.period_ns as f64, glyphs)),
            format!("{}{}frames", count(flow.frames, glyphs), glyphs.space),
            format!("range {range}"),
        ]
    };
    let facts: Vec<[String; 3]> = shown.iter().map(facts).collect();
    let width = |column: usize| facts.iter().map(|f| cells(&f[column])).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for (flow, [period, frames, range]) in shown.iter().zip(&facts) {
        let facts = [left(period, widths[0]), right(frames, widths[1]), left(range, widths[2])];
        screen.line(&format!("  {}", facts.join("   ")));
        screen.wrapped(&screen.foreign(&flow.flow), 4, 6);
        let select = if flow.analysed { "analysed below" } else { &flow.options };
        screen.wrapped_in(&screen.foreign(select), 4, 6, Style::Dim);
    }
    if all.len() > LISTED {
        let more = count((all.len() - LISTED) as u64, glyphs);
        screen.wrapped(&format!("{more} more: teiji analyze --json lists all."), 2, 2);
    }
    screen.wrapped("To analyse another flow, add its options to the command.", 0, 2);
    screen.blank();
}
