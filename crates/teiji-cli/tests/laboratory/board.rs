//! Boards of the laboratory: two guests on a wire that are reached by SSH. The first run on a machine fetches
//! the packages.
//!
//! ```text
//!   ssh ── mgmt0 left wire0 10.0.0.1 ── line ── 10.0.0.2 wire0 right mgmt0 ── ssh
//! ```

mod desk;
mod experiments;
mod profiles;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, output_of, signal};
use crate::machines::machines;
use crate::tutorial;
use desk::{BOOT_LIMIT, Desk, END_LIMIT, START_LIMIT, address, ended, no_ssh};
use experiments::{
    an_experiment_over_ssh, an_experiment_with_a_host_here_and_one_there,
    causes_and_loads_over_ssh, one_way_figures_over_ssh,
    the_tables_of_one_board_are_the_same_from_here_and_there,
};
use profiles::profiles_over_ssh;
use teiji_core::shell::quote;

fn known_hosts_are_enforced(desk: &Desk) {
    let of_right = desk.folder().join("right/known_hosts");
    let text = fs::read_to_string(&of_right).unwrap().replace("right ", "left ");
    let wrong = desk.runtime.path().join("wrong");
    fs::write(&wrong, text).unwrap();
    for file in [Path::new("/dev/null"), &wrong] {
        let option = format!("UserKnownHostsFile={}", file.display());
        let result = desk.ssh(&["-o", &option], "left", "true");
        assert_eq!(result.code, 255, "{}", result.out);
        assert!(result.err.contains("Host key verification failed"), "{}", result.err);
    }
    // Nobody gets in without the key either.
    let result = desk.ssh(&["-o", "PubkeyAuthentication=no"], "left", "true");
    assert!(result.code == 255 && result.err.contains("Permission denied"), "{}", result.err);
}

/// `teiji doctor --on`, which brings its program, against the one that is on the board; and `teiji top --on`.
fn looked_at_from_here(desk: &Desk) {
    let config = desk.folder().join("config");
    let config = config.to_str().unwrap();
    let on = |board: &str, words: &[&str]| {
        let board = format!("ssh:{board}");
        let words = [words, &["--on", &board, "--ssh-config", config]].concat();
        output_of(&common::command(&words).output().unwrap())
    };
    let verdicts = |text: &str| {
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        (document["verdicts"].clone(), document["findings"].clone())
    };
    for board in ["left", "right"] {
        let from_here = on(board, &["doctor", "--json", "wire0"]);
        assert_eq!(from_here.code, 0, "{board}: {}", from_here.err);
        let there = desk.on(board, "teiji doctor wire0 --json");
        assert_eq!(verdicts(&from_here.out), verdicts(&there));
        let top = on(board, &["top", "wire0", "--count", "1", "--json"]);
        assert_eq!(top.code, 0, "{board}: {}", top.err);
        let top: serde_json::Value = serde_json::from_str(top.out.lines().next().unwrap()).unwrap();
        assert_eq!(top["interfaces"][0]["name"], "wire0", "{top}");
        assert_eq!(desk.on(board, "ls -d /tmp/teiji.* 2>/dev/null | wc -l").trim(), "0");
    }
    let look = |more: &[&str]| on("left", &[&["doctor"], more].concat());
    let other = look(&["eth9"]);
    assert_eq!(other.code, 2, "{}", other.err);
    assert!(other.err.contains("left: there is no interface `eth9` here"), "{}", other.err);
    let top = on("left", &["top", "eth9"]);
    assert_eq!(top.code, 2, "{}", top.err);
    assert!(top.err.contains("left: there is no interface `eth9` here"), "{}", top.err);
    assert_eq!(desk.on("left", "ls -d /tmp/teiji.* 2>/dev/null | wc -l").trim(), "0");

    // A /tmp from which nothing runs, or in which nothing fits, is passed over.
    for options in ["noexec", "size=1m"] {
        desk.on("left", &format!("mount -t tmpfs -o {options} tmpfs /tmp"));
        let passed = look(&["wire0"]);
        assert_eq!(passed.code, 0, "{options}: {}", passed.err);
    }
    // sshd goes on: its folder and the key are in the new file systems, too.
    desk.on(
        "left",
        "cp -a /root/.ssh /key; \
         for place in /var/tmp /run /root /dev/shm; do \
             mount -t tmpfs -o size=1m,mode=700 tmpfs $place; \
         done; mkdir /run/sshd; cp -a /key /root/.ssh",
    );
    let full = look(&["wire0"]);
    assert_eq!(full.code, 1);
    assert!(full.err.contains("cannot put the program on left"), "{}", full.err);
    assert!(full.err.contains("KiB are free of"), "{}", full.err);
    desk.on("left", "umount -l /tmp /tmp /var/tmp /run /root /dev/shm");

    let wrong = desk.runtime.path().join("wrong-config");
    let text = fs::read_to_string(desk.folder().join("left/config")).unwrap();
    let line = text.lines().find(|line| line.contains("UserKnownHostsFile")).unwrap();
    fs::write(&wrong, text.replace(line, "    UserKnownHostsFile /dev/null")).unwrap();
    let words = ["doctor", "--on", "ssh:left", "--ssh-config", wrong.to_str().unwrap()];
    let unknown = output_of(&common::command(&words).output().unwrap());
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("Host key verification failed"), "{}", unknown.err);
    assert!(unknown.err.contains("try it by hand: ssh left"), "{}", unknown.err);
}

/// The tutorial's commands for two boards, as they stand on the page.
fn the_tutorial_s_commands_work(desk: &Desk) {
    let config = desk.folder().join("config");
    let ssh = format!(
        "config={}\non() {{ ssh -n -F $config \"$@\"; }}\n",
        quote(config.to_str().unwrap())
    );
    let result = tutorial::shell(desk.runtime.path(), &(ssh + &tutorial::commands("board", 4)));
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
    for part in [
        "3 packets transmitted, 3 received",
        "priorities ",
        "Round trips of ask",
        "wire0 →  test flow 0, UDP 10.1.0.1:",
        "drive.toml is applied; everything is put back in 60 s",
        "drive.toml is confirmed",
        "current scheduling priority: 60",
        "drive.toml was put back",
    ] {
        assert!(result.out.contains(part), "no {part} in {}", result.out);
    }
}

/// A shell of `left` that puts the profile back and applies it, until it ends; it has done so twice.
fn changed_again_and_again(desk: &Desk) -> Child {
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(desk.folder().join("config"));
    ssh.args([
        "left",
        "while teiji revert && teiji apply drive.toml; do echo done >>changes; done",
    ]);
    let changing = ssh.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while desk.on("left", "cat changes 2>/dev/null; true").lines().count() < 2 {
        assert!(started.elapsed() < START_LIMIT, "nothing is changed");
    }
    changing
}

#[test]
fn two_boards_on_a_wire_are_reached_by_ssh_and_leave_nothing() {
    if no_ssh() {
        return;
    }
    let desk = Desk::new();
    let file = desk.runtime.path().join("of-mine");
    fs::write(&file, "mine").unwrap();
    let ssh = ["--package", "openssh-client"];
    let left = desk.start(&[&["left", "--file", file.to_str().unwrap()][..], &ssh].concat());
    let right = desk.start_arm64(&["right", "--nic", "e1000e"]);
    let config = desk.folder().join("config");
    assert!(
        left.printed.contains(&format!("ssh -F {} left", config.display())),
        "{}",
        left.printed
    );

    assert!(desk.on("left", "uname -n -r").starts_with("left 6.12"));
    assert_eq!(desk.on("left", "cat of-mine"), "mine");
    let links = desk.on("right", "ip -br link");
    assert!(links.lines().any(|line| line.starts_with("wire0 ") && line.contains("UP")), "{links}");
    assert!(desk.on("right", "ethtool -i wire0").contains("driver: e1000e"));
    assert!(desk.on("left", "modprobe vtsn && lsmod").contains("vtsn "));
    assert!(desk.on("left", "teiji --version").starts_with("teiji "));
    let seconds = |text: String| text.trim().parse::<i64>().unwrap();
    let off = seconds(desk.on("left", "date +%s"))
        - i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
    assert!(off.abs() <= 5, "the board's clock is {off} s ahead");
    let mut scp = Command::new("scp");
    scp.arg("-q").arg("-F").arg(&config).arg(&file).arg("left:copied");
    assert_eq!(output_of(&scp.output().unwrap()).code, 0);
    assert_eq!(desk.on("left", "cat copied"), "mine");

    address(&desk, "left", "10.0.0.1");
    address(&desk, "right", "10.0.0.2");
    desk.ping();
    known_hosts_are_enforced(&desk);

    the_tutorial_s_commands_work(&desk);
    looked_at_from_here(&desk);
    an_experiment_over_ssh(&desk);
    causes_and_loads_over_ssh(&desk);
    an_experiment_with_a_host_here_and_one_there(&desk);
    one_way_figures_over_ssh(&desk);
    the_tables_of_one_board_are_the_same_from_here_and_there(&desk);
    profiles_over_ssh(&desk);

    let same = desk.refused(&["left"]);
    assert!(same.contains("`left` is running already") && same.contains("poweroff"), "{same}");
    let third = desk.refused(&["middle"]);
    assert!(third.contains("two ends") && third.contains("right (process"), "{third}");

    // left is the wire's listening end. It loses power while a profile is applied or put back.
    let machine = machines(&desk.folder().join("left"));
    let mut changing = changed_again_and_again(&desk);
    signal("-KILL", left.child.id());
    drop(left);
    drop(changing.kill());
    drop(changing.wait());
    let started = Instant::now();
    while machines(&desk.folder().join("left")).iter().any(|pid| machine.contains(pid)) {
        assert!(started.elapsed() < END_LIMIT, "QEMU outlives its parent");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(desk.on("right", "echo alive"), "alive\n");
    assert!(desk.entries().contains(&"left".to_owned()));
    let left = desk.start(&["left"]);
    // As after a power failure: the kernel has forgotten the profile, and so has the journal.
    assert_eq!(desk.on("left", "teiji status"), "no profile is applied here\n");
    address(&desk, "left", "10.0.0.1");
    desk.ping();

    assert_eq!(desk.ssh(&[], "right", "poweroff").code, 0);
    assert_eq!(ended(right, &desk, "right"), Some(0));
    signal("-TERM", left.child.id());
    assert_eq!(ended(left, &desk, "left"), Some(0));
    assert_eq!(desk.entries(), [""; 0]);
}

#[test]
fn an_interruption_during_the_boot_leaves_nothing() {
    if no_ssh() {
        return;
    }
    let desk = Desk::new();
    let mut child = desk.command(&["early"]).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while machines(&desk.folder()).is_empty() {
        assert!(started.elapsed() < BOOT_LIMIT, "no machine was started");
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(20));
    }
    signal("-INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(machines(&desk.folder()).is_empty(), "QEMU is still running");
    assert_eq!(desk.entries(), [""; 0]);
}

#[test]
fn a_board_that_cannot_be_is_refused_before_anything_is_fetched() {
    let desk = Desk::new();
    for bad in ["A", "a b", "../a", "config", &"x".repeat(33)] {
        assert!(desk.refused(&[bad]).contains("choose"), "{bad}");
    }
    assert!(desk.refused(&["a", "--wire", "Line"]).contains("choose"));
    assert!(desk.refused(&["a", "--nic", "vtsn"]).contains("e1000e, igb"));
    let nothing = desk.runtime.path().join("nothing");
    let without = output_of(&desk.command(&["a"]).env("PATH", &nothing).output().unwrap());
    assert_eq!(without.code, 1);
    assert!(without.err.contains("openssh-client"), "{}", without.err);
    assert_eq!(desk.entries(), [""; 0]);
}
