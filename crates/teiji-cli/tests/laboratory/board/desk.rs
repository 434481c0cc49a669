//! Boards that a test starts, uses by SSH, and ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::{self, CommandOutput, output_of};
use crate::machines::machines;

/// The board's own limit, and what it fetches before.
pub const BOOT_LIMIT: Duration = Duration::from_secs(900);
/// Until something that was started on a board is under way, beside other work: the program is copied first.
pub const START_LIMIT: Duration = Duration::from_secs(180);
/// Until a board that was ended is gone.
pub const END_LIMIT: Duration = Duration::from_secs(30);

/// The boards of a test.
pub struct Desk {
    pub runtime: tempfile::TempDir,
}

/// A board, ended at the latest when this is dropped.
pub struct Running {
    pub child: Child,
    /// What it printed when it was ready.
    pub printed: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already where the test got so far.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Desk {
    pub fn new() -> Self {
        Self { runtime: tempfile::tempdir().unwrap() }
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = common::command(&[&["lab", "board"], arguments].concat());
        command.env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }

    /// The folder of boards.
    pub fn folder(&self) -> PathBuf {
        self.runtime.path().join("teiji/boards")
    }

    /// What is in it, but the configuration that stays.
    pub fn entries(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder()) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "config").collect()
    }

    /// Starts a board and waits until it is ready.
    pub fn start(&self, arguments: &[&str]) -> Running {
        self.try_start(arguments, Stdio::inherit()).expect("the board is not ready")
    }

    /// The same of arm64, where a program for that was built; otherwise of x86-64.
    pub fn start_arm64(&self, arguments: &[&str]) -> Running {
        let errors = self.runtime.path().join("arm64");
        let arm = [arguments, &["--kernel", "debian:6.12-rt/arm64"]].concat();
        if let Some(running) = self.try_start(&arm, fs::File::create(&errors).unwrap().into()) {
            return running;
        }
        let result = fs::read_to_string(errors).unwrap();
        assert!(result.contains("scripts/program-for arm64"), "{result}");
        println!("SKIP: no board of arm64, but one of x86-64: {result}");
        self.start(arguments)
    }

    /// Starts a board and waits until it is ready; `None` if it is not going to be.
    pub fn try_start(&self, arguments: &[&str], errors: Stdio) -> Option<Running> {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, printed: String::new() };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        while !running.printed.contains("ends it") {
            let line = lines.recv_timeout(BOOT_LIMIT).ok()?;
            running.printed.push_str(&line);
            running.printed.push('\n');
        }
        Some(running)
    }

    /// A command on a board.
    pub fn ssh(&self, options: &[&str], board: &str, command: &str) -> CommandOutput {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(self.folder().join("config")).args(options);
        output_of(&ssh.args([board, command]).stdin(Stdio::null()).output().unwrap())
    }

    /// What a command on a board prints.
    pub fn on(&self, board: &str, command: &str) -> String {
        let result = self.ssh(&[], board, command);
        assert_eq!(result.code, 0, "{board}: {command}: {}{}", result.out, result.err);
        result.out
    }

    /// A board that must not start: its one sentence.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let result = output_of(&self.command(arguments).output().unwrap());
        assert!(result.code == 1 || result.code == 2, "{}{}", result.out, result.err);
        assert!(!result.err.contains("boots"), "{}", result.err);
        result.err
    }

    /// The wire, from left to right.
    pub fn ping(&self) {
        let ping = self.on("left", "ping -c 3 -i 0.2 -W 10 10.0.0.2");
        assert!(ping.contains("3 packets transmitted, 3 received"), "{ping}");
    }
}

/// Says why, if the test cannot run here.
pub fn no_ssh() -> bool {
    let missing = Command::new("ssh").arg("-V").output().is_err();
    if missing {
        println!("SKIP: no ssh here (openssh-client)");
    }
    missing
}

pub fn address(desk: &Desk, board: &str, address: &str) {
    desk.on(board, &format!("ip address add {address}/24 dev wire0"));
}

/// The exit code of a board that was ended, and that nothing of it is left.
pub fn ended(mut running: Running, desk: &Desk, name: &str) -> Option<i32> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = running.child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < END_LIMIT, "{name} goes on");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(machines(&desk.folder().join(name)).is_empty(), "QEMU is still running");
    let left = |entry: &String| entry == name || *entry == format!("{name}.board");
    assert!(!desk.entries().iter().any(left), "{:?}", desk.entries());
    status.code()
}
