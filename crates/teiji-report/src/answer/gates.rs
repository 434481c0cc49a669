//! Whether frames left within the gates of their class.

use teiji_record::Summary;

use super::{Answer, Finding, over_cases, plain};
use crate::topics::gates::{GateRow, rows};
use crate::units::{Glyphs, count, duration};

pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let selected =
        |row: &GateRow<'_>| summary.judge.flow.as_deref().is_none_or(|flow| flow == row.flow);
    let rows: Vec<GateRow<'_>> = rows(summary).into_iter().filter(selected).collect();
    let findings: Vec<Finding> = summary
        .cases
        .iter()
        .filter_map(|case| {
            let own: Vec<&GateRow<'_>> = rows.iter().filter(|row| row.case == case.name).collect();
            let gates_of = own.first()?.gates_of;
            let frames: u64 = own.iter().map(|row| row.frames).sum();
            let outside: u64 = own.iter().map(|row| row.outside).sum();
            let worst = own.iter().map(|row| row.worst_ns).max().unwrap_or(0);
            let all = count(frames, glyphs);
            let by = gates_of.map_or_else(
                || "their class's gates".to_owned(),
                |case| format!("the gates of {case}"),
            );
            let sentence = if outside == 0 {
                format!("none of {all} frames is transmitted outside {by}")
            } else {
                let outside = count(outside, glyphs);
                let worst = duration(worst as f64, glyphs);
                format!("{outside} of {all} frames are transmitted outside {by}, by up to {worst}")
            };
            let holds = gates_of.is_none().then_some(outside == 0);
            Some(Finding { case: case.name.clone(), holds, sentence })
        })
        .collect();
    if findings.is_empty() {
        return plain(
            "No answer: no frame was seen to the nanosecond on a wire with gates.".into(),
        );
    }
    over_cases(&summary.question, findings)
}
