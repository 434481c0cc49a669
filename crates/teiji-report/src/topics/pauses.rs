//! Frames received after XOFF: one row for each case and flow.

use std::collections::BTreeSet;

use teiji_record::Summary;

use crate::block::{Block, Table, or_none};
use crate::units::{Glyphs, count, duration};

/// One flow in one case; over several seeds, their sum and their worst.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PauseRow<'a> {
    /// The case.
    case: &'a str,
    /// The flow.
    flow: &'a str,
    /// How often XOFF was sent.
    pause_requests: u64,
    /// The most frames that still came.
    most_frames: u64,
    /// The longest time from XOFF to the last frame's end, in ns; `None` if none came.
    longest_ns: Option<i64>,
}

/// All flows that were followed so, in the order of the cases.
fn rows(summary: &Summary) -> Vec<PauseRow<'_>> {
    let mut rows = Vec::new();
    for case in &summary.cases {
        let flows: BTreeSet<&String> = case.members.iter().flat_map(|m| m.wire.keys()).collect();
        for flow in flows {
            let xoffs = || case.members.iter().filter_map(|m| m.wire.get(flow)?.xoffs.as_ref());
            if xoffs().next().is_none() {
                continue;
            }
            rows.push(PauseRow {
                case: &case.name,
                flow,
                pause_requests: xoffs().map(|xoff| xoff.pause_requests).sum(),
                most_frames: xoffs().map(|xoff| xoff.most_frames).max().unwrap_or(0),
                longest_ns: xoffs().filter_map(|xoff| Some(xoff.time.as_ref()?.max_ns)).max(),
            });
        }
    }
    rows
}

/// The table; none where no pause was followed so.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let table = Table::of(
        "flow",
        ["XOFF sent", "frames after it, at most", "last one's end after, at most"],
        rows(summary).into_iter().map(|row| {
            let longest = row.longest_ns.map(|ns| duration(ns as f64, glyphs));
            let cells = [
                count(row.pause_requests, glyphs),
                count(row.most_frames, glyphs),
                or_none(longest, glyphs),
            ];
            (row.case.to_owned(), row.flow.to_owned(), cells)
        }),
    );
    let block = Block::table("pauses", "XOFF", "Frames received after XOFF", table)?;
    let note = "From the instant at which the receiver's port decides to send XOFF to the end of the \
                flow's last frame that arrives before it sends XON.";
    Some(block.about("at the receiver").notes([note.to_owned()]))
}
