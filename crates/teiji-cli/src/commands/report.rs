//! `teiji report`: tells a run again.

use std::path::PathBuf;

use anyhow::bail;
use teiji_record::{JsonFileError, RunFolder, RunFolderError};

use crate::exit::Exit;
use crate::output;
use crate::publish;
use crate::rebuild;
use crate::terminal;

/// Print the result of runs again, and write their reports anew.
///
/// A run that ended before it was summed up is summed up from its records.
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
        let summary = match folder.read_summary() {
            Err(RunFolderError::NoSummary { .. }) => {
                let summary = rebuild::summary(&folder, &manifest)?;
                folder.write_summary(&summary)?;
                summary
            }
            Err(error @ RunFolderError::Json(JsonFileError::Invalid { .. })) => {
                let path = publish::shown(path);
                bail!(
                    "{error}; delete it, and `teiji report {path}` makes it anew from the records"
                )
            }
            read => read?,
        };
        publish::report(&folder, &manifest, &summary)?;
        if args.json {
            output::json(&summary)?;
        } else {
            let path = publish::shown(&folder.report_path());
            output::line(format_args!("{}\nReport   {path}", terminal::table(&summary)))?;
        }
    }
    Ok(Exit::Success)
}
