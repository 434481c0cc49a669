//! Shaped classes against their reservations: one row for each case and flow.

use teiji_record::Summary;
use teiji_stats::ShapingStatistics;

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

/// What must be said of the figures.
pub fn notes(rows: &[ShapingRow<'_>]) -> Vec<String> {
    let mut notes = vec![
        "Counted with preamble, FCS and gap. Burst: the smallest bucket that fills at the \
         reserved rate and that all frames conform to; a class that takes more than its rate \
         needs a deeper one the longer it goes on. Bound: hiCredit minus loCredit."
            .to_owned(),
    ];
    for row in rows {
        let Some(other) = &row.shaping.reserved_in else { continue };
        notes.push(format!("{} shapes nothing; it is judged by what {other} reserves.", row.case));
    }
    notes.dedup();
    notes
}
