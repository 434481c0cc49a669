//! `teiji why`: what delayed the frames of a run.

use std::path::PathBuf;

use anyhow::{Context, bail};
use teiji_core::quantity::parse_span;
use teiji_core::time::Span;
use teiji_experiment::Case;
use teiji_record::RunFolder;
use teiji_record::summary::Testbed;
use teiji_run::causes::{self, subjects};
use teiji_run::trace::{Question, Repeat};
use teiji_why::summary::{FlowCauses, Shown};

use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::terminal;

/// Show what delayed the frames of a run.
///
/// Of a run on this machine, what `teiji run --on local --why` has found. Of one of the laboratory:
/// repeats each case while every step of the guest's kernel is recorded, which changes nothing: the
/// records are compared. From the expiry of the sender's timer to the frame's start on the wire, all
/// time has one cause (docs/why.md).
#[derive(clap::Args)]
pub struct Args {
    /// The run's folder.
    run: PathBuf,
    /// Only this case.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Only this seed. Default: the run's first.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Show this frame or round trip: NAME:NUMBER, as in the records. Of one case.
    #[arg(
        long, visible_alias = "round-trip", value_name = "FRAME", value_parser = frame,
        conflicts_with_all = ["worst", "over"]
    )]
    frame: Option<(String, u64)>,
    /// Show so many of each flow's slowest frames.
    #[arg(long, value_name = "N", default_value_t = 3)]
    worst: usize,
    /// Show the frames that are slower than their flow's median by more than this, for example 20us.
    #[arg(long, value_name = "DURATION", value_parser = span, conflicts_with = "worst")]
    over: Option<Span>,
    /// Write what the processors did, and the frames' paths, as a trace for ui.perfetto.dev. Of one
    /// case.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print JSON; times in picoseconds.
    #[arg(long)]
    json: bool,
}

fn frame(text: &str) -> Result<(String, u64), String> {
    let wrong = || format!("`{text}` is no frame; write for example cycle:48213");
    let (flow, number) = text.rsplit_once(':').ok_or_else(wrong)?;
    Ok((flow.to_owned(), number.parse().map_err(|_| wrong())?))
}

fn span(text: &str) -> Result<Span, String> {
    parse_span(text).map_err(|error| error.to_string())
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (folder, manifest) = RunFolder::open(&args.run)?;
    if manifest.testbed == Testbed::Local {
        return kept(args, &folder);
    }
    let progress = Progress::new(args.json);
    let stop = interrupt::stop_flag();
    let repeat = Repeat::prepare(&args.run, &progress)?;
    let cases = chosen_cases(args, &repeat)?;
    let seed = match args.seed {
        Some(seed) if !repeat.seeds().contains(&seed) => {
            mistake!("the run has no seed {seed}; it has {:?}", repeat.seeds())
        }
        Some(seed) => seed,
        None => *repeat.seeds().first().context("the run has no seeds")?,
    };
    if let Some(option) = of_one_case(args).filter(|_| cases.len() > 1) {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        mistake!("{option} is of one case; choose it with --case ({})", names.join(", "))
    }
    if let Some((flow, number)) = &args.frame {
        for case in &cases {
            let Some(found) = subjects(&case.scenario).find(|one| one.name == *flow) else {
                mistake!("the case {} has no flow and no round trips `{flow}`", case.name)
            };
            if *number >= found.planned {
                mistake!(
                    "{flow} has no number {number}: it has those from 0 to {}",
                    found.planned.saturating_sub(1)
                )
            }
        }
    }
    let shown = match (&args.frame, args.over) {
        (Some((_, number)), _) => Shown::Number(*number),
        (None, Some(over)) => Shown::Over(over.as_ns() * 1000),
        (None, None) => Shown::Slowest(args.worst),
    };
    let flow = args.frame.as_ref().map(|(flow, _)| flow.as_str());
    let question = Question { flow, shown, perfetto: args.perfetto.as_deref() };
    let mut all = Vec::new();
    for case in cases {
        let found = repeat.explain(case, seed, &question, &stop, &progress)?;
        if !args.json {
            for one in &found {
                output::text(teiji_report::terminal::causes(one, &terminal::glyphs()))?;
            }
        }
        // Each by itself: of several cases, what was found before an interruption is kept.
        repeat.keep(&found)?;
        all.extend(found);
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(Exit::Success)
}

/// Shows what was found while a run was measured on this machine.
fn kept(args: &Args, folder: &RunFolder) -> anyhow::Result<Exit> {
    let mut flows = causes::of(folder)?.flows;
    if flows.is_empty() {
        bail!(
            "{} was measured in real time, and its kernel was not traced: measure again, with \
             `teiji run … --on local --why`",
            args.run.display()
        )
    }
    if args.perfetto.is_some() {
        mistake!(
            "--perfetto is of runs of the laboratory, which can be repeated; of this one the causes are kept, not the trace"
        )
    }
    flows.retain(|found| {
        args.case.as_ref().is_none_or(|case| *case == found.case)
            && args.seed.is_none_or(|seed| seed == found.seed)
            && args.frame.as_ref().is_none_or(|(flow, _)| *flow == found.flow)
    });
    if flows.is_empty() {
        mistake!("nothing was kept of such a case, seed or flow")
    }
    let mut members: Vec<String> =
        flows.iter().map(|found| format!("{} seed {}", found.case, found.seed)).collect();
    members.dedup();
    if args.frame.is_some() && members.len() > 1 {
        mistake!(
            "--frame is of one case and seed; choose them with --case and --seed ({})",
            members.join(", ")
        )
    }
    for found in &mut flows {
        let FlowCauses { whole, shown, .. } = &mut found.causes;
        let over = args.over.map(|over| whole.median_ps + over.as_ns() * 1000);
        shown.retain(|frame| {
            args.frame.as_ref().is_none_or(|(_, number)| *number == frame.seq)
                && over.is_none_or(|over| frame.whole_ps > over)
        });
        if args.over.is_none() {
            shown.truncate(args.worst);
        }
    }
    if let Some((flow, number)) =
        args.frame.as_ref().filter(|_| flows.iter().all(|one| one.causes.shown.is_empty()))
    {
        bail!(
            "the path of {flow}:{number} was not kept: only the slowest were, and one that ended the trace"
        )
    }
    if args.json {
        output::json(&flows)?;
    } else {
        for found in &flows {
            output::text(teiji_report::terminal::causes(found, &terminal::glyphs()))?;
        }
    }
    Ok(Exit::Success)
}

fn of_one_case(args: &Args) -> Option<&'static str> {
    let perfetto = args.perfetto.is_some().then_some("--perfetto");
    perfetto.or(args.frame.is_some().then_some("--frame"))
}

fn chosen_cases<'a>(args: &Args, repeat: &'a Repeat) -> anyhow::Result<Vec<&'a Case>> {
    let Some(name) = &args.case else { return Ok(repeat.cases().iter().collect()) };
    let Some(case) = repeat.cases().iter().find(|case| case.name == *name) else {
        let names: Vec<&str> = repeat.cases().iter().map(|case| case.name.as_str()).collect();
        mistake!("the run has no case `{name}`; it has {}", names.join(", "))
    };
    Ok(vec![case])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_flow_and_a_number() {
        assert_eq!(frame("cycle:48213"), Ok(("cycle".to_owned(), 48213)));
        for wrong in ["cycle", "cycle:", "cycle:x", "7"] {
            assert!(frame(wrong).unwrap_err().contains("cycle:48213"), "{wrong}");
        }
    }
}
