//! One member of a run (a case at a seed): from the logs and the capture to
//! records in the run folder and statistics in the summary.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Context;
use teiji_core::time::Span;
use teiji_experiment::{Case, Experiment};
use teiji_record::capture::{WireImport, sightings};
use teiji_record::{About, FlowPlan, MemberSummary, Records, RunFolder, Sighting, join};

use crate::outcome::Outcome;

/// `vtsn` computes when a frame passes, in whole nanoseconds.
const COMPUTED_RESOLUTION: Span = Span::from_ns(1);

/// Writes the member's records and sums them up. `captures` are the analyser's
/// files, one per wire; `resolution` is what their stamps are good for, where
/// that is coarser than the file says.
pub fn record(
    folder: &RunFolder,
    experiment: &Experiment,
    case: &Case,
    seed: u64,
    outcome: &Outcome,
    captures: &[PathBuf],
    resolution: Option<Span>,
) -> anyhow::Result<(MemberSummary, Vec<String>)> {
    let flows: Vec<FlowPlan> = (0..)
        .zip(&case.scenario.flows)
        .map(|(id, flow)| FlowPlan::new(id, flow, outcome.base + flow.offset))
        .collect();
    let mut warnings = Vec::new();
    let mut sighted: Vec<Sighting> = Vec::new();
    for path in captures {
        let WireImport { sightings, damage, .. } =
            import(path).with_context(|| format!("cannot read the capture {}", path.display()))?;
        sighted.extend(sightings);
        if let Some(damage) = damage {
            warnings.push(format!("The capture of case {} ends early: {damage}.", case.name));
        }
    }
    sighted.extend(outcome.computed_sightings());
    let mut joined = join(&flows, &outcome.talkers, &outcome.listeners, sighted);
    // One resolution for all: the coarsest.
    if !captures.is_empty() {
        joined.facts.wire_resolution = resolution;
    } else if !outcome.computed.is_empty() {
        joined.facts.wire_resolution = Some(COMPUTED_RESOLUTION);
    }
    let incomplete = !joined.facts.interrupted.is_empty();
    let records = Records {
        about: About { experiment: experiment.name.clone(), case: case.name.clone(), seed, flows },
        facts: joined.facts,
        rows: joined.rows,
    };
    let name = folder.write_records(&records)?;
    let capture = captures.first().and_then(|path| {
        Some(path.strip_prefix(folder.path()).ok()?.to_string_lossy().into_owned())
    });
    let member = MemberSummary {
        seed,
        records: Some(name),
        capture,
        flows: records.statistics(),
        incomplete,
    };
    Ok((member, warnings))
}

fn import(path: &PathBuf) -> anyhow::Result<WireImport> {
    Ok(sightings(File::open(path)?)?)
}
