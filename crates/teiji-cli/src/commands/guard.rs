//! `teiji guard`, hidden: puts everything back if `teiji apply` is killed or not confirmed. See
//! `teiji_profile::guard_process`.

use crate::exit::Exit;

/// Wait on standard input and put back when it closes.
#[derive(clap::Args)]
pub struct Args {}

#[expect(clippy::unnecessary_wraps, reason = "all subcommands have this shape")]
pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    let code = teiji_profile::guard_process::main();
    Ok(if code == std::process::ExitCode::SUCCESS { Exit::Success } else { Exit::Failure })
}
