//! Commands on another machine, by an `ssh` whose other machine is this one: how they end, and what they leave.
//! Real connections are tested with boards (`board.rs`).

mod common;

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
    let mut command = common::command(&[words, &["--on", "ssh:here"]].concat());
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
