//! The summary of a run folder: from its manifest and its records alone, so that a run can be
//! summed up at its end, after it was killed, and by a later Teiji, in one way.

mod bridge_headroom;
mod headroom;
mod judgement;
pub(crate) mod nics;
mod saturation;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use teiji_experiment::{Case, Experiment};
use teiji_record::summary;
use teiji_record::{
    CaseSummary, JsonFileError, Manifest, MemberSummary, ObservedCase, RoundRecords, RunFolder,
    RunFolderError, Summary, on_wire,
};

use crate::experiment_file;
use crate::limits;
use crate::member::MemberFiles;
use crate::report;

/// A summary, and where it comes from.
pub struct Found {
    /// The summary.
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
            "The run ended before its summary was written; this summary was made from its records."
                .to_owned()
        }
        Err(RunFolderError::Json(JsonFileError::Older { found, .. })) => {
            format!(
                "An older Teiji wrote the summary of this run (`{found}`); this one was made \
                 from its records."
            )
        }
        Err(error @ RunFolderError::Json(JsonFileError::Invalid { .. })) => {
            let path = report::shown(folder.path());
            bail!("{error}; delete it, and `teiji report {path}` makes it anew from the records")
        }
        Err(error) => return Err(error.into()),
    };
    let text = folder.read_experiment()?;
    let mut experiment = experiment_file::parse(&text, "experiment.toml", manifest)?;
    experiment.cases = experiment_file::choose_cases(&experiment, &manifest.cases)?;
    let summary = summarise(folder, manifest, &experiment, Some(why))?;
    if summary.cases.iter().all(|case| case.members.is_empty()) {
        let path = report::shown(folder.path());
        bail!(
            "{path}: the run ended before anything was measured: it has no records. \
             `teiji run --replay {path}` runs it again"
        );
    }
    Ok(Found { summary, remade: true })
}

/// The summary of what the folder's records hold. `experiment` has the cases that were to run;
/// `remade` says why the summary is not the run's own.
///
/// # Errors
/// Records cannot be read.
pub fn summarise(
    folder: &RunFolder,
    manifest: &Manifest,
    experiment: &Experiment,
    remade: Option<String>,
) -> anyhow::Result<Summary> {
    let interrupted = "The run was interrupted: it shows the part that was measured.".to_owned();
    let interrupted = manifest.interrupted.then_some(interrupted);
    let mut warnings: Vec<String> = remade.into_iter().chain(interrupted).collect();
    let mut cases = Vec::new();
    let mut of_members = Vec::new();
    for case in &experiment.cases {
        let mut members = Vec::new();
        for &seed in &manifest.seeds {
            let missing = manifest.missing.iter().find(|m| m.case == case.name && m.seed == seed);
            let why = missing.map(|missing| missing.why.as_str());
            let there = folder.path().join(RunFolder::records_name(&case.name, seed)).is_file();
            if let (None, true) = (why, there) {
                let (member, warnings_of_member) = member(folder, manifest, experiment, case, seed)
                    .with_context(|| format!("case {} seed {seed}", case.name))?;
                members.push(member);
                of_members.extend(warnings_of_member);
            } else {
                let why = why.unwrap_or("no records");
                // Some errors are several sentences.
                let why = why.trim_end_matches('.');
                warnings.push(format!("Case {} seed {seed} is missing: {why}.", case.name));
            }
        }
        let Case { name, about, paper_result, .. } = case.clone();
        cases.push(CaseSummary { name, about, paper_result, members });
    }
    for warning in of_members {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let emulated = experiment_file::recorded_argument(manifest, "--bind").is_none();
    warnings.push(limits::caveat(manifest.testbed, experiment, emulated));
    let measured: Vec<judgement::Measured<'_>> = experiment
        .cases
        .iter()
        .zip(&cases)
        .map(|(case, summary)| {
            let observed = |member: &MemberSummary| manifest.observed.get(&case.name, member.seed);
            (case, summary.members.iter().map(|member| (member, observed(member))).collect())
        })
        .collect();
    let (verdicts, ranking) = judgement::of(&experiment.judge, &measured);
    Ok(Summary {
        schema: summary::SCHEMA.to_owned(),
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        judge: experiment.judge.clone(),
        background: experiment.background(),
        paper: experiment.paper.clone(),
        paper_differences: experiment.paper_differences.clone(),
        testbed: manifest.testbed,
        cases,
        periodic: Vec::new(),
        warnings,
        verdicts,
        ranking,
    })
}

/// One member's statistics, and what a reader must know of it.
fn member(
    folder: &RunFolder,
    manifest: &Manifest,
    experiment: &Experiment,
    case: &Case,
    seed: u64,
) -> anyhow::Result<(MemberSummary, Vec<String>)> {
    let records = folder.read_records(&case.name, seed)?;
    let rounds = folder.read_rounds(&case.name, seed)?;
    let cut_short = rounds.as_ref().is_some_and(RoundRecords::is_incomplete);
    let capture = MemberFiles::of(folder, case, seed).first_capture(folder);
    let observed = manifest.observed.get(&case.name, seed);
    let network = observed.map(|seen| &seen.network);
    let listeners = &records.facts.listeners;
    let member = MemberSummary {
        delays: BTreeMap::new(),
        seed,
        records: Some(RunFolder::records_name(&case.name, seed)),
        // Where QEMU captured its own NICs, which keep no rate, nothing is known.
        blocking: if capture.is_some() { BTreeMap::new() } else { case.scenario.blocking() },
        capture,
        flows: records.statistics(),
        round_trips: rounds.map(|rounds| rounds.statistics()).unwrap_or_default(),
        wire: on_wire(experiment, case, &records),
        headrooms: records.headrooms(),
        bridge_headrooms: network.map(bridge_headroom::of).unwrap_or_default(),
        incomplete: !records.facts.interrupted.is_empty() || cut_short,
        clocks: observed.map(|seen| seen.sync.clone()).unwrap_or_default(),
        nic_counts: network
            .map(|network| nics::counts(network, &case.scenario, listeners))
            .unwrap_or_default(),
        activity: observed.map(|seen| seen.activity.clone()).unwrap_or_default(),
        cpu_time: observed.map(|seen| seen.cpu_time.clone()).unwrap_or_default(),
    };
    let mut warnings: Vec<String> = (0..)
        .zip(&case.scenario.flows)
        .filter_map(|(id, flow)| {
            let warning = headroom::warning(&case.scenario, flow, records.rows_of(id))?;
            Some(format!("Case {}, seed {seed}: {warning}", case.name))
        })
        .collect();
    let loads = observed.map_or(&[][..], |seen| &seen.loads);
    warnings.extend(saturation::warning(case, &member, loads, manifest.testbed));
    let of_observation = observed.into_iter().flat_map(|ObservedCase { warnings, .. }| warnings);
    warnings.extend(of_observation.map(|warning| format!("Case {}: {warning}", case.name)));
    Ok((member, warnings))
}
