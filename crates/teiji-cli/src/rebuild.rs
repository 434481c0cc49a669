//! The summary of a run folder; made from the records where a run was killed, or its disk
//! was full, before it could do so itself, and where an older Teiji made it in another form.

use anyhow::bail;
use teiji_experiment::{Case, Experiment};
use teiji_record::summary::{self, Testbed};
use teiji_record::{
    CaseSummary, JsonFileError, Manifest, MemberSummary, RoundRecords, RunFolder, RunFolderError,
    Summary, on_wire,
};

use crate::bridge_rooms;
use crate::card;
use crate::experiment_file;
use crate::judgement;
use crate::limits;
use crate::member;
use crate::publish;
use crate::setup::ObservedCase;

/// A summary, and where it comes from.
pub struct Found {
    pub summary: Summary,
    /// Not from the folder's file but made now.
    pub remade: bool,
}

/// The folder's summary as this version understands it.
///
/// # Errors
/// It cannot be read, is a newer Teiji's, or there are no records to make it from.
pub fn read(folder: &RunFolder, manifest: &Manifest) -> anyhow::Result<Found> {
    let why = match folder.read_summary() {
        Ok(summary) => return Ok(Found { summary, remade: false }),
        Err(RunFolderError::NoSummary { .. }) => {
            "The run ended before it was summed up; this was made from its records afterwards."
                .to_owned()
        }
        Err(RunFolderError::Json(JsonFileError::Older { found, .. })) => {
            format!(
                "An older Teiji summed up this run (`{found}`); this was made from its records."
            )
        }
        Err(error @ RunFolderError::Json(JsonFileError::Invalid { .. })) => {
            let path = publish::shown(folder.path());
            bail!("{error}; delete it, and `teiji report {path}` makes it anew from the records")
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Found { summary: summary(folder, manifest, why)?, remade: true })
}

/// The summary of what the run's records hold, with the reason as a warning.
fn summary(folder: &RunFolder, manifest: &Manifest, why: String) -> anyhow::Result<Summary> {
    let text = folder.read_experiment()?;
    let experiment = experiment_file::parse(&text, "experiment.toml", manifest)?;
    let mut warnings = vec![why];
    let mut cases = Vec::new();
    let chosen = experiment_file::choose_cases(&experiment, &manifest.cases)?;
    for case in &chosen {
        let mut members = Vec::new();
        for &seed in &manifest.seeds {
            if folder.path().join(RunFolder::records_name(&case.name, seed)).is_file() {
                members.push(member(folder, manifest, &experiment, case, seed)?);
            } else {
                warnings.push(format!("Case {} seed {seed} is missing: no records.", case.name));
            }
        }
        let Case { name, about, paper_result, .. } = case.clone();
        cases.push(CaseSummary { name, about, paper_result, members });
    }
    if cases.iter().all(|case| case.members.is_empty()) {
        let path = publish::shown(folder.path());
        bail!(
            "{path}: the run ended before anything was measured: it has no records. \
             `teiji run --replay {path}` runs it again"
        );
    }
    let judged: Vec<judgement::Measured<'_>> = chosen
        .iter()
        .zip(&cases)
        .map(|(case, summary)| {
            let observed = |member: &MemberSummary| {
                let key = format!("{}-s{}", case.name, member.seed);
                manifest.observed.get(&key).unwrap_or(&serde_json::Value::Null)
            };
            (case, summary.members.iter().map(|member| (member, observed(member))).collect())
        })
        .collect();
    let (verdicts, ranking) = judgement::of(&experiment.judge, &judged);
    let emulated = experiment_file::recorded_argument(manifest, "--bind").is_none();
    warnings
        .push(limits::caveat(manifest.testbed == Testbed::Lab, emulated.then_some(&experiment)));
    Ok(Summary {
        background: experiment.background(),
        schema: summary::SCHEMA.to_owned(),
        experiment: experiment.name,
        question: experiment.question,
        judge: experiment.judge,
        paper: experiment.paper,
        paper_differences: experiment.paper_differences,
        testbed: manifest.testbed,
        cases,
        periodic: Vec::new(),
        warnings,
        verdicts,
        ranking,
    })
}

fn member(
    folder: &RunFolder,
    manifest: &Manifest,
    experiment: &Experiment,
    case: &Case,
    seed: u64,
) -> anyhow::Result<MemberSummary> {
    let records = folder.read_records(&case.name, seed)?;
    let rounds = folder.read_rounds(&case.name, seed)?;
    let cut_short = rounds.as_ref().is_some_and(RoundRecords::is_incomplete);
    let capture = RunFolder::capture_name(&case.name, seed);
    let observed = observed(manifest, &case.name, seed);
    let captured = folder.path().join(&capture).is_file();
    Ok(MemberSummary {
        delays: std::collections::BTreeMap::new(),
        seed,
        records: Some(RunFolder::records_name(&case.name, seed)),
        capture: captured.then_some(capture),
        blocking: member::blocking(case, captured),
        flows: records.statistics(),
        round_trips: rounds.map(|rounds| rounds.statistics()).unwrap_or_default(),
        wire: on_wire(experiment, case, &records),
        rooms: records.rooms(),
        bridge_rooms: observed
            .as_ref()
            .map(|seen| bridge_rooms::of(&seen.network))
            .unwrap_or_default(),
        incomplete: !records.facts.interrupted.is_empty() || cut_short,
        clocks: observed.as_ref().map(|observed| observed.sync.clone()).unwrap_or_default(),
        cards: observed
            .as_ref()
            .map(|seen| card::counts(&seen.network, &case.scenario, &records.facts.listeners))
            .unwrap_or_default(),
        cpu_time: observed.as_ref().map(|seen| seen.cpu_time.clone()).unwrap_or_default(),
        activity: observed.map(|observed| observed.activity).unwrap_or_default(),
    })
}

/// The machine during the member, if the manifest got to know of that.
fn observed(manifest: &Manifest, case: &str, seed: u64) -> Option<ObservedCase> {
    let observed = manifest.observed.get(&format!("{case}-s{seed}"))?;
    serde_json::from_value(observed.clone()).ok()
}
