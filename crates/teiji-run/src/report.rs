//! Reports what a run gave: `report.html` in its folder, and the table in
//! the terminal. Works from the run folder alone, so a run can be reported again
//! years later.

mod outliers;
mod rounds;
mod setup;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use teiji_experiment::{Experiment, JudgeBy};
use teiji_record::summary::Testbed;
use teiji_record::{FrameRow, Manifest, Records, RunFolder, Summary, json};
use teiji_report::ranking;
use teiji_report::units::Glyphs;
use teiji_report::{MarginSearch, Outlier, Paper, Points, Replay, Report};
use teiji_stats::{FlowStatistics, TimestampPoint};

use crate::causes;
use crate::experiment_file;
use crate::limits;
use crate::measure::loads;
use crate::measure::ptp;

/// Most points of all series together; beyond, series are thinned.
const POINTS: usize = 400_000;

/// Writes `report.html` into the run folder.
///
/// # Errors
/// If the run's records or its paper's figures cannot be read, or the file cannot be written.
pub fn write(folder: &RunFolder, manifest: &Manifest, summary: &Summary) -> anyhow::Result<()> {
    let experiment = folder
        .read_experiment()
        .ok()
        .and_then(|text| experiment_file::parse(&text, "experiment.toml", manifest).ok());
    let (mut points, mut outliers) = series(folder, summary, experiment.as_ref())?;
    rounds::add(folder, summary, POINTS / members(summary), &mut points, &mut outliers)?;
    let report = Report {
        summary,
        paper: summary.paper.as_deref().map(Paper::load).transpose()?,
        points,
        bands: loads::bands(manifest, summary),
        offsets: ptp::series::offsets(folder, summary),
        outliers,
        setup: setup::sections(manifest, experiment.as_ref()),
        causes: causes::of(folder)?,
        margin: margin(folder)?,
        recommended: recommended(folder, manifest, summary)?,
        replay: Some(replay(folder, manifest)),
        limits: limits::limits(summary, experiment.as_ref()),
        generator: format!("teiji {}", manifest.teiji),
        created: Some(manifest.started.clone()),
        notice: None,
    };
    let html = teiji_report::html::render(&report);
    let path = folder.report_path();
    fs::write(&path, html).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the best of ranked cases as a file of its own, and gives its text.
fn recommended(
    folder: &RunFolder,
    manifest: &Manifest,
    summary: &Summary,
) -> anyhow::Result<Option<String>> {
    let Some(ranking) = &summary.ranking else { return Ok(None) };
    let Some(best) = &ranking.best else { return Ok(None) };
    let reader = experiment_file::reader_of(manifest, "experiment.toml");
    let Some(case) = reader.alone(&folder.read_experiment()?, best) else { return Ok(None) };
    let sentences = ranking::sentences(summary, ranking, &Glyphs::UNICODE);
    let mut text = String::new();
    for line in sentences.iter().chain([&ranking::rule(ranking, &Glyphs::UNICODE)]) {
        let _ = writeln!(text, "# {line}");
    }
    let _ = writeln!(
        text,
        "# `teiji plan` prints the commands that this is, `teiji run` measures it again,\n\
         # with `--on local --bind …` on real NICs. `teiji plan --profile HOST=INTERFACE` makes a\n\
         # profile for `teiji apply` of what it gives a host.\n"
    );
    text.push_str(&case);
    let path = folder.path().join(ranking::FILE);
    fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(text))
}

/// The search for a margin that the run belongs to, if it does.
fn margin(folder: &RunFolder) -> anyhow::Result<Option<MarginSearch>> {
    let path = folder.margin_path();
    Ok(path.exists().then(|| json::read(&path, MarginSearch::SCHEMA)).transpose()?)
}

/// Writes into the run folder which search it belongs to, and its report anew.
///
/// # Errors
/// If the run folder cannot be opened, or a file in it cannot be written.
pub fn with_margin(folder: &RunFolder, search: &MarginSearch) -> anyhow::Result<()> {
    json::write(&folder.margin_path(), search)?;
    let (_, manifest) = RunFolder::open(folder.path())?;
    write(folder, &manifest, &folder.read_summary()?)
}

fn members(summary: &Summary) -> usize {
    summary.cases.iter().map(|case| case.members.len()).sum::<usize>().max(1)
}

/// The points and outliers of every member with records.
fn series(
    folder: &RunFolder,
    summary: &Summary,
    experiment: Option<&Experiment>,
) -> anyhow::Result<(Vec<Points>, Vec<Outlier>)> {
    let limit = POINTS / members(summary);
    let mut points = Vec::new();
    let mut outliers = Vec::new();
    for case in &summary.cases {
        let known = experiment.and_then(|e| e.cases.iter().find(|known| known.name == case.name));
        for member in &case.members {
            if member.records.is_none() {
                continue;
            }
            let records = folder.read_records(&case.name, member.seed)?;
            for plan in &records.about.flows {
                let Some(flow) = member.flows.get(&plan.name) else { continue };
                // Nobody asks how regular load is.
                if summary.background.contains(&plan.name) {
                    continue;
                }
                let Some(point) = flow.timestamp_point else { continue };
                let mut one = points_of(&records, plan.flow, point, flow);
                one.case.clone_from(&case.name);
                one.seed = member.seed;
                one.flow.clone_from(&plan.name);
                outliers.extend(outliers::of(known, &records, plan, point, &one));
                let departure = member.wire.get(&plan.name).and_then(|w| w.departure.as_ref());
                if let (JudgeBy::Schedule, Some(departure)) = (summary.judge.by, departure) {
                    by_schedule(&mut one, point, records.rows_of(plan.flow), departure.min_ns);
                }
                one.thin(limit);
                points.push(one);
            }
        }
    }
    Ok((points, outliers))
}

fn points_of(
    records: &Records,
    flow: u16,
    point: TimestampPoint,
    statistics: &FlowStatistics,
) -> Points {
    let period = teiji_core::time::Span::from_ns(statistics.period_ns);
    let rows = records.rows_of(flow);
    let start = rows.iter().find_map(|row| point.stamp_ns(row)).unwrap_or(0);
    let mut points = Points {
        case: String::new(),
        seed: 0,
        flow: String::new(),
        point: Some(point),
        t_ns: Vec::new(),
        deviation_ns: Vec::new(),
        seq: Vec::new(),
        of: 0,
    };
    for (seq, deviation) in teiji_stats::fold::interval_deviations(period, point, rows) {
        let at = usize::try_from(seq).ok().and_then(|seq| rows.get(seq));
        let Some(stamp) = at.and_then(|row| point.stamp_ns(row)) else { continue };
        points.t_ns.push(stamp - start);
        points.deviation_ns.push(deviation);
        points.seq.push(seq);
    }
    points.of = points.seq.len() as u64;
    points
}

/// Makes of intervals departures: the earliest of all is `earliest_ns` after its plan.
fn by_schedule(points: &mut Points, point: TimestampPoint, rows: &[FrameRow], earliest_ns: i64) {
    let deviations = teiji_stats::fold::schedule_deviations(point, rows);
    let Some(least) = deviations.iter().map(|(_, deviation)| *deviation).min() else { return };
    let start = rows.iter().find_map(|row| point.stamp_ns(row)).unwrap_or(0);
    let at = |seq: &u64| {
        let row = usize::try_from(*seq).ok().and_then(|seq| rows.get(seq));
        row.and_then(|row| point.stamp_ns(row)).unwrap_or(start) - start
    };
    points.seq = deviations.iter().map(|(seq, _)| *seq).collect();
    points.t_ns = points.seq.iter().map(at).collect();
    points.deviation_ns =
        deviations.iter().map(|(_, deviation)| deviation - least + earliest_ns).collect();
    points.of = points.seq.len() as u64;
}

fn replay(folder: &RunFolder, manifest: &Manifest) -> Replay {
    let path = shown(folder.path());
    let command = format!("teiji run --replay {path}");
    let note = match manifest.testbed {
        Testbed::Lab => {
            "With the same version, kernel and QEMU the records are identical, byte for byte."
        }
        Testbed::Local | Testbed::Machine | Testbed::Machines | Testbed::Capture => {
            "The same experiment runs again; the time is real, so the figures will differ."
        }
    };
    Replay { command, note: note.to_owned() }
}

/// A path as a person would type it: relative to the current folder if it is
/// below.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}
