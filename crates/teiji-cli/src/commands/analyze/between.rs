//! `teiji analyze FIRST SECOND`: the delay of the same frames between two
//! captures.

use std::path::Path;

use teiji_record::Summary;
use teiji_record::capture::delay::between;
use teiji_record::capture::{DelayAnalysis, Filter, Source};
use teiji_report::delay::LISTED;
use teiji_report::{Points, SetupEntry, SetupSection};

use super::{Args, conclude, name, open};
use crate::exit::{Exit, mistake};

/// Points of a flow in the report, at most.
const POINTS: usize = 250_000;

pub fn run(first: &Path, second: &Path, filter: &Filter, args: &Args) -> anyhow::Result<Exit> {
    for path in [first, second] {
        if path.as_os_str() == "-" {
            mistake!("two captures are read from files, not from standard input; write both names");
        }
        // The same error for a file that cannot be opened as with one capture.
        drop(open(path)?);
    }
    let reading = |path: &Path| open(path).map_err(std::io::Error::other);
    let (open_first, open_second) = (|| reading(first), || reading(second));
    let names = [name(first), name(second)];
    let analysis = between(
        [
            Source { name: &names[0], open: &open_first },
            Source { name: &names[1], open: &open_second },
        ],
        filter,
    )?;
    let summary = analysis.summary();
    conclude(args, &summary, || (points(&analysis, &summary), setup(&analysis)))
}

/// The delay of each frame over the time since the flow's first one.
fn points(analysis: &DelayAnalysis, summary: &Summary) -> Vec<Points> {
    let of_flow = |flow: &teiji_record::capture::FlowDelay| {
        let start = flow.delays.first().map_or(0, |(at, _)| *at);
        let mut points = Points {
            case: summary.cases[0].name.clone(),
            seed: 0,
            flow: flow.flow.to_string(),
            point: None,
            t_ns: flow.delays.iter().map(|(at, _)| at.saturating_sub(start)).collect(),
            deviation_ns: flow.delays.iter().map(|(_, delay)| *delay).collect(),
            seq: (0..flow.delays.len() as u64).collect(),
            of: flow.delays.len() as u64,
        };
        points.thin(POINTS);
        points
    };
    analysis.flows.iter().take(LISTED).map(of_flow).collect()
}

fn setup(analysis: &DelayAnalysis) -> SetupSection {
    let entry = |key: String, observed: String| SetupEntry { key, observed, planned: None };
    let mut entries: Vec<SetupEntry> = analysis
        .names
        .iter()
        .zip(analysis.frames)
        .map(|(name, frames)| entry(format!("frames in {name}"), frames.to_string()))
        .collect();
    entries.push(entry("resolution of the stamps".to_owned(), analysis.resolution.to_string()));
    entries.push(entry("flows".to_owned(), analysis.flows.len().to_string()));
    SetupSection { title: "Captures".to_owned(), entries }
}
