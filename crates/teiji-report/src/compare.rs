//! Two runs side by side: which cases they share, and how far a difference can be believed.
//!
//! * `limits` – whether the later run is worse than allowed,
//! * `document` – all of it for machines.

mod document;
mod limits;

use teiji_record::{CaseSummary, Summary};
use teiji_stats::Deviation;

pub use document::{Document, SCHEMA, document};
pub use limits::{LimitError, limits};

use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread, flows, round_trips};
use crate::figures::Row;
use crate::units::{Glyphs, duration, ratio};
use crate::wording;

/// How the earlier run is called.
pub const BEFORE: &str = "before";
/// How the later one is called.
pub const AFTER: &str = "after";

/// A case that both runs have.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// It in both runs, as if they were two cases: so like is compared with like, at a timestamp point
    /// that both have.
    pub summary: Summary,
}

/// The cases that both runs have, in the order of the earlier one.
pub fn pairs(before: &Summary, after: &Summary) -> Vec<Pair> {
    let renamed =
        |case: &CaseSummary, new: &str| CaseSummary { name: new.to_owned(), ..case.clone() };
    let pair = |old: &CaseSummary| {
        let new = after.cases.iter().find(|case| case.name == old.name)?;
        let cases = vec![renamed(old, BEFORE), renamed(new, AFTER)];
        Some(Pair { name: old.name.clone(), summary: Summary { cases, ..before.clone() } })
    };
    before.cases.iter().filter_map(pair).collect()
}

impl Pair {
    /// Each flow and each table of round trips, with a title; none if nothing was measured.
    pub fn comparisons(&self) -> Vec<(String, Comparison<'_>)> {
        let flows = flows(&self.summary);
        let titled = |name: &str| format!("{}, {name}", self.name);
        let mut all = Vec::new();
        for flow in &flows {
            let title = if flows.len() > 1 { titled(flow) } else { self.name.clone() };
            all.push((title, Comparison::of(&self.summary, flow, Measure::Interval, None)));
        }
        for name in round_trips(&self.summary) {
            all.push((titled(name), Comparison::of_round_trips(&self.summary, name, None)));
        }
        all
    }
}

/// Both sides of `comparison`, if both were measured.
pub fn both<'a, 'b>(comparison: &'b Comparison<'a>) -> Option<[&'b CaseView<'a>; 2]> {
    let [old, new] = comparison.cases.as_slice() else { return None };
    Some([old, new])
}

/// The figure that decides, and how it is called: the papers' figure of merit.
pub fn decisive(comparison: &Comparison<'_>) -> (Figure, &'static str) {
    match comparison.measure {
        Measure::RoundTrip => (Figure::Max, "longest round trip"),
        Measure::Interval | Measure::Schedule | Measure::Delay => (Figure::Range, "range"),
    }
}

/// Whether both sides were seen at the same place.
pub fn is_alike(comparison: &Comparison<'_>) -> bool {
    comparison.measure == Measure::RoundTrip || comparison.common_point().is_some()
}

/// The ratio of figures that measure a width; `None` for others.
pub fn quotient(row: Row, [old, new]: [&CaseView<'_>; 2], glyphs: &Glyphs) -> Option<String> {
    let Row::One(figure) = row else { return None };
    if !figure.is_width() {
        return None;
    }
    let both = old.figure(figure).zip(new.figure(figure));
    let ratio = both.and_then(|(old, new)| ratio(new.median, old.median, glyphs));
    Some(ratio.unwrap_or_else(|| glyphs.none.to_owned()))
}

/// What timestamps cannot resolve of a figure that is the difference of two intervals, each of
/// two stamps, in ns. Computed wire time is exact.
fn doubt_ns(comparison: &Comparison<'_>) -> f64 {
    comparison.resolution_ns().filter(|ns| *ns > 1).map_or(0.0, |ns| 2.0 * ns as f64)
}

/// What may be said about the figure that decides.
pub fn verdict(comparison: &Comparison<'_>, glyphs: &Glyphs) -> String {
    let (figure, what) = decisive(comparison);
    let figures = both(comparison)
        .and_then(|[old, new]| Some(([old, new], old.figure(figure)?, new.figure(figure)?)));
    let Some(([old, new], old_range, new_range)) = figures else {
        let many = comparison.measure.many();
        return format!("Without {many} on both sides there is nothing to compare.");
    };
    if !is_alike(comparison) {
        return "Not seen at the same place: the figures cannot be compared.".to_owned();
    }
    let deviations = |view: &CaseView<'_>| -> Vec<Option<Deviation>> {
        view.members.iter().map(|m| m.deviation.cloned()).collect()
    };
    if deviations(old) == deviations(new) {
        return "Identical: every figure is the same in both runs.".to_owned();
    }
    let doubt = doubt_ns(comparison);
    if (new_range.median - old_range.median).abs() <= doubt {
        let doubt = duration(doubt, glyphs);
        return format!("The {what}s differ by no more than the stamps resolve ({doubt}).");
    }
    let smaller = new_range.median < old_range.median;
    let direction = match (comparison.measure, smaller) {
        (Measure::RoundTrip, true) => "shorter",
        (Measure::RoundTrip, false) => "longer",
        (_, true) => "narrower",
        (_, false) => "wider",
    };
    match (old_range.members, new_range.members) {
        (1, 1) => format!("The {what} is {direction} after, from one sample each."),
        (1, _) | (_, 1) => {
            format!("The {what} is {direction} after; one side is a single sample.")
        }
        _ if old_range.is_apart_from(&new_range) => {
            format!("The {what} is {direction} after: the seeds of the two runs do not overlap.")
        }
        _ => format!("No clear difference: the {what}s of the two runs' seeds overlap."),
    }
}

/// What a reader must know before believing the difference. Full sentences.
pub fn remarks(before: &Summary, after: &Summary, glyphs: &Glyphs) -> Vec<String> {
    let mut remarks = Vec::new();
    for (which, one, other) in [(BEFORE, before, after), (AFTER, after, before)] {
        let only = one.cases.iter().map(|case| case.name.as_str());
        let only: Vec<&str> =
            only.filter(|name| other.cases.iter().all(|case| case.name != *name)).collect();
        if !only.is_empty() {
            remarks.push(format!("Only in {which}: {}.", only.join(", ")));
        }
    }
    let pairs = pairs(before, after);
    let all = pairs.iter().flat_map(Pair::comparisons).map(|(_, comparison)| comparison);
    let ranges = |comparison: &Comparison<'_>| -> Option<[Spread; 2]> {
        let [old, new] = both(comparison)?;
        let (figure, _) = decisive(comparison);
        Some([old.figure(figure)?, new.figure(figure)?])
    };
    let compared: Vec<(Comparison<'_>, [Spread; 2])> =
        all.filter_map(|comparison| ranges(&comparison).map(|both| (comparison, both))).collect();
    if compared.is_empty() {
        remarks.push("The two runs have no case in common that can be compared.".to_owned());
    }
    if before.testbed != after.testbed {
        remarks.push(format!(
            "The runs were made in different places ({BEFORE}: {}; {AFTER}: {}): a difference \
             may be theirs.",
            wording::testbed(before.testbed),
            wording::testbed(after.testbed)
        ));
    }
    if compared.iter().flat_map(|(_, both)| both).any(|range| range.members < 2) {
        remarks.push(
            "One sample has no spread: how far apart two equal runs would be is not known. Run \
             several seeds (--seeds 1..16) to know it."
                .to_owned(),
        );
    }
    for caveat in compared.iter().flat_map(|(one, _)| wording::point_caveats(one, glyphs)) {
        if !remarks.contains(&caveat) {
            remarks.push(caveat);
        }
    }
    for (which, summary) in [(BEFORE, before), (AFTER, after)] {
        for warning in &summary.warnings {
            if before.warnings.contains(warning) && after.warnings.contains(warning) {
                if which == BEFORE {
                    remarks.push(warning.clone());
                }
            } else {
                remarks.push(format!("{which}: {warning}"));
            }
        }
    }
    remarks
}
