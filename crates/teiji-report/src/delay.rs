//! The delay between two captures, in words: which flows are shown, and what
//! became of their frames.

use teiji_record::Summary;
use teiji_stats::{DelayStatistics, PointCounts};

use crate::units::{Glyphs, count};

/// Flows that are shown; all are in the JSON.
pub const LISTED: usize = 10;

/// The flows with their delay, the one with the most matched frames first.
pub fn flows(summary: &Summary) -> Vec<(&str, &DelayStatistics)> {
    let members = summary.cases.iter().flat_map(|case| &case.members);
    let mut flows: Vec<(&str, &DelayStatistics)> =
        members.flat_map(|m| &m.delays).map(|(name, delay)| (name.as_str(), delay)).collect();
    let all = |delay: &DelayStatistics| {
        (delay.counts.matched, delay.counts.first.frames + delay.counts.second.frames)
    };
    flows.sort_by_key(|(_, delay)| std::cmp::Reverse(all(delay)));
    flows
}

/// What became of a flow's frames, one sentence.
pub fn counts(delay: &DelayStatistics, glyphs: &Glyphs) -> String {
    let counts = &delay.counts;
    let n = |value: u64| count(value, glyphs);
    let frames = if counts.first.frames == 1 { "frame" } else { "frames" };
    let mut parts = vec![match counts.matched {
        0 => "No frame matched".to_owned(),
        matched => {
            format!(
                "{} of {} {frames} at the first point matched",
                n(matched),
                n(counts.first.frames)
            )
        }
    }];
    let mut add = |what: &str, of: fn(&PointCounts) -> u64| {
        for (point, name) in [(&counts.first, "first"), (&counts.second, "second")] {
            if of(point) > 0 {
                parts.push(format!("{} {what} the {name}", n(of(point))));
            }
        }
    };
    add("only at", |point| point.alone);
    add("more copies at", |point| point.copies);
    add("not distinguished from equal ones at", |point| point.unclear);
    format!("{}.", parts.join("; "))
}
