//! `teiji report`: prints the result of a run again.

use std::path::PathBuf;

use teiji_record::RunFolder;
use teiji_run::report;
use teiji_run::summarise::{self, Found};

use crate::exit::Exit;
use crate::output;
use crate::terminal;

/// Print the results of runs again, and rewrite their reports.
///
/// If a run has no summary, or one of an older format, Teiji computes it from the records.
#[derive(clap::Args)]
pub struct Args {
    /// Run folders.
    #[arg(default_value = "runs/latest", value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Print the summary as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    for path in &args.runs {
        let (folder, manifest) = RunFolder::open(path)?;
        let Found { summary, remade } = summarise::read(&folder, &manifest)?;
        if remade {
            folder.write_summary(&summary)?;
        }
        report::write(&folder, &manifest, &summary)?;
        if args.json {
            output::json(&summary)?;
        } else {
            let path = report::shown(&folder.report_path());
            output::line(format_args!("{}\nReport   {path}", terminal::table(&summary)))?;
        }
    }
    Ok(Exit::Success)
}
