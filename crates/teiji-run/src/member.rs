//! One member of a run (a case at a seed): from the logs and the captures to records in the run
//! folder.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Context;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment, Nic, Wire};
use teiji_record::capture::{WireImport, sightings};
use teiji_record::{
    About, AboutRounds, FlowPlan, ObservedCase, Records, RoundPlan, RoundRecords, RunFolder,
    Sighting, join,
};

use crate::measure::Outcome;
use crate::measure::ptp::series::write_sync;

/// `vtsn` computes when a frame passes, in whole nanoseconds.
const COMPUTED_RESOLUTION: Span = Span::from_ns(1);

/// What QEMU writes of a member, into the run folder.
pub struct MemberFiles {
    /// The guest's console.
    pub console: PathBuf,
    /// The capture of each wire, in the scenario's order; `None` for a wire that
    /// QEMU does not see.
    pub captures: Vec<Option<PathBuf>>,
}

impl MemberFiles {
    /// Where they are in `folder`.
    pub fn of(folder: &RunFolder, case: &Case, seed: u64) -> Self {
        let path = |name: String| folder.path().join(name);
        let capture = |(index, wire): (usize, &Wire)| match (wire.nic, index) {
            (Nic::Vtsn, _) => None,
            (_, 0) => Some(path(RunFolder::capture_name(&case.name, seed))),
            _ => Some(path(RunFolder::capture_name(&format!("{}-{}", case.name, wire.name), seed))),
        };
        Self {
            console: path(RunFolder::console_name(&case.name, seed)),
            captures: case.scenario.wires.iter().enumerate().map(capture).collect(),
        }
    }

    /// The capture of the first wire that has one, relative to `folder`.
    pub fn first_capture(&self, folder: &RunFolder) -> Option<String> {
        let first = self.captures.iter().flatten().find(|path| path.is_file())?;
        Some(first.strip_prefix(folder.path()).ok()?.to_string_lossy().into_owned())
    }
}

/// Writes the member's records. `captures` are the analyser's files, one per wire, `None` or
/// missing where it saw nothing; `resolution` is what their stamps are good for, where that is
/// coarser than the file says. Returns what was observed, for the manifest.
///
/// # Errors
/// If a capture cannot be read, or a file of the run folder cannot be written.
pub fn record(
    folder: &RunFolder,
    experiment: &Experiment,
    case: &Case,
    seed: u64,
    outcome: Outcome,
    captures: &[Option<PathBuf>],
    resolution: Option<Span>,
) -> anyhow::Result<ObservedCase> {
    let logs = &outcome.logs;
    let flows: Vec<FlowPlan> = (0..)
        .zip(&case.scenario.flows)
        .map(|(id, flow)| FlowPlan::new(id, flow, logs.base_of(id)))
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
        warnings.extend(damage.map(|damage| format!("the capture ends early: {damage}.")));
    }
    sighted.extend(outcome.computed_sightings());
    let mut joined = join(&flows, &logs.talkers, &logs.listeners, sighted);
    // One resolution for all: the coarsest.
    if !watched.is_empty() {
        joined.facts.wire_resolution = resolution;
    } else if !outcome.computed.is_empty() {
        joined.facts.wire_resolution = Some(COMPUTED_RESOLUTION);
    }
    joined.facts.apart.clone_from(&logs.apart);
    let records = Records {
        about: About { experiment: experiment.name.clone(), case: case.name.clone(), seed, flows },
        facts: joined.facts,
        rows: joined.rows,
    };
    if let Some(rounds) = &rounds(experiment, case, seed, &outcome) {
        folder.write_rounds(rounds)?;
    }
    let name = folder.write_records(&records)?;
    write_sync(folder, &name, &outcome.sync)?;
    let Outcome { logs, mut observed, differences, .. } = outcome;
    warnings.extend(logs.warnings);
    warnings.extend(differences.into_iter().map(|difference| difference + "."));
    observed.warnings = warnings;
    Ok(observed)
}

/// The records of the case's round trips; `None` if it has none.
fn rounds(
    experiment: &Experiment,
    case: &Case,
    seed: u64,
    outcome: &Outcome,
) -> Option<RoundRecords> {
    let plans = case.scenario.numbered_round_trips();
    let round_trips: Vec<RoundPlan> =
        plans.map(|(id, planned)| RoundPlan::new(id, planned)).collect();
    if round_trips.is_empty() {
        return None;
    }
    let about = AboutRounds {
        experiment: experiment.name.clone(),
        case: case.name.clone(),
        seed,
        round_trips,
    };
    let logs = outcome.logs.rounds.iter().map(|(requests, replies)| (requests, replies.foreign));
    Some(RoundRecords::new(about, logs))
}

fn import(path: &PathBuf) -> anyhow::Result<WireImport> {
    Ok(sightings(File::open(path)?)?)
}
