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
    /// This program on the machine, until it is dropped.
    pub fn program(&self, destination: &Destination) -> anyhow::Result<Program> {
        let options = SshOptions { config: self.ssh_config.clone() };
        guest_program::put_on(destination.clone(), options)
    }

    /// Runs a whole command there, and prints what it prints; `None` if it is for this machine.
    pub fn run(&self, words: &[&str], input: Stdio) -> anyhow::Result<Option<Exit>> {
        let Some(destination) = &self.on else { return Ok(None) };
        let result = self.program(destination)?.output(words.iter().copied(), input)?;
        output::text(String::from_utf8_lossy(&result.stdout))?;
        let complaint = String::from_utf8_lossy(&result.stderr);
        if !complaint.trim().is_empty() {
            output::aside(format_args!("{destination}: {}", complaint.trim()));
        }
        Ok(Some(match result.status.code() {
            Some(0) => Exit::Success,
            Some(2) => Exit::Usage,
            Some(4) => Exit::Unfulfilled,
            _ => Exit::Failure,
        }))
    }
}
