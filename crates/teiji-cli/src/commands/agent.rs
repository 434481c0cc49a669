//! `teiji agent`, hidden: this machine's part of a measurement on several. See
//! `teiji_run::machines`.

use crate::exit::Exit;

/// Execute orders from standard input, until it ends.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    teiji_run::machines::serve()?;
    Ok(Exit::Success)
}
