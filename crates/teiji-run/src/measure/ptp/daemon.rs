//! A program of linuxptp in a host's namespace, ended with its handle.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::{Context, anyhow, bail};
use teiji_net::linuxptp;
use teiji_sys::sched::Pinned;
use teiji_sys::{netns, process};

/// Lines of a program's output that are quoted when it fails.
const QUOTED: usize = 4;

/// Says what to do where a program is not installed; `None` if it is.
pub(super) fn missing(program: &str) -> Option<String> {
    linuxptp::installed(program).is_none().then(|| {
        format!(
            "there is no `{program}` here; install linuxptp (`apt install linuxptp`), or run with \
             --on lab"
        )
    })
}

/// A running program. Dropping the handle ends it.
#[derive(Debug)]
pub(super) struct Daemon {
    what: String,
    child: Mutex<Child>,
    log: PathBuf,
    // The thread that started the program lives as long: the program dies with it.
    _alive: mpsc::Sender<()>,
}

impl Daemon {
    /// Starts `program` for `host` in `namespace`, on `cpu` or any; its output goes into `log`.
    pub(super) fn start(
        program: &'static str,
        host: &str,
        arguments: &[String],
        namespace: OwnedFd,
        cpu: Option<u16>,
        log: PathBuf,
    ) -> anyhow::Result<Self> {
        let output =
            File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(program);
        command.env("PATH", linuxptp::search_path());
        command.args(arguments).stdin(Stdio::null()).stderr(output.try_clone()?).stdout(output);
        let (started, answer) = mpsc::channel();
        let (alive, ended) = mpsc::channel::<()>();
        thread::Builder::new()
            .name(program.to_owned())
            .spawn(move || {
                let mut start = || -> anyhow::Result<Child> {
                    netns::enter(namespace.as_fd())?;
                    // Inherited by the program.
                    let _pinned = cpu.map(Pinned::to).transpose()?;
                    process::die_with_parent(&mut command).spawn().map_err(|e| explain(program, &e))
                };
                if started.send(start()).is_ok() {
                    // Ends when the handle is dropped.
                    let _ = ended.recv();
                }
            })
            .context("cannot start a thread")?;
        let child = answer.recv().map_err(|_| anyhow!("cannot start {program}"))??;
        let what = format!("{program} of {host}");
        Ok(Self { what, child: Mutex::new(child), log, _alive: alive })
    }

    /// An error if the program has ended by itself.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended ({status}){}", self.what, self.last_words()),
        }
    }

    /// The last lines it wrote, as the end of a sentence.
    pub(super) fn last_words(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(QUOTED)..];
        if last.is_empty() {
            String::new()
        } else {
            format!("; {}: {}", self.what, last.join(" | "))
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has ended already needs no signal.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn explain(program: &str, error: &io::Error) -> anyhow::Error {
    if let Some(sentence) = missing(program).filter(|_| error.kind() == io::ErrorKind::NotFound) {
        return anyhow!(sentence);
    }
    anyhow!("cannot start {program}: {error}")
}
