//! What was found about a margin, for people.

use std::fmt::Write;
use std::path::Path;

use teiji_core::time::Span;
use teiji_stats::tail::NoFit;
use teiji_stats::{Evidence, Misses, TailBound};

use super::{Confirmation, Findings};
use crate::publish;

/// All of it.
pub fn text(findings: &Findings, saved: Option<&Path>) -> String {
    let mut out = format!("margin · {}, {}\n", findings.subject, place(findings));
    for load in &findings.loads {
        let _ = writeln!(out, "  under {load}");
    }
    out.push_str(&stretches(findings));
    out.push_str(&recommendation(findings));
    out.push_str(&confirmations(findings));
    for problem in &findings.problems {
        let _ = writeln!(out, "! {problem}");
    }
    out.push('\n');
    for run in
        [Some(&findings.measured), Some(&findings.check), findings.below.as_ref().map(|b| &b.run)]
    {
        if let Some(folder) = run.and_then(|run| run.run.as_deref()) {
            let _ = writeln!(out, "Run      {}", publish::shown(&folder.join("report.html")));
        }
    }
    if let Some(saved) = saved {
        let _ = writeln!(
            out,
            "Saved    {} (Margin::calibrated, `teiji talk --margin`)",
            saved.display()
        );
    }
    out
}

fn place(findings: &Findings) -> String {
    let kernel = findings.kernel.as_deref().unwrap_or("an unknown kernel");
    let place = if findings.testbed == "lab" { "virtual laboratory" } else { "this machine" };
    format!("{place}, {kernel}")
}

fn ns(ns: i64) -> String {
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
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut out = "\n".to_owned();
    for row in &rows {
        let _ = write!(out, "  {:<w$}", row[0], w = width(0));
        for (column, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(out, "   {cell:>w$}", w = width(column));
        }
        out.push('\n');
    }
    out
}

fn recommendation(findings: &Findings) -> String {
    let found = &findings.recommendation;
    let mut out = "\n".to_owned();
    if !found.reached {
        let _ = writeln!(
            out,
            "{} samples do not support {}: {}. What they do support is {}:",
            found.to_qdisc.samples,
            probability(findings.wanted_probability),
            why_not(findings),
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
        "Margin for {}: {} ({evidence} on {} samples, 95 % upper bound; worst seen {})",
        probability(found.probability),
        ns(found.margin_ns),
        found.to_qdisc.samples,
        ns(worst)
    );
    let _ = writeln!(
        out,
        "ETF delta: {} (worst seen {})",
        ns(found.delta_ns),
        ns(found.release.worst_ns)
    );
    let _ = writeln!(out, "  to the qdisc: {}", evidence_of(&found.to_qdisc));
    let _ = writeln!(out, "  to the card:  {}", evidence_of(&found.release));
    out
}

fn why_not(findings: &Findings) -> String {
    let needed = 6.0 / findings.wanted_probability;
    let fit = match findings.recommendation.refused {
        Some(NoFit::NoThreshold) => "their tail has no form that could be continued",
        Some(_) => "too few of them differ to fit a tail",
        None => "the fit of their tail bounds nothing",
    };
    format!("order statistics need {needed:.0} or more, and {fit}")
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
            "generalised Pareto, shape {:.2}, over the {} samples above {} (fit p = {:.2}): likely {}, \
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

fn confirmations(findings: &Findings) -> String {
    let at = |run: &Confirmation| {
        let delta = run.delta_ns.map_or_else(String::new, |delta| format!(", delta {}", ns(delta)));
        format!("{}{delta}", ns(run.margin_ns))
    };
    let check = &findings.check;
    let verdict = if findings.confirmed { "passed" } else { "FAILED: do not use this margin" };
    let mut out = format!("Check at {}: {}, {verdict}\n", at(check), misses(&check.misses));
    match &findings.below {
        Some(below) => {
            let _ = writeln!(
                out,
                "Below, at {}: {}; {} were predicted",
                at(&below.run),
                misses(&below.run.misses),
                below.predicted
            );
        }
        None => {
            out.push_str("Below: no margin would have made enough of the measured frames late\n");
        }
    }
    out
}

fn misses(misses: &Misses) -> String {
    let Misses { frames, invalid, missed, send_failed, late, unsent } = *misses;
    let mut text = format!("{} of {frames} frames not on time", misses.total());
    let reasons: Vec<String> = [
        (invalid, "refused by ETF as invalid"),
        (missed, "dropped by ETF as missed"),
        (late, "late in the card"),
        (send_failed, "refused by the send call"),
        (unsent, "never sent"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    if !reasons.is_empty() {
        let _ = write!(text, " ({})", reasons.join(", "));
    }
    text
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
