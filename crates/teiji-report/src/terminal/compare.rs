//! Two runs side by side, and how far their difference can be believed.

use teiji_record::{CaseSummary, Summary};

use super::figures::{measured_columns, rows_of_both, widest_label};
use super::frames;
use super::screen::{Screen, Style, cells};
use super::table::{self, Column, Section};
use super::{Options, facts};
use crate::comparison::{CaseView, Comparison, Figure, Measure, Spread, flows, round_trips};
use crate::figures::Row;
use crate::units::{duration, ratio};
use crate::wording;

const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Two runs side by side: each case that both have, with ratios, and what the
/// difference is worth. Ends with a newline.
pub fn compare(before: &Summary, after: &Summary, options: &Options) -> String {
    let mut screen = Screen::new(*options);
    headline(BEFORE, before, &mut screen);
    headline(AFTER, after, &mut screen);
    let mut differences = Differences::default();
    for name in names(before).into_iter().filter(|name| find(after, name).is_some()) {
        let pair = pair(before, after, name);
        let flows = flows(&pair);
        let rounds = round_trips(&pair);
        if flows.is_empty() && rounds.is_empty() {
            unmeasured(name, &pair, &mut screen);
        }
        for flow in &flows {
            let comparison = Comparison::of(&pair, flow, Measure::Interval, None);
            let title = if flows.len() > 1 { format!("{name}, {flow}") } else { name.to_owned() };
            one_case(&title, &pair, &comparison, &mut differences, &mut screen);
        }
        for ask in &rounds {
            let comparison = Comparison::of_round_trips(&pair, ask, None);
            let title = format!("{name}, {ask}");
            one_case(&title, &pair, &comparison, &mut differences, &mut screen);
        }
    }
    closing(before, after, &differences, &mut screen);
    screen.finish()
}

fn headline(which: &str, summary: &Summary, screen: &mut Screen) {
    let comparisons: Vec<Comparison<'_>> = flows(summary)
        .into_iter()
        .map(|flow| Comparison::of(summary, flow, Measure::Interval, None))
        .collect();
    let facts = facts(summary, &comparisons, screen);
    let name = screen.foreign(&summary.experiment);
    let which = screen.paint(&format!("{which:8}").replace(' ', "\u{a0}"), Style::Bold);
    let dot = screen.glyphs().dot;
    screen.wrapped(&format!("{which}{name} {dot} {facts}"), 0, 8);
}

fn names(summary: &Summary) -> Vec<&str> {
    summary.cases.iter().map(|case| case.name.as_str()).collect()
}

fn find<'a>(summary: &'a Summary, name: &str) -> Option<&'a CaseSummary> {
    summary.cases.iter().find(|case| case.name == name)
}

/// A summary of one case in both runs, as if they were two cases: so like is
/// compared with like, at a vantage that both have.
fn pair(before: &Summary, after: &Summary, name: &str) -> Summary {
    let renamed = |summary, new: &str| {
        find(summary, name).map(|case| CaseSummary { name: new.to_owned(), ..case.clone() })
    };
    Summary {
        cases: [renamed(before, BEFORE), renamed(after, AFTER)].into_iter().flatten().collect(),
        ..before.clone()
    }
}

/// What was seen in the cases, for the closing sentences.
#[derive(Default)]
struct Differences {
    caveats: Vec<String>,
    compared: usize,
    one_sample: bool,
}

/// Prints the title of a case; returns the width of the first column.
fn head(title: &str, screen: &mut Screen) -> usize {
    screen.blank();
    let title = screen.foreign(title);
    screen.line(&screen.paint(&title, Style::Bold));
    widest_label(screen).max(cells(BEFORE))
}

fn unmeasured(name: &str, pair: &Summary, screen: &mut Screen) {
    let label = head(name, screen);
    frames::unmeasured(pair, label, screen);
}

fn one_case(
    title: &str,
    pair: &Summary,
    comparison: &Comparison<'_>,
    differences: &mut Differences,
    screen: &mut Screen,
) {
    let glyphs = screen.glyphs();
    let label = head(title, screen);
    frames::bars(pair, comparison, label, screen);
    frames::shortfalls(pair.testbed, comparison, screen);
    let views: Vec<&CaseView<'_>> = comparison.cases.iter().collect();
    let [old, new] = views.as_slice() else { return };
    let (decisive, _) = decisive(comparison);
    let (Some(old_range), Some(new_range)) = (old.figure(decisive), new.figure(decisive)) else {
        screen.blank();
        let many = comparison.measure.many();
        screen.wrapped(&format!("Without {many} on both sides there is nothing to compare."), 2, 2);
        return;
    };
    let rows = rows_of_both(comparison, old, new);
    let mut columns = measured_columns(&views, &rows, screen);
    if is_alike(comparison) {
        columns.push(Column {
            head: format!("{AFTER}/{BEFORE}"),
            cells: rows.iter().map(|row| quotient(*row, old, new, screen)).collect(),
        });
    }
    let heading = [wording::heading(comparison, glyphs), super::figures::seen(comparison, glyphs)];
    let names: Vec<String> = rows.iter().map(|row| row.name(glyphs)).collect();
    let note = super::figures::note(comparison, glyphs);
    let section = Section { heading, columns, style: Style::Plain, note };
    table::print(&[section], &names, label, screen);
    let verdict = verdict(comparison, old, new, &old_range, &new_range, screen);
    screen.wrapped(&verdict, 2, 2);
    differences.compared += 1;
    differences.one_sample |= old_range.members < 2 || new_range.members < 2;
    for caveat in wording::vantage_caveats(comparison, glyphs) {
        if !differences.caveats.contains(&caveat) {
            differences.caveats.push(caveat);
        }
    }
}

/// The figure that decides, and how it is called: the papers' figure of merit.
fn decisive(comparison: &Comparison<'_>) -> (Figure, &'static str) {
    match comparison.measure {
        Measure::RoundTrip => (Figure::Max, "longest round trip"),
        Measure::Interval | Measure::Schedule | Measure::Delay => (Figure::Range, "range"),
    }
}

/// Whether both sides were seen at the same place.
fn is_alike(comparison: &Comparison<'_>) -> bool {
    comparison.measure == Measure::RoundTrip || comparison.common_vantage().is_some()
}

/// The ratio of figures that measure a width. Of means and extremes, which lie
/// around zero, a ratio says nothing.
fn quotient(row: Row, old: &CaseView<'_>, new: &CaseView<'_>, screen: &Screen) -> String {
    let Row::One(figure @ (Figure::Range | Figure::Stddev | Figure::Percentile(_))) = row else {
        return String::new();
    };
    let glyphs = screen.glyphs();
    let both = old.figure(figure).zip(new.figure(figure));
    both.and_then(|(old, new)| ratio(new.median, old.median, glyphs))
        .unwrap_or_else(|| glyphs.none.to_owned())
}

/// What may be said about the ranges, the papers' figure of merit.
fn verdict(
    comparison: &Comparison<'_>,
    old: &CaseView<'_>,
    new: &CaseView<'_>,
    old_range: &Spread,
    new_range: &Spread,
    screen: &Screen,
) -> String {
    if !is_alike(comparison) {
        return "Not seen at the same place: the figures cannot be compared.".to_owned();
    }
    let deviations = |view: &CaseView<'_>| -> Vec<_> {
        view.members.iter().map(|m| m.deviation.cloned()).collect()
    };
    if deviations(old) == deviations(new) {
        return "Identical: every figure is the same in both runs.".to_owned();
    }
    let (_, what) = decisive(comparison);
    // A range is the difference of two intervals, each of two stamps.
    let doubt = comparison.resolution_ns().filter(|ns| *ns > 1).map_or(0.0, |ns| 2.0 * ns as f64);
    let difference = (new_range.median - old_range.median).abs();
    if difference <= doubt {
        return format!(
            "The {what}s differ by no more than the stamps can tell ({}).",
            duration(doubt, screen.glyphs())
        );
    }
    let smaller = new_range.median < old_range.median;
    let direction = match (comparison.measure, smaller) {
        (Measure::RoundTrip, true) => "shorter",
        (Measure::RoundTrip, false) => "longer",
        (_, true) => "narrower",
        (_, false) => "wider",
    };
    match (old_range.members, new_range.members) {
        (1, 1) => return format!("The {what} is {direction} after, judged by one sample each."),
        (1, _) | (_, 1) => {
            return format!("The {what} is {direction} after; one side is a single sample.");
        }
        _ => {}
    }
    if old_range.is_apart_from(new_range) {
        format!(
            "The {what} is {direction} after: no seed of one run lies among those of the other."
        )
    } else {
        format!("No clear difference: the {what}s of the two runs' seeds overlap.")
    }
}

fn closing(before: &Summary, after: &Summary, differences: &Differences, screen: &mut Screen) {
    let mut said = Vec::new();
    for (which, one, other) in [(BEFORE, before, after), (AFTER, after, before)] {
        let only: Vec<&str> =
            names(one).into_iter().filter(|name| find(other, name).is_none()).collect();
        if !only.is_empty() {
            said.push(format!("Only in {which}: {}.", only.join(", ")));
        }
    }
    if differences.compared == 0 {
        said.push("The two runs have no case in common that can be compared.".to_owned());
    }
    if before.testbed != after.testbed {
        said.push(format!(
            "The runs were made in different places ({BEFORE}: {}; {AFTER}: {}): a difference \
             may be theirs.",
            wording::testbed(before.testbed),
            wording::testbed(after.testbed)
        ));
    }
    if differences.one_sample {
        said.push(
            "One sample has no spread: how far apart two equal runs would be is not known. Run \
             several seeds (--seeds 1..16) to know it."
                .to_owned(),
        );
    }
    said.extend(differences.caveats.iter().cloned());
    for (which, summary) in [(BEFORE, before), (AFTER, after)] {
        for warning in &summary.warnings {
            if before.warnings.contains(warning) && after.warnings.contains(warning) {
                if which == BEFORE {
                    said.push(warning.clone());
                }
            } else {
                said.push(format!("{which}: {warning}"));
            }
        }
    }
    if !said.is_empty() {
        screen.blank();
    }
    for sentence in said {
        screen.remark(&sentence);
    }
}
