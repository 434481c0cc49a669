//! Shaped classes against their reservations: one row for each case and flow.

use teiji_record::Summary;
use teiji_stats::ShapingStatistics;

use crate::block::{Block, Table};
use crate::units::{Glyphs, bit_rate, count};

/// One flow's class in one case; over several seeds, the longest burst and the
/// highest bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapingRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The flow.
    pub flow: &'a str,
    /// What its class took, and what is reserved for it.
    pub shaping: ShapingStatistics,
}

/// All flows of shaped classes, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<ShapingRow<'_>> {
    let mut rows: Vec<ShapingRow<'_>> = Vec::new();
    for case in &summary.cases {
        for (flow, wire) in case.members.iter().flat_map(|member| &member.wire) {
            let Some(shaping) = &wire.shaping else { continue };
            match rows.iter_mut().find(|row| row.case == case.name && row.flow == flow) {
                Some(ShapingRow { shaping: s, .. }) => {
                    s.frames += shaping.frames;
                    s.bandwidth_bps = s.bandwidth_bps.max(shaping.bandwidth_bps);
                    s.burst_bytes = s.burst_bytes.max(shaping.burst_bytes);
                }
                None => rows.push(ShapingRow { case: &case.name, flow, shaping: shaping.clone() }),
            }
        }
    }
    rows
}

/// The table; none without shaped classes.
pub fn block(summary: &Summary, glyphs: &Glyphs) -> Option<Block> {
    let rows = rows(summary);
    let table = Table::of(
        "class of",
        ["bandwidth", "reserved", "burst, bytes", "bound, bytes"],
        rows.iter().map(|row| {
            let s = &row.shaping;
            let cells = [
                bit_rate(s.bandwidth_bps, glyphs),
                bit_rate(s.reserved_bps, glyphs),
                count(s.burst_bytes, glyphs),
                count(s.bound_bytes, glyphs),
            ];
            (row.case.to_owned(), row.flow.to_owned(), cells)
        }),
    );
    let heading = "Bandwidth and burst of shaped classes";
    Some(
        Block::table("shaping", "Shaping", heading, table)?
            .about("on the wire")
            .notes(notes(&rows)),
    )
}

/// How the figures are counted.
fn notes(rows: &[ShapingRow<'_>]) -> Vec<String> {
    let mut notes = vec![
        "Counted with preamble, FCS and gap. Burst: the smallest bucket that fills at the \
         reserved rate and that all frames conform to; a class that takes more than its rate \
         needs a deeper one the longer it goes on. Bound: hiCredit minus loCredit."
            .to_owned(),
    ];
    for row in rows {
        let Some(other) = &row.shaping.reserved_in else { continue };
        notes.push(format!(
            "{} shapes nothing; it is compared with the reservation of {other}.",
            row.case
        ));
    }
    notes.dedup();
    notes
}
