//! Whether frames left when they were planned to.

use teiji_record::{CaseSummary, Summary};
use teiji_stats::WireStatistics;

use super::{Answer, Finding, intervals, over_cases};
use crate::comparison::flows;
use crate::units::{Glyphs, count, duration};

/// Of all judged flows; where no departure is known, how regular the first one is.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let selected = |name: &str| match &summary.judge.flow {
        Some(flow) => flow == name,
        None => flows(summary).contains(&name),
    };
    let of_case = |case: &CaseSummary| -> Vec<WireStatistics> {
        let all = case.members.iter().flat_map(|member| &member.wire);
        all.filter(|(name, _)| selected(name)).map(|(_, wire)| wire.clone()).collect()
    };
    let cases: Vec<(&CaseSummary, Vec<WireStatistics>)> =
        summary.cases.iter().map(|case| (case, of_case(case))).collect();
    let known = |flows: &[WireStatistics]| {
        !flows.is_empty() && flows.iter().all(|flow| flow.departure.is_some())
    };
    if cases.is_empty() || !cases.iter().all(|(_, flows)| known(flows)) {
        return intervals::answer(summary, glyphs);
    }
    let findings = cases.iter().map(|(case, flows)| finding(case, flows, glyphs)).collect();
    over_cases(&summary.question, findings)
}

fn finding(case: &CaseSummary, flows: &[WireStatistics], glyphs: &Glyphs) -> Finding {
    let departures = || flows.iter().filter_map(|flow| flow.departure.as_ref());
    let frames: u64 = departures().map(|d| d.count).sum();
    let latest = departures().map(|d| d.max_ns).max().unwrap_or(0);
    let earliest = departures().map(|d| d.min_ns).min().unwrap_or(0);
    let resolution = flows.iter().map(|flow| flow.resolution_ns).max().unwrap_or(0);
    let holds = latest <= resolution && earliest >= -resolution;
    let waits = || flows.iter().flat_map(|flow| &flow.waits);
    let waited: u64 = waits().map(|wait| wait.count).sum();
    let longest = waits().map(|wait| wait.longest_ns).max().unwrap_or(0);
    let ns = |ns: i64| duration(ns as f64, glyphs);
    let all = count(frames, glyphs);
    let sentence = if holds {
        format!(
            "all {all} frames are transmitted within {} of their planned departure",
            ns(resolution)
        )
    } else if waited > 0 {
        let waited = count(waited, glyphs);
        format!("{waited} of {all} frames wait for another one, for up to {}", ns(longest))
    } else {
        let early = if earliest < -resolution {
            format!("from {} before to ", ns(-earliest))
        } else {
            "up to ".to_owned()
        };
        format!("frames are transmitted {early}{} after their planned departure", ns(latest))
    };
    Finding { case: case.name.clone(), holds: Some(holds), sentence }
}
