//! `teiji plan`: prints what a run would change, as commands.

use std::path::{Path, PathBuf};

use anyhow::Context;
use teiji_experiment::reader::Cards;
use teiji_net::error::NO_VTSN;
use teiji_net::{Binding, Plan};

use crate::exit::Exit;
use crate::experiment_file::{self, Overrides};
use crate::output;

/// Print what a run would change on this machine, as plain commands.
///
/// The output is a shell script: pasted into a root shell it makes the same
/// set-up, and its last lines, as comments, undo it.
#[derive(clap::Args)]
pub struct Args {
    /// The experiment file.
    file: PathBuf,
    /// Only this case.
    #[arg(long)]
    case: Option<String>,
    /// Interfaces of this machine to use: HOST=INTERFACE,…
    #[arg(long, value_name = "BINDINGS", default_value = "")]
    bind: String,
    #[command(flatten)]
    overrides: Overrides,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (experiment, _) = experiment_file::load(&args.file, &args.overrides, Cards::Own)?;
    let cases = experiment_file::choose_cases(&experiment, args.case.as_slice())?;
    for case in cases {
        let binding = Binding::parse(&args.bind, &case.scenario)?;
        let plan = Plan::compile(&case.scenario, &binding)
            .with_context(|| format!("case `{}`", case.name))?;
        output::line(format_args!("# case {}", case.name))?;
        if plan.needs_vtsn() && !Path::new("/sys/module/vtsn").exists() {
            output::line(format_args!("# {NO_VTSN}"))?;
        }
        output::line(format_args!("{}", plan.script()))?;
    }
    Ok(Exit::Success)
}
