//! How well clocks followed each other in a run: one row for each case and clock.

use teiji_record::Summary;

use crate::block::{Block, Table};
use crate::units::{Glyphs, duration};

/// One clock in one case; over several seeds, the worst of them.
#[derive(Clone, Debug, PartialEq)]
struct FollowedClock<'a> {
    /// The case.
    case: &'a str,
    /// `HOST.WIRE` of the clock, or `the system`.
    clock: &'a str,
    /// `HOST.WIRE` of the clock it follows.
    reference: &'a str,
    /// Root of the mean square of its offset, in ns.
    rms_ns: f64,
    /// How far it was off at most, either way, in ns.
    worst_ns: f64,
    /// From the start of the programs until it followed, in ns.
    settled_ns: f64,
}

/// All clocks that were kept during a run, in the order of the cases.
fn followed(summary: &Summary) -> Vec<FollowedClock<'_>> {
    let mut rows: Vec<FollowedClock<'_>> = Vec::new();
    for case in &summary.cases {
        for found in case.members.iter().flat_map(|member| &member.clocks) {
            let row = FollowedClock {
                case: &case.name,
                clock: &found.clock,
                reference: &found.reference,
                rms_ns: found.rms_ns,
                worst_ns: found.worst_ns.unsigned_abs() as f64,
                settled_ns: found.settled_ns as f64,
            };
            match rows.iter_mut().find(|r| r.case == row.case && r.clock == row.clock) {
                Some(other) => {
                    other.rms_ns = other.rms_ns.max(row.rms_ns);
                    other.worst_ns = other.worst_ns.max(row.worst_ns);
                    other.settled_ns = other.settled_ns.max(row.settled_ns);
                }
                None => rows.push(row),
            }
        }
    }
    rows
}

/// The table; none where no clock had to follow.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let table = Table::of(
        "clock",
        ["rms", "worst", "settled after"],
        followed(summary).into_iter().map(|row| {
            let cells = [row.rms_ns, row.worst_ns, row.settled_ns].map(|ns| duration(ns, glyphs));
            (row.case.to_owned(), format!("{}, following {}", row.clock, row.reference), cells)
        }),
    );
    let seeds = summary.cases.iter().map(|case| case.members.len()).max().unwrap_or(0);
    let worst = if seeds > 1 { " Of the seeds, the worst." } else { "" };
    Some(Block::table("clocks", "Clocks", "Offset of clocks kept by PTP", table)?.explained(format!(
        "How far each clock was from the one it follows, seen during the measurement by reading \
         both, or as ptp4l estimates it where that is on another machine. Settled: close to it, and no longer coming closer; only then the \
         measurement began.{worst}"
    )))
}
