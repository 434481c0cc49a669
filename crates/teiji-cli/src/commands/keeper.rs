//! `teiji keeper`, hidden: gives borrowed NICs back when the program
//! that borrowed them is killed. See `teiji_net::keeper`.

use crate::exit::Exit;

/// Wait on standard input and undo when it closes.
#[derive(clap::Args)]
pub struct Args {}

#[expect(clippy::unnecessary_wraps, reason = "all subcommands have this shape")]
pub fn run(_args: &Args) -> anyhow::Result<Exit> {
    let code = teiji_net::keeper::main();
    Ok(if code == std::process::ExitCode::SUCCESS { Exit::Success } else { Exit::Failure })
}
