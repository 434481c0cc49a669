//! How regular a flow's intervals are, or its departures.
//!
//! It compares ranges (largest minus smallest deviation), the papers' figure of
//! merit, and claims no more than members and resolution allow.

use teiji_record::Summary;
use teiji_record::summary::Testbed;
use teiji_stats::TimestampPoint;

use super::{Answer, asks_yes_or_no, plain};
use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread, flows, main_flow, measure};
use crate::units::{Glyphs, Scale, count, duration, number};
use crate::wording;

/// Two ranges closer than this factor count as equal where there is but one
/// member: a deterministic run is still one sample.
const ONE_SAMPLE_FACTOR: f64 = 1.25;

/// The answer that the judged flow gives.
pub fn answer(summary: &Summary, glyphs: &Glyphs) -> Answer {
    let Some(flow) = main_flow(summary) else {
        return plain("No answer: no case was completed.".to_owned());
    };
    let comparison = Comparison::of(summary, flow, measure(summary), None);
    let with_range: Vec<(&CaseView, Spread)> =
        comparison.cases.iter().filter_map(|c| Some((c, c.figure(Figure::Range)?))).collect();
    let flow =
        if flows(summary).len() > 1 { format!(" of {}", comparison.flow) } else { String::new() };
    match with_range.as_slice() {
        [] => plain("No answer: no interval between two frames was seen.".to_owned()),
        [(view, range)] => one_case(&comparison, view, range, &flow, glyphs),
        several => {
            if comparison.common_point().is_none() {
                return plain(
                    "No answer: the cases have different timestamp points, so their figures \
                     cannot be compared."
                        .to_owned(),
                );
            }
            two_cases(summary, &comparison, several, &flow, glyphs)
        }
    }
}

/// What deviates.
const fn subject(comparison: &Comparison) -> &'static str {
    match comparison.measure {
        Measure::Interval => "interval",
        Measure::Schedule => "departure",
        Measure::RoundTrip => "round trip",
        Measure::Delay => "delay",
    }
}

fn one_case(
    comparison: &Comparison,
    view: &CaseView,
    range: &Spread,
    flow: &str,
    glyphs: &Glyphs,
) -> Answer {
    let intervals: u64 = view.members.iter().filter_map(|m| m.deviation).map(|d| d.count).sum();
    let planned = match (comparison.measure, comparison.common_period_ns()) {
        (Measure::Schedule, _) => "the plan".to_owned(),
        (_, None) => "the period".to_owned(),
        (_, Some(ns)) => duration(ns as f64, glyphs),
    };
    let what = subject(comparison);
    let extremes = view
        .figure(Figure::Min)
        .zip(view.figure(Figure::Max))
        .map(|(low, high)| Scale::fitting([low.min, high.max]).interval(low.min, high.max, glyphs));
    let sigma = view
        .figure(Figure::Stddev)
        .map(|s| Scale::of_deviations([s.median]).text(s.median, glyphs));
    let case = match comparison.testbed {
        Testbed::Capture => "The".to_owned(),
        Testbed::Lab | Testbed::Local | Testbed::Machine | Testbed::Machines => {
            format!("With {} the", view.case.name)
        }
    };
    plain(format!(
        "{case} {what}{flow} {} deviates by {} from {planned}: a range of {}, standard deviation \
         {}, over {} {what}s{}.",
        comparison.common_point().map_or("", wording::point),
        extremes.unwrap_or_else(|| glyphs.none.to_owned()),
        range_text(range, glyphs),
        sigma.unwrap_or_else(|| glyphs.none.to_owned()),
        count(intervals, glyphs),
        losses(comparison.testbed, &[view], glyphs),
    ))
}

fn two_cases(
    summary: &Summary,
    comparison: &Comparison,
    cases: &[(&CaseView, Spread)],
    flow: &str,
    glyphs: &Glyphs,
) -> Answer {
    let named = |which: usize| {
        let name = &summary.judge.cases.as_ref()?[which];
        cases.iter().position(|(c, _)| c.case.name == *name)
    };
    let normal = || cases.iter().position(|(c, _)| is_baseline(c));
    let baseline = named(0).or_else(normal).unwrap_or(0);
    let (plain_case, plain_range) = &cases[baseline];
    let Some((best_case, best_range)) = cases
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != baseline && named(1).is_none_or(|other| *i == other))
        .map(|(_, c)| c)
        .min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    else {
        return plain("No answer: there is nothing to compare with.".to_owned());
    };
    let resolution = comparison.resolution_ns().map_or(0.0, |ns| ns as f64);
    let verdict = verdict_of(plain_range, best_range, resolution);
    let (best, base) = (&best_case.case.name, &plain_case.case.name);
    let place = comparison.common_point().map_or("", wording::point);
    let stays = bound_text(best_range, resolution, glyphs);
    let plain_text = range_text(plain_range, glyphs);
    let relation = match verdict {
        // How many times depends on what the emulated NIC is allowed to do wrong: nothing.
        Verdict::Tighter { at_least, .. } if is_emulated(comparison) => {
            let rest = if at_least && best_range.max <= 2.0 * resolution {
                ": the stamps resolve no software jitter"
            } else {
                ""
            };
            format!("against {} with {base}{rest}", free_range_text(plain_range, glyphs))
        }
        Verdict::Wider { .. } if is_emulated(comparison) => {
            format!("wider than with {base} ({plain_text})")
        }
        Verdict::Tighter { factor, at_least } => format!(
            "{}{} times tighter than with {base} ({plain_text})",
            if at_least { "at least " } else { "" },
            factor_text(factor, at_least, glyphs)
        ),
        Verdict::Wider { factor } => format!(
            "{} times wider than with {base} ({plain_text})",
            factor_text(factor, false, glyphs)
        ),
        Verdict::Alike => {
            format!("no clear difference from {base} ({plain_text})")
        }
        Verdict::Unresolved => {
            format!("no difference from {base} that the stamps resolve ({plain_text})")
        }
    };
    let is_asked = asks_whether_better(&summary.question);
    let lead = match verdict {
        Verdict::Tighter { .. } if is_asked => Some("Yes".to_owned()),
        Verdict::Wider { .. } | Verdict::Alike if is_asked => Some("No".to_owned()),
        _ => None,
    };
    let with = if lead.is_some() { "with" } else { "With" };
    Answer {
        lead,
        sentence: format!(
            "{with} {best} the {}{flow} {place} stays within {stays}, {relation}{}.",
            subject(comparison),
            losses(comparison.testbed, &[plain_case, best_case], glyphs)
        ),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Tighter { factor: f64, at_least: bool },
    Wider { factor: f64 },
    Alike,
    Unresolved,
}

/// Compares two ranges. Each may be wrong by twice the resolution, because it
/// is the difference of two intervals, each the difference of two stamps.
pub(crate) fn verdict_of(plain: &Spread, best: &Spread, resolution_ns: f64) -> Verdict {
    let doubt = 2.0 * resolution_ns;
    if plain.median <= doubt && best.median <= doubt {
        return Verdict::Unresolved;
    }
    let apart = if plain.members > 1 && best.members > 1 {
        plain.is_apart_from(best)
    } else {
        let factor = plain.median / best.median;
        !(1.0 / ONE_SAMPLE_FACTOR..=ONE_SAMPLE_FACTOR).contains(&factor)
    };
    let low = (plain.median - doubt) / (best.median + doubt);
    let high = (plain.median + doubt) / (best.median - doubt).max(0.0);
    if !apart
        || (low <= 1.0 && high >= 1.0 && doubt > 0.0)
        || (best.median - plain.median).abs() < f64::EPSILON
    {
        return Verdict::Alike;
    }
    if best.median < plain.median {
        // A range near the resolution allows a lower bound only.
        let at_least = best.median <= doubt;
        let factor = if at_least { low } else { plain.median / best.median };
        Verdict::Tighter { factor, at_least }
    } else {
        Verdict::Wider { factor: best.median / plain.median }
    }
}

/// Whether the NICs are emulated: in the laboratory all are, and elsewhere only `vtsn` lets
/// a run see its frames on the wire.
fn is_emulated(comparison: &Comparison) -> bool {
    match comparison.testbed {
        Testbed::Lab => true,
        Testbed::Local | Testbed::Machine | Testbed::Machines => {
            comparison.common_point() == Some(TimestampPoint::Wire)
        }
        Testbed::Capture => false,
    }
}

/// The case that others are measured against: the paper's `normal`.
fn is_baseline(view: &CaseView) -> bool {
    view.case.paper_result.as_deref() == Some("normal") || view.case.name == "normal"
}

/// Whether a question can be answered with yes or no by saying which case is
/// tighter: it starts with a verb and contains a comparative.
pub(super) fn asks_whether_better(question: &str) -> bool {
    const COMPARATIVES: [&str; 15] = [
        "more", "better", "tighter", "closer", "smaller", "less", "steadier", "than", "improve",
        "improves", "lower", "narrower", "beat", "beats", "help",
    ];
    let lower = question.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    asks_yes_or_no(question) && words.any(|w| COMPARATIVES.contains(&w))
}

/// A range; of several members the median and its spread.
pub(super) fn range_text(range: &Spread, glyphs: &Glyphs) -> String {
    let median = duration(range.median, glyphs);
    spread_text(range, glyphs)
        .map_or_else(|| median.clone(), |ends| format!("{ends}, median {median}"))
}

/// The same where no parentheses are around it.
fn free_range_text(range: &Spread, glyphs: &Glyphs) -> String {
    let median = duration(range.median, glyphs);
    spread_text(range, glyphs)
        .map_or_else(|| median.clone(), |ends| format!("{ends} (median {median})"))
}

/// The ends, if the members differ.
fn spread_text(range: &Spread, glyphs: &Glyphs) -> Option<String> {
    let differ = range.members > 1 && range.min < range.max;
    let scale = Scale::fitting([range.min, range.max]);
    differ.then(|| scale.interval(range.min, range.max, glyphs))
}

/// What no member's range exceeds: `2 µs (range; the capture resolves 1 µs)`.
/// Stamps too coarse to show any range bound it by their resolution.
fn bound_text(range: &Spread, resolution_ns: f64, glyphs: &Glyphs) -> String {
    let mut about = vec!["range".to_owned()];
    if range.members > 1 {
        about.push(format!("median {}", duration(range.median, glyphs)));
    }
    if range.max < resolution_ns {
        let bound = duration(resolution_ns, glyphs);
        return format!("what the stamps resolve, {bound} ({})", about[0]);
    }
    if range.median <= 2.0 * resolution_ns {
        about.push(format!("the stamps resolve {}", duration(resolution_ns, glyphs)));
    }
    let seeds = match range.members {
        0 | 1 => String::new(),
        n => format!(" with each of {n} seeds"),
    };
    format!("{}{seeds} ({})", duration(range.max, glyphs), about.join("; "))
}

/// A factor; a lower bound is never rounded up.
pub(super) fn factor_text(factor: f64, at_least: bool, glyphs: &Glyphs) -> String {
    let decimals = usize::from(factor < 10.0);
    let step = if decimals == 0 { 1.0 } else { 10.0 };
    let shown = if at_least { (factor * step).floor() / step } else { factor };
    number(shown, decimals, glyphs)
}

/// What an answer must not hide: frames that did not get through.
fn losses(testbed: Testbed, views: &[&CaseView], glyphs: &Glyphs) -> String {
    let mut parts = Vec::new();
    for view in views {
        let c = view.counts();
        if c.lost > 0 && testbed == Testbed::Capture {
            parts.push(format!(
                "{} of {} frames missing from the capture",
                count(c.lost, glyphs),
                count(c.planned, glyphs)
            ));
        } else if c.lost > 0 {
            parts.push(format!(
                "{} of {} frames did not arrive with {}",
                count(c.lost, glyphs),
                count(c.planned, glyphs),
                view.case.name
            ));
        }
    }
    if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: f64) -> Spread {
        Spread::over([value]).unwrap()
    }

    #[test]
    fn a_range_at_the_resolution_allows_only_a_lower_bound() {
        let verdict = verdict_of(&one(23_000.0), &one(2_000.0), 1_000.0);
        assert_eq!(verdict, Verdict::Tighter { factor: 5.25, at_least: true });
    }

    #[test]
    fn two_ranges_below_the_resolution_have_no_difference() {
        assert_eq!(verdict_of(&one(2_000.0), &one(1_000.0), 1_000.0), Verdict::Unresolved);
    }

    #[test]
    fn one_sample_that_is_a_little_better_is_no_improvement() {
        assert_eq!(verdict_of(&one(23_000.0), &one(20_000.0), 0.0), Verdict::Alike);
        assert_eq!(verdict_of(&one(20_000.0), &one(20_000.0), 0.0), Verdict::Alike);
    }

    #[test]
    fn ensembles_that_overlap_are_no_improvement_however_far_their_medians() {
        let plain = Spread::over([10.0, 50.0, 60.0]).unwrap();
        let best = Spread::over([1.0, 2.0, 11.0]).unwrap();
        assert_eq!(verdict_of(&plain, &best, 0.0), Verdict::Alike);
    }

    #[test]
    fn a_worse_case_is_reported_as_worse() {
        assert_eq!(verdict_of(&one(10.0), &one(40.0), 0.0), Verdict::Wider { factor: 4.0 });
    }

    #[test]
    fn no_member_exceeds_the_bound_that_is_claimed() {
        let glyphs = &Glyphs::ASCII;
        let range = Spread::over([2_000.0, 20_000.0]).unwrap();
        let text = bound_text(&range, 1_000.0, glyphs);
        assert_eq!(text, "20 us with each of 2 seeds (range; median 11 us)");
        assert_eq!(
            bound_text(&one(2_000.0), 1_000.0, glyphs),
            "2 us (range; the stamps resolve 1 us)"
        );
        assert_eq!(
            bound_text(&one(0.0), 1_000.0, glyphs),
            "what the stamps resolve, 1 us (range)",
            "a range of zero is not a claim that a coarse capture allows"
        );
    }

    #[test]
    fn a_lower_bound_is_never_rounded_up() {
        assert_eq!(factor_text(11.96, true, &Glyphs::ASCII), "11");
        assert_eq!(factor_text(5.29, true, &Glyphs::ASCII), "5.2");
        assert_eq!(factor_text(5.29, false, &Glyphs::ASCII), "5.3");
    }

    #[test]
    fn only_questions_about_a_comparison_are_answered_with_yes_or_no() {
        assert!(asks_whether_better("Does ETF keep a 1 ms cycle tighter than a plain send?"));
        assert!(!asks_whether_better("How much tighter is ETF?"));
        assert!(!asks_whether_better("Is a plain send good enough?"));
        assert!(!asks_whether_better(""));
    }
}
