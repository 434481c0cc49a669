//! The periodic flows of a capture, where there is more than one.

use teiji_record::Summary;
use teiji_record::summary::PeriodicFlow;

use crate::block::{Block, Table, or_none};
use crate::units::{Glyphs, count, duration};

/// A row for each flow, the analysed one first; none where there are no others.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    if summary.periodic.len() < 2 {
        return None;
    }
    let shown = |ns: i64| duration(ns as f64, glyphs);
    let row = |flow: &PeriodicFlow| {
        let cells = [
            shown(flow.period_ns),
            count(flow.frames, glyphs),
            or_none(flow.range_ns.map(shown), glyphs),
            flow.options.clone(),
        ];
        (String::new(), flow.flow.clone(), cells)
    };
    let columns = ["period", "frames", "range of the intervals", "options"];
    let table = Table::of("flow", columns, summary.periodic.iter().map(row));
    let note = "To analyse another flow, add its options to the command.";
    Some(
        Block::table("periodic", "Flows", "Periodic flows in the capture", table)?
            .about("the first is analysed below")
            .notes([note.to_owned()]),
    )
}
