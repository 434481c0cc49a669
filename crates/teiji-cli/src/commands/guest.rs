//! `teiji guest`, hidden: measures one case inside a laboratory guest. Started by init.

use crate::exit::Exit;

/// Measure one case of the job in the initramfs.
#[derive(clap::Args)]
pub struct Args {
    /// Name of the case.
    #[arg(long, required_unless_present = "symbols")]
    case: Option<String>,
    /// The member's seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Leave the kernel's symbols instead.
    #[arg(long, conflicts_with = "case")]
    symbols: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.case {
        Some(case) => teiji_run::guest::measure(case, args.seed)?,
        None => teiji_run::guest::symbols()?,
    }
    Ok(Exit::Success)
}
