//! What was found about a margin, for the report of the run that confirmed it.

use std::path::Path;

use teiji_record::RunFolder;
use teiji_report::{MarginRun, MarginSearch};

use super::text::{checks, ns, reasons, recommendation};
use super::{Confirmation, Findings};
use crate::report;

/// Writes it into the run folder of the last check; an interface has none.
///
/// # Errors
/// If the run folder cannot be opened, or its report cannot be written.
pub fn publish(findings: &Findings) -> anyhow::Result<()> {
    let Some(folder) = &findings.check.run else { return Ok(()) };
    let (folder, _) = RunFolder::open(folder)?;
    report::with_margin(&folder, &search(findings))
}

fn search(findings: &Findings) -> MarginSearch {
    let lines = |text: String| {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let mut sentences: Vec<String> =
        findings.loads.iter().map(|load| format!("Under {load}.")).collect();
    sentences.extend::<Vec<_>>(lines(recommendation(findings)));
    sentences.extend::<Vec<_>>(lines(checks(findings)));
    let mut runs = vec![run("measured", &findings.measured, String::new())];
    runs.extend(findings.refuted.iter().map(|refuted| run("refuted", refuted, String::new())));
    runs.push(run("checked", &findings.check, String::new()));
    runs.extend(
        findings
            .below
            .iter()
            .map(|below| run("below", &below.run, below.predicted_at_most.to_string())),
    );
    MarginSearch {
        schema: MarginSearch::SCHEMA.to_owned(),
        sentences,
        runs,
        problems: findings.problems.clone(),
    }
}

fn run(what: &str, run: &Confirmation, predicted: String) -> MarginRun {
    let folder = run.run.as_deref().and_then(Path::file_name);
    MarginRun {
        what: what.to_owned(),
        margin: ns(run.margin_ns),
        delta: run.delta_ns.map_or_else(|| "–".to_owned(), ns),
        not_on_time: format!("{} of {}", run.misses.total(), run.misses.frames),
        predicted,
        reasons: reasons(&run.misses),
        folder: folder.map(|name| name.to_string_lossy().into_owned()),
    }
}
