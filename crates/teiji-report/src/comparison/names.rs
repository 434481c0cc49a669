//! Which flows and round trips a summary tells of, and which of them answers the question.

use teiji_experiment::JudgeBy;
use teiji_record::Summary;

use super::Measure;

/// The flows that are shown in full: the one that decides first, no load.
pub fn flows(summary: &Summary) -> Vec<&str> {
    let mut names = names(summary);
    names.retain(|name| !summary.background.iter().any(|load| load == name));
    // Stable: the others keep their order.
    names.sort_by_key(|name| summary.judge.flow.as_deref() != Some(*name));
    names
}

/// The flows that are load.
pub fn background(summary: &Summary) -> Vec<&str> {
    let mut names = names(summary);
    names.retain(|name| summary.background.iter().any(|load| load == name));
    names
}

fn names(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for member in summary.cases.iter().flat_map(|c| &c.members) {
        for name in member.flows.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// The round trips: those that decide first.
pub fn round_trips(summary: &Summary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for member in summary.cases.iter().flat_map(|case| &case.members) {
        for name in member.round_trips.keys() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| summary.judge.flow.as_deref() != Some(*name));
    names
}

/// What the question asks of a flow's deviations.
pub const fn measure(summary: &Summary) -> Measure {
    match summary.judge.by {
        JudgeBy::Schedule => Measure::Schedule,
        JudgeBy::Interval
        | JudgeBy::Gates
        | JudgeBy::Shaping
        | JudgeBy::Loss
        | JudgeBy::RoundTrip => Measure::Interval,
    }
}

/// The flow that the answer and the published figures belong to.
pub fn main_flow(summary: &Summary) -> Option<&str> {
    flows(summary).into_iter().next()
}
