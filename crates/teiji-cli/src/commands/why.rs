//! `teiji why`: what delayed the frames of a run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use teiji_core::quantity::parse_span;
use teiji_core::send_mode::SendMode;
use teiji_core::time::Span;
use teiji_experiment::Case;
use teiji_report::units::{Glyphs, count, number};
use teiji_run::trace::{Repeat, Trace};
use teiji_why::document::MemberFlow;
use teiji_why::path::{Finder, Path};
use teiji_why::perfetto::{self, FlowPaths};
use teiji_why::summary::{FlowCauses, FramePath, Shown, Spread, summarise};
use teiji_why::timeline::{Builder, Kind, Timeline};

use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::terminal;

/// Causes in a table: those with the largest maxima.
const MOST_CAUSES: usize = 20;

/// Show what delayed the frames of a run of the laboratory.
///
/// Repeats each case while every step of the guest's kernel is recorded, which changes nothing: the
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
    /// Show this frame: FLOW:NUMBER, as in the records.
    #[arg(long, value_name = "FRAME", value_parser = frame, conflicts_with_all = ["worst", "over"])]
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
    if args.perfetto.is_some() && cases.len() > 1 {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        mistake!("--perfetto is of one case; choose it with --case ({})", names.join(", "))
    }
    if let Some((flow, number)) = &args.frame {
        for case in &cases {
            let Some(found) = subjects(case).find(|one| one.name == *flow) else {
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
    let mut all = Vec::new();
    for case in cases {
        let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
        let trace = repeat.record(case, seed, dir.path(), &stop, &progress)?;
        let timeline = timeline(&trace)?;
        let found = flows(args, case, seed, &trace, &timeline)?;
        if !args.json {
            for one in &found {
                output::text(text(one, &terminal::glyphs()))?;
            }
        }
        all.extend(found);
    }
    repeat.keep(&all)?;
    if args.json {
        output::json(&all)?;
    }
    Ok(Exit::Success)
}

fn chosen_cases<'a>(args: &Args, repeat: &'a Repeat) -> anyhow::Result<Vec<&'a Case>> {
    let Some(name) = &args.case else { return Ok(repeat.cases().iter().collect()) };
    let Some(case) = repeat.cases().iter().find(|case| case.name == *name) else {
        let names: Vec<&str> = repeat.cases().iter().map(|case| case.name.as_str()).collect();
        mistake!("the run has no case `{name}`; it has {}", names.join(", "))
    };
    Ok(vec![case])
}

fn timeline(trace: &Trace) -> anyhow::Result<Timeline> {
    let mut builder = Builder::new(&trace.hooks);
    for events in trace.stream()? {
        for event in &events.context("the trace cannot be read")? {
            builder.add(event);
        }
    }
    Ok(builder.finish())
}

/// A flow, or round trips.
struct Subject<'a> {
    /// As in the test header.
    id: u16,
    name: &'a str,
    planned: u64,
    round_trips: bool,
    /// It waits for no timer: when a frame's time begins is not known.
    back_to_back: bool,
}

fn subjects(case: &Case) -> impl Iterator<Item = Subject<'_>> {
    let flows = (0_u16..).zip(&case.scenario.flows).map(|(id, flow)| Subject {
        id,
        name: &flow.name,
        planned: flow.frames,
        round_trips: false,
        back_to_back: flow.mode == SendMode::BackToBack,
    });
    let rounds = case.scenario.numbered_round_trips().map(|(id, asked)| Subject {
        id,
        name: &asked.name,
        planned: asked.count,
        round_trips: true,
        back_to_back: false,
    });
    flows.chain(rounds)
}

impl Subject<'_> {
    /// Number and path of all that the recording has seen, in order.
    fn paths(&self, finder: &Finder<'_>) -> Vec<(u64, Option<Path>)> {
        let frames = &finder.timeline.frames;
        let kind = if self.round_trips { Kind::Request } else { Kind::Flow };
        let own = frames.iter().filter(|((of, id, _), _)| (*of, *id) == (kind, self.id));
        let mut paths: Vec<(u64, Option<Path>)> = own
            .map(|((_, id, seq), hops)| {
                let path = if self.round_trips {
                    let reply = frames.get(&(Kind::Reply, *id, *seq));
                    reply.and_then(|reply| finder.round(hops, reply))
                } else {
                    finder.path(hops).filter(|_| !self.back_to_back)
                };
                (*seq, path)
            })
            .collect();
        paths.sort_by_key(|(seq, _)| *seq);
        paths
    }
}

/// The flows of a case whose frames are known.
fn flows(
    args: &Args,
    case: &Case,
    seed: u64,
    trace: &Trace,
    timeline: &Timeline,
) -> anyhow::Result<Vec<MemberFlow>> {
    let finder = Finder { timeline, hooks: &trace.hooks, symbols: &trace.symbols };
    let mut found = Vec::new();
    let mut paths = Vec::new();
    for subject in subjects(case) {
        let shown = match (&args.frame, args.over) {
            (Some((name, _)), _) if *name != subject.name => continue,
            (Some((_, number)), _) => Shown::Number(*number),
            (None, Some(over)) => Shown::Over(over.as_ns() * 1000),
            (None, None) => Shown::Slowest(args.worst),
        };
        let frames = subject.paths(&finder);
        let mut causes = summarise(&frames, shown);
        for frame in &mut causes.shown {
            let path = frames.iter().find(|(seq, _)| *seq == frame.seq);
            let path = path.and_then(|(_, path)| path.as_ref());
            frame.activity = path.map(|path| finder.activity(path)).unwrap_or_default();
        }
        // Those that the recording has not seen at all.
        let planned = usize::try_from(subject.planned).unwrap_or(0);
        causes.unknown += planned.saturating_sub(frames.len());
        paths.push((subject.name, frames));
        found.push(MemberFlow {
            case: case.name.clone(),
            seed,
            flow: subject.name.to_owned(),
            round_trips: subject.round_trips,
            causes,
        });
    }
    if let Some(file) = &args.perfetto {
        let flows: Vec<FlowPaths<'_>> =
            paths.iter().map(|(name, frames)| (*name, frames.as_slice())).collect();
        let written = File::create(file).and_then(|created| {
            let mut out = BufWriter::new(created);
            perfetto::write(&mut out, &finder, &flows)?;
            out.flush()
        });
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    let nothing = found.iter().all(|one| one.causes.shown.is_empty());
    if let Some((name, number)) = args.frame.as_ref().filter(|_| nothing) {
        bail!(
            "{name}:{number} of {} has no path: it was not sent, it was lost, or no timer woke its sender",
            case.name
        )
    }
    Ok(found)
}

/// Cells: picoseconds as microseconds.
fn cell(time_ps: i64, glyphs: &Glyphs) -> String {
    number(time_ps as f64 / 1e6, 3, glyphs)
}

fn text(found: &MemberFlow, glyphs: &Glyphs) -> String {
    let MemberFlow { case, seed, flow, round_trips, causes } = found;
    let mut text = String::new();
    let about = if *round_trips {
        "round trips, from the request's way into the qdisc until the requester ran"
    } else {
        "frames, from the expiry of the sender's timer to the wire"
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "\n{case} seed {seed}, {flow}: {} {about}, in microseconds",
        count(causes.frames as u64, glyphs)
    );
    if causes.frames == 0 {
        text.push_str(
            "  none has a path: no timer wakes a sender that goes back to back, and only vtsn's wire \
             is watched\n",
        );
        return text;
    }
    let head = ["frames", "median", "p99", "p99.9", "maximum"];
    let row = |frames: usize, spread: &Spread| {
        let Spread { median_ps, p99_ps, p999_ps, max_ps } = *spread;
        let mut cells = vec![count(frames as u64, glyphs)];
        let times = [Some(median_ps), p99_ps, p999_ps, Some(max_ps)];
        // Too few frames for a percentile.
        let shown = |time: Option<i64>| time.map_or(glyphs.none.to_owned(), |ps| cell(ps, glyphs));
        cells.extend(times.map(shown));
        cells
    };
    let mut rows = vec![(row(causes.frames, &causes.whole), "all")];
    let (shown, rest) = causes.causes.split_at(causes.causes.len().min(MOST_CAUSES));
    rows.extend(shown.iter().map(|one| (row(one.frames, &one.spread), &*one.cause)));
    line(&mut text, &head.map(str::to_owned), "");
    for (cells, name) in &rows {
        line(&mut text, cells, name);
    }
    if let [first, ..] = rest {
        let _ = writeln!(
            text,
            "  {} more causes, {} at most (--json has all)",
            count(rest.len() as u64, glyphs),
            cell(first.spread.max_ps, glyphs)
        );
    }
    if causes.unknown > 0 {
        let _ = writeln!(text, "  {} frames have no path", count(causes.unknown as u64, glyphs));
    }
    for frame in &causes.shown {
        one_frame(&mut text, flow, frame, causes, glyphs);
    }
    text
}

fn line(text: &mut String, cells: &[String], name: &str) {
    text.push(' ');
    for cell in cells {
        let _ = write!(text, " {cell:>9}");
    }
    let _ = writeln!(text, "  {name}");
}

fn one_frame(
    text: &mut String,
    flow: &str,
    frame: &FramePath,
    causes: &FlowCauses,
    glyphs: &Glyphs,
) {
    let above = frame.whole_ps - causes.whole.median_ps;
    let _ = writeln!(
        text,
        "\n  {flow}:{}  {} us, {} above the median",
        frame.seq,
        cell(frame.whole_ps, glyphs),
        cell(above, glyphs)
    );
    for part in &frame.parts {
        let above = match part.above_median_ps {
            0 => String::new(),
            more if more > 0 => format!("+{}", cell(more, glyphs)),
            less => cell(less, glyphs),
        };
        let _ = writeln!(text, "    {:>9} {above:>10}  {}", cell(part.time_ps, glyphs), part.cause);
    }
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
