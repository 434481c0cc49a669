//! The test scripts of every kernel module (`tests/kernel/`), each module in one guest
//! on every kernel that Teiji supports.

mod common;

use std::path::PathBuf;

use common::{repository, teiji};

/// Folders of `tests/kernel`, one a module.
fn suites() -> Vec<PathBuf> {
    let folder = repository().join("tests/kernel");
    let mut suites: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    suites.sort();
    assert!(!suites.is_empty());
    suites
}

fn every_suite_passes_on(kernel: &str) {
    for suite in suites() {
        let said = teiji(&["lab", "suite", "--kernel", kernel, suite.to_str().unwrap()]);
        assert_eq!(said.code, 0, "{}:\n{}{}", suite.display(), said.out, said.err);
    }
}

#[test]
fn the_modules_do_what_their_scripts_say_on_6_12_with_preempt_rt() {
    every_suite_passes_on("debian:6.12-rt");
}

#[test]
fn the_modules_do_what_their_scripts_say_on_6_12() {
    every_suite_passes_on("debian:6.12");
}

#[test]
fn the_modules_do_what_their_scripts_say_on_6_1_with_preempt_rt() {
    every_suite_passes_on("debian:6.1-rt");
}

#[test]
fn the_modules_do_what_their_scripts_say_on_6_1() {
    every_suite_passes_on("debian:6.1");
}

/// A script with one mistake each, and what `teiji lab suite` must say of it.
#[test]
fn scripts_that_fail_leave_early_or_hang_and_kernels_that_complain_fail_the_suite() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = [
        ("1-false.sh", "check 'one is two' test 1 = 2\nend\n"),
        ("2-early.sh", "ok 'so far'\nexit 0\n"),
        ("3-hangs.sh", "ok 'so far'\nsleep 1000\nend\n"),
        ("4-nothing.sh", "end\n"),
        ("5-complaint.sh", "ok 'all is well'\necho '<3>BUG: made up' >/dev/kmsg\nend\n"),
        ("6-good.sh", "check 'true is true' true\nend\n"),
    ];
    for (name, text) in scripts {
        let script = format!("#!/bin/sh\n# limit: 5\n. /suite/lib\n{text}");
        std::fs::write(dir.path().join(name), script).unwrap();
    }
    let said = teiji(&["lab", "suite", dir.path().to_str().unwrap()]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    for sentence in [
        "✗ 1-false.sh: 0 true",
        "failed: one is two: `test 1 = 2` ended with 1",
        "✗ 2-early.sh: 1 true",
        "failed: it left before its `end`",
        "✗ 3-hangs.sh: 1 true",
        "failed: it was not done after 5 s and was ended",
        "failed: it tested nothing",
        "✓ 5-complaint.sh: 1 true",
        "✗ kernel: 5-complaint.sh: ",
        "✓ 6-good.sh: 1 true",
        "4 scripts failed, 0 sentences skipped, 1 complaints of the kernel",
    ] {
        assert!(said.out.contains(sentence), "no `{sentence}` in:\n{}", said.out);
    }
}
