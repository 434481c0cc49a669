//! What still comes after silence was asked for: one row for each case and flow.

use teiji_record::Summary;
use teiji_stats::SilenceStatistics;

/// One flow in one case; over several seeds, their sum and their worst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SilenceRow<'a> {
    /// The case.
    pub case: &'a str,
    /// The flow.
    pub flow: &'a str,
    /// How often silence was asked for.
    pub asks: u64,
    /// The most frames that still came.
    pub most_frames: u64,
    /// The longest time from asking to the last frame's end, in ns; `None` if none came.
    pub longest_ns: Option<i64>,
}

impl<'a> SilenceRow<'a> {
    fn add(&mut self, more: &SilenceStatistics) {
        self.asks += more.asks;
        self.most_frames = self.most_frames.max(more.most_frames);
        self.longest_ns = self.longest_ns.max(more.time.as_ref().map(|time| time.max_ns));
    }

    fn new(case: &'a str, flow: &'a str) -> Self {
        Self { case, flow, asks: 0, most_frames: 0, longest_ns: None }
    }
}

/// All flows that were followed so, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<SilenceRow<'_>> {
    let mut rows: Vec<SilenceRow<'_>> = Vec::new();
    for case in &summary.cases {
        for (flow, wire) in case.members.iter().flat_map(|member| &member.wire) {
            let Some(silence) = &wire.silence else { continue };
            let known = rows.iter().position(|row| row.case == case.name && row.flow == flow);
            let index = known.unwrap_or_else(|| {
                rows.push(SilenceRow::new(&case.name, flow));
                rows.len() - 1
            });
            rows[index].add(silence);
        }
    }
    rows
}
