//! Replays of runs, also with QEMU's threads disturbed: the records must be equal to the last bit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{CommandOutput, command, output_of, repository};

/// Variables that disturb QEMU.
pub type Disturbance = Vec<(&'static str, PathBuf)>;

/// Makes the guest's thread late where QEMU's threads race without
/// `rr=record`: every run then differed (docs/determinism.md). What happened is
/// counted in the file `counts`.
fn late_counting(dir: &Path, counts: &Path) -> Disturbance {
    let library = dir.join("late_counting.so");
    let source = repository().join("crates/teiji-cli/tests/laboratory/late_counting.c");
    let compiled = std::process::Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    vec![("LD_PRELOAD", library), ("LATE_COUNTING", counts.to_owned())]
}

/// Replays the run `first` into `out` with variables that disturb QEMU.
pub fn replay(first: &Path, out: &Path, disturbance: Disturbance) -> CommandOutput {
    let arguments = ["run", "--replay", first.to_str().unwrap(), "--out", out.to_str().unwrap()];
    output_of(&command(&arguments).envs(disturbance).output().unwrap())
}

pub fn is_identical(replay: &CommandOutput) {
    assert_eq!(replay.code, 0, "{}\n{}", replay.out, replay.err);
    assert!(replay.out.contains("identical to the last bit"), "{}", replay.out);
}

/// Replays the run `first` into `out` with QEMU's guest thread made late; and how often
/// QEMU's main loop had to wait for that thread.
pub fn disturbed_replay(first: &Path, out: &Path) -> (CommandOutput, u64) {
    let scratch = tempfile::tempdir().unwrap();
    let counts = scratch.path().join("counts");
    let replayed = replay(first, out, late_counting(scratch.path(), &counts));
    let counts = fs::read(counts).expect("the disturbance never met QEMU");
    let count = |at: usize| u64::from_ne_bytes(counts[at..at + 8].try_into().unwrap());
    assert!(count(0) > 0, "nothing was made late");
    (replayed, count(8))
}
