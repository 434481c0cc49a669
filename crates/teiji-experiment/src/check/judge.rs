//! Checks `judge`, which answers the question, against the cases.

use crate::log::Log;
use crate::nic_source::NicSource;
use crate::read::judge::JudgeDraft;
use crate::scenario::{Case, Flow, Judge, JudgeBy, Nic, Qdisc, Scenario};
use crate::suggest::{did_you_mean, list};

/// The judge with its flow named where one flow decides.
pub(crate) fn resolve(draft: JudgeDraft, cases: &[Case], nics: NicSource, log: &Log) -> Judge {
    let mut draft = draft;
    let some = |of: fn(&Scenario) -> bool| cases.iter().any(|case| of(&case.scenario));
    let only_round_trips = some(|s| !s.round_trips.is_empty()) && !some(|s| !s.flows.is_empty());
    if draft.judge == Judge::default() && only_round_trips {
        draft.judge.by = JudgeBy::RoundTrip;
    }
    match (&draft.judge.flow, draft.judge.by) {
        (flow, JudgeBy::RoundTrip) => round_trips(flow.as_deref(), &draft, cases, log),
        (Some(flow), _) => named_flow(flow, &draft, cases, log),
        (None, _) => {}
    }
    if matches!(draft.judge.by, JudgeBy::Gates | JudgeBy::Shaping) {
        something_to_judge(&draft, cases, nics, log);
    }
    if let Some(pair) = &draft.judge.cases {
        known_cases(pair, &draft, cases, log);
    }
    if draft.judge.rank {
        remedies(&draft, cases, log);
    }
    let Judge { flow, cases: pair, by, rank } = draft.judge;
    let first = || match by {
        JudgeBy::RoundTrip => first_round_trips(cases),
        _ => first_flow(cases),
    };
    let flow = flow.or_else(|| if by.is_of_one_flow() { first() } else { None });
    Judge { flow, cases: pair, by, rank }
}

fn first_flow(cases: &[Case]) -> Option<String> {
    let flows = cases.iter().map(|case| &case.scenario.flows).find(|flows| !flows.is_empty())?;
    let chosen = flows.iter().find(|flow| !flow.background).or(flows.first())?;
    Some(chosen.name.clone())
}

fn first_round_trips(cases: &[Case]) -> Option<String> {
    cases.iter().flat_map(|case| &case.scenario.round_trips).next().map(|r| r.name.clone())
}

fn known_cases(pair: &[String; 2], draft: &JudgeDraft, cases: &[Case], log: &Log) {
    let known: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    if let Some(name) = pair.iter().find(|name| !known.contains(&name.as_str())) {
        let guess = did_you_mean(name, known.iter().copied());
        log.mistake(
            draft.cases_at,
            format!("`judge` names the case `{name}`, which does not exist{guess}"),
            format!("There is {}.", list(&known)),
        );
    }
    if !matches!(draft.judge.by, JudgeBy::Interval | JudgeBy::RoundTrip) {
        log.warning(
            draft.cases_at,
            "`cases` of `judge` has no effect: only intervals and round trips are compared in pairs",
            "Leave it out; the answer names every case.",
        );
    }
}

/// Whether the cases can be ranked: several, by a figure that orders them, of one situation.
fn remedies(draft: &JudgeDraft, cases: &[Case], log: &Log) {
    let mistake = |message: String, help: &str| log.mistake(draft.rank_at, message, help);
    if !matches!(draft.judge.by, JudgeBy::Interval | JudgeBy::RoundTrip) {
        mistake(
            "`rank` of `judge` needs a figure that orders the cases".to_owned(),
            "Judge by \"interval\" or by \"round-trip\", or leave `rank` out.",
        );
    }
    let Some((first, others)) = cases.split_first().filter(|(_, others)| !others.is_empty()) else {
        let help = "Write two cases or more, or leave `rank` out.";
        return mistake(
            "`rank` of `judge` has nothing to rank: there is one case".to_owned(),
            help,
        );
    };
    if let Some(other) = others.iter().find(|case| case.scenario.loads != first.scenario.loads) {
        mistake(
            format!(
                "`{}` and `{}` have different loads: they are no remedies for one situation",
                first.name, other.name
            ),
            "Let all cases have the same `loads`, or leave `rank` out.",
        );
    }
}

/// In cases of round trips alone a flow decides nothing, and the other way round.
fn named_flow(flow: &str, draft: &JudgeDraft, cases: &[Case], log: &Log) {
    let with: Vec<&Case> = cases.iter().filter(|c| !c.scenario.flows.is_empty()).collect();
    if with.is_empty() {
        log.mistake(
            draft.flow_at,
            format!("`judge` names the flow `{flow}`, but no case has a flow"),
            "Write by = \"round-trip\" for round trips.",
        );
        return;
    }
    let lacks = |case: &&&Case| case.scenario.flow(flow).is_none();
    if let Some(case) = with.iter().find(lacks).copied() {
        let known: Vec<&str> = case.scenario.flows.iter().map(|f| f.name.as_str()).collect();
        unknown("flow", flow, &known, case, draft, log);
    } else if with.iter().all(|c| c.scenario.flow(flow).is_some_and(|(_, f)| f.background)) {
        log.mistake(
            draft.flow_at,
            format!("`judge` names the flow `{flow}`, which is background: it decides nothing"),
            "Name another flow, or leave `background` out there.",
        );
    }
}

fn round_trips(name: Option<&str>, draft: &JudgeDraft, cases: &[Case], log: &Log) {
    let with: Vec<&Case> = cases.iter().filter(|c| !c.scenario.round_trips.is_empty()).collect();
    if with.is_empty() {
        log.mistake(
            draft.by_at,
            "`judge` needs round trips, but no case has any",
            "Write a table [round-trips.NAME], or judge by \"interval\".",
        );
    }
    let lacks = |case: &&&Case, name: &str| case.scenario.round_trips(name).is_none();
    if let Some((name, case)) = name.and_then(|n| Some((n, *with.iter().find(|c| lacks(c, n))?))) {
        let known: Vec<&str> = case.scenario.round_trips.iter().map(|r| r.name.as_str()).collect();
        unknown("round trips", name, &known, case, draft, log);
    }
}

fn unknown(what: &str, name: &str, known: &[&str], case: &Case, draft: &JudgeDraft, log: &Log) {
    let guess = did_you_mean(name, known.iter().copied());
    log.mistake(
        draft.flow_at,
        format!("`judge` names the {what} `{name}`, which case `{}` lacks{guess}", case.name),
        format!("There is {}.", list(known)),
    );
}

/// Gates and credits are seen on a wire whose time is computed, where a case
/// sets them.
fn something_to_judge(draft: &JudgeDraft, cases: &[Case], nics: NicSource, log: &Log) {
    let judged = |flow: &&Flow| draft.judge.flow.as_ref().is_none_or(|name| *name == flow.name);
    let shapes = |case: &Case| {
        let flows = case.scenario.flows.iter().filter(judged);
        flows.into_iter().any(|flow| is_shaped(&case.scenario, flow, draft.judge.by))
    };
    let (by, what, key) = match draft.judge.by {
        JudgeBy::Gates => ("gates", "no case has gates where the flow leaves", "kind = \"taprio\""),
        _ => ("shaping", "no case has a shaper for the flow's class", "kind = \"cbs\""),
    };
    if !cases.iter().any(shapes) {
        log.mistake(
            draft.by_at,
            format!("`judge` needs {by}, but {what}"),
            format!("Write {key} at the port it leaves by, or judge by \"interval\"."),
        );
    }
    let sampled = cases.iter().flat_map(|c| &c.scenario.wires).find(|w| w.nic != Nic::Vtsn);
    if let (Some(wire), NicSource::Emulated) = (sampled, nics) {
        log.mistake(
            draft.by_at,
            format!(
                "`judge` needs {by}, and frames of the emulated {} of `{}` have no \
                 timestamps of 1 ns on the wire",
                wire.nic, wire.name
            ),
            "Write nic = \"vtsn\" for it.",
        );
    }
}

fn is_shaped(scenario: &Scenario, flow: &Flow, by: JudgeBy) -> bool {
    let qdisc = scenario.port(&flow.from, &flow.wire).and_then(|port| port.qdisc.as_ref());
    let Some(qdisc) = qdisc else { return false };
    match by {
        JudgeBy::Gates => matches!(qdisc.root, Qdisc::Taprio(_)),
        _ => matches!(qdisc.leaf_of(flow.priority), Some(Qdisc::Cbs(_))),
    }
}
