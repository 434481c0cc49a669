//! The guard as the program that applies a profile has it: a process that puts everything back if that program is
//! killed, or if nobody confirms the profile in time. What it does is [`crate::guard_process`].
//!
//! It is started before the first change and waits on its standard input. The word `done` ends it, `confirm`
//! makes it wait for the confirmation; the end of the pipe without a word means that the program died. It
//! hears nothing of the terminal or the SSH connection, and says what it did in the kernel's log.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// The hidden subcommand that must call [`crate::guard_process::main`].
pub const SUBCOMMAND: &str = "guard";

pub(crate) const READY: &str = "ready";
pub(crate) const DONE: &str = "done";
pub(crate) const CONFIRM: &str = "confirm";

/// A guard that was started. Dropping it makes it act.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// This program with the subcommand [`SUBCOMMAND`].
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(SUBCOMMAND);
        // Whoever waits for the end of the output, as ssh does, does not wait for the guard.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(pipe), Some(answers)) = pipes else { return Err(io::Error::other("no pipe")) };
        let mut answer = String::new();
        BufReader::new(answers).read_line(&mut answer)?;
        if answer.trim() != READY {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::Error::other("it did not answer"));
        }
        Ok(Self { child, pipe })
    }

    /// Nothing is to be guarded any more.
    pub(crate) fn dismiss(mut self) {
        // A guard that was killed before reads nothing.
        let _ = writeln!(self.pipe, "{DONE}");
        drop(self.pipe);
        let _ = self.child.wait();
    }

    /// The profile waits for confirmation; the guard goes on by itself.
    pub(crate) fn leave(mut self) {
        let _ = writeln!(self.pipe, "{CONFIRM}");
    }
}
