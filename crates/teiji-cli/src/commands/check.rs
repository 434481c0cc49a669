//! `teiji check`: every mistake in an experiment file, explained.

use std::path::PathBuf;

use clap::ValueEnum;
use teiji_experiment::reader::Cards;

use crate::exit::Exit;
use crate::experiment_file::{self, Overrides};
use crate::output;

/// Check experiment files and explain every mistake, with file, line and fix.
#[derive(clap::Args)]
pub struct Args {
    /// The experiment files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Whose cards the experiment is for.
    #[arg(long, value_enum, default_value_t = On::Lab)]
    on: On,
    #[command(flatten)]
    overrides: Overrides,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// The laboratory's emulated cards.
    Lab,
    /// One's own cards: what they can do is seen when it runs.
    Local,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let cards = match args.on {
        On::Lab => Cards::Emulated,
        On::Local => Cards::Own,
    };
    let mut exit = Exit::Success;
    let mut all = Vec::new();
    for file in &args.files {
        let text = experiment_file::text(file)?;
        let name = file.display().to_string();
        let reading = experiment_file::reader(&name, args.overrides.pairs(), cards).read(&text);
        if reading.experiment.is_none() {
            exit = Exit::Usage;
        }
        if args.json {
            all.push(reading.findings);
        } else if reading.findings.is_empty() {
            output::line(format_args!("{name}: no mistakes"))?;
        } else {
            output::text(&reading.findings)?;
        }
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(exit)
}
