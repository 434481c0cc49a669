//! The test scripts of kernel modules (`tests/kernel/`) on the kernels that Teiji supports: all of them on
//! one, fewer on the others.

use std::path::PathBuf;

use crate::common::{self, repository, teiji};

// All of it on the newest kernel with PREEMPT_RT, which differs most from the others; there what may differ by
// kernel and processor. 6.12 with PREEMPT_RT is what every other test of the laboratory runs on, and
// `./test --debug-kernels` has all of it on 6.12 with and without. By hand:
// `teiji lab suite --kernel debian:6.1 tests/kernel/prioflow`.

const NEWEST: &str = "debian:newest-rt";

#[test]
fn lapic_freq_does_what_its_scripts_say() {
    pass_on(NEWEST, &[&["lapic_freq"]]);
}

#[test]
fn prioflow_does_what_its_scripts_say() {
    pass_on(NEWEST, &[&["prioflow"]]);
}

#[test]
fn vtsn_does_what_its_scripts_say() {
    pass_on(NEWEST, &[&["vtsn"]]);
}

#[test]
fn each_module_with_scripts_has_a_test() {
    let folders = std::fs::read_dir(repository().join("tests/kernel")).unwrap();
    let mut modules: Vec<_> = folders.map(|folder| folder.unwrap().file_name()).collect();
    modules.sort();
    assert_eq!(modules, ["lapic_freq", "prioflow", "vtsn"]);
}

/// Where much differs by version of the kernel: calls, hooks, tracepoints.
const OF_KERNEL: &[&str] = &[
    "prioflow/bad.sh",
    "prioflow/gate.sh",
    "prioflow/receivers.sh",
    "prioflow/with-teiji.sh",
    "vtsn/gates.sh",
    "vtsn/launch.sh",
    "vtsn/with-why.sh",
];
/// What has times, structures and threads in it.
const OF_PROCESSOR: &[&str] = &[
    "prioflow/levels.sh",
    "prioflow/link.sh",
    "prioflow/senders.sh",
    "vtsn/clock.sh",
    "vtsn/pair.sh",
];

#[test]
fn the_modules_do_what_some_scripts_say_on_6_1() {
    pass_on("debian:6.1", &[OF_KERNEL, OF_PROCESSOR]);
}

#[test]
fn the_modules_do_what_some_scripts_say_on_6_1_with_preempt_rt() {
    pass_on("debian:6.1-rt", &[OF_KERNEL]);
}

#[test]
fn the_modules_do_what_some_scripts_say_on_6_12() {
    pass_on("debian:6.12", &[OF_KERNEL]);
}

#[test]
fn the_modules_do_what_some_scripts_say_on_arm64() {
    pass_on("debian:6.12-rt/arm64", &[OF_KERNEL, OF_PROCESSOR]);
}

/// Its guest takes three times as long as others.
#[test]
fn the_modules_do_what_few_scripts_say_on_32_bits() {
    let few = &["prioflow/bad.sh", "prioflow/receivers.sh", "vtsn/launch.sh"];
    pass_on("debian:6.12-rt/armhf", &[few]);
}

/// Runs scripts of `tests/kernel`, or all in a folder of it, in one guest.
fn pass_on(kernel: &str, scripts: &[&[&str]]) {
    let path = |script: &&str| repository().join("tests/kernel").join(script);
    let paths: Vec<PathBuf> = scripts.iter().copied().flatten().map(path).collect();
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let arguments: Vec<&str> =
        ["lab", "suite", "--kernel", kernel].into_iter().chain(paths).collect();
    let result = teiji(&arguments);
    if result.err.contains("none beside this program") {
        return println!("SKIP: no program for ARM was built here: {}", result.err);
    }
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    // What this kernel cannot show, and which scripts take long: `./test` says so at its end.
    for line in result.out.lines() {
        if let Some(sentence) = line.strip_prefix("    skipped: ").or(line.strip_prefix("– ")) {
            println!("left out: {kernel}: {sentence}");
        }
    }
}

/// Delays that a module plants; the laboratory's recorder is tried in `why.rs`.
#[test]
fn planted_delays_are_named_from_tracepoints() {
    let folder = repository().join("tests/planted");
    let folder = folder.to_str().unwrap();
    for kernel in ["debian:6.1", "debian:newest-rt"] {
        let result = teiji(&["lab", "suite", "--kernel", kernel, "--source", folder, folder]);
        assert_eq!(result.code, 0, "{}{}", result.out, result.err);
        assert!(result.out.contains("0 sentences skipped"), "nothing was tried:\n{}", result.out);
    }
}

/// Drivers that accept a setting and ignore it, or whose NIC goes away.
#[test]
fn a_profile_is_not_applied_to_nics_that_do_not_do_as_they_say() {
    let folder = repository().join("tests/misbehaving");
    let folder = folder.to_str().unwrap();
    let result = teiji(&["lab", "suite", "--kernel", "debian:6.12-rt", "--source", folder, folder]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
}

#[test]
fn the_interrupt_of_a_nic_is_handled_by_its_cpu() {
    let script = repository().join("tests/kernel/vtsn/interrupts.sh");
    for kernel in ["debian:6.1", "debian:6.12-rt"] {
        let script = script.to_str().unwrap();
        let result = teiji(&["lab", "suite", "--kernel", kernel, "--cpus", "2", script]);
        assert_eq!(result.code, 0, "{}{}", result.out, result.err);
        assert!(!result.out.contains("another processor"), "nothing was tried:\n{}", result.out);
        for step in ["  boot …\n", "  interrupts.sh, 1 of 1 …\n", "  a look at the kernel …\n"]
        {
            assert!(result.err.contains(step), "{}", result.err);
        }
    }
}

#[test]
fn an_overloaded_processor_does_not_end_a_pause() {
    let script = repository().join("tests/kernel/prioflow/overload.sh");
    let script = script.to_str().unwrap();
    for kernel in ["debian:6.1", "debian:newest-rt"] {
        let result = teiji(&["lab", "suite", "--kernel", kernel, "--cpus", "2", script]);
        assert_eq!(result.code, 0, "{}{}", result.out, result.err);
        assert!(result.out.contains("0 sentences skipped"), "nothing was tried:\n{}", result.out);
    }
}

/// `tests/upstream/generate` could not fetch the kernel's source.
const NO_SOURCE: i32 = 75;

#[test]
fn the_kernels_own_tests_of_qdiscs_and_launch_times_pass_over_vtsn() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("upstream");
    let generate = std::process::Command::new("python3")
        .arg(repository().join("tests/upstream/generate"))
        .arg(&folder)
        .output();
    let generate = match generate {
        Err(why) => return println!("SKIP: no python3 here: {why}"),
        Ok(done) => done,
    };
    let error = String::from_utf8_lossy(&generate.stderr);
    if generate.status.code() == Some(NO_SOURCE) {
        return println!("SKIP: {error}");
    }
    assert!(generate.status.success(), "{error}");
    // Which cases do not apply, and why.
    print!("{}", String::from_utf8_lossy(&generate.stdout));
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let files = ["so_txtime", "so_txtime.sh", "taprio_wait_for_admin.sh"].map(path);
    let [program, script, wait] = &files;
    let suite = path("suite");
    let result =
        teiji(&["lab", "suite", "--file", program, "--file", script, "--file", wait, &suite]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    assert!(
        result.out.contains("in 6 scripts, 0 scripts failed, 3 sentences skipped"),
        "{}",
        result.out
    );
}

/// The faults of `tests/faults` that a kernel survives, and the finding that each must cause.
const SURVIVED: [(&str, &str); 5] = [
    ("rcu", "suspicious RCU usage"),
    ("sleep", "BUG: sleeping function called from invalid context"),
    ("abba", "possible circular locking dependency detected"),
    ("leak", "kmemleak reports 1 objects"),
    ("stuck", "module cannot be unloaded at the end: faults"),
];

/// Runs scripts that each make one fault; the result of `teiji lab suite`.
fn make_faults(kernel: &str, faults: &[&str]) -> common::CommandOutput {
    let dir = tempfile::tempdir().unwrap();
    for (index, fault) in faults.iter().enumerate() {
        let script = format!(
            "#!/bin/sh\n# module: faults\n. /suite/lib\n\
             must sh -c 'echo {fault} >/sys/kernel/debug/faults'\nok 'nothing seems wrong'\nend\n"
        );
        std::fs::write(dir.path().join(format!("{index}-{fault}.sh")), script).unwrap();
    }
    let source = repository().join("tests/faults");
    let source = source.to_str().unwrap();
    teiji(&["lab", "suite", "--kernel", kernel, "--source", source, dir.path().to_str().unwrap()])
}

/// Positive controls: the same scripts would pass if nobody looked at the kernel.
fn every_fault_is_found_on(kernel: &str) {
    let faults = SURVIVED.map(|(fault, _)| fault);
    let result = make_faults(kernel, &faults);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    for (fault, sentence) in SURVIVED {
        assert!(result.out.contains(sentence), "{fault} was not found in:\n{}", result.out);
    }
    assert!(
        result.out.contains("5 sentences true in 5 scripts, 0 scripts failed"),
        "{}",
        result.out
    );
    let result = make_faults(kernel, &["use-after-free"]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(result.out.contains("0-use-after-free.sh: "), "{}", result.out);
    assert!(result.out.contains("KASAN: slab-use-after-free"), "{}", result.out);
    assert!(result.err.contains("panic_on_warn set"), "{}", result.err);
}

// The debug kernels are built first, which takes 10 to 20 minutes each on two
// processors: ./test --debug-kernels, which also runs every script on them.

#[test]
#[ignore = "needs the debug kernels: ./test --debug-kernels"]
fn debug_rt_finds_every_fault() {
    every_fault_is_found_on("debug-rt");
}

#[test]
#[ignore = "needs the debug kernels: ./test --debug-kernels"]
fn debug_finds_every_fault() {
    every_fault_is_found_on("debug");
}

#[test]
fn a_kernel_panic_is_reported_with_the_script_and_the_kernels_message() {
    let dir = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\n. /suite/lib\nok 'so far'\necho c >/proc/sysrq-trigger\nend\n";
    std::fs::write(dir.path().join("crash.sh"), script).unwrap();
    let result = teiji(&["lab", "suite", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(result.out.contains("✗ kernel: crash.sh: "), "{}", result.out);
    assert!(result.out.contains("sysrq_handle_crash+0x"), "the call trace: {}", result.out);
    assert!(result.err.contains("sysrq triggered crash"), "{}", result.err);
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
        ("7-set-up.sh", "must true\nmust sh -c 'echo no room; exit 7'\nok 'not reached'\nend\n"),
    ];
    for (name, text) in scripts {
        let script = format!("#!/bin/sh\n# limit: 5\n. /suite/lib\n{text}");
        std::fs::write(dir.path().join(name), script).unwrap();
    }
    let result = teiji(&["lab", "suite", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
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
        "✗ 7-set-up.sh: 0 true",
        "failed: set-up: `sh -c echo no room; exit 7` ended with 7: no room",
        "5 scripts failed, 0 sentences skipped, 1 complaints of the kernel",
    ] {
        assert!(result.out.contains(sentence), "no `{sentence}` in:\n{}", result.out);
    }
}
