//! Boards of the laboratory: two guests on a wire that are reached by SSH. The first run on a machine fetches
//! the packages.
//!
//! ```text
//!   ssh ── mgmt0 left wire0 10.0.0.1 ── line ── 10.0.0.2 wire0 right mgmt0 ── ssh
//! ```

mod common;
#[path = "common/machines.rs"]
mod machines;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{CommandOutput, output_of, signal};
use machines::machines;

/// The board's own limit, and what it fetches before.
const BOOT_LIMIT: Duration = Duration::from_secs(900);
/// Until a board that was ended is gone.
const END_LIMIT: Duration = Duration::from_secs(30);

/// The boards of a test.
struct Desk {
    runtime: tempfile::TempDir,
}

/// A board, ended at the latest when this is dropped.
struct Running {
    child: Child,
    /// What it printed when it was ready.
    printed: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already where the test got so far.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Desk {
    fn new() -> Self {
        Self { runtime: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = common::command(&[&["lab", "board"], arguments].concat());
        command.env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }

    /// The folder of boards.
    fn folder(&self) -> PathBuf {
        self.runtime.path().join("teiji/boards")
    }

    /// What is in it, but the configuration that stays.
    fn entries(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder()) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "config").collect()
    }

    /// Starts a board and waits until it is ready.
    fn start(&self, arguments: &[&str]) -> Running {
        self.try_start(arguments, Stdio::inherit()).expect("the board is not ready")
    }

    /// The same of arm64, where a program for that was built; otherwise of x86-64.
    fn start_arm64(&self, arguments: &[&str]) -> Running {
        let errors = self.runtime.path().join("arm64");
        let arm = [arguments, &["--kernel", "debian:6.12-rt/arm64"]].concat();
        if let Some(running) = self.try_start(&arm, fs::File::create(&errors).unwrap().into()) {
            return running;
        }
        let result = fs::read_to_string(errors).unwrap();
        assert!(result.contains("scripts/program-for arm64"), "{result}");
        println!("SKIP: no board of arm64, but one of x86-64: {result}");
        self.start(arguments)
    }

    /// Starts a board and waits until it is ready; `None` if it is not going to be.
    fn try_start(&self, arguments: &[&str], errors: Stdio) -> Option<Running> {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, printed: String::new() };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        while !running.printed.contains("ends it") {
            let line = lines.recv_timeout(BOOT_LIMIT).ok()?;
            running.printed.push_str(&line);
            running.printed.push('\n');
        }
        Some(running)
    }

    /// A command on a board.
    fn ssh(&self, options: &[&str], board: &str, command: &str) -> CommandOutput {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(self.folder().join("config")).args(options);
        output_of(&ssh.args([board, command]).stdin(Stdio::null()).output().unwrap())
    }

    /// What a command on a board prints.
    fn on(&self, board: &str, command: &str) -> String {
        let result = self.ssh(&[], board, command);
        assert_eq!(result.code, 0, "{board}: {command}: {}{}", result.out, result.err);
        result.out
    }

    /// A board that must not start: its one sentence.
    fn refused(&self, arguments: &[&str]) -> String {
        let result = output_of(&self.command(arguments).output().unwrap());
        assert!(result.code == 1 || result.code == 2, "{}{}", result.out, result.err);
        assert!(!result.err.contains("boots"), "{}", result.err);
        result.err
    }

    /// The wire, from left to right.
    fn ping(&self) {
        let ping = self.on("left", "ping -c 3 -i 0.2 -W 10 10.0.0.2");
        assert!(ping.contains("3 packets transmitted, 3 received"), "{ping}");
    }
}

/// Says why, if the test cannot run here.
fn no_ssh() -> bool {
    let missing = Command::new("ssh").arg("-V").output().is_err();
    if missing {
        println!("SKIP: no ssh here (openssh-client)");
    }
    missing
}

fn address(desk: &Desk, board: &str, address: &str) {
    desk.on(board, &format!("ip address add {address}/24 dev wire0"));
}

/// The exit code of a board that was ended, and that nothing of it is left.
fn ended(mut running: Running, desk: &Desk, name: &str) -> Option<i32> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = running.child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < END_LIMIT, "{name} goes on");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(machines(&desk.folder().join(name)).is_empty(), "QEMU is still running");
    let left = |entry: &String| entry == name || *entry == format!("{name}.board");
    assert!(!desk.entries().iter().any(left), "{:?}", desk.entries());
    status.code()
}

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

/// `teiji doctor --on`, which brings its program, against the one that is on the board.
fn looked_at_from_here(desk: &Desk) {
    let config = desk.folder().join("config");
    let config = config.to_str().unwrap();
    let look = |more: &[&str]| {
        let words = [&["doctor", "--on", "ssh:left", "--ssh-config", config], more].concat();
        output_of(&common::command(&words).output().unwrap())
    };
    let verdicts = |text: &str| {
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        (document["verdicts"].clone(), document["findings"].clone())
    };
    let from_here = look(&["--json", "wire0"]);
    assert_eq!(from_here.code, 0, "{}", from_here.err);
    let there = desk.on("left", "teiji doctor wire0 --json");
    assert_eq!(verdicts(&from_here.out), verdicts(&there));
    assert_eq!(desk.on("left", "ls -d /tmp/teiji.* 2>/dev/null | wc -l").trim(), "0");
    let other = look(&["eth9"]);
    assert_eq!(other.code, 2, "{}", other.err);
    assert!(other.err.contains("left: there is no interface `eth9` here"), "{}", other.err);
    let top = ["top", "eth9", "--on", "ssh:left", "--ssh-config", config];
    let top = output_of(&common::command(&top).output().unwrap());
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

/// `teiji hosts`.
fn names_show_their_nics(desk: &Desk, config: &Path, names: &str) {
    // x86-64 where there is no program for ARM.
    let right = desk.on("right", "uname -m");
    let looked = ["hosts", "--hosts", names, "--ssh-config", config.to_str().unwrap()];
    let looked = output_of(&common::command(&looked).output().unwrap());
    assert_eq!(looked.code, 4, "{}{}", looked.out, looked.err);
    for fact in [
        "a  left/wire0   igb, up, 1000 Mbit/s; Linux ",
        ", x86_64",
        "b  right/wire0  e1000e, up, ",
        right.trim(),
    ] {
        assert!(looked.out.contains(fact), "{fact}: {}", looked.out);
    }
    assert!(looked.out.contains("! no interface wire9; there are "), "{}", looked.out);
}

/// Between two boards, each of which has a host of the experiment.
fn an_experiment_over_ssh(desk: &Desk) {
    let config = desk.folder().join("config");
    let out = desk.runtime.path().join("runs");
    let run = |bind: &str, more: &[&str]| {
        let file = common::repository().join("experiments/two-boards.toml");
        let mut command = common::command(&["run", file.to_str().unwrap(), "--bind", bind]);
        command.args(["--ssh-config", config.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        command.args(["--set", "flows.cycle.frames=200", "--set", "flows.cycle.period=5ms"]);
        command.args(["--set", "round-trips.ask.count=50"]);
        command.args(["--set", "round-trips.ask.period=50ms", "--case", "real-time"]).args(more);
        command
    };
    let both = "talker=ssh:left/wire0,listener=ssh:right/wire0";
    let names = desk.runtime.path().join("hosts.toml");
    let names = names.to_str().unwrap();
    fs::write(names, "a = \"ssh:left/wire0\"\nb = \"ssh:right/wire0\"\nc = \"ssh:left/wire9\"\n")
        .unwrap();
    let state = || {
        ["left", "right"].map(|board| {
            desk.on(
                board,
                "ip -o address show wire0 scope global | tr -s ' '; ls -d /tmp/teiji.* 2>/dev/null; \
                 pgrep -fl 'teiji (agent|keeper)'; true",
            )
        })
    };
    let before = state();
    assert!(before[0].contains("10.0.0.1/24"), "{before:?}");

    let used = output_of(&run(both, &[]).output().unwrap());
    assert_eq!(used.code, 1, "{}", used.out);
    // Either machine may be the first to refuse.
    assert!(used.err.contains(": wire0 is in use") && used.err.contains("--take"), "{}", used.err);
    assert_eq!(state(), before);

    names_show_their_nics(desk, &config, names);
    let by_name = run("talker=a,listener=b", &["--take", "--hosts", names]).output().unwrap();
    let measured = output_of(&by_name);
    assert_eq!(measured.code, 0, "{}{}", measured.out, measured.err);
    assert_eq!(state(), before);
    let latest = |file: &str| -> serde_json::Value {
        let text = fs::read_to_string(out.join("latest").join(file)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let summary = latest("summary.json");
    for case in summary["cases"].as_array().unwrap() {
        let member = &case["members"][0];
        let cycle = &member["flows"]["cycle"];
        assert_eq!(cycle["counts"]["received"], 200, "{cycle}");
        // Each board's clock is its own.
        let arrival = cycle["vantages"]["rx-kernel"].clone();
        assert_eq!(arrival["centred"], true, "{arrival}");
        assert_eq!(arrival["interval"]["count"], 199, "{arrival}");
        assert!(cycle["wake_up"]["count"] == 200, "{cycle}");
        // A board of a busy host takes some tens of milliseconds at times.
        let answered = member["round_trips"]["ask"]["counts"]["answered"].as_u64().unwrap();
        assert!((45..=50).contains(&answered), "{member}");
    }
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("on several machines"), "{warnings}");
    assert!(warnings.contains("ahead of the clock of left was"), "{warnings}");
    let manifest = latest("manifest.json");
    let observed = &manifest["observed"]["real-time-s1"];
    let machines = observed["machines"].as_object().unwrap();
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["left", "right"]);
    let drivers: Vec<&serde_json::Value> = observed["network"]["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| &port["driver"]["name"])
        .collect();
    assert_eq!(drivers, ["igb", "e1000e"]);

    for (bind, code, sentence) in [
        (
            "talker=ssh:left/wire0,listener=ssh:right/eth9",
            1,
            "right: there is no interface `eth9` here",
        ),
        (
            "talker=eth9,listener=ssh:right/wire0",
            1,
            "this machine: there is no interface `eth9` here",
        ),
        ("talker=ssh:left/wire0", 2, "host `listener` is on no machine"),
        ("talker=ssh:left,listener=ssh:right/wire0", 2, "names no interface"),
        ("talker=ssh:nobody/wire0,listener=ssh:right/wire0", 1, "cannot connect to nobody"),
    ] {
        let refused = output_of(&run(bind, &["--take"]).output().unwrap());
        assert_eq!(refused.code, code, "{bind}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains(sentence), "{bind}: {}", refused.err);
    }
    assert_eq!(state(), before);

    // Whoever measures is gone: the boards take everything back by themselves.
    let mut endless = run(both, &["--take", "--set", "flows.cycle.frames=100000"]);
    let mut endless = endless.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let moved = |board| desk.ssh(&[], board, "test -e /sys/class/net/wire0").code != 0;
    let started = Instant::now();
    while !moved("left") || !moved("right") {
        assert!(started.elapsed() < END_LIMIT, "nothing is measured");
    }
    endless.kill().unwrap();
    endless.wait().unwrap();
    let killed = Instant::now();
    while state() != before {
        assert!(killed.elapsed() < END_LIMIT, "{:?}", state());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The same, with clocks that PTP makes one: the way there has a duration of its own.
fn one_way_figures_over_ssh(desk: &Desk) {
    let config = desk.folder().join("config");
    let out = desk.runtime.path().join("one-way");
    let file = common::repository().join("experiments/two-boards-one-way.toml");
    let bind = "talker=ssh:left/wire0,listener=ssh:right/wire0";
    let mut command = common::command(&["run", file.to_str().unwrap(), "--bind", bind, "--take"]);
    command.args(["--ssh-config", config.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    command.args(["--set", "flows.cycle.frames=100", "--set", "flows.cycle.period=5ms"]);
    command.args(["--set", "round-trips.ask.count=20", "--set", "round-trips.ask.period=50ms"]);
    // Emulated processors delay PTP's messages by milliseconds.
    command.args(["--set", "hosts.listener.ptp.within=20ms"]);
    // PTP sets it back.
    desk.on("right", "date -s \"$(date -d @$(($(date +%s) + 100)) '+%Y-%m-%d %H:%M:%S')\"");
    let mut measure = || -> serde_json::Value {
        let measured = output_of(&command.output().unwrap());
        assert_eq!(measured.code, 0, "{}{}", measured.out, measured.err);
        let text = fs::read_to_string(out.join("latest/summary.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let mut summary = measure();
    // On a busy host PTP of such boards can be off by more than messages permit: then there are no figures.
    for _ in 0..2 {
        if summary["warnings"].to_string().contains("There are no one-way figures") {
            println!("measured again: {}", summary["warnings"]);
            summary = measure();
        }
    }
    let member = &summary["cases"][0]["members"][0];
    let [clock] = member["clocks"].as_array().unwrap().as_slice() else { panic!("{member}") };
    assert_eq!(clock["clock"], "the system of right");
    assert_eq!(clock["reference"], "the system clock of talker, as ptp4l estimates");
    assert!(clock["samples"].as_u64().unwrap() >= 1, "{clock}");
    let arrival = &member["flows"]["cycle"]["vantages"]["rx-kernel"];
    assert_eq!(arrival["centred"], false, "{arrival}");
    let mean_ns = arrival["schedule"]["mean_ns"].as_f64().unwrap();
    assert!((-20e6..100e6).contains(&mean_ns), "{arrival}");
    let there = &member["round_trips"]["ask"]["parts"];
    assert!(there.to_string().contains("\"there\""), "{member}");
    let sync = fs::read_dir(out.join("latest/records")).unwrap().map(|entry| entry.unwrap().path());
    let sync = sync.filter(|path| path.to_str().unwrap().ends_with(".sync.csv"));
    assert_eq!(sync.count(), 1);
    assert!(
        summary["warnings"].to_string().contains("follow one by PTP"),
        "{}",
        summary["warnings"]
    );
    let off = |board| desk.on(board, "date +%s").trim().parse::<i64>().unwrap();
    assert!((off("left") - off("right")).abs() <= 5, "the clock of right is not set");
    assert_eq!(desk.on("right", "pgrep -f '[p]tp4l -f' || true"), "");

    let mut here = common::command(&["run", file.to_str().unwrap(), "--on", "local"]);
    let here = output_of(&here.args(["--out", out.to_str().unwrap()]).output().unwrap());
    assert_eq!(here.code, 2, "{}", here.err);
    assert!(here.err.contains("different machines"), "{}", here.err);
}

/// A profile that is applied over SSH, also one that cuts the connection. It is applied at the end.
fn profiles_over_ssh(desk: &Desk) {
    // etf drops what has no launch time.
    desk.on(
        "left",
        "printf '[ports.mgmt0.qdisc]\nkind = \"etf\"\ndelta = \"1ms\"\n' >cut.toml; \
         printf '[ports.wire0]\nmoderation = { rx = \"20us\" }\nirq = { priority = 61 }\n' >drive.toml",
    );
    let refused = desk.ssh(&[], "left", "teiji apply cut.toml");
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.err.contains("mgmt0 carries this SSH connection (from "), "{}", refused.err);
    assert!(refused.err.contains("--confirm 60s"), "{}", refused.err);
    let cut = Instant::now();
    // What it prints arrives only once the connection is back.
    assert!(desk.on("left", "teiji apply cut.toml --confirm 3s").contains("cut.toml is applied"));
    assert!(cut.elapsed() >= Duration::from_secs(3), "the connection was never cut");
    let status = desk.on("left", "teiji status");
    assert!(status.contains("cut.toml was not confirmed in time"), "{status}");

    // What the driver (igb) refuses, with a next step.
    desk.on("left", "sed 's/20us/5us/' drive.toml >odd.toml");
    let odd = desk.ssh(&[], "left", "teiji apply odd.toml");
    assert!(
        odd.err.contains("does not take these times") && odd.err.contains("as it was before"),
        "{}",
        odd.err
    );
    let threads = "for t in $(pgrep 'irq/.*wire0'); do chrt -p $t; done; ethtool -c wire0";
    let before = desk.on("left", threads);
    desk.on("left", "teiji apply drive.toml");
    let after = desk.on("left", threads);
    assert!(after.contains("priority: 61") && after.contains("rx-usecs: 20"), "{after}");
    desk.on("left", "teiji revert");
    assert_eq!(desk.on("left", threads), before);
    profiles_from_here(desk, threads, &before);
    desk.on("left", "teiji apply drive.toml --confirm 60s && teiji apply --confirmed");
    assert!(desk.on("left", "teiji status").starts_with("drive.toml, applied at "));
}

/// The same by `--on`, which brings its program. `show` prints what the profile changes.
fn profiles_from_here(desk: &Desk, show: &str, before: &str) {
    let config = desk.folder().join("config");
    let profile = desk.runtime.path().join("here.toml");
    fs::write(&profile, "[ports.wire0]\nirq = { priority = 62 }\n").unwrap();
    let [config, profile] = [&config, &profile].map(|path| path.to_str().unwrap());
    let on = |words: &[&str]| {
        let words = [words, &["--on", "ssh:left", "--ssh-config", config]].concat();
        output_of(&common::command(&words).output().unwrap())
    };
    let differs = on(&["diff", profile]);
    assert_eq!(differs.code, 4, "{}", differs.err);
    assert!(
        differs.out.contains("interrupt threads: fifo 50, configured: fifo 62"),
        "{}",
        differs.out
    );
    let applied = on(&["apply", profile, "--confirm", "60s"]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    assert!(
        applied.out.contains("here.toml is applied; everything is put back"),
        "{}",
        applied.out
    );
    assert!(desk.on("left", show).contains("priority: 62"));
    assert_eq!(on(&["apply", "--confirmed"]).code, 0);
    let status = on(&["status"]);
    assert!(status.out.contains("here.toml, applied at "), "{}", status.out);
    assert_eq!(on(&["revert"]).code, 0);
    assert_eq!(desk.on("left", show), before);
    fs::write(profile, "[ports.eth9]\nirq = { priority = 62 }\n").unwrap();
    let absent = on(&["apply", profile]);
    assert_eq!(absent.code, 1, "{}", absent.out);
    assert!(
        absent.err.contains("left: teiji: there is no interface `eth9` here"),
        "{}",
        absent.err
    );
    assert_eq!(desk.on("left", "ls -d /tmp/teiji.* 2>/dev/null | wc -l").trim(), "0");
}

/// The tutorial's commands for two boards, as they stand on the page.
fn the_tutorial_s_commands_work(desk: &Desk) {
    let page = fs::read_to_string(common::repository().join("docs/tutorial.md")).unwrap();
    let blocks = page.split("```sh board\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script: Vec<&str> = blocks.collect();
    assert!(script.len() >= 4, "the page has other marks");
    let program = Path::new(env!("CARGO_BIN_EXE_teiji"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    let here = desk.runtime.path();
    std::os::unix::fs::symlink(common::repository().join("experiments"), here.join("experiments"))
        .unwrap();
    shell.current_dir(here).env("PATH", path).stdin(Stdio::null());
    shell.env("config", desk.folder().join("config")).args(["-e", "-c"]);
    shell.arg(format!("on() {{ ssh -n -F \"$config\" \"$@\"; }}\n{}", script.concat()));
    let result = output_of(&shell.output().unwrap());
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

#[test]
fn two_boards_on_a_wire_are_reached_by_ssh_and_leave_nothing() {
    if no_ssh() {
        return;
    }
    let desk = Desk::new();
    let file = desk.runtime.path().join("of-mine");
    fs::write(&file, "mine").unwrap();
    let left = desk.start(&["left", "--file", file.to_str().unwrap()]);
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
    one_way_figures_over_ssh(&desk);
    profiles_over_ssh(&desk);

    let same = desk.refused(&["left"]);
    assert!(same.contains("`left` is running already") && same.contains("poweroff"), "{same}");
    let third = desk.refused(&["middle"]);
    assert!(third.contains("two ends") && third.contains("right (process"), "{third}");

    // left is the wire's listening end.
    let machine = machines(&desk.folder().join("left"));
    signal("-KILL", left.child.id());
    drop(left);
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
