//! `teiji join`: one report of both ends, from the rows that `teiji talk --csv` and `teiji
//! listen --csv` printed.

mod report;
mod rows;

use std::path::{Path, PathBuf};

use teiji_core::time::Span;

use self::report::Report;
use super::quantity::span;
use crate::exit::{Exit, WithExit, mistake};
use crate::output;

/// Join the records of a talker and a listener into one report of both ends.
///
/// Reads the output of `teiji talk --csv` and `teiji listen --csv`. Reports transmission after the
/// schedule, path delay from NIC to NIC, arrival after the schedule, lost frames, missing
/// timestamps and missed deadlines, and for each quantity the clocks that it compares.
#[derive(clap::Args)]
pub struct Args {
    /// The output of `teiji talk --csv`.
    talker: PathBuf,
    /// The output of `teiji listen --csv`.
    listener: PathBuf,
    /// The flow in the listener's file, if it has several.
    #[arg(long, value_name = "N")]
    flow: Option<u16>,
    /// Count arrivals later than this after their schedule.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    deadline: Option<Span>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let sent = rows::sent(&read(&args.talker)?).map_err(|e| bad(&args.talker, &e))?;
    let mut received =
        rows::received(&read(&args.listener)?).map_err(|e| bad(&args.listener, &e))?;
    let mut flows: Vec<u16> = received.iter().map(|row| row.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    if let Some(flow) = args.flow {
        received.retain(|row| row.flow == flow);
    } else if flows.len() > 1 {
        let flows: Vec<String> = flows.iter().map(u16::to_string).collect();
        mistake!(
            "{} has the flows {}; select one with --flow",
            args.listener.display(),
            flows.join(", ")
        );
    }
    let report = match Report::of(&sent, &received, args.deadline) {
        Ok(report) => report,
        Err(seq) => mistake!(
            "frame {seq} has different schedules in {} and {}: the files are of different runs",
            args.listener.display(),
            args.talker.display()
        ),
    };
    if args.json {
        output::json(&report)?;
    } else {
        output::text(report.text())?;
    }
    Ok(Exit::Success)
}

fn read(path: &Path) -> Result<String, WithExit> {
    std::fs::read_to_string(path)
        .map_err(|error| WithExit(Exit::Usage, format!("cannot read {}: {error}", path.display())))
}

fn bad(path: &Path, what: &str) -> WithExit {
    WithExit(Exit::Usage, format!("{}: {what}", path.display()))
}
