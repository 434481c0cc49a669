//! What still comes after silence was asked for: one row for each case and flow.

use std::collections::BTreeSet;

use teiji_record::Summary;

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

/// All flows that were followed so, in the order of the cases.
pub fn rows(summary: &Summary) -> Vec<SilenceRow<'_>> {
    let mut rows = Vec::new();
    for case in &summary.cases {
        let flows: BTreeSet<&String> = case.members.iter().flat_map(|m| m.wire.keys()).collect();
        for flow in flows {
            let told = || case.members.iter().filter_map(|m| m.wire.get(flow)?.silence.as_ref());
            if told().next().is_none() {
                continue;
            }
            rows.push(SilenceRow {
                case: &case.name,
                flow,
                asks: told().map(|silence| silence.asks).sum(),
                most_frames: told().map(|silence| silence.most_frames).max().unwrap_or(0),
                longest_ns: told().filter_map(|silence| Some(silence.time.as_ref()?.max_ns)).max(),
            });
        }
    }
    rows
}
