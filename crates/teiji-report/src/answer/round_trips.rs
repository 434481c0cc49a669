//! How long round trips take at most: of one case, or of two beside each other.

use teiji_record::Summary;

use super::intervals::{Verdict, asks_whether_better, factor_text, range_text, verdict_of};
use super::{Answer, plain};
use crate::comparison::{CaseView, Comparison, Figure, Spread, round_trips};
use crate::units::{Glyphs, count};

/// The answer that the judged round trips give.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let Some(name) = round_trips(summary).into_iter().next() else {
        return plain("No answer: no case was completed.".to_owned());
    };
    let comparison = Comparison::of_round_trips(summary, name, None);
    let longest: Vec<(&CaseView, Spread)> =
        comparison.cases.iter().filter_map(|c| Some((c, c.figure(Figure::Max)?))).collect();
    match longest.as_slice() {
        [] => plain("No answer: no request got a reply.".to_owned()),
        [(view, longest)] => plain(format!(
            "With {} the longest round trip of {name} takes {}, over {} replies{}.",
            view.case.name,
            range_text(longest, glyphs),
            count(view.round_counts().answered, glyphs),
            losses(&[view], glyphs)
        )),
        several => two_cases(summary, name, several, glyphs),
    }
}

fn two_cases(
    summary: &Summary,
    name: &str,
    cases: &[(&CaseView, Spread)],
    glyphs: &Glyphs,
) -> Answer {
    let named = |which: usize| {
        let name = &summary.judge.cases.as_ref()?[which];
        cases.iter().position(|(c, _)| c.case.name == *name)
    };
    let baseline = named(0).unwrap_or(0);
    let others = (0..cases.len()).filter(|i| *i != baseline);
    let best = others
        .filter(|i| named(1).is_none_or(|other| other == *i))
        .min_by(|a, b| cases[*a].1.median.total_cmp(&cases[*b].1.median));
    let (base, (other, longest)) = (&cases[baseline], &cases[best.unwrap_or(baseline)]);
    let verdict = verdict_of(&base.1, longest, 0.0);
    let than = format!("than with {} ({})", base.0.case.name, range_text(&base.1, glyphs));
    let (relation, better) = match verdict {
        Verdict::Tighter { factor, .. } => {
            (format!("{} times shorter {than}", factor_text(factor, false, glyphs)), true)
        }
        Verdict::Wider { factor } => {
            (format!("{} times longer {than}", factor_text(factor, false, glyphs)), false)
        }
        Verdict::Alike | Verdict::Unresolved => (format!("no clear difference {than}"), false),
    };
    let lead = asks_whether_better(&summary.question)
        .then(|| if better { "Yes" } else { "No" }.to_owned());
    let with = if lead.is_some() { "with" } else { "With" };
    let sentence = format!(
        "{with} {} the longest round trip of {name} takes {}, {relation}{}.",
        other.case.name,
        range_text(longest, glyphs),
        losses(&[base.0, other], glyphs)
    );
    Answer { lead, sentence }
}

/// What an answer must not hide.
fn losses(views: &[&CaseView], glyphs: &Glyphs) -> String {
    let lost = views.iter().filter_map(|view| {
        let counts = view.round_counts();
        let unanswered = counts.planned.saturating_sub(counts.answered);
        (unanswered > 0).then(|| {
            format!(
                "{} of {} requests without reply with {}",
                count(unanswered, glyphs),
                count(counts.planned, glyphs),
                view.case.name
            )
        })
    });
    let lost: Vec<String> = lost.collect();
    if lost.is_empty() { String::new() } else { format!("; {}", lost.join(", ")) }
}
