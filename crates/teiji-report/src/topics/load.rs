//! Flows that are load: one row for each case.

use teiji_record::Summary;

use crate::block::{Block, Table, or_none};
use crate::comparison::background;
use crate::units::{Glyphs, bit_rate, count};

/// One flow in one case, over all seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRow<'a> {
    /// The flow.
    pub flow: &'a str,
    /// The case.
    pub case: &'a str,
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Frames that arrived.
    pub received: u64,
    /// Bits per second on the wire, with preamble, FCS and gap; of several seeds the
    /// most.
    pub rate_bps: Option<u64>,
}

/// All load of a run, by flow, then by case.
pub fn rows(summary: &Summary) -> Vec<LoadRow<'_>> {
    let mut rows = Vec::new();
    for flow in background(summary) {
        for case in &summary.cases {
            let counts = || case.members.iter().filter_map(|m| Some(m.flows.get(flow)?.counts));
            if counts().next().is_none() {
                continue;
            }
            rows.push(LoadRow {
                flow,
                case: &case.name,
                sent: counts().map(|counts| counts.sent).sum(),
                received: counts().map(|counts| counts.received).sum(),
                rate_bps: case.members.iter().filter_map(|m| m.wire.get(flow)?.rate_bps).max(),
            });
        }
    }
    rows
}

/// The table; none without load.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let table = Table::of(
        "flow",
        ["sent", "received", "on the wire"],
        rows(summary).into_iter().map(|row| {
            let rate = row.rate_bps.map(|bps| bit_rate(bps, glyphs));
            let cells =
                [count(row.sent, glyphs), count(row.received, glyphs), or_none(rate, glyphs)];
            (row.case.to_owned(), row.flow.to_owned(), cells)
        }),
    );
    Block::table("load", "Load", "Load", table)
}
