//! Options and steps of commands that work on another machine: this program, run there by SSH.

use std::path::PathBuf;
use std::process::Stdio;

use teiji_remote::{Destination, Program, SshOptions};
use teiji_run::guest_program;

use crate::exit::Exit;
use crate::output;

/// Which machine.
#[derive(clap::Args)]
pub struct On {
    #[arg(
        long,
        value_name = "HOST",
        help = "Another machine by SSH: ssh:root@board, or ssh://root@board:2222. This program is copied there, and \
                removed afterwards"
    )]
    pub on: Option<Destination>,
    /// Use this configuration of ssh instead of yours.
    #[arg(long, value_name = "FILE", requires = "on")]
    pub ssh_config: Option<PathBuf>,
}

impl On {
    /// Has `work` done with this program on the machine.
    pub fn with_program<T>(
        &self,
        destination: &Destination,
        work: impl FnOnce(&Program) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let options = SshOptions { config: self.ssh_config.clone() };
        work(&guest_program::put_on(destination.clone(), options)?)
    }

    /// Runs a whole command there, and prints what it prints; `None` if it is for this machine.
    pub fn run(&self, words: &[&str], input: Stdio) -> anyhow::Result<Option<Exit>> {
        let Some(destination) = &self.on else { return Ok(None) };
        let said = self.with_program(destination, |program| {
            Ok(program.output(words.iter().copied(), input)?)
        })?;
        output::text(String::from_utf8_lossy(&said.stdout))?;
        let complaint = String::from_utf8_lossy(&said.stderr);
        if !complaint.trim().is_empty() {
            output::aside(format_args!("{destination}: {}", complaint.trim()));
        }
        Ok(Some(match said.status.code() {
            Some(0) => Exit::Success,
            Some(2) => Exit::Usage,
            Some(4) => Exit::Unfulfilled,
            _ => Exit::Failure,
        }))
    }
}
