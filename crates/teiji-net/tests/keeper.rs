//! A program that is killed while it holds NICs, and its keeper. This test
//! program plays all parts: `victim` applies a plan and dies, `keeper` is what
//! the library starts. Needs root, says SKIP without.
//!
//! ```text
//!   machine: c0 ═══ c1   ── victim takes both ─→  talker[c0] ═══ listener[c1]
//!                        ←─ victim dies ────────  namespaces and veth go
//!   c0, c1 made anew, bare, as the kernel returns a NIC: the keeper restores
//! ```

mod common;

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use common::{UDP4, have, in_a_machine_of_its_own, scenario, sh};
use teiji_net::{Applied, ApplyOptions, Binding, KeeperProgram, NetError, Plan, keeper};

const NICS: &str =
    "ip link add c0 address 02:00:00:00:00:c0 type veth peer name c1 address 02:00:00:00:00:c1";
const CONFIGURED: &str = "ip addr add 192.0.2.1/24 dev c0; ip addr add 2001:db8::1/64 dev c0 nodad
    ip link set c0 up; ip link set c1 up";

fn apply(keeper: KeeperProgram) -> Result<Applied, NetError> {
    let scenario = scenario(None, UDP4);
    let binding = Binding::parse("talker=c0,listener=c1", &scenario).unwrap();
    let plan = Plan::compile(&scenario, &binding).unwrap();
    plan.apply_with(&ApplyOptions { keeper, take: true, ..ApplyOptions::default() })
}

fn addresses() -> String {
    sh("ip -br addr show dev c0; ip -br addr show dev c1").replace("UNKNOWN", "UP")
}

/// Waits for `condition`, at most ten seconds.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not come to pass");
}

/// How many children this process has, by `/proc/<pid>/stat`:
/// `pid (name) state parent …`.
fn children() -> usize {
    let me = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = processes.filter_map(|p| std::fs::read_to_string(p.path().join("stat")).ok());
    let parent = |stat: &String| {
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2)) == Some(&me)
    };
    stats.filter(parent).count()
}

/// The addresses once the links have settled.
fn settled() -> String {
    eventually("both links are up", || addresses().matches(" UP ").count() == 2);
    addresses()
}

fn a_killed_programs_nics_are_given_back() {
    in_a_machine_of_its_own(|| {
        sh(&format!("{NICS}; {CONFIGURED}"));
        let before = settled();
        // The keeper keeps the victim's standard error, so that must be no pipe:
        // reading it to its end would wait for the keeper.
        let mut victim = Command::new(std::env::current_exe().unwrap());
        let victim = victim.arg("victim").stderr(Stdio::inherit()).output().unwrap();
        assert!(!victim.status.success(), "the victim dies");
        let stdout = String::from_utf8_lossy(&victim.stdout).into_owned();
        assert!(stdout.contains("applied"), "{stdout}");
        assert!(!sh("ip -br link").contains("c0"), "its NICs went with its namespaces");
        sh(NICS);
        eventually("the keeper restores the NICs", || addresses() == before);
    });
}

fn a_program_that_undoes_by_itself_dismisses_its_keeper() {
    in_a_machine_of_its_own(|| {
        sh(&format!("{NICS}; {CONFIGURED}"));
        let before = settled();
        let applied = apply(KeeperProgram::ThisProgram).unwrap();
        assert_eq!(children(), 1, "a keeper runs");
        applied.undo().unwrap();
        assert_eq!(children(), 0, "no keeper is left");
        eventually("the NICs are as before", || addresses() == before);
    });
}

fn without_a_keeper_nothing_is_changed() {
    in_a_machine_of_its_own(|| {
        sh(&format!("{NICS}; {CONFIGURED}"));
        let before = settled();
        let keeper = |path: &str| KeeperProgram::Other(path.into(), Vec::new());
        let error = apply(keeper("/bin/true")).unwrap_err().to_string();
        assert!(error.contains("did not answer"), "{error}");
        let error = apply(keeper("/no/such/program")).unwrap_err().to_string();
        assert!(error.starts_with("cannot start the keeper"), "{error}");
        assert!(error.ends_with("Nothing was changed."), "{error}");
        assert_eq!(addresses(), before);
    });
}

/// A test by name.
type Test = (&'static str, fn());

const TESTS: [Test; 3] = [
    ("a_killed_programs_nics_are_given_back", a_killed_programs_nics_are_given_back),
    (
        "a_program_that_undoes_by_itself_dismisses_its_keeper",
        a_program_that_undoes_by_itself_dismisses_its_keeper,
    ),
    ("without_a_keeper_nothing_is_changed", without_a_keeper_nothing_is_changed),
];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(keeper::SUBCOMMAND) => return keeper::main(),
        Some("victim") => {
            let _applied = apply(KeeperProgram::ThisProgram).unwrap();
            println!("applied");
            std::process::abort();
        }
        Some("--list") => {
            // For test runners that ask first.
            for (name, _) in TESTS {
                println!("{name}: test");
            }
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    if !have("ip") {
        return ExitCode::SUCCESS;
    }
    // A failing test panics and ends the program with an error.
    for (name, test) in TESTS {
        test();
        println!("test {name} ... ok");
    }
    println!("test result: ok. {} passed; 0 failed", TESTS.len());
    ExitCode::SUCCESS
}
