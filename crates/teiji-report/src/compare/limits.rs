//! Whether the later of two runs is worse than allowed (`teiji compare --fail-if`).
//!
//! What cannot be compared is never good enough: a limit is there to be relied on.

use std::fmt;

use teiji_experiment::{RequiredCount, RequiredFigure, Threshold};
use teiji_record::{Summary, Verdict};

use super::{Pair, both, doubt_ns, pairs};
use crate::comparison::{
    CaseView, Comparison, Figure, Measure, Spread, background, flows, round_trips,
};
use crate::units::{Glyphs, Scale, bit_rate, count, ratio};

/// A limit that is about nothing in either run: a mistake of whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError(String);

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LimitError {}

/// A verdict for each of `thresholds` and each case that both runs have.
///
/// # Errors
/// [`LimitError`] if neither run has what a threshold names.
pub fn limits(
    before: &Summary,
    after: &Summary,
    thresholds: &[Threshold],
    glyphs: &Glyphs,
) -> Result<Vec<Verdict>, LimitError> {
    let pairs = pairs(before, after);
    // Frames that did not arrive have no interval: whoever allows for loss says so.
    let allows_loss = thresholds
        .iter()
        .any(|threshold| threshold.figure == RequiredFigure::Count(RequiredCount::Lost));
    let mut verdicts = Vec::new();
    for threshold in thresholds {
        let requirement = format!("fail if {}", threshold.text);
        let mut of_threshold = Vec::new();
        for pair in &pairs {
            let findings: Vec<Finding> = names(pair, threshold)
                .into_iter()
                .map(|name| finding_of(pair, name, threshold, allows_loss, glyphs))
                .collect();
            of_threshold.extend(verdict(pair, &requirement, &findings));
        }
        if pairs.is_empty() {
            of_threshold.push(Verdict {
                case: "all".to_owned(),
                requirement,
                holds: false,
                measured: "the runs have no case in common".to_owned(),
            });
        } else if of_threshold.iter().all(|verdict| verdict.measured == UNMEASURED) {
            is_about_something(&pairs, threshold)?;
        }
        verdicts.extend(of_threshold);
    }
    Ok(verdicts)
}

const UNMEASURED: &str = "not measured";

/// `None` where the case has nothing that the threshold is about.
fn verdict(pair: &Pair, requirement: &str, findings: &[Finding]) -> Option<Verdict> {
    let is_unmeasured = pair.summary.cases.iter().any(|case| case.members.is_empty());
    if findings.is_empty() && !is_unmeasured {
        return None;
    }
    let holds = !findings.is_empty() && findings.iter().all(|finding| finding.holds);
    // Where something is worse, only that is reported.
    let reported = findings.iter().filter(|finding| finding.holds == holds);
    let reported: Vec<&str> = reported.map(|finding| finding.sentence.as_str()).collect();
    let measured = if reported.is_empty() { UNMEASURED.to_owned() } else { reported.join("; ") };
    let (case, requirement) = (pair.name.clone(), requirement.to_owned());
    Some(Verdict { case, requirement, holds, measured })
}

/// What a threshold is of in a case.
fn names<'a>(pair: &'a Pair, threshold: &Threshold) -> Vec<&'a str> {
    let load = background(&pair.summary);
    let meant = |name: &&str| match &threshold.of {
        Some(of) => name == of,
        None => !load.contains(name),
    };
    known(&pair.summary, threshold).into_iter().filter(meant).collect()
}

fn known<'a>(summary: &'a Summary, threshold: &Threshold) -> Vec<&'a str> {
    let with_load = || [flows(summary), background(summary)].concat();
    match threshold.figure {
        RequiredFigure::RoundTrip(_) => round_trips(summary),
        RequiredFigure::Interval(_) | RequiredFigure::FlowRate => with_load(),
        RequiredFigure::Count(_) => [with_load(), round_trips(summary)].concat(),
        RequiredFigure::LoadRate(_) => Vec::new(),
    }
}

/// Something of that name is in one of the runs, or nothing was measured at all.
fn is_about_something(pairs: &[Pair], threshold: &Threshold) -> Result<(), LimitError> {
    let mut all: Vec<&str> =
        pairs.iter().flat_map(|pair| known(&pair.summary, threshold)).collect();
    all.dedup();
    let what = match threshold.figure {
        RequiredFigure::RoundTrip(_) => "round trips",
        RequiredFigure::Count(_) => "flow or round trips",
        _ => "flow",
    };
    let measured = pairs.iter().flat_map(|pair| &pair.summary.cases).any(|c| !c.members.is_empty());
    let text = &threshold.text;
    match &threshold.of {
        Some(of) if measured && !all.contains(&of.as_str()) => {
            let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            Err(LimitError(format!("`{text}`: the runs have no {what} `{of}`; there is {known}")))
        }
        None if measured && all.is_empty() => {
            let help = match threshold.figure {
                RequiredFigure::Interval(_) => "; of round trips write rtt: p99 rtt > 1.2x",
                _ => "",
            };
            Err(LimitError(format!("`{text}`: the runs have no {what}{help}")))
        }
        _ => Ok(()),
    }
}

struct Finding {
    holds: bool,
    sentence: String,
}

/// One flow, or table of round trips, in one case.
fn finding_of(
    pair: &Pair,
    name: &str,
    threshold: &Threshold,
    allows_loss: bool,
    glyphs: &Glyphs,
) -> Finding {
    let comparison = if round_trips(&pair.summary).contains(&name) {
        Comparison::of_round_trips(&pair.summary, name, None)
    } else {
        Comparison::of(&pair.summary, name, Measure::Interval, None)
    };
    let fails =
        |sentence: String| Finding { holds: false, sentence: format!("{name}: {sentence}") };
    let Some([old, new]) = both(&comparison) else {
        return fails("not measured in both runs".to_owned());
    };
    let figure = match threshold.figure {
        RequiredFigure::Interval(figure) | RequiredFigure::RoundTrip(figure) => figure,
        RequiredFigure::Count(what) => {
            let [old, new] = [old, new].map(|view| Amount::of(view, what));
            let holds = !threshold.is_exceeded(old.share(), new.share());
            let sentence = format!("{name}: {} → {}", old.text(glyphs), new.text(glyphs));
            return Finding { holds, sentence };
        }
        RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => {
            let rates = [old, new].map(rate);
            let [Some(old), Some(new)] = rates else {
                return fails("no two frames were seen on the wire in both runs".to_owned());
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
            let [from, to] = [old, new].map(|bps| bit_rate(bps.round() as u64, glyphs));
            let times = times(old, new, glyphs);
            let holds = !threshold.is_exceeded(old, new);
            return Finding { holds, sentence: format!("{name}: {from} → {to}{times}") };
        }
    };
    let (Some(before), Some(after)) = (old.figure(figure), new.figure(figure)) else {
        return fails("not measured in both runs, or too little for it".to_owned());
    };
    if !super::is_alike(&comparison) {
        return fails("not seen at the same place in both runs".to_owned());
    }
    let (before, after) = (before.median, after.median);
    let scale = if figure == Figure::Stddev { Scale::of_deviations } else { Scale::fitting };
    let scale = scale([before, after]);
    let sentence = format!(
        "{name}: {} → {}{}",
        scale.text(before, glyphs),
        scale.text(after, glyphs),
        times(before, after, glyphs)
    );
    let [lost_before, lost_after] = [old, new].map(|view| Amount::of(view, RequiredCount::Lost));
    if !allows_loss && lost_after.share() > lost_before.share() {
        let (from, to) = (lost_before.text(glyphs), lost_after.text(glyphs));
        return fails(format!(
            "lost {from} → {to}, and the figure is of the rest; a limit on `lost` allows for that"
        ));
    }
    // A mean and a standard deviation are of many stamps, and finer than one.
    let is_unresolved = !matches!(figure, Figure::Mean | Figure::Stddev)
        && (after - before).abs() <= doubt_ns(&comparison);
    Finding { holds: is_unresolved || !threshold.is_exceeded(before, after), sentence }
}

/// `, 1.92×`, where a ratio says something.
fn times(before: f64, after: f64, glyphs: &Glyphs) -> String {
    ratio(after, before, glyphs).map_or_else(String::new, |ratio| format!(", {ratio}"))
}

/// The median of the members, in bits per second.
fn rate(view: &CaseView<'_>) -> Option<f64> {
    let rates = view.members.iter().filter_map(|member| member.wire?.rate_bps);
    Spread::over(rates.map(|bps| bps as f64)).map(|rate| rate.median)
}

/// So many of all that were planned: runs of other lengths can be compared.
struct Amount {
    n: u64,
    /// `None` where the number alone counts.
    of: Option<u64>,
}

impl Amount {
    fn of(view: &CaseView<'_>, what: RequiredCount) -> Self {
        let counts = view.counts();
        let n = match what {
            RequiredCount::Lost => counts.lost,
            RequiredCount::LostInARow => return Self { n: counts.lost_in_a_row, of: None },
            RequiredCount::Late => counts.late,
            RequiredCount::Dropped => counts.dropped(),
        };
        Self { n, of: Some(counts.planned) }
    }

    fn share(&self) -> f64 {
        self.n as f64 / self.of.unwrap_or(1).max(1) as f64
    }

    fn text(&self, glyphs: &Glyphs) -> String {
        let (space, n) = (glyphs.space, count(self.n, glyphs));
        self.of.map_or_else(|| n.clone(), |of| format!("{n}{space}of{space}{}", count(of, glyphs)))
    }
}
