//! What the scripts and the kernel's judge found, in words.

use std::path::Path;

use teiji_lab::console;
use teiji_lab::suite::{Report, ScriptReport, gate};

use crate::output;

/// How much of a failed script's output is shown, if not all of each.
const SHOWN_LINES: usize = 30;
/// A call trace on a debug kernel.
const TRACE_LINES: usize = 60;

/// Prints what was found, and with `whole_output` all that the scripts printed; whether all of it
/// is good.
pub fn report(report: &Report, release: &str, whole_output: bool) -> anyhow::Result<bool> {
    for script in &report.scripts {
        tell_script(script, whole_output)?;
    }
    let findings = gate::findings(report);
    tell_complaints(&findings, &report.kernel_log)?;
    let ok: usize = report.scripts.iter().map(|script| script.ok.len()).sum();
    let bad: usize = report.scripts.iter().filter(|script| !script.passed()).count();
    let skipped: usize = report.scripts.iter().map(|script| script.skipped.len()).sum();
    output::line(format_args!(
        "{release}: {ok} sentences true in {} scripts, {bad} scripts failed, {skipped} sentences skipped, \
         {} complaints of the kernel",
        report.scripts.len(),
        findings.len()
    ))?;
    Ok(bad == 0 && findings.is_empty())
}

fn tell_script(script: &ScriptReport, whole_output: bool) -> anyhow::Result<()> {
    let mark = if script.passed() { '✓' } else { '✗' };
    let (name, ok) = (&script.name, script.ok.len());
    let (seconds, busy) = (script.seconds, script.busy_seconds);
    output::line(format_args!(
        "{mark} {name}: {ok} true, {seconds:.1} s of the guest's time, {busy:.1} s of them busy"
    ))?;
    for sentence in &script.skipped {
        output::line(format_args!("    skipped: {sentence}"))?;
    }
    for sentence in script.failed.iter().chain(&script.ended_badly) {
        output::line(format_args!("    failed: {sentence}"))?;
    }
    if whole_output || !script.passed() {
        let lines: Vec<&str> = script.output.lines().collect();
        let first = if whole_output { 0 } else { lines.len().saturating_sub(SHOWN_LINES) };
        for line in &lines[first..] {
            output::line(format_args!("    | {line}"))?;
        }
    }
    Ok(())
}

/// What the console says of a guest that died: the kernel's complaints, with their script.
pub fn death(path: &Path) -> anyhow::Result<()> {
    let log = console::text(path);
    tell_complaints(&gate::from_log(&log), &log)
}

/// The kernel's complaints, and its call trace of the first: later ones often follow from it.
fn tell_complaints(findings: &[String], log: &str) -> anyhow::Result<()> {
    for finding in findings {
        output::line(format_args!("✗ kernel: {finding}"))?;
    }
    for line in gate::after_first(log, TRACE_LINES) {
        output::line(format_args!("    | {line}"))?;
    }
    Ok(())
}
