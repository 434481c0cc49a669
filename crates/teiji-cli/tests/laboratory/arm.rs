//! Guests of ARM: replays have identical records, as on x86-64, and an error names each limit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{output_of, repository, run_folder, teiji};
use crate::replays::{Disturbance, disturbed_replay, is_identical, replay};
use crate::run::{count, flow, manifest, summary};

/// On one virtual CPU, on two, and with instructions shorter than the resolution of QEMU's clock.
const CASES: &str = r#"
name = "arm"
question = "Are the records of a guest of ARM identical?"
wires.line = { between = ["a", "b"], nic = "vtsn" }
hosts.a.cpu = 0
[flows.cycle]
from = "a"
to = "b"
period = "1ms"
frames = 100
realtime = 80
[cases.one]
about = "one CPU"
[cases.two]
about = "two"
hosts.b.cpu = 1
[cases.short]
about = "a quarter of a nanosecond"
instruction = "250ps"
"#;

fn experiment(dir: &Path) -> String {
    let file = dir.join("arm.toml");
    fs::write(&file, CASES).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Measures all cases in guests of this kernel, and replays them, also with QEMU's threads disturbed. The
/// run's folder; `None`, and a reason to skip, without a program for such guests.
fn measured_and_replayed(dir: &Path, kernel: &str) -> Option<PathBuf> {
    let (file, out) = (experiment(dir), dir.to_str().unwrap());
    let run = teiji(&["run", &file, "--kernel", kernel, "--out", out]);
    if run.err.contains("none beside this program") {
        println!("SKIP: no program for ARM was built here: {}", run.err);
        return None;
    }
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let summary = summary(dir);
    for case in ["one", "two", "short"] {
        assert_eq!(count(flow(&summary, case, 0, "cycle"), "received"), 100, "{case}");
    }
    let first = run_folder(dir);
    is_identical(&replay(&first, dir, Disturbance::default()));
    is_identical(&disturbed_replay(&first, dir).0);
    Some(first)
}

#[test]
fn replays_of_arm64_are_identical_to_the_last_bit() {
    let dir = tempfile::tempdir().unwrap();
    let Some(first) = measured_and_replayed(dir.path(), "debian:6.12-rt/arm64") else { return };
    let manifest = manifest(dir.path());
    let release = manifest["lab"]["kernel"]["release"].as_str().unwrap();
    assert!(release.ends_with("-rt-arm64"), "{release}");
    // The digest is that of the guest's own program.
    let program = repository().join("target/aarch64-unknown-linux-gnu/release/teiji");
    if let Ok(program) = fs::read(program) {
        let digest = teiji_record::manifest::sha256_of(&program);
        assert_eq!(manifest["lab"]["program_sha256"], digest.as_str());
    }
    let why = teiji(&["why", first.to_str().unwrap()]);
    assert_eq!(why.code, 1);
    assert!(why.err.contains("knows guests of amd64 only"), "{}", why.err);
}

#[test]
fn replays_of_armhf_are_identical_to_the_last_bit() {
    let dir = tempfile::tempdir().unwrap();
    measured_and_replayed(dir.path(), "debian:6.12-rt/armhf");
}

#[test]
fn options_that_arm_guests_lack_are_refused_before_measuring() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (experiment(dir.path()), dir.path().to_str().unwrap());
    let unknown = teiji(&["run", &file, "--kernel", "debian:6.12-rt/riscv64", "--out", out]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("/arm64 or /armhf"), "{}", unknown.err);
    let eighth = ["--set", "cases.short.instruction=\"125ps\""];
    let arguments = ["run", &file, "--kernel", "debian:6.12-rt/arm64", "--out", out];
    let short = teiji(&[&arguments[..], &eighth].concat());
    assert_eq!(short.code, 1, "{}", short.out);
    assert!(short.err.contains("give 250 ps or more"), "{}", short.err);
    assert!(!dir.path().join("latest").exists());
}

#[test]
fn a_program_for_guests_that_is_missing_or_of_other_sources_is_named_with_the_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (experiment(dir.path()), dir.path().to_str().unwrap());
    let alone = dir.path().join("teiji");
    fs::copy(env!("CARGO_BIN_EXE_teiji"), &alone).unwrap();
    let run = || {
        let mut command = std::process::Command::new(&alone);
        command.args(["run", &file, "--kernel", "debian:6.12-rt/arm64", "--out", out]);
        output_of(&command.output().unwrap())
    };
    let missing = run();
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("call scripts/program-for arm64"), "{}", missing.err);
    let beside = dir.path().join("teiji-arm64");
    assert!(missing.err.contains(beside.to_str().unwrap()), "{}", missing.err);
    fs::write(&beside, "of another day").unwrap();
    let other = run();
    assert_eq!(other.code, 1);
    assert!(other.err.contains("was built from other sources"), "{}", other.err);
}
