//! `teiji compare`: two runs side by side.

use std::path::{Path, PathBuf};

use teiji_record::{RunFolder, Summary};

use crate::exit::Exit;
use crate::output;
use crate::terminal;

/// Compare two runs case by case.
#[derive(clap::Args)]
pub struct Args {
    /// The run folder to compare with.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The run folder that is compared.
    #[arg(value_name = "AFTER")]
    after: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let read =
        |path: &Path| -> anyhow::Result<Summary> { Ok(RunFolder::open(path)?.0.read_summary()?) };
    output::text(terminal::compare(&read(&args.before)?, &read(&args.after)?))?;
    Ok(Exit::Success)
}
