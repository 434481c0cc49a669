//! One member of a run (a case at a seed): from the logs and the capture to
//! records in the run folder and statistics in the summary.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use anyhow::Context;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment, Wire};
use teiji_record::capture::{WireImport, sightings};
use teiji_record::{
    About, AboutRounds, FlowPlan, MemberSummary, Records, RoundPlan, RoundRecords, RunFolder,
    Sighting, join, on_wire,
};

use crate::bridge_rooms;
use crate::card;
use crate::headroom;
use crate::outcome::Outcome;
use crate::ptp::series::write_sync;

/// `vtsn` computes when a frame passes, in whole nanoseconds.
const COMPUTED_RESOLUTION: Span = Span::from_ns(1);

/// Writes the member's records and sums them up. `captures` are the analyser's
/// files, one per wire, `None` or missing where it saw nothing; `resolution` is what
/// their stamps are good for, where that is coarser than the file says.
pub fn record(
    folder: &RunFolder,
    experiment: &Experiment,
    case: &Case,
    seed: u64,
    outcome: &Outcome,
    captures: &[Option<PathBuf>],
    resolution: Option<Span>,
) -> anyhow::Result<(MemberSummary, Vec<String>)> {
    let flows: Vec<FlowPlan> = (0..)
        .zip(&case.scenario.flows)
        .map(|(id, flow)| FlowPlan::new(id, flow, outcome.base + flow.offset))
        .collect();
    let mut warnings = Vec::new();
    let mut sighted: Vec<Sighting> = Vec::new();
    let watched: Vec<(&Wire, &PathBuf)> = case
        .scenario
        .wires
        .iter()
        .zip(captures)
        .filter_map(|(wire, path)| Some((wire, path.as_ref()?)))
        .collect();
    for (wire, path) in &watched {
        let WireImport { sightings, damage, .. } =
            import(path).with_context(|| format!("cannot read the capture {}", path.display()))?;
        // Bridges pass frames on; what counts is when they are on their last wire.
        let arrives = |seen: &Sighting| {
            let flow = case.scenario.flows.get(usize::from(seen.flow));
            flow.is_none_or(|flow| flow.last_wire() == wire.name)
        };
        sighted.extend(sightings.into_iter().filter(arrives));
        if let Some(damage) = damage {
            warnings.push(format!("The capture of case {} ends early: {damage}.", case.name));
        }
    }
    sighted.extend(outcome.computed_sightings());
    let mut joined = join(&flows, &outcome.talkers, &outcome.listeners, sighted);
    // One resolution for all: the coarsest.
    if !watched.is_empty() {
        joined.facts.wire_resolution = resolution;
    } else if !outcome.computed.is_empty() {
        joined.facts.wire_resolution = Some(COMPUTED_RESOLUTION);
    }
    let observed = outcome.observed()?;
    let round_trips = rounds(experiment, case, seed, outcome);
    let incomplete = !joined.facts.interrupted.is_empty()
        || round_trips.as_ref().is_some_and(RoundRecords::is_incomplete);
    let records = Records {
        about: About { experiment: experiment.name.clone(), case: case.name.clone(), seed, flows },
        facts: joined.facts,
        rows: joined.rows,
    };
    warnings.extend((0..).zip(&case.scenario.flows).filter_map(|(id, flow)| {
        let said = headroom::warning(&case.scenario, flow, records.rows_of(id))?;
        Some(format!("Case {}, seed {seed}: {said}", case.name))
    }));
    let name = folder.write_records(&records)?;
    if let Some(rounds) = &round_trips {
        folder.write_rounds(rounds)?;
    }
    write_sync(folder, &name, &outcome.sync)?;
    let capture = watched.first().and_then(|(_, path)| {
        Some(path.strip_prefix(folder.path()).ok()?.to_string_lossy().into_owned())
    });
    let member = MemberSummary {
        delays: BTreeMap::new(),
        seed,
        records: Some(name),
        flows: records.statistics(),
        round_trips: round_trips.map(|rounds| rounds.statistics()).unwrap_or_default(),
        wire: on_wire(experiment, case, &records),
        rooms: records.rooms(),
        blocking: blocking(case, capture.is_some()),
        capture,
        bridge_rooms: bridge_rooms::of(&observed.network),
        incomplete,
        clocks: outcome.clocks.clone(),
        cards: card::counts(&observed.network, &case.scenario, &records.facts.listeners),
        activity: observed.activity,
        cpu_time: observed.cpu_time,
    };
    Ok((member, warnings))
}

/// What frames under way can hold up round trips by; nothing where QEMU captured its own cards,
/// which keep no rate.
pub fn blocking(case: &Case, captured: bool) -> BTreeMap<String, Span> {
    if captured { BTreeMap::new() } else { case.scenario.blocking() }
}

/// The records of the case's round trips; `None` if it has none.
fn rounds(
    experiment: &Experiment,
    case: &Case,
    seed: u64,
    outcome: &Outcome,
) -> Option<RoundRecords> {
    let plans = case.scenario.numbered_round_trips();
    let round_trips: Vec<RoundPlan> = plans.map(|(id, asked)| RoundPlan::new(id, asked)).collect();
    if round_trips.is_empty() {
        return None;
    }
    let about = AboutRounds {
        experiment: experiment.name.clone(),
        case: case.name.clone(),
        seed,
        round_trips,
    };
    let logs = outcome.rounds.iter().map(|(asked, answered)| (asked, answered.foreign));
    Some(RoundRecords::new(about, logs))
}

fn import(path: &PathBuf) -> anyhow::Result<WireImport> {
    Ok(sightings(File::open(path)?)?)
}
