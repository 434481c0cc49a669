//! Runs the `teiji` that was just built, as a person would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a command printed, and how it ended.
pub struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// `teiji` as a word of a shell's command: its path may have blanks.
#[allow(dead_code, reason = "not every test program uses a shell")]
pub const IN_SHELL: &str = concat!("'", env!("CARGO_BIN_EXE_teiji"), "'");

/// `teiji` with the repository as current folder, and a locale in which it prints more
/// than ASCII, whatever the user's is.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_teiji"));
    command.args(arguments).current_dir(repository()).env("LC_ALL", "C.UTF-8");
    command
}

/// Runs `teiji ARGUMENTS` to its end.
#[allow(dead_code, reason = "not every test program has the user's environment")]
pub fn teiji(arguments: &[&str]) -> CommandOutput {
    output_of(&command(arguments).output().unwrap())
}

pub fn output_of(output: &Output) -> CommandOutput {
    CommandOutput {
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

/// A capture of UDP frames at these microseconds, as `tcpdump -w` writes it.
#[allow(dead_code, reason = "not every test program reads captures")]
pub fn capture(stamps_us: impl IntoIterator<Item = u32>) -> Vec<u8> {
    // Ethernet; IPv4 from 10.0.0.1 to 10.0.0.2; UDP from port 1 to port 2; no payload.
    const FRAME: [u8; 42] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0,
        0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 8, 0, 0,
    ];
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    let length = u32::try_from(FRAME.len()).unwrap();
    for us in stamps_us {
        let head = [us / 1_000_000, us % 1_000_000, length, length];
        file.extend(head.into_iter().flat_map(u32::to_le_bytes));
        file.extend(FRAME);
    }
    file
}

/// An experiment of 50 ms.
#[allow(dead_code, reason = "not every test program runs experiments of its own")]
pub const SMALL: &str = r#"
name = "small"
question = "Does it work?"
[wires.line]
between = ["a", "b"]
nic = "e1000e"
[flows.one]
from = "a"
to = "b"
period = "1ms"
frames = 50
payload = 64
"#;

/// Whether network namespaces can be made.
#[allow(dead_code, reason = "not every test program makes networks")]
pub fn root() -> bool {
    // The owner of /proc/self is who we are.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Sends a signal, such as `-TERM`.
#[allow(dead_code, reason = "not every test program signals")]
pub fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// A member of a JSON object that is an integer.
#[allow(dead_code, reason = "not every test program reads JSON")]
pub fn number(value: &serde_json::Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("no {key} in {value}"))
}
