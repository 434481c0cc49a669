//! Requirements against the case that is to fulfil them: one that names nothing is a
//! mistake.

use teiji_core::load::LoadKind;

use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::read::requirement::{RequirementDraft, Wrong};
use crate::scenario::{AllowedLoss, Relation, RequiredCount, RequiredFigure, Requirement};
use crate::suggest::{did_you_mean, list};
use crate::tree::Origin;

/// The loads that count what they carry.
const STREAMS: [LoadKind; 2] = [LoadKind::TcpTx, LoadKind::TcpRx];

/// The requirements of the case that `draft` is of, each with the names it is about;
/// none where something is wrong.
pub(crate) fn resolve(
    drafts: Option<Vec<Option<RequirementDraft>>>,
    draft: &ScenarioDraft,
    log: &Log,
) -> Option<Vec<Requirement>> {
    let resolved: Vec<Option<(Origin, Requirement)>> =
        drafts?.into_iter().map(|one| resolve_one(one?, draft, log)).collect();
    let resolved: Vec<(Origin, Requirement)> = resolved.into_iter().collect::<Option<_>>()?;
    contradicting_losses(&resolved, log);
    Some(resolved.into_iter().map(|(_, one)| one).collect())
}

/// A time fails at the first frame that is lost, also where another requirement allows some.
fn contradicting_losses(all: &[(Origin, Requirement)], log: &Log) {
    let allows_some = |one: &&Requirement| {
        let least = if one.relation == Relation::Below { 2 } else { 1 };
        let bounded = matches!(one.relation, Relation::AtMost | Relation::Below | Relation::Equal);
        one.figure == RequiredFigure::Count(RequiredCount::Lost) && bounded && one.bound >= least
    };
    let strict = all
        .iter()
        .filter(|(_, time)| time.figure.is_time() && time.allowed_loss == AllowedLoss::NONE);
    for (at, time) in strict {
        let same = |one: &&Requirement| one.of.iter().any(|name| time.of.contains(name));
        let lenient = all.iter().map(|(_, one)| one).filter(allows_some).find(same);
        if let Some(lenient) = lenient {
            log.warning(
                *at,
                format!(
                    "`{time}` does not hold once a frame is lost, which `{lenient}` allows: what \
                     is lost has no time"
                ),
                format!(
                    "If some may be lost here, write `{time} with lost <= {}`.",
                    lenient.bound - i64::from(lenient.relation == Relation::Below)
                ),
            );
        }
    }
}

fn resolve_one(
    one: RequirementDraft,
    draft: &ScenarioDraft,
    log: &Log,
) -> Option<(Origin, Requirement)> {
    match figure_and_names(&one, draft) {
        Ok((figure, of)) => {
            let RequirementDraft { at, text, relation, bound, allowed_loss, .. } = one;
            Some((at, Requirement { text, figure, of, relation, bound, allowed_loss }))
        }
        Err((why, help)) => {
            log.mistake(one.at, format!("`{}`: {why}", one.text), help);
            None
        }
    }
}

fn figure_and_names(
    one: &RequirementDraft,
    draft: &ScenarioDraft,
) -> Result<(RequiredFigure, Vec<String>), Wrong> {
    let names = Names::of(draft);
    if let (RequiredFigure::FlowRate, Some(name)) = (one.figure, &one.of) {
        if let Some(load) = load_called(name, &names, draft)? {
            return Ok((RequiredFigure::LoadRate(load), Vec::new()));
        }
    }
    let Choice { all, only_named, what } = names.choice(one.figure);
    let known = [all.as_slice(), &only_named].concat();
    let of_round_trips = matches!(one.figure, RequiredFigure::RoundTrip(_));
    match one.of.as_deref() {
        Some(name) if known.contains(&name) => Ok((one.figure, vec![name.to_owned()])),
        Some(name) if !of_round_trips && names.background.contains(&name) => Err((
            format!("the flow `{name}` is background, of which only lost and rate are required"),
            "Require one of these, or leave `background` out there.".to_owned(),
        )),
        _ if known.is_empty() => {
            let help = match one.figure {
                RequiredFigure::Interval(_) => "Of round trips write rtt: p99.99 rtt <= 1ms",
                _ => "Leave it out where there is nothing to require.",
            };
            Err((format!("the case has no {what} that it could be of"), help.to_owned()))
        }
        Some(name) => {
            let guess = did_you_mean(name, known.iter().copied());
            Err((
                format!("the case has no {what} `{name}`{guess}"),
                format!("There is {}.", list(&known)),
            ))
        }
        None if all.is_empty() => Err((
            "without a name it is of flows that are no background, and the case has none"
                .to_owned(),
            format!("Write `of` and a name after the figure; there is {}.", list(&known)),
        )),
        None => Ok((one.figure, all.into_iter().map(str::to_owned).collect())),
    }
}

/// The load whose rate `rate of NAME` is; none if that is no load's name, or a flow's.
fn load_called(
    name: &str,
    names: &Names<'_>,
    draft: &ScenarioDraft,
) -> Result<Option<LoadKind>, Wrong> {
    let Ok(load) = name.parse::<LoadKind>() else { return Ok(None) };
    // Unknown where `loads` is wrong, which is reported already.
    let runs = draft.loads.as_ref().map(|loads| loads.contains(&load));
    match (names.is_flow(name), runs) {
        (true, Some(true)) => Err((
            format!("the case has a flow and a load `{load}`"),
            "Give the flow another name.".to_owned(),
        )),
        (true, _) => Ok(None),
        (false, _) if !STREAMS.contains(&load) => Err((
            format!("the load `{load}` is not counted in bits per second"),
            "There is a rate of flows, tcp-tx and tcp-rx.".to_owned(),
        )),
        (false, Some(false)) => Err((
            format!("the case has no load `{load}`"),
            format!("Write loads = [\"{load}\"] in the case, or leave the requirement out."),
        )),
        (false, _) => Ok(Some(load)),
    }
}

/// What a figure can be of.
struct Choice<'a> {
    /// Without a name it is of all of these.
    all: Vec<&'a str>,
    /// Of these only where one is named.
    only_named: Vec<&'a str>,
    /// The kind of both, in words that follow "no".
    what: &'static str,
}

/// What a case has, by name.
struct Names<'a> {
    /// The flows that are no background.
    flows: Vec<&'a str>,
    /// The flows that are.
    background: Vec<&'a str>,
    round_trips: Vec<&'a str>,
    /// Its loads of [`STREAMS`].
    streams: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(draft: &'a ScenarioDraft) -> Self {
        let (background, flows): (Vec<_>, Vec<_>) =
            draft.flows.iter().partition(|flow| flow.background == Some(true));
        let loads = draft.loads.iter().flatten();
        Self {
            flows: flows.iter().map(|flow| flow.name.as_str()).collect(),
            background: background.iter().map(|flow| flow.name.as_str()).collect(),
            round_trips: draft.round_trips.iter().map(|requests| requests.name.as_str()).collect(),
            streams: loads.filter(|load| STREAMS.contains(load)).map(|load| load.name()).collect(),
        }
    }

    fn is_flow(&self, name: &str) -> bool {
        self.flows.contains(&name) || self.background.contains(&name)
    }

    fn choice(&self, figure: RequiredFigure) -> Choice<'a> {
        let Self { flows, background, round_trips, streams } = self;
        let both = || [flows.as_slice(), round_trips].concat();
        let (all, only_named, what) = match figure {
            RequiredFigure::RoundTrip(_) => (round_trips.clone(), Vec::new(), "round trips"),
            RequiredFigure::Interval(_) | RequiredFigure::Count(RequiredCount::Dropped) => {
                (flows.clone(), Vec::new(), "flow")
            }
            RequiredFigure::Count(RequiredCount::Late) => {
                (both(), Vec::new(), "flow and no round trips")
            }
            RequiredFigure::Count(RequiredCount::Lost | RequiredCount::LostInARow) => {
                (both(), background.clone(), "flow and no round trips")
            }
            RequiredFigure::FlowRate | RequiredFigure::LoadRate(_) => {
                (flows.clone(), [background.as_slice(), streams].concat(), "flow and no load")
            }
        };
        Choice { all, only_named, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    #[test]
    fn without_a_name_it_is_of_no_background_and_a_name_is_a_flows_or_a_loads() {
        let flow = "from = \"a\", to = \"b\", period = \"1ms\", frames = 9";
        let text = format!(
            "name = \"e\"\nquestion = \"?\"\nwires.line.between = [\"a\", \"b\"]\n\
             loads = [\"tcp-tx\"]\n\
             require = [\"rate >= 10Mbit/s\", \"rate of load >= 94Mbit/s\", \
             \"rate of tcp-tx > 50Mbit/s\", \"rate of tcp-rx > 1kbit/s\", \"lost = 0\", \
             \"lost of load = 3\", \"lost in a row of cycle <= 2\"]\n\
             flows.cycle = {{ {flow} }}\nflows.load = {{ {flow}, background = true }}\n\
             flows.tcp-rx = {{ {flow}, background = true }}\n"
        );
        let case = Experiment::parse(&text, "e.toml").unwrap().cases.remove(0);
        let read: Vec<_> =
            case.requirements.iter().map(|one| (one.figure, one.of.join(" "), one.bound)).collect();
        let lost = RequiredFigure::Count(RequiredCount::Lost);
        let expected = [
            (RequiredFigure::FlowRate, "cycle", 10_000_000),
            (RequiredFigure::FlowRate, "load", 94_000_000),
            (RequiredFigure::LoadRate(LoadKind::TcpTx), "", 50_000_000),
            // The case has no load of that name, but a flow.
            (RequiredFigure::FlowRate, "tcp-rx", 1_000),
            (lost, "cycle", 0),
            (lost, "load", 3),
            (RequiredFigure::Count(RequiredCount::LostInARow), "cycle", 2),
        ];
        assert_eq!(read, expected.map(|(figure, of, bound)| (figure, of.to_owned(), bound)));
    }
}
