//! Frames that waited for the wire at their launch time: one row for each case, flow
//! and flow it waited for.

use teiji_record::Summary;

use crate::block::{Block, Table};
use crate::units::{Glyphs, count, duration};

/// Over several seeds, the sum, and the longest waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The flow that waited.
    pub flow: &'a str,
    /// The flow it waited for.
    pub waited_for: &'a str,
    /// How often.
    pub count: u64,
    /// For how long in the median, in ns.
    pub median_ns: i64,
    /// For how long at most, in ns.
    pub longest_ns: i64,
}

/// All waits of a run, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<WaitRow<'_>> {
    let mut rows: Vec<WaitRow<'_>> = Vec::new();
    for case in &summary.cases {
        let flows = case.members.iter().flat_map(|member| &member.wire);
        for (flow, wait) in flows.flat_map(|(flow, wire)| wire.waits.iter().map(move |w| (flow, w)))
        {
            let row = WaitRow {
                case: &case.name,
                flow,
                waited_for: &wait.waited_for,
                count: wait.count,
                median_ns: wait.median_ns,
                longest_ns: wait.longest_ns,
            };
            let same = |r: &&mut WaitRow<'_>| {
                (r.case, r.flow, r.waited_for) == (row.case, row.flow, row.waited_for)
            };
            match rows.iter_mut().find(same) {
                Some(other) => {
                    other.count += row.count;
                    other.median_ns = other.median_ns.max(row.median_ns);
                    other.longest_ns = other.longest_ns.max(row.longest_ns);
                }
                None => rows.push(row),
            }
        }
    }
    rows
}

/// The table; none where no frame waited.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let rows = rows(summary);
    let table = Table::of(
        "flow",
        ["waited for", "times", "median", "longest"],
        rows.iter().map(|row| {
            let other = if row.waited_for == row.flow { "itself" } else { row.waited_for };
            let cells = [
                other.to_owned(),
                count(row.count, glyphs),
                duration(row.median_ns as f64, glyphs),
                duration(row.longest_ns as f64, glyphs),
            ];
            (row.case.to_owned(), row.flow.to_owned(), cells)
        }),
    );
    let block = Block::table("waits", "Waits", "Frames that waited for the wire", table)?;
    Some(
        block.about(
            "due at their launch time, and transmitted one inter-frame gap after another frame",
        ),
    )
}
