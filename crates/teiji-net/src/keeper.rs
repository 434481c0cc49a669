//! The keeper: gives NICs back when the program dies without doing so.
//!
//! When a program is killed, the kernel returns its NICs to the initial
//! network namespace, but bare: down, without addresses, with the experiment's
//! number of queues. What it set of the machine itself, priorities of the kernel's
//! threads and sysctls, stays. So before anything is changed, the program starts itself a
//! second time as keeper and writes one line of JSON, the undo list, into its
//! standard input. The keeper answers `ready` and waits. The word `done` ends
//! it; the end of the pipe without that word means the program died, and the
//! keeper restores what is on the list.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::before::KernelBefore;
use crate::netlink::Netlink;
use crate::real_nic::{self, Before};

/// The hidden subcommand that must call [`main`].
pub const SUBCOMMAND: &str = "keeper";

/// A dying program's namespaces go when its last thread and its last child
/// have; the kernel then needs a moment to return the NICs.
const PATIENCE: Duration = Duration::from_secs(30);

const READY: &str = "ready";
const DONE: &str = "done";
const VERSION: u32 = 1;

/// What a keeper restores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoList {
    version: u32,
    /// The NICs, as they were.
    #[serde(rename = "cards")]
    pub nics: Vec<Before>,
    /// The machine's settings and threads, as they were.
    #[serde(default)]
    pub kernel: KernelBefore,
}

impl UndoList {
    /// A list of these NICs and settings.
    pub fn new(nics: Vec<Before>, kernel: KernelBefore) -> Self {
        Self { version: VERSION, nics, kernel }
    }
}

/// Which program acts as keeper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeeperProgram {
    /// This program with the subcommand [`SUBCOMMAND`].
    #[default]
    ThisProgram,
    /// Another one, with arguments.
    Other(PathBuf, Vec<String>),
    /// None: if the program is killed, its NICs stay bare. For guests of the
    /// laboratory, which end with the program.
    None,
}

/// Why there is no keeper. Nothing has been changed.
#[derive(Debug, Error)]
pub enum KeeperError {
    /// It could not be started.
    #[error("cannot start the keeper that would put everything back after a crash: {0}")]
    Start(io::Error),
    /// It started and did not answer.
    #[error("the keeper that would put everything back after a crash did not answer{}", detail(.0.as_ref()))]
    NoAnswer(Option<io::Error>),
}

fn detail(error: Option<&io::Error>) -> String {
    error.map(|e| format!(": {e}")).unwrap_or_default()
}

/// A running keeper. Dropping it without [`Keeper::dismiss`] makes it act.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: Child,
    pipe: ChildStdin,
}

impl Keeper {
    /// Starts a keeper for `list`; `None` if there is nothing to keep or the
    /// caller wants none. It works in the calling thread's namespace.
    pub(crate) fn start(
        program: &KeeperProgram,
        list: &UndoList,
    ) -> Result<Option<Self>, KeeperError> {
        if list.nics.is_empty() && list.kernel.is_empty() {
            return Ok(None);
        }
        let mut command = match program {
            KeeperProgram::None => return Ok(None),
            KeeperProgram::ThisProgram => {
                let mut command =
                    Command::new(std::env::current_exe().map_err(KeeperError::Start)?);
                command.arg(SUBCOMMAND);
                command
            }
            KeeperProgram::Other(path, arguments) => {
                let mut command = Command::new(path);
                command.args(arguments);
                command
            }
        };
        // A group of its own: Ctrl-C on the terminal must not reach it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(KeeperError::Start)?;
        match Self::brief(&mut child, list) {
            Ok(pipe) => Ok(Some(Self { child, pipe })),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn brief(child: &mut Child, list: &UndoList) -> Result<ChildStdin, KeeperError> {
        let no_answer = |error| KeeperError::NoAnswer(Some(error));
        let (Some(mut pipe), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(KeeperError::NoAnswer(None));
        };
        let mut line = serde_json::to_string(list).map_err(|e| no_answer(e.into()))?;
        line.push('\n');
        pipe.write_all(line.as_bytes()).map_err(no_answer)?;
        let mut answer = String::new();
        BufReader::new(answers).read_line(&mut answer).map_err(no_answer)?;
        if answer.trim() == READY { Ok(pipe) } else { Err(KeeperError::NoAnswer(None)) }
    }

    /// Ends the keeper: everything has been given back.
    pub(crate) fn dismiss(mut self) {
        // A keeper that died before cannot be told; there is nothing to do.
        let _ = writeln!(self.pipe, "{DONE}");
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

/// How a keeper's watch ended.
#[derive(Debug, PartialEq, Eq)]
enum Watch {
    /// The program finished by itself.
    Dismissed,
    /// The program died; this is to be restored.
    Orphaned(UndoList),
    /// No usable list came.
    Nonsense(String),
}

/// Reads the list, reports ready, and waits for the end of the program.
fn watch(input: impl io::Read, mut output: impl Write) -> Watch {
    let mut input = BufReader::new(input);
    let mut line = String::new();
    if let Err(error) = input.read_line(&mut line) {
        return Watch::Nonsense(error.to_string());
    }
    let list = match serde_json::from_str::<UndoList>(&line) {
        Ok(list) if list.version == VERSION => list,
        Ok(list) => return Watch::Nonsense(format!("undo list of version {}", list.version)),
        Err(error) => return Watch::Nonsense(error.to_string()),
    };
    // If nobody reads this any more, the pipe's end says so below.
    let _ = writeln!(output, "{READY}").and_then(|()| output.flush());
    let mut word = String::new();
    match input.read_line(&mut word) {
        Ok(_) if word.trim_end() == DONE => Watch::Dismissed,
        _ => Watch::Orphaned(list),
    }
}

/// The keeper's whole life; the hidden subcommand [`SUBCOMMAND`] calls this.
pub fn main() -> ExitCode {
    match watch(io::stdin().lock(), io::stdout().lock()) {
        Watch::Dismissed => ExitCode::SUCCESS,
        Watch::Nonsense(why) => {
            complain(format_args!(
                "teiji keeper: no undo list on standard input ({why}); this command is for teiji's own use"
            ));
            ExitCode::FAILURE
        }
        Watch::Orphaned(list) => restore(&list),
    }
}

/// A line on standard error, if that is still there: `eprintln!` panics where it is not,
/// and giving back would end half-way.
fn complain(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn restore(list: &UndoList) -> ExitCode {
    let mut netlink = match Netlink::open() {
        Ok(netlink) => netlink,
        Err(error) => {
            complain(format_args!("teiji keeper: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let mut left = Vec::new();
    for before in &list.nics {
        let problems = real_nic::restore(&mut netlink, before, PATIENCE);
        if problems.is_empty() {
            complain(format_args!(
                "teiji ended abruptly; its keeper gave {} back as it was",
                before.ifname
            ));
        }
        left.extend(problems);
    }
    if !list.kernel.is_empty() {
        let problems = list.kernel.put_back();
        if problems.is_empty() {
            complain(format_args!(
                "teiji ended abruptly; its keeper put the kernel's settings and threads back"
            ));
        }
        left.extend(problems);
    }
    for problem in &left {
        complain(format_args!("teiji keeper: {problem}"));
    }
    if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::wire::MacAddr;

    fn list() -> UndoList {
        let nic = Before {
            ifname: "enp3s0".into(),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            up: true,
            addresses: Vec::new(),
            routes: Vec::new(),
            bridge: Some("br0".into()),
            channels: None,
            files: Vec::new(),
            gso_max_size: None,
            kernel: KernelBefore::default(),
        };
        UndoList::new(vec![nic], KernelBefore::default())
    }

    fn watch_text(text: &str) -> (Watch, String) {
        let mut answers = Vec::new();
        let watch = watch(text.as_bytes(), &mut answers);
        (watch, String::from_utf8(answers).unwrap())
    }

    #[test]
    fn the_word_done_dismisses_the_keeper() {
        let json = serde_json::to_string(&list()).unwrap();
        assert_eq!(watch_text(&format!("{json}\ndone\n")), (Watch::Dismissed, "ready\n".into()));
    }

    #[test]
    fn the_end_of_the_pipe_without_done_orphans_the_keeper() {
        let json = serde_json::to_string(&list()).unwrap();
        for tail in ["", "don", "do\nne\n"] {
            let (watch, _) = watch_text(&format!("{json}\n{tail}"));
            assert_eq!(watch, Watch::Orphaned(list()), "{tail:?}");
        }
    }

    #[test]
    fn nonsense_is_reported_and_restores_nothing() {
        for text in ["", "{}\n", "{\"version\":2,\"cards\":[]}\n", "hello\n"] {
            let (watch, answers) = watch_text(text);
            assert!(matches!(watch, Watch::Nonsense(_)), "{text:?}: {watch:?}");
            assert_eq!(answers, "");
        }
    }
}
