//! The search for a margin that holds: measure, recommend, check; where the check
//! fails, its frames join the measured ones and the search goes on.

use std::time::Instant;

use teiji_core::time::Span;
use teiji_stats::margin::{just_below, late_at_most, refuted};
use teiji_stats::{Misses, Recommendation, Series, Stations, TailBound};

use super::{Below, Bench, Confirmation, Etf, Findings, Member, Stretch, Trial};
use crate::Progress;

/// How often the first run is repeated with more time, if it had too little.
const ATTEMPTS: u8 = 3;
/// How many margins are checked.
const CHECKS: usize = 3;
/// Late frames below the margin that are shown: one of so many …
const SHARES: [u64; 4] = [1_000, 100, 10, 2];
/// … if they are at least so many.
const LATE_FRAMES: u64 = 10;
/// How many runs a search has at most where ETF's delta is not its own to set.
pub const MOST_RUNS: usize = 1 + CHECKS + SHARES.len();

/// Measures, recommends and checks, until a margin holds or a few did not; then
/// shows what shorter ones do.
///
/// # Errors
/// If a run measures nothing, or no frame has both transmit timestamps of the kernel.
pub fn measure(
    bench: &dyn Bench,
    subject: String,
    testbed: &'static str,
    probability: f64,
    progress: &dyn Progress,
) -> anyhow::Result<Findings> {
    let mut rounds = 0_u64..;
    let mut run = |margin, delta| bench.run(margin, delta, rounds.next().unwrap_or_default());
    let started = Instant::now();
    let (margin, delta, first) = roomy(bench, &mut run, progress)?;
    let cost = started.elapsed().as_nanos() / u128::from(first.misses().frames.max(1));
    progress.line(&format!(
        "  measured in {} s of real time; 1 to {} more such runs follow",
        started.elapsed().as_secs().max(1),
        MOST_RUNS - 1
    ));
    let mut problems = doubts(&first, bench.etf() != Etf::Ours);
    let mut seen: Vec<Stations> = first.members.iter().map(|m| m.stations.clone()).collect();
    let measured = Confirmation::of(margin, delta, bench, &first);

    let mut failed: Vec<Confirmation> = Vec::new();
    let mut least = (Span::ZERO, Span::ZERO);
    let (found, at, with, check, confirmed) = loop {
        let Some(found) = Recommendation::of(&seen, probability) else {
            anyhow::bail!(
                "no frame has both of the kernel's transmit stamps, so nothing is known of its \
                 way; \
                 does the driver take software time stamps (`ethtool -T`)?"
            );
        };
        let found = at_least(found, least);
        let (at, with) = place(&found, bench.etf());
        let round = failed.len() + 1;
        progress.line(&format!("  check {round} of at most {CHECKS}: a margin of {at}"));
        let check = run(at, with)?;
        let misses: Vec<Misses> = check.members.iter().map(|member| member.misses).collect();
        let holds = !check.incomplete && !refuted(&misses, found.probability);
        if holds || check.incomplete || failed.len() + 1 == CHECKS {
            break (found, at, with, check, holds);
        }
        let Misses { frames, .. } = check.misses();
        progress.line(&format!(
            "  it does not hold ({} of {frames} frames not on time): its frames are taken in",
            check.misses().total()
        ));
        least = longer(&found, &check.members);
        failed.push(Confirmation::of(at, with, bench, &check));
        seen.extend(check.members.into_iter().map(|member| member.stations));
    };
    problems.extend(
        crate::measure::loads::problems(&check.loads)
            .map(|problem| format!("In the check, {problem}.")),
    );
    if check.incomplete {
        problems.push("The check was stopped early or a part of it is missing.".to_owned());
    }
    let kept = Confirmation::of(at, with, bench, &check);
    let stretches = stretches(&seen, &found);
    // The check's frames passed under the conditions that are predicted.
    seen.extend(check.members.into_iter().map(|member| member.stations));
    let below =
        if confirmed { shorter(bench, &seen, at, with, &mut run, progress)? } else { Vec::new() };
    Ok(Findings {
        schema: "teiji-margin-report/2",
        subject,
        testbed,
        kernel: first.kernel.clone(),
        wanted_probability: probability,
        stretches,
        measured,
        refuted: failed,
        check: kept,
        loads: first.loads,
        recommendation: found,
        confirmed,
        below,
        period_ns: bench.period().as_ns(),
        cost_ns: u64::try_from(cost).unwrap_or(u64::MAX),
        problems,
    })
}

type Run<'a> = dyn FnMut(Span, Span) -> anyhow::Result<Trial> + 'a;

/// A run in which, if possible, ETF drops nothing.
fn roomy(
    bench: &dyn Bench,
    run: &mut Run<'_>,
    progress: &dyn Progress,
) -> anyhow::Result<(Span, Span, Trial)> {
    let (mut margin, mut delta) = bench.generous();
    progress.line(&format!("  measuring, with a margin of {margin}"));
    let mut first = run(margin, delta)?;
    for _ in 1..ATTEMPTS {
        let Misses { missed, invalid, .. } = first.misses();
        if missed + invalid == 0 || first.incomplete || bench.etf() != Etf::Ours {
            break;
        }
        (margin, delta) = (margin * 2, delta * 2);
        progress.line(&format!("  not enough for every frame; again with {margin}"));
        first = run(margin, delta)?;
    }
    Ok((margin, delta, first))
}

/// The margin and delta to run with. A delta that belongs to the interface stays;
/// the margin makes up for it.
fn place(found: &Recommendation, etf: Etf) -> (Span, Span) {
    let (at, with) = (Span::from_ns(found.margin_ns), Span::from_ns(found.delta_ns));
    match etf {
        Etf::Theirs(delta) => (at - with + with.max(delta), with),
        Etf::Ours | Etf::None => (at, with),
    }
}

/// A recommendation whose two parts are not below what is known to be too short:
/// the time before the qdisc's turn, and delta.
fn at_least(mut found: Recommendation, (before, delta): (Span, Span)) -> Recommendation {
    let own = (found.margin_ns - found.delta_ns).max(before.as_ns());
    found.delta_ns = found.delta_ns.max(delta.as_ns());
    found.margin_ns = own + found.delta_ns;
    found
}

/// What to try at least after a failed check: half as much again where frames were
/// dropped or came late to the NIC although their stamps do not say by how much.
fn longer(tried: &Recommendation, members: &[Member]) -> (Span, Span) {
    let more = |ns: i64| Span::from_ns((ns + ns / 2 + 999) / 1_000 * 1_000);
    let own = tried.margin_ns - tried.delta_ns;
    let misses = members.iter().map(|member| member.misses).sum::<Misses>();
    let stamped: u64 = members
        .iter()
        .map(|m| m.stations.late_at(Span::from_ns(tried.margin_ns), Span::from_ns(tried.delta_ns)))
        .sum();
    let nic_alone = misses.late > stamped;
    let before = if misses.invalid > 0 { more(own) } else { Span::from_ns(own) };
    let delta = if misses.missed > 0 || nic_alone {
        more(tried.delta_ns)
    } else {
        Span::from_ns(tried.delta_ns)
    };
    (before, delta)
}

/// Shorter margins, at which more and more frames are late.
fn shorter(
    bench: &dyn Bench,
    seen: &[Stations],
    at: Span,
    with: Span,
    run: &mut Run<'_>,
    progress: &dyn Progress,
) -> anyhow::Result<Vec<Below>> {
    let frames: u64 = seen.iter().map(Stations::count).sum();
    let mut places: Vec<(Span, Span)> = SHARES
        .iter()
        .map(|share| frames / share)
        .filter(|late| *late >= LATE_FRAMES)
        .filter_map(|late| just_below(seen, at, with, late))
        .collect();
    places.dedup();
    let mut below = Vec::new();
    for (margin, delta) in places {
        progress.line(&format!("  showing what happens at {margin}"));
        let trial = run(margin, delta)?;
        let predicted_at_most = late_at_most(seen, margin, delta, trial.misses().frames);
        below
            .push(Below { run: Confirmation::of(margin, delta, bench, &trial), predicted_at_most });
        if trial.incomplete {
            break;
        }
    }
    Ok(below)
}

/// Why the first run is not what it should be.
fn doubts(first: &Trial, fixed: bool) -> Vec<String> {
    let mut problems: Vec<String> = crate::measure::loads::problems(&first.loads)
        .map(|problem| format!("While measuring, {problem}."))
        .collect();
    if first.incomplete {
        problems.push("The measurement was stopped early or a part of it is missing.".to_owned());
    }
    let Misses { frames, missed, invalid, .. } = first.misses();
    if missed + invalid > 0 {
        let room = if fixed { "; give --margin and ETF's delta more room" } else { "" };
        problems.push(format!(
            "{} of {frames} frames were dropped by ETF while measuring, so the longest ways are \
             not among the samples{room}.",
            missed + invalid
        ));
    }
    let unstamped: u64 = first.members.iter().map(|member| member.stations.unstamped).sum();
    if unstamped > 0 {
        problems.push(format!("{unstamped} frames lack a stamp; nothing is known of their ways."));
    }
    problems
}

fn stretches(members: &[Stations], found: &Recommendation) -> Vec<Stretch> {
    let mut all = Stations::default();
    for member in members {
        all.extend(member);
    }
    let upper = |bound: &TailBound| bound.upper_ns().map(|(ns, _)| ns);
    [
        ("wake-up", all.wake_up(), None),
        ("hand-over, woken to qdisc", all.hand_over(), None),
        ("both together", all.to_qdisc(), upper(&found.to_qdisc)),
        ("qdisc and driver, due to NIC", all.release(), upper(&found.release)),
    ]
    .into_iter()
    .filter_map(|(name, samples, bound_ns)| {
        let deviation = samples.into_iter().collect::<Series>().finish()?;
        let at = |p: f64| {
            deviation.percentiles.iter().find(|found| (found.p - p).abs() < 1e-9).map(|q| q.ns)
        };
        Some(Stretch {
            name,
            median_ns: at(50.0).unwrap_or(deviation.max_ns),
            p999_ns: at(99.9),
            worst_ns: deviation.max_ns,
            bound_ns,
        })
    })
    .collect()
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
