//! The guest that is a board: starts its services, then waits until somebody switches it off.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};

use super::CHILD_STDERR;
use crate::boards::{POWER_FIFO, START_PATH};
use crate::protocol::{self, Kind};

/// After somebody switched the board off: the SSH session that did so learns of its success.
const FAREWELL: Duration = Duration::from_millis(500);
/// How often init looks for processes to inherit while it has none.
const IDLE: Duration = Duration::from_secs(1);

/// Returns when the board is to be switched off.
pub(super) fn serve(port: &mut File) -> Result<(), String> {
    let stderr =
        File::create(CHILD_STDERR).map_err(|e| format!("cannot write {CHILD_STDERR}: {e}"))?;
    let status = Command::new("/bin/sh")
        .arg(format!("/{START_PATH}"))
        .stdin(Stdio::null())
        .stderr(stderr)
        .status()
        .map_err(|e| format!("cannot start the board's services: {e}"))?;
    if !status.success() {
        let stderr = fs::read_to_string(CHILD_STDERR).unwrap_or_default();
        return Err(format!("the board's services ended with {status}: {}", stderr.trim()));
    }
    let lost = |error| format!("cannot reach the host: {error}");
    protocol::send(port, Kind::Ready, &[]).map_err(lost)?;
    std::thread::spawn(reap);
    // Blocks until somebody has written to it.
    fs::read(POWER_FIFO).map_err(|e| format!("cannot read {POWER_FIFO}: {e}"))?;
    std::thread::sleep(FAREWELL);
    protocol::send(port, Kind::End, &[]).map_err(lost)
}

/// Takes the exit codes of daemons, whose parent is init: they would stay as zombies.
fn reap() {
    loop {
        if let Err(Errno::CHILD) = wait(WaitOptions::empty()) {
            std::thread::sleep(IDLE);
        }
    }
}
