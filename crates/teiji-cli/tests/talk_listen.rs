//! `teiji talk`, `teiji listen` and `teiji join` on this machine: live lines, exit codes, JSON.
//! What needs a NIC is tested in a guest (`tests/kernel/vtsn/with-talk.sh`).

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use common::{CommandOutput, signal, teiji};
use serde_json::Value;

/// A listener with pipes, which says that it listens before this returns.
fn listener(port: &str, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let fixed = ["listen", "--address", "127.0.0.1", "--port", port];
    let mut child = common::command(&[&fixed[..], arguments].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut result = String::new();
    err.read_line(&mut result).unwrap();
    assert!(result.contains("listening on 127.0.0.1"), "{result}");
    (child, err)
}

/// Frames to `port`, ten a second for so many; when they leave does not matter here.
fn talk(port: &str, frames: &str, more: &[&str]) -> CommandOutput {
    let to = format!("127.0.0.1:{port}");
    let fixed = ["talk", "lo", &to, "--frames", frames, "--period", "10ms", "--tolerance", "10s"];
    teiji(&[&fixed[..], more].concat())
}

#[test]
fn a_listener_prints_each_interval_while_it_runs_and_ends_with_130() {
    let (mut child, mut err) = listener("47801", &["--every", "200ms", "--deadline", "0"]);
    let result = talk("47801", "20", &[]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    assert!(result.out.starts_with("20 frames transmitted on time"), "{}", result.out);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    // It runs still, and its output is a pipe.
    let (mut frames, mut line) = (0, String::new());
    while frames < 20 {
        line.clear();
        lines.read_line(&mut line).unwrap();
        assert!(line.contains(" s  "), "an interval: {line}");
        if let Some((_, rest)) = line.split_once("flow 0: ") {
            assert!(rest.contains(" 0 lost"), "{line}");
            assert!(rest.contains("latency") && rest.contains("after the deadline"), "{line}");
            frames += rest.split_once(' ').unwrap().0.parse::<u32>().unwrap();
        }
    }
    signal("-INT", child.id());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("flow 0: 20 frames, 0 missing"), "{rest}");
    assert!(rest.contains("Latency assumes that"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("stopping; Ctrl-C again"), "nothing was set: {rest}");
}

#[test]
fn rows_of_a_running_listener_arrive_and_are_joined_with_the_talkers() {
    let (mut child, _err) = listener("47802", &["--csv"]);
    let sent = talk("47802", "5", &["--csv"]);
    assert_eq!(sent.code, 0, "{}", sent.err);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut received = String::new();
    for _ in 0..6 {
        lines.read_line(&mut received).unwrap();
    }
    signal("-INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (talker, listener) = (file("talk.csv", &sent.out), file("listen.csv", &received));
    let result = teiji(&["join", &talker, &listener, "--json", "--deadline", "10s"]);
    assert_eq!(result.code, 0, "{}", result.err);
    let joined: Value = serde_json::from_str(&result.out).unwrap();
    let counts = ["attempted", "received", "lost", "after_deadline"].map(|count| &joined[count]);
    assert_eq!(counts, [5, 5, 0, 0], "{joined}");
    // Another run's rows, the wrong file, and none.
    let other = file("other.csv", &received.replace("\n0,3,", "\n0,2,"));
    for (talker, listener, words) in [
        (&talker, &other, "of different runs"),
        (&listener, &talker, "no output of `teiji talk --csv`"),
        (&talker, &"nowhere.csv".to_owned(), "cannot read nowhere.csv"),
    ] {
        let result = teiji(&["join", talker, listener]);
        assert_eq!(result.code, 2, "{}", result.err);
        assert!(result.err.contains(words), "{}", result.err);
    }
}

#[test]
fn a_listener_that_received_nothing_has_failed() {
    let arguments = ["listen", "--address", "127.0.0.1", "--port", "47803", "--for", "300ms"];
    let result = teiji(&[&arguments[..], &["--json", "--every", "100ms"]].concat());
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(result.err.contains("no test frames arrived: does `teiji talk`"), "{}", result.err);
    let objects: Vec<Value> =
        result.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(objects.len() > 1, "{}", result.out);
    let (last, intervals) = objects.split_last().unwrap();
    assert!(intervals.iter().all(|line| line["type"] == "interval"), "{}", result.out);
    assert_eq!((&last["type"], &last["version"]), (&"summary".into(), &1.into()));
}

#[test]
fn frames_that_are_not_on_time_are_no_success() {
    if !common::root() {
        println!("SKIP: needs root, to give launch times by CLOCK_TAI");
        return;
    }
    // Nothing on loopback keeps launch times: each frame leaves 20 ms early.
    let arguments = ["--margin", "20ms", "--tolerance", "1ms", "--json"];
    let to = ["talk", "lo", "127.0.0.1:47804", "--frames", "5", "--period", "10ms"];
    let result = teiji(&[&to[..], &arguments].concat());
    let report: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(result.code, 3, "{report}");
    assert_eq!((&report["format"], &report["exit"]), (&"teiji-talk".into(), &3.into()));
    assert_eq!(report["judged_by"], "driver-timestamp");
    // A busy machine may have one late instead.
    assert_eq!(report["frames"]["on_time"], 0, "{report}");
    assert!(
        result.err.contains("no etf or taprio qdisc of lo keeps launch times"),
        "{}",
        result.err
    );
    // Nobody can be in time for a tolerance of nothing.
    let late = teiji(&[&to[..], &["--tolerance", "0"]].concat());
    assert_eq!(late.code, 3, "{}", late.out);
    assert!(
        late.out.contains("5 late: transmitted more than 0 s after their schedule"),
        "{}",
        late.out
    );
    let late = teiji(&[&to[..], &["--tolerance", "0", "--no-stamps"]].concat());
    assert_eq!(late.code, 3, "{}", late.out);
    assert!(late.out.contains("5 late: the worst handed over"), "{}", late.out);
}

#[test]
fn a_destination_that_cannot_be_reached_is_a_failure() {
    if !common::root() {
        println!("SKIP: needs root, to make a network namespace");
        return;
    }
    let shell = |command: &str| {
        let result = Command::new("unshare").args(["--net", "sh", "-c", command]).output().unwrap();
        common::output_of(&result)
    };
    let talk = format!("{} talk", common::IN_SHELL);
    // Down, and without any route.
    let result = shell(&format!("{talk} lo 127.0.0.1 --frames 3"));
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(result.out.contains("3 refused by the send call: "), "{}", result.out);
    assert!(result.out.contains("(errno "), "{}", result.out);
    // Up, and no host answers ARP for the address.
    let pair = "ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up && \
                ip address add 10.9.9.1/24 dev v0";
    if shell(pair).code != 0 {
        println!("SKIP: no `ip` to make a veth pair with");
        return;
    }
    let result = shell(&format!("{pair} && {talk} v0 10.9.9.9 --frames 3"));
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(
        result.out.contains("3 without transmit timestamp: they did not enter"),
        "{}",
        result.out
    );
    assert!(result.out.contains("10.9.9.9 does not answer ARP"), "{}", result.out);
    // Nor is it a success without timestamps: the interface counts its ARP requests alone.
    let result = shell(&format!("{pair} && {talk} v0 10.9.9.9 --frames 30 --no-stamps"));
    assert_eq!(result.code, 3, "{}{}", result.out, result.err);
    assert!(result.out.contains("v0 counted only "), "{}", result.out);
}

#[test]
fn waiting_for_synchronisation_needs_a_clock_that_can_be_read() {
    for (arguments, words) in [
        (&["talk", "lo", "127.0.0.1", "--sync-within", "1us"][..], "lo has no PHC"),
        (&["listen", "--sync-within", "1us"], "needs an interface"),
        (&["listen", "lo", "--sync-within", "0"], "times above zero"),
        (&["talk", "lo", "127.0.0.1", "--tolerance=-1us"], "no frame be on time"),
        (&["listen", "--every=-1s"], "--every 1s"),
        (&["listen", "--deadline=-1s"], "--deadline 500us"),
        (&["listen", "--sync-limit", "1s"], "--sync-within"),
    ] {
        let result = teiji(arguments);
        assert_eq!(result.code, 2, "{arguments:?}: {}", result.err);
        assert!(result.err.contains(words), "{arguments:?}: {}", result.err);
    }
}
