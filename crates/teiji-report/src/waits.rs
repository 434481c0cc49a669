//! Frames that waited for the wire at their launch time: one row for each case, flow
//! and flow it waited for.

use teiji_record::Summary;

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

impl WaitRow<'_> {
    /// `second waited for first 10 000 times, 752 ns each.`
    pub fn sentence(&self, glyphs: &Glyphs) -> String {
        let ns = |ns: i64| duration(ns as f64, glyphs);
        let long = if self.median_ns == self.longest_ns {
            ns(self.longest_ns) + if self.count > 1 { " each" } else { "" }
        } else {
            format!("{} in the median, {} at most", ns(self.median_ns), ns(self.longest_ns))
        };
        let times = match self.count {
            1 => "once".to_owned(),
            n => format!("{} times", count(n, glyphs)),
        };
        let other = if self.waited_for == self.flow { "itself" } else { self.waited_for };
        format!("{} waited for {other} {times}, {long}.", self.flow)
    }
}
