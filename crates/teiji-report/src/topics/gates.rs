//! Frames against the gates of their class: one row for each case and flow.

use teiji_record::Summary;

use crate::block::{Block, Table, or_none};
use crate::units::{Glyphs, count, duration};

/// One flow in one case; over several seeds, their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The flow.
    pub flow: &'a str,
    /// Frames seen.
    pub frames: u64,
    /// Of these, outside.
    pub outside: u64,
    /// How far at worst, in ns.
    pub worst_ns: i64,
    /// Another case, whose gates these are.
    pub gates_of: Option<&'a str>,
}

/// All flows that were judged by gates, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<GateRow<'_>> {
    let mut rows: Vec<GateRow<'_>> = Vec::new();
    for case in &summary.cases {
        for (flow, wire) in case.members.iter().flat_map(|member| &member.wire) {
            let Some(gates) = &wire.gates else { continue };
            match rows.iter_mut().find(|row| row.case == case.name && row.flow == flow) {
                Some(row) => {
                    row.frames += gates.frames;
                    row.outside += gates.outside;
                    row.worst_ns = row.worst_ns.max(gates.worst_ns);
                }
                None => rows.push(GateRow {
                    case: &case.name,
                    flow,
                    frames: gates.frames,
                    outside: gates.outside,
                    worst_ns: gates.worst_ns,
                    gates_of: gates.gates_of.as_deref(),
                }),
            }
        }
    }
    rows
}

/// The table; none where no flow was judged by gates.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let rows = rows(summary);
    let table = Table::of(
        "flow",
        ["outside", "of", "at worst"],
        rows.iter().map(|row| {
            let worst = (row.outside > 0).then(|| duration(row.worst_ns as f64, glyphs));
            let cells =
                [count(row.outside, glyphs), count(row.frames, glyphs), or_none(worst, glyphs)];
            (row.case.to_owned(), row.flow.to_owned(), cells)
        }),
    );
    let block = Block::table("gates", "Gates", "Frames outside the gates of their class", table)?;
    Some(block.about("on the wire").notes(notes(&rows)))
}

/// What must be known of cases that are judged by the gates of others.
fn notes(rows: &[GateRow<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for row in rows {
        let Some(other) = row.gates_of else { continue };
        let note = format!(
            "{} has no gates; its frames are compared with those of {other}, as if a cycle began with the \
             first departure.",
            row.case
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
