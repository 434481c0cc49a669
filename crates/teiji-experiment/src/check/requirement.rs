//! Requirements against the case that is to fulfil them: one that names nothing is a
//! mistake.

use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::read::requirement::RequirementDraft;
use crate::scenario::{RequiredCount, RequiredFigure, Requirement};
use crate::suggest::{did_you_mean, list};

/// The requirements of the case that `draft` is of, each with the names it is about;
/// none where something is wrong.
pub(crate) fn resolve(
    drafts: Option<Vec<RequirementDraft>>,
    draft: &ScenarioDraft,
    log: &Log,
) -> Option<Vec<Requirement>> {
    let resolved: Vec<Option<Requirement>> =
        drafts?.into_iter().map(|one| resolve_one(one, draft, log)).collect();
    resolved.into_iter().collect()
}

fn resolve_one(one: RequirementDraft, draft: &ScenarioDraft, log: &Log) -> Option<Requirement> {
    let RequirementDraft { at, text, figure, of, relation, bound } = one;
    if let RequiredFigure::Rate(load) = figure {
        if draft.loads.as_ref().is_some_and(|loads| !loads.contains(&load)) {
            log.mistake(
                at,
                format!("`{text}`: the case has no load `{load}`"),
                format!("Write loads = [\"{load}\"] in the case, or leave the requirement out."),
            );
            return None;
        }
        return Some(Requirement { text, figure, of: Vec::new(), relation, bound });
    }
    let flows = draft.flows.iter().filter(|flow| flow.background != Some(true));
    let flows: Vec<&str> = flows.map(|flow| flow.name.as_str()).collect();
    let asked: Vec<&str> = draft.round_trips.iter().map(|asked| asked.name.as_str()).collect();
    let (known, what) = match figure {
        RequiredFigure::RoundTrip(_) => (asked, "round trips"),
        RequiredFigure::Interval(_) | RequiredFigure::Count(RequiredCount::Dropped) => {
            (flows, "flow")
        }
        RequiredFigure::Count(_) => ([flows, asked].concat(), "flow and no round trips"),
        RequiredFigure::Rate(_) => return None,
    };
    if known.is_empty() {
        let help = match figure {
            RequiredFigure::Interval(_) => "Of round trips write rtt: p99.99 rtt <= 1ms",
            _ => "Leave it out where there is nothing to require.",
        };
        log.mistake(at, format!("`{text}`: the case has no {what} that it could be of"), help);
        return None;
    }
    let of = match of {
        None => known.iter().map(|name| (*name).to_owned()).collect(),
        Some(name) if known.contains(&name.as_str()) => vec![name],
        Some(name) => {
            let guess = did_you_mean(&name, known.iter().copied());
            log.mistake(
                at,
                format!("`{text}`: the case has no {what} `{name}`{guess}"),
                format!("There is {}.", list(&known)),
            );
            return None;
        }
    };
    Some(Requirement { text, figure, of, relation, bound })
}
