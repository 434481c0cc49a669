//! Runs the `teiji` that was just built, as a person would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a command printed, and how it ended.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// `teiji` with the repository as current folder.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_teiji"));
    command.args(arguments).current_dir(repository());
    command
}

/// Runs `teiji ARGUMENTS` to its end.
pub fn teiji(arguments: &[&str]) -> Said {
    said(&command(arguments).output().unwrap())
}

pub fn said(output: &Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The only run folder below `out`.
#[allow(dead_code, reason = "not every test program makes runs")]
pub fn run_folder(out: &Path) -> PathBuf {
    out.join("latest").canonicalize().unwrap()
}
