//! Commands on another machine, by an `ssh` whose other machine is this one: how they end, and what they leave.
//! Real connections are tested with boards (`board.rs`).

mod common;
#[path = "common/run.rs"]
mod run;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{output_of, signal};

/// The connection is a process and the file of its socket; output ends with this process, as ssh's does.
const SSH: &str = r#"#!/bin/sh
for last; do
    case $last in
        -G) exit 0 ;;
        -O) leave=1 ;;
        ControlMaster=yes) master=1 ;;
        ControlPath=*) socket=${last#*=} ;;
    esac
done
if [ "$master" ]; then
    echo $$ >"$socket"
    exec sleep 600
elif [ "$leave" ]; then
    exec kill "$(cat "$socket")"
fi
code=$(mktemp)
{ sh -c "$last"; echo $? >"$code"; } | setpriv --pdeathsig KILL cat
status=$(cat "$code")
rm "$code"
exit "$status"
"#;

/// A folder with that `ssh`, which is also where programs are put.
fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join("ssh");
    fs::write(&ssh, SSH).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn on(machine: &tempfile::TempDir, words: &[&str]) -> Command {
    reaching(machine, common::command(&[words, &["--on", "ssh:here"]].concat()))
}

fn reaching(machine: &tempfile::TempDir, mut command: Command) -> Command {
    let path = format!("{}:{}", machine.path().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("TMPDIR", machine.path());
    command
}

/// Programs that were put there.
fn pushed(machine: &tempfile::TempDir) -> usize {
    let entries = fs::read_dir(machine.path()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"teiji.")).count()
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < limit, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn end(mut command: Child) -> Option<i32> {
    until("it ends", || command.try_wait().unwrap().is_some());
    command.wait().unwrap().code()
}

#[test]
fn a_remote_command_prints_and_ends_as_a_local_one() {
    let machine = machine();
    let doctor = |more| output_of(&on(&machine, &["doctor", more, "--json"]).output().unwrap());
    let ready = doctor("lo");
    assert_eq!((ready.code, ready.err.as_str()), (0, ""));
    assert!(ready.out.contains("\"host\": \"here\""), "{}", ready.out);
    let mistake = doctor("none");
    assert_eq!((mistake.code, mistake.out.as_str()), (2, ""), "{}", mistake.err);
    assert_eq!(pushed(&machine), 0);
}

#[test]
fn a_remote_copy_of_the_program_is_removed_when_the_local_command_is_killed() {
    let machine = machine();
    let mut command = on(&machine, &["doctor", "lo", "--probe", "1s"]);
    let mut doctor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let runs = || {
        let line = |pid: fs::DirEntry| fs::read_to_string(pid.path().join("cmdline")).ok();
        let mut lines = fs::read_dir("/proc").unwrap().flatten().filter_map(line);
        let program = format!("{}/teiji.", machine.path().display());
        lines.any(|line| line.starts_with(&program) && line.contains("doctor"))
    };
    until("the program runs there", runs);
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    assert_eq!(pushed(&machine), 1);
    until("the program is removed", || pushed(&machine) == 0);
}

#[test]
fn top_on_another_machine_ends_before_its_next_sample() {
    for more in [&["--metrics", "127.0.0.1:0"][..], &["--json"]] {
        let machine = machine();
        let words = ["top", "lo", "--flows", "none", "--every", "20s"];
        let mut command = on(&machine, &[&words, more].concat());
        let mut top = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        if more == ["--json"] {
            BufReader::new(top.stdout.take().unwrap()).read_line(&mut line).unwrap();
        } else {
            BufReader::new(top.stderr.take().unwrap()).read_line(&mut line).unwrap();
        }
        let began = Instant::now();
        signal("-TERM", top.id());
        assert_eq!(end(top), Some(130), "{line}");
        assert!(began.elapsed() < Duration::from_secs(15), "it waited for the next sample");
        assert_eq!(pushed(&machine), 0);
    }
}

/// Between a machine that is this one and another, which are both in a namespace with two ports.
#[test]
fn a_host_here_and_one_elsewhere_are_measured_under_loads_between_them() {
    if !common::root() {
        println!("SKIP: needs root, to make network namespaces");
        return;
    }
    let machine = machine();
    let file = machine.path().join("two.toml");
    let loads = "loads = [\"udp-tx\", \"tcp-rx\", \"timer\"]\n[wires.line]";
    let text = common::SMALL.replacen("[wires.line]", loads, 1);
    fs::write(&file, text.replace("nic = \"e1000e\"", "").replace("frames = 50", "frames = 500"))
        .unwrap();
    let mut command = Command::new("unshare");
    let ports = "ip link add here0 type veth peer name there0 && exec \"$@\"";
    command.args(["-n", "sh", "-c", ports, "sh", env!("CARGO_BIN_EXE_teiji"), "run"]);
    command.arg(&file).args(["--bind", "a=here0,b=ssh:here/there0", "--out"]);
    command.arg(machine.path().join("runs")).env("LC_ALL", "C.UTF-8");
    let result = output_of(&reaching(&machine, command).output().unwrap());
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    let runs = machine.path().join("runs");
    let summary = run::summary(&runs);
    let one = run::flow(&summary, "default", 0, "one");
    assert_eq!(["planned", "received"].map(|what| run::count(one, what)), [500, 500]);
    let manifest = run::manifest(&runs);
    let observed = &manifest["observed"]["default-s1"];
    let machines: Vec<&String> = observed["machines"].as_object().unwrap().keys().collect();
    assert_eq!(machines, ["here", "this machine"]);
    // What both ends tell of a load is one; the timers are of each machine.
    let loads = observed["loads"].as_array().unwrap();
    let kinds: Vec<&str> = loads.iter().map(|load| load["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["udp-tx", "tcp-rx", "timer", "timer"]);
    for load in loads {
        assert!(load["done"].as_u64().unwrap() > 0, "{load}");
        assert_eq!(load["connection"].is_object(), load["kind"] == "tcp-rx", "{load}");
    }
    assert!(result.out.contains("several machines, real time"), "{}", result.out);
    assert_eq!(pushed(&machine), 0);
}
