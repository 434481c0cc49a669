//! The process that is the [`crate::guard`]: waits, and puts everything back if it must.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::guard::{CONFIRM, DONE, READY};
use crate::machine::{self, now_ms};
use crate::store::{State, Store};

/// Time between two looks at the journal.
const LOOK: Duration = Duration::from_millis(100);

/// The guard's whole life; the hidden subcommand [`crate::guard::SUBCOMMAND`] calls this.
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
    let reason = "was applied in part only when teiji was killed";
    let note = machine::give_up(&locked, &journal, reason);
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
    let note = machine::give_up(&locked, &journal, "was not confirmed in time");
    log(&note.map_err(|error| error.to_string())?);
    Ok(())
}

/// A line in the kernel's log, which systemd's journal has, too.
fn log(line: &str) {
    if let Ok(mut kmsg) = OpenOptions::new().write(true).open("/dev/kmsg") {
        let _ = kmsg.write_all(format!("teiji: {line}\n").as_bytes());
    }
}
