//! The subcommands, one file each.

mod agent;
mod analyze;
mod apply;
mod bind;
mod check;
mod compare;
mod doctor;
mod flow;
mod generate;
mod guard;
mod guest;
mod hosts;
mod join;
mod keeper;
mod lab;
mod listen;
mod margin;
mod ping;
mod plan;
mod quantity;
mod ranges;
mod reflect;
mod remote;
mod report;
mod run;
mod status;
mod synchronised;
mod talk;
mod top;
mod why;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use teiji_experiment::suggest;

use crate::exit::{self, Exit};

use listen::HEADER as LISTEN_CSV;
use talk::HEADER as TALK_CSV;

/// Send Ethernet frames on time, and prove it.
///
/// Teiji (定時, "on schedule") sends frames on stock Linux at a given time and
/// measures the accuracy: on this machine, between real NICs, or in a virtual
/// laboratory whose results are the same, bit for bit, on every machine.
#[derive(Parser)]
#[command(name = "teiji", bin_name = "teiji", version, after_help = exit::HELP, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The error of a command line, with the subcommand that was probably meant: clap knows of
/// names that begin alike, not of swapped letters (`rnu`).
pub fn with_suggestion(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let mut parent = Cli::command();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(child) = parent.find_subcommand(word) else { break };
        parent = child.clone();
    }
    let known = parent.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    let suggestion = suggest::nearest(wrong, known).map(str::to_owned);
    if let Some(name) = suggestion.filter(|_| error.get(ContextKind::SuggestedSubcommand).is_none())
    {
        let names = ContextValue::Strings(vec![name]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

#[derive(Subcommand)]
pub enum Command {
    Run(run::Args),
    Hosts(hosts::Args),
    Doctor(doctor::Args),
    Apply(apply::ApplyArgs),
    Status(status::Args),
    Diff(apply::DiffArgs),
    Revert(apply::RevertArgs),
    Check(check::Args),
    Plan(plan::Args),
    Margin(margin::Args),
    Why(why::Args),
    Top(top::Args),
    Talk(talk::Args),
    Listen(listen::Args),
    Join(join::Args),
    Ping(ping::Args),
    Reflect(reflect::Args),
    Flow(flow::Args),
    Analyze(analyze::Args),
    Report(report::Args),
    Compare(compare::Args),
    Lab(lab::Args),
    Generate(generate::Args),
    #[command(hide = true)]
    Keeper(keeper::Args),
    #[command(hide = true)]
    Guard(guard::Args),
    #[command(hide = true)]
    Agent(agent::Args),
    #[command(hide = true)]
    Guest(guest::Args),
    #[command(hide = true)]
    GuestSuite(lab::GuestSuiteArgs),
}

impl Command {
    pub fn run(&self) -> anyhow::Result<Exit> {
        match self {
            Self::Run(args) => run::run(args),
            Self::Hosts(args) => hosts::run(args),
            Self::Doctor(args) => doctor::run(args),
            Self::Apply(args) => apply::apply(args),
            Self::Status(args) => status::run(args),
            Self::Diff(args) => apply::diff(args),
            Self::Revert(args) => apply::revert(args),
            Self::Check(args) => check::run(args),
            Self::Plan(args) => plan::run(args),
            Self::Margin(args) => margin::run(args),
            Self::Why(args) => why::run(args),
            Self::Top(args) => top::run(args),
            Self::Talk(args) => talk::run(args),
            Self::Listen(args) => listen::run(args),
            Self::Join(args) => join::run(args),
            Self::Ping(args) => ping::run(args),
            Self::Reflect(args) => reflect::run(args),
            Self::Flow(args) => flow::run(args),
            Self::Analyze(args) => analyze::run(args),
            Self::Report(args) => report::run(args),
            Self::Compare(args) => compare::run(args),
            Self::Lab(args) => lab::run(args),
            Self::Generate(args) => generate::run(args),
            Self::Keeper(args) => keeper::run(args),
            Self::Guard(args) => guard::run(args),
            Self::Agent(args) => agent::run(args),
            Self::Guest(args) => guest::run(args),
            Self::GuestSuite(args) => lab::run_suite_in_guest(args),
        }
    }
}
