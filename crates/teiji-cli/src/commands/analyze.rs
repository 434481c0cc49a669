//! `teiji analyze`: table and plots of a capture, or of two captures of the same frames.

mod between;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use teiji_core::time::Span;
use teiji_record::Summary;
use teiji_record::capture::{self, AnalyzeError, CaptureAnalysis, Endpoint, Filter, Options};
use teiji_report::{Paper, Points, Report, SetupEntry, SetupSection, html};
use teiji_run::{limits, report};
use teiji_stats::TimestampPoint;

use super::quantity::span;
use crate::exit::{self, Exit, mistake};
use crate::output;
use crate::terminal;

/// Analyse the periodic flows in a capture (pcap or pcapng).
///
/// Finds the periodic flows, lists them if there are several, and gives the deviation of each
/// interval from the period of one flow: the one that the options select; without options, test
/// frames before others, round periods before odd ones, more frames before fewer. Reads the file
/// once; memory does not grow with the file.
///
/// With a second capture: the delay of the same frames from the first to the second. Matches test
/// frames by their numbers, IP packets by the fields that forwarding does not change, other frames
/// by addresses and payload; equal frames by time. Every delay contains the offset between the two
/// captures' clocks.
#[derive(clap::Args)]
pub struct Args {
    /// The capture; `-` for standard input.
    capture: PathBuf,
    /// A capture of the same frames at a second point.
    #[arg(conflicts_with_all = ["period", "paper"])]
    second: Option<PathBuf>,
    /// Skip the detection of the period: for example 1ms.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    period: Option<Span>,
    /// Only test frames of this flow identifier.
    #[arg(long, value_name = "N")]
    flow: Option<u16>,
    /// Only frames from this address: MAC, IP, or IP:PORT.
    #[arg(long, value_name = "ADDRESS")]
    src: Option<Endpoint>,
    /// Only frames to this address: MAC, IP, or IP:PORT.
    #[arg(long, value_name = "ADDRESS")]
    dst: Option<Endpoint>,
    /// Only frames of this VLAN.
    #[arg(long, value_name = "ID")]
    vlan: Option<u16>,
    /// Only frames of this type, for example 0x88f7.
    #[arg(long, value_name = "TYPE", value_parser = ethertype)]
    ethertype: Option<u16>,
    /// Only frames of this interface of a pcapng file, counted from 0.
    #[arg(long, value_name = "N")]
    interface: Option<u32>,
    /// Show these published figures beside the result: PAPER.CASE, for example etf.normal.
    #[arg(long, value_name = "PAPER.CASE", value_parser = paper)]
    paper: Option<(String, String)>,
    /// Write the report with plots to this file.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print the summary as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

fn ethertype(text: &str) -> Result<u16, String> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    hexadecimal
        .map_or_else(|| text.parse(), |digits| u16::from_str_radix(digits, 16))
        .map_err(|_| format!("`{text}` is no EtherType; write for example 0x0800"))
}

fn paper(text: &str) -> Result<(String, String), String> {
    let (key, case) = text
        .split_once('.')
        .ok_or_else(|| format!("`{text}` names no case; write for example etf.normal"))?;
    let paper = Paper::load(key).map_err(|error| error.to_string())?;
    if paper.figures(case).is_none() {
        return Err(format!("the paper `{key}` has no figures for a case `{case}`"));
    }
    Ok((key.to_owned(), case.to_owned()))
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let options = Options {
        filter: Filter {
            flow: args.flow,
            source: args.src,
            destination: args.dst,
            vlan: args.vlan,
            ethertype: args.ethertype,
            interface: args.interface,
        },
        period: args.period,
    };
    if let Some(period) = args.period.filter(|period| *period <= Span::ZERO) {
        mistake!("{}", AnalyzeError::Period(period));
    }
    let path = args.capture.as_path();
    if let Some(second) = &args.second {
        return between::run(path, second, &options.filter, args);
    }
    let analysis = capture::analyze(open(path)?, &options)
        .with_context(|| format!("cannot analyse {}", path.display()))?;
    let mut summary = analysis.summary(&name(path));
    if let Some((key, case)) = &args.paper {
        summary.paper = Some(key.clone());
        summary.cases[0].paper_result = Some(case.clone());
    }
    conclude(args, &summary, || (vec![points(&analysis, &summary)], setup(&analysis)))
}

/// Writes the report and prints the summary, as `args` say. `plots` are the points and the
/// set-up for the report.
fn conclude(
    args: &Args,
    summary: &Summary,
    plots: impl FnOnce() -> (Vec<Points>, SetupSection),
) -> anyhow::Result<Exit> {
    if let Some(path) = &args.report {
        let generator = format!("teiji {}", env!("CARGO_PKG_VERSION"));
        let (points, setup) = plots();
        let report = Report {
            paper: summary.paper.as_deref().map(Paper::load).transpose()?,
            points,
            setup: vec![setup],
            limits: limits::limits(summary, None),
            ..Report::of(summary, &generator)
        };
        fs::write(path, html::render(&report))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        output::json(summary)?;
        return Ok(Exit::Success);
    }
    let captures = [Some(&args.capture), args.second.as_ref()].into_iter().flatten();
    let captures: Vec<String> = captures.map(|path| path.display().to_string()).collect();
    let next = match &args.report {
        Some(path) => format!("Report   {}", report::shown(path)),
        None => format!("Plots    teiji analyze {} --report report.html", captures.join(" ")),
    };
    output::line(format_args!("{}\n{next}", terminal::table(summary)))?;
    Ok(Exit::Success)
}

/// Name of a capture.
fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| "capture".to_owned(), |n| n.to_string_lossy().into_owned())
}

fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| exit::unreadable(path, &error))?;
    if file.metadata().is_ok_and(|found| found.is_dir()) {
        mistake!("cannot read {}: it is a folder, not a capture", path.display());
    }
    Ok(Box::new(file))
}

/// The envelope as points: the smallest and the largest of each bucket.
fn points(analysis: &CaptureAnalysis, summary: &Summary) -> Points {
    let case = &summary.cases[0];
    let flow = case.members[0].flows.keys().next().cloned().unwrap_or_default();
    let intervals = analysis.statistics.timestamp_points.get(&TimestampPoint::Wire);
    let of = intervals.and_then(|v| v.interval.as_ref()).map_or(0, |d| d.count);
    let mut points = Points {
        case: case.name.clone(),
        seed: 0,
        flow,
        point: Some(TimestampPoint::Wire),
        t_ns: Vec::new(),
        deviation_ns: Vec::new(),
        seq: Vec::new(),
        of,
    };
    let per_bucket = analysis.envelope.points_per_bucket();
    for (index, bucket) in (0_u64..).zip(analysis.envelope.buckets()) {
        let mut push = |ns| {
            points.t_ns.push(bucket.x);
            points.deviation_ns.push(ns);
            points.seq.push(1 + index * per_bucket);
        };
        push(bucket.min_ns);
        if bucket.max_ns != bucket.min_ns {
            push(bucket.max_ns);
        }
    }
    points
}

fn setup(analysis: &CaptureAnalysis) -> SetupSection {
    let entry =
        |key: &str, observed: String| SetupEntry { key: key.into(), observed, planned: None };
    SetupSection {
        title: "Capture".to_owned(),
        entries: vec![
            entry("format", format!("{:?}", analysis.format).to_lowercase()),
            entry("resolution of the stamps", analysis.resolution.to_string()),
            entry("frames in the file", analysis.frames.to_string()),
            entry("flow", analysis.flow.to_string()),
            entry("from its first to its last frame", analysis.duration.to_string()),
        ],
    }
}
