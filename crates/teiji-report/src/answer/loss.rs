//! Whether all frames arrived.

use teiji_record::{CaseSummary, Summary};
use teiji_stats::Counts;

use super::{Answer, Finding, over_cases, plain};
use crate::units::{Glyphs, count};

/// Of the judged flow, or of all.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let selected = |name: &str| summary.judge.flow.as_deref().is_none_or(|flow| flow == name);
    let finding = |case: &CaseSummary| {
        let flows = || {
            let all = case.members.iter().flat_map(|member| &member.flows);
            all.filter(|(name, _)| selected(name)).map(|(_, flow)| &flow.counts)
        };
        flows().next()?;
        let sum = |of: fn(&Counts) -> u64| flows().map(of).sum::<u64>();
        let (all, lost) = (count(sum(|c| c.planned), glyphs), sum(|c| c.lost));
        let sentence = if lost == 0 {
            format!("all {all} frames arrive")
        } else {
            format!("{} of {all} frames do not arrive", count(lost, glyphs))
        };
        Some(Finding { case: case.name.clone(), holds: Some(lost == 0), sentence })
    };
    let findings: Vec<Finding> = summary.cases.iter().filter_map(finding).collect();
    if findings.is_empty() {
        return plain("No answer: no frame was sent.".to_owned());
    }
    over_cases(&summary.question, findings)
}
