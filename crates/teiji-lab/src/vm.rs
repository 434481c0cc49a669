//! Runs one virtual machine to its end: starts QEMU, collects the guest's
//! messages, and stops it when it is done, stuck, or no longer wanted.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use teiji_sys::sched::Pinned;
use thiserror::Error;

use crate::console;
use crate::lockstep::Lockstep;
use crate::machine::{Clock, Console, MachineSpec, qemu_arguments};
use crate::protocol::{Kind, Message, Reader};
use crate::recorder::{Recorder, Recording};

/// How many console lines an error quotes.
const CONSOLE_LINES: usize = 12;
/// How often the host looks at the guest; costs the guest nothing.
const POLL: Duration = Duration::from_millis(20);

/// What ended a machine before its measurement was complete.
#[derive(Debug, Error)]
pub enum VmError {
    /// QEMU could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the machine could not be made or read.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// QEMU refused the machine or died.
    #[error("QEMU ended early ({status}){}{}{}", quote_stderr(.stderr), memory(*.status, .stderr), quoted(.console))]
    QemuEnded {
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        stderr: String,
        /// The guest's last lines.
        console: Vec<String>,
    },
    /// The guest's kernel panicked.
    #[error("the guest's kernel panicked: {message}{}", quoted(.console))]
    GuestPanic {
        /// The kernel's words.
        message: String,
        /// The guest's last lines.
        console: Vec<String>,
    },
    /// The guest switched itself off without a result, as the watchdog in
    /// virtual time makes it do when it hangs.
    #[error(
        "the guest switched off without a result (it hung, and its watchdog in virtual time \
         ended it){}",
        quoted(.console)
    )]
    NoResult {
        /// The guest's last lines.
        console: Vec<String>,
    },
    /// Somebody ended QEMU with a signal.
    #[error("the guest's QEMU was ended by a signal ({by}); run it again")]
    Terminated {
        /// QEMU's message.
        by: String,
    },
    /// The guest reported that it cannot go on.
    #[error("the guest could not go on: {0}")]
    GuestFailure(String),
    /// The machine took too long in real time.
    #[error(
        "the guest was still running after {} s of real time and was stopped; allow more with \
         --wall-limit{}",
        .limit.as_secs(),
        quoted(.console)
    )]
    WallLimit {
        /// The limit.
        limit: Duration,
        /// The guest's last lines.
        console: Vec<String>,
    },
    /// The caller requested the stop.
    #[error("interrupted")]
    Interrupted,
    /// The stream of messages is damaged.
    #[error("the guest's results cannot be read: {0}")]
    Protocol(std::io::Error),
}

fn quote_stderr(stderr: &str) -> String {
    let text = stderr.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// What to do where memory was short: QEMU says so, or the kernel killed it.
fn memory(status: ExitStatus, stderr: &str) -> &'static str {
    if stderr.contains("Cannot allocate memory") {
        "; this machine has too little free memory for a guest: end other programs, or run fewer \
         guests at once with --jobs 1"
    } else if status.signal() == Some(libc::SIGKILL) {
        "; it was killed by a user, or by the kernel for lack of memory (see `dmesg`): end other \
         programs, or run fewer guests at once with --jobs 1"
    } else {
        ""
    }
}

fn quoted(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    format!("\n  last lines of the guest's console:\n    {}", lines.join("\n    "))
}

/// Limits and hooks for [`run`].
pub struct Supervision<'a> {
    /// Most real time the machine may take.
    pub wall_limit: Duration,
    /// The host's CPU that all of QEMU's threads run on: they take turns, and
    /// handing over within a CPU is faster.
    pub cpu: Option<u16>,
    /// Asked regularly; true ends the machine.
    pub stop: &'a dyn Fn() -> bool,
    /// Called regularly, for progress.
    pub tick: &'a mut dyn FnMut(),
    /// Called when the guest says [`Kind::Ready`].
    pub ready: &'a mut dyn FnMut(),
    /// Record what the guest's kernel does.
    pub recording: Option<&'a Recording>,
}

/// Runs the machine until its guest says [`Kind::End`]; returns the messages
/// before that. `stderr_log` keeps what QEMU prints.
///
/// # Errors
/// See [`VmError`]. Messages that came before an error are in `received`.
/// QEMU is gone when this returns, however it returns.
pub fn run(
    mut qemu: Command,
    spec: &MachineSpec,
    stderr_log: &Path,
    mut supervision: Supervision<'_>,
    received: &mut Vec<Message>,
) -> Result<(), VmError> {
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |source| VmError::File { path, source }
    };
    File::create(&spec.results).map_err(file_error(&spec.results))?;
    let stderr = File::create(stderr_log).map_err(file_error(stderr_log))?;
    qemu.args(qemu_arguments(spec))
        .stdin(std::process::Stdio::null())
        .stdout(stderr.try_clone().map_err(file_error(stderr_log))?);
    qemu.stderr(stderr);
    // Ctrl-C on the terminal is the caller's, who ends the machine.
    qemu.process_group(0);
    let takes_turns = spec.vcpus > 1 && spec.clock == Clock::Virtual;
    let lockstep =
        takes_turns.then(Lockstep::new).transpose().map_err(file_error(Lockstep::NAME.as_ref()))?;
    if let Some(lockstep) = &lockstep {
        lockstep.preload_into(&mut qemu);
    }
    let recorder = supervision.recording.map(|_| Recorder::new()).transpose();
    let recorder = recorder.map_err(file_error(Recorder::NAME.as_ref()))?;
    if let (Some(recorder), Some(recording)) = (&recorder, supervision.recording) {
        recorder.add_to(&mut qemu, recording);
    }
    teiji_sys::process::die_with_parent(&mut qemu);
    let program = PathBuf::from(qemu.get_program());
    let child = spawn_on(supervision.cpu, &mut qemu)
        .map_err(|source| VmError::Start { program, source })?;
    let mut machine = Machine { child };
    let mut reader = Reader::open(&spec.results).map_err(file_error(&spec.results))?;
    let console = match &spec.console {
        Console::File(path) => path.clone(),
        Console::Terminal => PathBuf::new(),
    };
    supervise(&mut machine, &mut reader, &console, stderr_log, &mut supervision, received)
}

/// Starts a program whose threads all stay on one CPU: a child inherits where
/// its parent's thread may run.
fn spawn_on(cpu: Option<u16>, command: &mut Command) -> io::Result<Child> {
    let pinned = match cpu {
        Some(cpu) => Some(Pinned::to(cpu).map_err(|error| {
            let sentence = format!("{error}; choose other CPUs with `taskset`");
            io::Error::new(io::ErrorKind::Unsupported, sentence)
        })?),
        None => None,
    };
    let child = command.spawn();
    drop(pinned);
    child
}

fn supervise(
    machine: &mut Machine,
    reader: &mut Reader,
    console: &Path,
    stderr_log: &Path,
    supervision: &mut Supervision<'_>,
    received: &mut Vec<Message>,
) -> Result<(), VmError> {
    let started = Instant::now();
    loop {
        // Look for the end of the process first: what it wrote before it ended
        // is then certainly seen by the poll that follows.
        let ended = machine.child.try_wait().map_err(VmError::Protocol)?;
        for message in reader.poll().map_err(VmError::Protocol)? {
            match message.kind {
                Kind::End => return Ok(()),
                Kind::Failure => {
                    return Err(VmError::GuestFailure(
                        String::from_utf8_lossy(&message.payload).into_owned(),
                    ));
                }
                Kind::Ready => (supervision.ready)(),
                Kind::Result | Kind::File | Kind::NoFile => received.push(message),
            }
        }
        // Before the end of the process: whoever asked to stop may have ended it, too.
        if (supervision.stop)() {
            return Err(VmError::Interrupted);
        }
        if let Some(status) = ended {
            return Err(why_ended(status, console, stderr_log));
        }
        if started.elapsed() > supervision.wall_limit {
            return Err(VmError::WallLimit {
                limit: supervision.wall_limit,
                console: console::last_lines(console, CONSOLE_LINES),
            });
        }
        (supervision.tick)();
        std::thread::sleep(POLL);
    }
}

fn why_ended(status: ExitStatus, console: &Path, stderr_log: &Path) -> VmError {
    let lines = console::last_lines(console, CONSOLE_LINES);
    if let Some(message) = console::panic_line(console) {
        return VmError::GuestPanic { message, console: lines };
    }
    let stderr = fs::read_to_string(stderr_log).unwrap_or_default();
    if status.success() {
        // QEMU ends with 0 on SIGINT, SIGTERM and SIGHUP, and says who sent it.
        return match stderr.lines().find(|line| line.contains("terminating on signal")) {
            Some(line) => VmError::Terminated { by: line.trim().to_owned() },
            None => VmError::NoResult { console: lines },
        };
    }
    VmError::QemuEnded { status, stderr, console: lines }
}

/// Runs a machine that a person talks to, until it switches itself off.
///
/// # Errors
/// [`VmError::Start`] if QEMU cannot be started, [`VmError::QemuEnded`] if it ends with a failure.
pub fn run_interactive(mut qemu: Command, spec: &MachineSpec) -> Result<(), VmError> {
    qemu.args(qemu_arguments(spec));
    teiji_sys::process::die_with_parent(&mut qemu);
    let program = PathBuf::from(qemu.get_program());
    let status = qemu.status().map_err(|source| VmError::Start { program, source })?;
    if status.success() {
        Ok(())
    } else {
        Err(VmError::QemuEnded { status, stderr: String::new(), console: Vec::new() })
    }
}

/// A running QEMU that does not outlive this value.
struct Machine {
    child: Child,
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Errors mean that it is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_a_signal_ended_did_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let (console, stderr) = (dir.path().join("console"), dir.path().join("stderr"));
        fs::write(&console, "booting").unwrap();
        let ended = |stderr_text: &str| {
            fs::write(&stderr, stderr_text).unwrap();
            why_ended(ExitStatus::from_raw(0), &console, &stderr).to_string()
        };
        let by = "qemu-system-x86_64: terminating on signal 2 from pid 7 (<unknown process>)";
        let text = ended(&format!("{by}\n"));
        assert!(text.contains("by a signal") && text.contains("from pid 7"), "{text}");
        assert!(!text.contains("hung"), "{text}");
        assert!(ended("").contains("hung"));
    }

    #[test]
    fn lack_of_memory_is_reported_with_the_next_step() {
        let message = |raw: i32, stderr: &str| {
            let (status, stderr) = (ExitStatus::from_raw(raw), stderr.to_owned());
            VmError::QemuEnded { status, stderr, console: Vec::new() }.to_string()
        };
        let short =
            message(1 << 8, "-accel tcg: allocate 1 bytes for jit buffer: Cannot allocate memory");
        assert!(short.contains("too little free memory for a guest: end other"), "{short}");
        assert!(message(libc::SIGKILL, "").contains("lack of memory"));
        assert!(!message(1 << 8, "no such device").contains("memory"));
    }
}
