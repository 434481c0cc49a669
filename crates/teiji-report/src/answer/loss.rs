//! Whether all frames arrived.

use teiji_record::{CaseSummary, Summary};
use teiji_stats::Counts;

use super::{Answer, Finding, over_cases, plain};
use crate::units::{Glyphs, count};

/// Of the judged flow, or of all.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let judged = |name: &str| summary.judge.flow.as_deref().is_none_or(|flow| flow == name);
    let finding = |case: &CaseSummary| {
        let flows = || {
            let all = case.members.iter().flat_map(|member| &member.flows);
            all.filter(|(name, _)| judged(name)).map(|(_, flow)| &flow.counts)
        };
        flows().next()?;
        let sum = |of: fn(&Counts) -> u64| flows().map(of).sum::<u64>();
        // What the kernel refused, or dropped on the sender's side, did not arrive either.
        let (asked, arrived) = (sum(|c| c.planned), sum(|c| c.received));
        let all = count(asked, glyphs);
        let said = if arrived == asked {
            format!("all {all} frames arrive")
        } else {
            format!(
                "{} of {all} frames do not arrive",
                count(asked.saturating_sub(arrived), glyphs)
            )
        };
        Some(Finding { case: case.name.clone(), holds: Some(arrived == asked), said })
    };
    let findings: Vec<Finding> = summary.cases.iter().filter_map(finding).collect();
    if findings.is_empty() {
        return plain("No answer: no frame was sent.".to_owned());
    }
    over_cases(&summary.question, findings)
}
