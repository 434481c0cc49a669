//! Whether a case fulfils what is required of it. Pure: statistics in, verdicts out.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji::load::LoadReport;
use teiji_core::time::Span;
use teiji_experiment::{AllowedLoss, Case, RequiredCount, RequiredFigure, Requirement};
use teiji_stats::{Deviation, FlowStatistics};

use crate::member::MemberSummary;

/// Whether a requirement holds in a case: in each of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The case.
    pub case: String,
    /// The requirement, as it was written.
    pub requirement: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was measured, in words: of each flow or load the member that comes off worst.
    pub measured: String,
}

/// The verdicts on `case`, one for each requirement. `members` are its members, each
/// with what its loads did.
pub fn verdicts(case: &Case, members: &[(&MemberSummary, &[LoadReport])]) -> Vec<Verdict> {
    case.requirements.iter().map(|requirement| verdict(case, requirement, members)).collect()
}

/// What one member measured of what a requirement is about.
struct Found {
    seed: u64,
    /// `None` where there is no such figure: nothing came, or too few for the percentile.
    value: Option<f64>,
    /// Of a time, what was lost and has none.
    loss: Option<Loss>,
}

/// What was lost of what was planned.
#[derive(Clone, Copy)]
struct Loss {
    lost: u64,
    planned: u64,
    /// "frames" or "requests".
    what: &'static str,
}

impl Found {
    fn is_loss_allowed(&self, requirement: &Requirement) -> bool {
        self.loss.is_none_or(|loss| requirement.allowed_loss.allows(loss.lost, loss.planned))
    }

    fn holds(&self, requirement: &Requirement) -> bool {
        let keeps = |value| requirement.relation.holds(value, requirement.bound as f64);
        self.value.is_some_and(keeps) && self.is_loss_allowed(requirement)
    }

    /// Which of two is worse: what was not measured, then what lost more than is allowed, then
    /// what is farther on the wrong side, then what lost more.
    fn compare(&self, other: &Self, requirement: &Requirement) -> Ordering {
        let lost = |one: &Self| one.loss.map_or(0, |loss| loss.lost);
        let too_many = |one: &Self| if one.is_loss_allowed(requirement) { 0 } else { lost(one) };
        let bound = requirement.bound as f64;
        let excess = |one: &Self| one.value.map_or(0.0, |v| requirement.relation.excess(v, bound));
        let missing = |one: &Self| one.value.is_none();
        (missing(self), too_many(self))
            .cmp(&(missing(other), too_many(other)))
            .then(excess(self).total_cmp(&excess(other)))
            .then(lost(self).cmp(&lost(other)))
    }

    /// In words: the value, and what is not in it.
    fn statement(&self, requirement: &Requirement, seed: &str) -> String {
        let value = self.value.map_or_else(
            || missing(requirement.figure).to_owned(),
            |value| show(requirement.figure, value),
        );
        let Some(Loss { lost, planned, what }) = self.loss.filter(|loss| loss.lost > 0) else {
            return format!("{value}{seed}");
        };
        let loss = format!("{lost} of {planned} {what} lost");
        let why = match requirement.allowed_loss {
            _ if self.is_loss_allowed(requirement) => {
                return format!("{value}{seed} ({loss}, which is allowed)");
            }
            AllowedLoss::NONE => {
                format!("and no time is known of them; `{requirement} with lost <= N` allows some")
            }
            allowed => format!("{allowed} allowed"),
        };
        format!("{value}{seed}, but {loss}, {why}")
    }
}

fn verdict(
    case: &Case,
    requirement: &Requirement,
    members: &[(&MemberSummary, &[LoadReport])],
) -> Verdict {
    let mut found: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for (member, loads) in members {
        for (name, one) in find(requirement, member, loads) {
            found.entry(name).or_default().push(one);
        }
    }
    let mut statements: Vec<(bool, String)> = Vec::new();
    for (name, members) in &found {
        // Of equals the first.
        let Some(worst) = members.iter().rev().max_by(|a, b| a.compare(b, requirement)) else {
            continue;
        };
        let same = worst.statement(requirement, "");
        let all_alike = members.iter().all(|one| one.statement(requirement, "") == same);
        let seed = if all_alike { String::new() } else { format!(", seed {}", worst.seed) };
        statements.push((
            worst.holds(requirement),
            format!("{name}: {}", worst.statement(requirement, &seed)),
        ));
    }
    let holds = !statements.is_empty() && statements.iter().all(|(kept, _)| *kept);
    // If a condition is not met, only the conditions that are not met are reported.
    let reported = statements.iter().filter(|(kept, _)| *kept == holds);
    let reported: Vec<&str> = reported.map(|(_, statement)| statement.as_str()).take(4).collect();
    let measured =
        if reported.is_empty() { "not measured".to_owned() } else { reported.join("; ") };
    Verdict { case: case.name.clone(), requirement: requirement.text.clone(), holds, measured }
}

/// What one member measured of a requirement, by name.
fn find(
    requirement: &Requirement,
    member: &MemberSummary,
    loads: &[LoadReport],
) -> Vec<(String, Found)> {
    let seed = member.seed;
    if let RequiredFigure::LoadRate(kind) = requirement.figure {
        let load = loads.iter().find(|load| load.kind == kind);
        // Streams count kbit.
        let value = load.map(|load| load.per_s() as f64 * 1_000.0);
        return vec![(kind.to_string(), Found { seed, value, loss: None })];
    }
    let of = |name: &String| {
        let (flow, rounds) = (member.flows.get(name), member.round_trips.get(name));
        let (frames, requests) = (flow.map(|flow| flow.counts), rounds.map(|rounds| rounds.counts));
        let value = match requirement.figure {
            RequiredFigure::Interval(figure) => {
                flow.and_then(intervals).and_then(|d| d.figure(figure))
            }
            RequiredFigure::RoundTrip(figure) => {
                rounds.and_then(|a| a.round_trip.as_ref()).and_then(|d| d.figure(figure))
            }
            RequiredFigure::Count(count) => {
                let frames = frames.map(|frames| match count {
                    RequiredCount::Lost => frames.lost,
                    RequiredCount::LostInARow => frames.lost_in_a_row,
                    RequiredCount::Late => frames.late,
                    RequiredCount::Dropped => frames.dropped(),
                });
                let requests = requests.and_then(|requests| match count {
                    RequiredCount::Lost => Some(requests.lost),
                    RequiredCount::LostInARow => Some(requests.lost_in_a_row),
                    RequiredCount::Late => Some(requests.late),
                    RequiredCount::Dropped => None,
                });
                frames.or(requests).map(|n| n as f64)
            }
            RequiredFigure::FlowRate => {
                member.wire.get(name).and_then(|wire| wire.rate_bps).map(|bps| bps as f64)
            }
            RequiredFigure::LoadRate(_) => None,
        };
        let loss = || {
            let of_frames =
                frames.map(|c| Loss { lost: c.lost, planned: c.planned, what: "frames" });
            let of_requests =
                || requests.map(|c| Loss { lost: c.lost, planned: c.planned, what: "requests" });
            of_frames.or_else(of_requests)
        };
        let loss = requirement.figure.is_time().then(loss).flatten();
        (name.clone(), Found { seed, value, loss })
    };
    requirement.of.iter().map(of).collect()
}

/// The deviations of a flow's intervals where it is judged.
fn intervals(flow: &FlowStatistics) -> Option<&Deviation> {
    flow.timestamp_points.get(&flow.timestamp_point?)?.interval.as_ref()
}

/// What is said where there is no figure.
fn missing(figure: RequiredFigure) -> &'static str {
    match figure {
        // A veth pair has no analyser: the frames may well have arrived.
        RequiredFigure::FlowRate => "no two frames were seen on the wire",
        _ => "nothing measured, or too little for it",
    }
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds and counts of i64 fit")]
fn show(figure: RequiredFigure, value: f64) -> String {
    match figure {
        RequiredFigure::Count(_) => format!("{value:.0}"),
        RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => {
            format!("{:.3} Mbit/s", value / 1e6)
        }
        RequiredFigure::Interval(_) | RequiredFigure::RoundTrip(_) => {
            Span::from_ns(value.round() as i64).to_string()
        }
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
