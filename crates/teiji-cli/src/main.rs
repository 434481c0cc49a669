//! The `teiji` command: reads the command line, runs one subcommand, prints
//! its error once, and ends with a documented exit code.
#![forbid(unsafe_code)]

mod commands;
mod exit;
mod interrupt;
mod output;
mod overrides;
mod plan_text;
mod progress;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::commands::Cli;
use crate::output::OutputError;

fn main() -> ExitCode {
    if teiji_lab::guest::is_init() {
        teiji_lab::guest::init(teiji_run::guest::measure_arguments);
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => commands::with_suggestion(error, &arguments).exit(),
    };
    match cli.command.run() {
        Ok(exit) => exit.into(),
        Err(error) => report(&error),
    }
}

/// Prints an error once, with its causes, and chooses the exit code.
fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(OutputError::ReaderGone) = error.downcast_ref() {
        teiji_sys::process::die_of_broken_pipe();
    }
    let mut sentence = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        // Library errors often quote their source; do not say it twice.
        if !sentence.contains(&text) {
            if !sentence.is_empty() {
                sentence.push_str(": ");
            }
            sentence.push_str(&text);
        }
    }
    if !sentence.is_empty() {
        output::aside(format_args!("teiji: {sentence}"));
    }
    exit::of(error).into()
}
