//! `teiji guest`, hidden: measures one case inside a laboratory guest. Started by init.

use crate::exit::Exit;

/// Measure one case of the job in the initramfs.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the case.
    #[arg(long)]
    case: String,
    /// The member's seed.
    #[arg(long)]
    seed: u64,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    teiji_run::guest::measure(&args.case, args.seed)?;
    Ok(Exit::Success)
}
