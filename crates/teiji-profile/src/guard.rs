//! The guard: a process that puts everything back if the program that applies a profile is killed, or if nobody
//! confirms the profile in time.
//!
//! It is started before the first change and waits on its standard input. The word `done` ends it, `confirm`
//! makes it wait for the confirmation; the end of the pipe without a word means that the program died. It
//! hears nothing of the terminal or the SSH connection, and says what it did in the kernel's log.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use crate::machine::{self, now_ms};
use crate::store::{State, Store};

/// The hidden subcommand that must call [`main`].
pub const SUBCOMMAND: &str = "guard";

const READY: &str = "ready";
const DONE: &str = "done";
const CONFIRM: &str = "confirm";
/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Which program acts as guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// This program with the subcommand [`SUBCOMMAND`].
    #[default]
    ThisProgram,
    /// None: the calling process is the guard itself.
    None,
}

/// A guard that was started. Dropping it makes it act.
#[derive(Debug)]
pub(crate) struct Guard(Option<(Child, ChildStdin)>);

impl Guard {
    pub(crate) fn start(program: &Program) -> io::Result<Self> {
        if *program == Program::None {
            return Ok(Self(None));
        }
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
        Ok(Self(Some((child, pipe))))
    }

    /// Nothing is to be guarded any more.
    pub(crate) fn dismiss(self) {
        if let Some((mut child, mut pipe)) = self.0 {
            // A guard that was killed before cannot be told.
            let _ = writeln!(pipe, "{DONE}");
            drop(pipe);
            let _ = child.wait();
        }
    }

    /// The profile waits for confirmation; the guard goes on by itself.
    pub(crate) fn leave(self) {
        if let Some((_, mut pipe)) = self.0 {
            let _ = writeln!(pipe, "{CONFIRM}");
        }
    }
}

/// The guard's whole life; the hidden subcommand [`SUBCOMMAND`] calls this.
pub fn main() -> ExitCode {
    // Of a session of its own: neither Ctrl-C nor a terminal that goes reaches it.
    let _ = rustix::process::setsid();
    let store = Store::of_machine();
    let watched = store.guard();
    let Ok(_known) = watched else { return ExitCode::FAILURE };
    if writeln!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush()).is_err() {
        return ExitCode::FAILURE;
    }
    let mut word = String::new();
    let _ = io::stdin().lock().read_line(&mut word);
    let done = match word.trim_end() {
        DONE => return ExitCode::SUCCESS,
        CONFIRM => wait(&store),
        _ => orphaned(&store),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&error);
            ExitCode::FAILURE
        }
    }
}

/// The program died.
fn orphaned(store: &Store) -> Result<(), String> {
    let locked = store.lock().map_err(|error| error.to_string())?;
    let Some(journal) = locked.journal().map_err(|error| error.to_string())? else { return Ok(()) };
    if journal.state == State::Applied {
        drop(locked);
        return wait(store);
    }
    let reason = "was being applied when teiji was killed";
    let note = machine::give_up(&locked, &journal, reason, &Program::None);
    log(&note.map_err(|error| error.to_string())?);
    Ok(())
}

/// Waits for the confirmation.
fn wait(store: &Store) -> Result<(), String> {
    let pending = || {
        let journal = store.journal().ok().flatten()?;
        Some((journal.confirm_by_ms?, journal))
    };
    let Some((until, began)) = pending() else { return Ok(()) };
    while now_ms() < until {
        thread::sleep(LOOK);
        // Confirmed, put back, or another one.
        if pending().is_none_or(|(_, now)| now != began) {
            return Ok(());
        }
    }
    let locked = store.lock().map_err(|error| error.to_string())?;
    // In the meantime somebody may have confirmed it.
    let Some((_, journal)) = pending().filter(|(_, now)| *now == began) else { return Ok(()) };
    let note = machine::give_up(&locked, &journal, "was not confirmed in time", &Program::None);
    log(&note.map_err(|error| error.to_string())?);
    Ok(())
}

/// A line in the kernel's log, which systemd's journal has, too.
fn log(line: &str) {
    if let Ok(mut kmsg) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let _ = kmsg.write_all(format!("teiji: {line}\n").as_bytes());
    }
}
