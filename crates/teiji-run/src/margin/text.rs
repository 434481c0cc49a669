//! What was found about a margin, for people.

use std::fmt::Write;
use std::path::Path;

use teiji_core::time::Span;
use teiji_stats::tail::NoFit;
use teiji_stats::{Evidence, Misses, TailBound};

use super::{Below, Confirmation, Findings};
use crate::report;

/// All of it.
pub fn text(findings: &Findings, saved: Option<&Path>, profile: Option<&Path>) -> String {
    let mut out = format!("margin · {}, {}\n", findings.subject, place(findings));
    for load in &findings.loads {
        let _ = writeln!(out, "  under {load}");
    }
    out.push_str(&stretches(findings));
    out.push_str(&recommendation(findings));
    out.push_str(&checks(findings));
    if findings.confirmed {
        out.push_str(&below(findings));
    }
    for problem in &findings.problems {
        let _ = writeln!(out, "! {problem}");
    }
    out.push('\n');
    let runs = [(&findings.measured, "Measured")]
        .into_iter()
        .chain(findings.refuted.iter().map(|run| (run, "Refuted")))
        .chain([(&findings.check, "Checked")])
        .chain(findings.below.iter().map(|below| (&below.run, "Below")));
    for (run, name) in runs {
        if let Some(folder) = run.run.as_deref() {
            let _ = writeln!(out, "{name:<8} {}", report::shown(&folder.join("report.html")));
        }
    }
    if let Some(saved) = saved {
        let _ = writeln!(
            out,
            "Saved    {} (Margin::calibrated, `teiji talk --margin`)",
            saved.display()
        );
    }
    if let Some(profile) = profile {
        let file = profile.display();
        let _ = writeln!(
            out,
            "Profile  {file}; to keep its settings: teiji apply {file} --confirm 60s"
        );
    }
    out
}

pub(super) fn place(findings: &Findings) -> String {
    let kernel = findings.kernel.as_deref().unwrap_or("an unknown kernel");
    let place = if findings.testbed == "lab" { "virtual laboratory" } else { "this machine" };
    format!("{place}, {kernel}")
}

pub(super) fn ns(ns: i64) -> String {
    Span::from_ns(ns).to_string()
}

fn stretches(findings: &Findings) -> String {
    let half = probability(findings.recommendation.probability / 2.0);
    let head = ["", "median", "p99.9", "worst", &format!("bound for {half}")].map(str::to_owned);
    let mut rows = vec![head];
    for stretch in &findings.stretches {
        let figure = |figure: Option<i64>| figure.map_or_else(|| "–".to_owned(), ns);
        rows.push([
            stretch.name.to_owned(),
            ns(stretch.median_ns),
            figure(stretch.p999_ns),
            ns(stretch.worst_ns),
            figure(stretch.bound_ns),
        ]);
    }
    "\n".to_owned() + &table(&rows)
}

/// Columns of equal width; the first is words, the others are figures.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let _ = write!(out, "  {:<w$}", row[0], w = width(0));
        for (column, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(out, "   {cell:>w$}", w = width(column));
        }
        out.push('\n');
    }
    out
}

pub(super) fn recommendation(findings: &Findings) -> String {
    let found = &findings.recommendation;
    let mut out = "\n".to_owned();
    if !found.reached {
        let _ = writeln!(
            out,
            "{} samples do not support {}: {}.\n{}\nThey support {}:",
            found.to_qdisc.samples,
            probability(findings.wanted_probability),
            why_not(findings),
            next_step(findings),
            probability(found.probability)
        );
    }
    let worst = found.to_qdisc.worst_ns.saturating_add(found.release.worst_ns);
    let evidence = match found.evidence() {
        Some(Evidence::OrderStatistics) => "order statistics",
        Some(Evidence::TailFit) => "tail fit",
        None => "the worst sample",
    };
    let _ = writeln!(
        out,
        "Margin for {}: {} ({evidence} on {} samples of {}, 95 % upper bound; worst seen {})",
        probability(found.probability),
        ns(found.margin_ns),
        found.to_qdisc.samples,
        counted(found.members.len(), "member"),
        ns(worst)
    );
    let _ = writeln!(
        out,
        "ETF delta: {} (worst seen {})",
        ns(found.delta_ns),
        ns(found.release.worst_ns)
    );
    let _ = writeln!(
        out,
        "  to the qdisc: {}{}",
        evidence_of(&found.to_qdisc),
        spread(found.members.iter().map(|own| own.to_qdisc_ns))
    );
    let _ = writeln!(
        out,
        "  to the NIC:   {}{}",
        evidence_of(&found.release),
        spread(found.members.iter().map(|own| own.release_ns))
    );
    out
}

/// How far the members' own bounds lie apart.
fn spread(own: impl Iterator<Item = i64> + Clone) -> String {
    match (own.clone().min(), own.max()) {
        (Some(least), Some(most)) if least < most => {
            format!("; members by themselves {} to {}", ns(least), ns(most))
        }
        _ => String::new(),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn why_not(findings: &Findings) -> String {
    let fit = match findings.recommendation.refused {
        Some(NoFit::NoThreshold) => "their tail has no form that could be continued",
        Some(_) => "too few of them differ to fit a tail",
        None => "the fit of their tail bounds nothing",
    };
    format!("order statistics need {} or more, and {fit}", frames_needed(findings))
}

/// About 3 / p for each of the two stretches at half the probability.
fn frames_needed(findings: &Findings) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let needed = (6.0 / findings.wanted_probability).ceil() as u64;
    needed
}

fn next_step(findings: &Findings) -> String {
    let needed = frames_needed(findings);
    let lasts = u128::from(needed) * u128::from(findings.period_ns.unsigned_abs()) / 1_000_000_000;
    let here = u128::from(needed) * u128::from(findings.cost_ns) / 1_000_000_000;
    let here = if findings.testbed == "lab" {
        format!("{}, about {} of simulation here", duration(lasts), duration(here))
    } else {
        duration(lasts)
    };
    format!(
        "Next step: `--frames {needed}` ({here}, for each run), or accept the following: \
         `--probability {:.1e}`.",
        findings.recommendation.probability
    )
}

/// Seconds, for people.
fn duration(seconds: u128) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        _ => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

fn evidence_of(bound: &TailBound) -> String {
    let clusters = if bound.extremal_index < 0.9 {
        format!("; large values come in groups of about {:.1}", 1.0 / bound.extremal_index)
    } else {
        String::new()
    };
    match (&bound.fit, bound.order_ns) {
        (_, Some(order)) => format!("order statistics give {}{clusters}", ns(order)),
        (Ok(fit), None) => format!(
            "generalised Pareto, shape {:.2}, over the {} samples above {} (fit p = {:.2}): \
             likely {}, \
             at most {}{clusters}",
            fit.shape,
            fit.exceedances,
            ns(fit.threshold_ns),
            fit.fitness,
            ns(fit.estimate_ns),
            fit.upper_ns.map_or_else(|| "unbounded".to_owned(), ns)
        ),
        (Err(_), None) => format!("no bound{clusters}"),
    }
}

/// The checks, one line each.
pub(super) fn checks(findings: &Findings) -> String {
    let at = |run: &Confirmation| {
        let delta = run.delta_ns.map_or_else(String::new, |delta| format!(", delta {}", ns(delta)));
        format!("{}{delta}", ns(run.margin_ns))
    };
    let mut out = String::new();
    for tried in &findings.refuted {
        let _ = writeln!(
            out,
            "Check at {}: {}, too many: its frames were taken in",
            at(tried),
            shown(tried)
        );
    }
    let check = &findings.check;
    let verdict = if findings.confirmed { "passed" } else { "FAILED: do not use this margin" };
    let _ = writeln!(out, "Check at {}: {}, {verdict}", at(check), shown(check));
    let frames = check.misses.frames;
    if findings.confirmed {
        let sees = 3.0 / frames.max(1) as f64;
        if sees > findings.recommendation.probability {
            let _ = writeln!(
                out,
                "  (its {frames} frames would show a probability above {}; below that the margin \
                 relies on the measurement)",
                probability(sees)
            );
        }
    } else if !findings.refuted.is_empty() {
        out.push_str(&no_margin(findings));
    }
    out
}

/// What a check showed, and its worst member if there are several.
fn shown(run: &Confirmation) -> String {
    let mut text = misses(&run.misses);
    let worst = run.members.iter().max_by_key(|member| member.total());
    if let (Some(worst), true) = (worst, run.members.len() > 1 && run.misses.total() > 0) {
        let _ = write!(text, ", worst member {} of {}", worst.total(), worst.frames);
    }
    text
}

/// Why the search ended without a margin, and what to do.
fn no_margin(findings: &Findings) -> String {
    let tried: Vec<String> = findings
        .refuted
        .iter()
        .chain([&findings.check])
        .map(|run| format!("{} at {}", run.misses.total(), ns(run.margin_ns)))
        .collect();
    format!(
        "No margin was found that holds, because each check, with new starts, was later than all \
         that was measured before ({} frames not on time).\nNext step: more starts \
         (`--seed 1,2,3,4,5,6,7,8`), more frames, or a lesser load.\n",
        tried.join(", ")
    )
}

/// Late frames against margin, as a table.
fn below(findings: &Findings) -> String {
    if findings.below.is_empty() {
        return "Below: no margin would have made enough of the measured frames late\n".to_owned();
    }
    let head = ["margin", "delta", "not on time", "predicted, at most"].map(str::to_owned);
    let mut rows = vec![head];
    let mut notes = vec![String::new()];
    let mut row = |run: &Confirmation, predicted: String, note: String| {
        rows.push([
            ns(run.margin_ns),
            run.delta_ns.map_or_else(|| "–".to_owned(), ns),
            format!("{} of {}", run.misses.total(), run.misses.frames),
            predicted,
        ]);
        notes.push(note);
    };
    row(&findings.check, String::new(), "the margin".to_owned());
    for Below { run, predicted_at_most } in &findings.below {
        row(run, predicted_at_most.to_string(), reasons(&run.misses));
    }
    let lines = table(&rows);
    let lines = lines.lines().zip(notes).map(|(line, note)| format!("{line}   {note}"));
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    format!("\nBelow it frames are late:\n{}\n", lines.join("\n"))
}

fn misses(misses: &Misses) -> String {
    let mut text = format!("{} of {} frames not on time", misses.total(), misses.frames);
    let reasons = reasons(misses);
    if !reasons.is_empty() {
        let _ = write!(text, " ({reasons})");
    }
    text
}

pub(super) fn reasons(misses: &Misses) -> String {
    let Misses { frames: _, invalid, missed, send_failed, late, unsent } = *misses;
    let reasons: Vec<String> = [
        (invalid, "refused by ETF as invalid"),
        (missed, "dropped by ETF as missed"),
        (late, "late in the NIC"),
        (send_failed, "refused by the send call"),
        (unsent, "never sent"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    reasons.join(", ")
}

/// 10⁻⁶, or 5.1 × 10⁻⁵.
fn probability(p: f64) -> String {
    let shown = format!("{p:.1e}");
    let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let power: String = exponent
        .chars()
        .map(|c| match c.to_digit(10) {
            Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
            None => '⁻',
        })
        .collect();
    if digits == "1.0" { format!("10{power}") } else { format!("{digits} × 10{power}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_powers_of_ten() {
        assert_eq!(probability(1e-6), "10⁻⁶");
        assert_eq!(probability(5.05e-5), "5.1 × 10⁻⁵");
    }

    #[test]
    fn every_reason_is_named() {
        let found = Misses { frames: 9, invalid: 2, missed: 1, ..Misses::default() };
        assert_eq!(
            misses(&found),
            "3 of 9 frames not on time (2 refused by ETF as invalid, 1 dropped by ETF as missed)"
        );
    }
}
