//! Whether a class kept to the bandwidth and burst reserved for it.

use teiji_record::Summary;

use super::{Answer, Finding, over_cases, plain};
use crate::topics::shaping::rows;
use crate::units::{Glyphs, bit_rate, count};

pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let flow = summary.judge.flow.as_deref();
    let findings: Vec<Finding> = rows(summary)
        .into_iter()
        .filter(|row| flow.is_none_or(|flow| row.flow == flow))
        .map(|row| {
            let s = &row.shaping;
            let reserved = bit_rate(s.reserved_bps, glyphs);
            let of = match &s.reserved_in {
                Some(case) => format!("where {case} reserves {reserved}"),
                None => format!("of the {reserved} reserved"),
            };
            let sentence = format!(
                "{} {of}, in bursts of {} bytes (bound {})",
                bit_rate(s.bandwidth_bps, glyphs),
                count(s.burst_bytes, glyphs),
                count(s.bound_bytes, glyphs),
            );
            let holds = s.reserved_in.is_none().then_some(s.holds());
            Finding { case: row.case.to_owned(), holds, sentence }
        })
        .collect();
    if findings.is_empty() {
        return plain(
            "No answer: no two frames of a shaped class were seen to the nanosecond.".into(),
        );
    }
    over_cases(&summary.question, findings)
}
