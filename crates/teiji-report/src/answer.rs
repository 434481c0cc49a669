//! The answer to the experiment's question, in one sentence, from its figures
//! alone: of what the experiment says decides.
//!
//! * `intervals` – how regular a flow's intervals (or departures) are,
//! * `schedule` – whether frames are transmitted when they were planned to be,
//! * `round_trips` – how long round trips take,
//! * `gates` – whether they leave within the gates of their class,
//! * `shaping` – whether a class keeps to what is reserved for it,
//! * `loss` – whether all frames arrive,
//! * `delays` – how long frames take between two captures.

mod delays;
mod gates;
pub(crate) mod intervals;
mod loss;
mod round_trips;
mod schedule;
mod shaping;

use teiji_experiment::JudgeBy;
use teiji_record::Summary;

use crate::comparison::{flows, round_trips};
use crate::units::Glyphs;

/// One sentence, with the word it may begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// "Yes", "No" or "Only with …", if the question requests one.
    pub lead: Option<String>,
    /// The rest, ends with a full stop.
    pub sentence: String,
}

/// The answer that `summary` gives.
///
/// Where the experiment states requirements, their verdict answers a question like "Is it
/// within 20 µs?": no other criterion may answer it with "Yes" then.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let answer = figures(summary, glyphs);
    if summary.verdicts.is_empty() || intervals::asks_whether_better(&summary.question) {
        answer
    } else {
        answer.without_lead()
    }
}

fn figures(summary: &Summary, glyphs: &Glyphs) -> Answer {
    if !crate::delay::flows(summary).is_empty() {
        return delays::answer(summary, glyphs);
    }
    match judged_by(summary) {
        JudgeBy::Interval => intervals::answer(summary, glyphs),
        JudgeBy::Schedule => schedule::answer(summary, glyphs),
        JudgeBy::Gates => gates::answer(summary, glyphs),
        JudgeBy::Shaping => shaping::answer(summary, glyphs),
        JudgeBy::Loss => loss::answer(summary, glyphs),
        JudgeBy::RoundTrip => self::round_trips::answer(summary, glyphs),
    }
}

/// What decides, of what was measured: a user may choose cases that have round trips only, or none.
fn judged_by(summary: &Summary) -> JudgeBy {
    let by = summary.judge.by;
    match (by, flows(summary).is_empty(), round_trips(summary).is_empty()) {
        (JudgeBy::RoundTrip, false, true) => JudgeBy::Interval,
        (_, true, false) => JudgeBy::RoundTrip,
        _ => by,
    }
}

impl Answer {
    /// The sentence alone. With a lead it begins with a small letter.
    fn without_lead(mut self) -> Self {
        if self.lead.take().is_some() {
            self.sentence.replace_range(..1, "W");
        }
        self
    }
}

fn plain(sentence: String) -> Answer {
    Answer { lead: None, sentence }
}

/// What one case says to a question whether something holds.
struct Finding {
    case: String,
    /// Whether it holds; `None` if the case is there to be compared with.
    holds: Option<bool>,
    /// `none of 5 000 frames …`, to stand behind `with CASE`.
    sentence: String,
}

/// The answer of several cases: "Yes" if it holds in all that count, "No" if in none.
fn over_cases(question: &str, mut findings: Vec<Finding>) -> Answer {
    findings.sort_by_key(|f| match f.holds {
        Some(true) => 0,
        Some(false) => 1,
        None => 2,
    });
    let holding = |wanted: bool| -> Vec<&str> {
        let those = findings.iter().filter(|finding| finding.holds == Some(wanted));
        those.map(|finding| finding.case.as_str()).collect()
    };
    let lead = match (holding(true).as_slice(), holding(false).as_slice()) {
        _ if !asks_yes_or_no(question) => None,
        ([], []) => None,
        (_, []) => Some("Yes".to_owned()),
        ([], _) => Some("No".to_owned()),
        (cases, _) => Some(format!("Only with {}", cases.join(" and "))),
    };
    let parts: Vec<String> = findings
        .iter()
        .map(|finding| format!("with {} {}", finding.case, finding.sentence))
        .collect();
    let mut sentence = parts.join("; ") + ".";
    if lead.is_none() {
        sentence.replace_range(..1, "W");
    }
    Answer { lead, sentence }
}

/// Whether a question begins as one that is answered with yes or no.
fn asks_yes_or_no(question: &str) -> bool {
    const VERBS: [&str; 9] = ["does", "do", "is", "are", "can", "will", "did", "has", "have"];
    let first = question.split(|c: char| !c.is_alphanumeric()).find(|w| !w.is_empty());
    first.is_some_and(|first| VERBS.contains(&first.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_cases_hold_and_the_lead_names_them() {
        let finding = |case: &str, holds| Finding {
            case: case.to_owned(),
            holds,
            sentence: format!("said of {case}"),
        };
        let findings = || {
            vec![finding("none", None), finding("soft", Some(false)), finding("hard", Some(true))]
        };
        let answer = over_cases("Do they?", findings());
        assert_eq!(answer.lead.as_deref(), Some("Only with hard"));
        assert_eq!(
            answer.sentence,
            "with hard said of hard; with soft said of soft; with none said of none."
        );
        let lead = |n: usize| over_cases("Do they?", findings().split_off(n)).lead;
        assert_eq!(lead(2).as_deref(), Some("Yes"));
        assert_eq!(
            over_cases("Do they?", vec![finding("soft", Some(false))]).lead.as_deref(),
            Some("No")
        );
        assert_eq!(over_cases("How many?", vec![finding("soft", Some(false))]).lead, None);
    }
}
