//! `teiji run` and `teiji hosts` with hosts that are boards.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::desk::{Desk, END_LIMIT, START_LIMIT};
use crate::common::{self, output_of};
use crate::run;

/// What makes experiments/two-boards.toml short enough for emulated boards.
const SHORT: [&str; 8] = [
    "--set",
    "flows.cycle.frames=200",
    "--set",
    "flows.cycle.period=5ms",
    "--set",
    "round-trips.ask.count=50",
    "--set",
    "round-trips.ask.period=50ms",
];

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

const BOTH: &str = "talker=ssh:left/wire0,listener=ssh:right/wire0";

fn command(desk: &Desk, bind: &str, more: &[&str]) -> Command {
    let (config, out) = (desk.folder().join("config"), desk.runtime.path().join("runs"));
    let file = common::repository().join("experiments/two-boards.toml");
    let mut command = common::command(&["run", file.to_str().unwrap(), "--bind", bind]);
    command.args(["--ssh-config", config.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    command.args(SHORT).args(["--case", "real-time"]).args(more);
    command
}

/// What a measurement changes on the boards.
fn state(desk: &Desk) -> [String; 2] {
    ["left", "right"].map(|board| {
        desk.on(
            board,
            "ip -o address show wire0 scope global | tr -s ' '; ls -d /tmp/teiji.* 2>/dev/null; \
             pgrep -fl 'teiji (agent|keeper)'; true",
        )
    })
}

/// A measurement that goes on until something happens to it.
fn endless(desk: &Desk) -> Child {
    let mut command = command(desk, BOTH, &["--take", "--set", "flows.cycle.frames=100000"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let moved = |board| desk.ssh(&[], board, "test -e /sys/class/net/wire0").code != 0;
    let started = Instant::now();
    while !moved("left") || !moved("right") {
        assert!(started.elapsed() < START_LIMIT, "nothing is measured");
    }
    child
}

fn becomes(desk: &Desk, before: &[String; 2], limit: Duration) {
    let started = Instant::now();
    while state(desk) != *before {
        assert!(started.elapsed() < limit, "{:?}", state(desk));
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Between two boards, each of which has a host of the experiment.
pub fn an_experiment_over_ssh(desk: &Desk) {
    let config = desk.folder().join("config");
    let out = desk.runtime.path().join("runs");
    let names = desk.runtime.path().join("hosts.toml");
    let names = names.to_str().unwrap();
    fs::write(names, "a = \"ssh:left/wire0\"\nb = \"ssh:right/wire0\"\nc = \"ssh:left/wire9\"\n")
        .unwrap();
    let before = state(desk);
    assert!(before[0].contains("10.0.0.1/24"), "{before:?}");

    let used = output_of(&command(desk, BOTH, &[]).output().unwrap());
    assert_eq!(used.code, 1, "{}", used.out);
    // Either machine may be the first to refuse.
    assert!(used.err.contains(": wire0 is in use") && used.err.contains("--take"), "{}", used.err);
    assert_eq!(state(desk), before);

    names_show_their_nics(desk, &config, names);
    let by_name =
        command(desk, "talker=a,listener=b", &["--take", "--hosts", names]).output().unwrap();
    let measured = output_of(&by_name);
    assert_eq!(measured.code, 0, "{}{}", measured.out, measured.err);
    assert_eq!(state(desk), before);
    let summary = run::summary(&out);
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
    let manifest = run::manifest(&out);
    let observed = &manifest["observed"]["real-time-s1"];
    let machines = observed["machines"].as_object().unwrap();
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["left", "right"]);
    let drivers: Vec<&Value> = observed["network"]["ports"]
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
        let refused = output_of(&command(desk, bind, &["--take"]).output().unwrap());
        assert_eq!(refused.code, code, "{bind}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains(sentence), "{bind}: {}", refused.err);
    }
    assert_eq!(state(desk), before);

    // Whoever measures is gone: the boards take everything back by themselves.
    let mut killed = endless(desk);
    killed.kill().unwrap();
    killed.wait().unwrap();
    becomes(desk, &before, END_LIMIT);
    the_connection_to_a_board_is_lost(desk, &before);
}

/// The network to a board is silent for 35 s. It takes everything back by itself, the other one does because
/// the run ends.
fn the_connection_to_a_board_is_lost(desk: &Desk, before: &[String; 2]) {
    let run = endless(desk);
    desk.on(
        "right",
        "(sleep 1; ip link set mgmt0 down; sleep 35; ip link set mgmt0 up) >/dev/null 2>&1 &",
    );
    let lost = output_of(&run.wait_with_output().unwrap());
    assert_eq!(lost.code, 1, "{}", lost.err);
    assert!(lost.err.contains("the connection to right ended"), "{}", lost.err);
    // ssh itself waits for the network.
    becomes(desk, before, END_LIMIT + Duration::from_secs(35));
}

/// The whole way that the talker's frames took on its machine, and a load from one board to the other.
pub fn causes_and_loads_over_ssh(desk: &Desk) {
    let out = desk.runtime.path().join("loaded");
    let file = common::repository().join("experiments/two-boards.toml");
    let text = fs::read_to_string(file).unwrap();
    let loaded = desk.runtime.path().join("loaded.toml");
    fs::write(&loaded, text.replacen("[wires.line]", "loads = [\"tcp-rx\"]\n[wires.line]", 1))
        .unwrap();
    let config = desk.folder().join("config");
    let mut command = common::command(&["run", loaded.to_str().unwrap(), "--bind", BOTH]);
    command.args(["--take", "--why", "--ssh-config", config.to_str().unwrap()]);
    command.args(["--out", out.to_str().unwrap(), "--case", "real-time"]).args(SHORT);
    let before = state(desk);
    let measured = output_of(&command.output().unwrap());
    assert_eq!(measured.code, 0, "{}{}", measured.out, measured.err);
    assert_eq!(state(desk), before);
    let instances = "ls /sys/kernel/tracing/instances | wc -l";
    assert_eq!(["left", "right"].map(|board| desk.on(board, instances)), ["0\n", "0\n"]);
    for part in
        ["cycle: ", " from the expiry of the sender's timer to the driver", "What tracing costs: "]
    {
        assert!(measured.out.contains(part), "no {part} in {}", measured.out);
    }
    let flows = run::causes(&out)["flows"].take();
    let traced = flows.as_array().unwrap().iter().map(|flow| flow["flow"].as_str().unwrap());
    assert_eq!(traced.collect::<BTreeSet<&str>>(), BTreeSet::from(["ask", "cycle"]));
    let loads = run::manifest(&out)["observed"]["real-time-s1"]["loads"].take();
    let [load] = loads.as_array().unwrap().as_slice() else { panic!("{loads}") };
    assert!(load["done"].as_u64().unwrap() > 0 && load["connection"].is_object(), "{load}");
}

/// The talker's board is where the run is started; the listener's is another one, which has a processor
/// of another kind. The talker's board reaches it through the machine of this test.
pub fn an_experiment_with_a_host_here_and_one_there(desk: &Desk) {
    let of_right = desk.folder().join("right");
    let text = fs::read_to_string(of_right.join("config")).unwrap();
    let port = text.lines().find_map(|line| line.trim().strip_prefix("Port ")).unwrap();
    let folder = format!("{}/", of_right.display());
    let config = desk.runtime.path().join("right.config");
    fs::write(&config, text.replace(port, "2222").replace(&folder, "/root/")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_teiji"));
    let arm64 = program.ancestors().nth(3).unwrap().join("aarch64-unknown-linux-gnu/release/teiji");
    let file = common::repository().join("experiments/two-boards.toml");
    let home = || "/root/".to_owned();
    let mut copied = vec![(config, home()), (file, home())];
    copied.extend(["id_ed25519", "known_hosts"].map(|name| (of_right.join(name), home())));
    if desk.on("right", "uname -m") == "aarch64\n" {
        // The board's own program is /init.
        copied.push((arm64, "/teiji-arm64".to_owned()));
    }
    for (from, to) in copied {
        let mut scp = Command::new("scp");
        scp.arg("-q").arg("-F").arg(desk.folder().join("config")).arg(from);
        assert_eq!(output_of(&scp.arg(format!("left:{to}")).output().unwrap()).code, 0);
    }
    let mut way = Command::new("ssh");
    way.arg("-F").arg(desk.folder().join("config")).args(["-N", "-o", "ExitOnForwardFailure=yes"]);
    way.args(["-R", &format!("127.0.0.1:2222:127.0.0.1:{port}"), "left"]);
    let mut way = way.stdin(Stdio::null()).spawn().unwrap();
    let before = state(desk);
    let started = Instant::now();
    while desk.ssh(&[], "left", "ssh -F right.config right true").code != 0 {
        assert!(started.elapsed() < START_LIMIT, "right is not reached from left");
    }
    let printed = desk.on(
        "left",
        &format!(
            "teiji run two-boards.toml --bind talker=wire0,listener=ssh:right/wire0 --take \
             --ssh-config right.config --case real-time --out mixed {} 2>&1",
            SHORT.join(" ")
        ),
    );
    way.kill().unwrap();
    way.wait().unwrap();
    assert!(printed.contains("several machines, real time"), "{printed}");
    let summary: Value =
        serde_json::from_str(&desk.on("left", "cat mixed/latest/summary.json")).unwrap();
    let cycle = &summary["cases"][0]["members"][0]["flows"]["cycle"];
    assert_eq!(cycle["counts"]["received"], 200, "{cycle}");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("ahead of the clock of this machine was"), "{warnings}");
    assert_eq!(state(desk), before);
}

/// The same, with clocks that PTP makes one: the way there has a duration of its own.
pub fn one_way_figures_over_ssh(desk: &Desk) {
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
    let mut measure = || {
        let measured = output_of(&command.output().unwrap());
        assert_eq!(measured.code, 0, "{}{}", measured.out, measured.err);
        run::summary(&out)
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

/// Figures of these depend on chance: late frames, softirqs that happened, failed send calls, troubles of NICs.
const BY_CHANCE: [&str; 4] = ["missed", "softirqs", "send_errors", "cards"];

/// The places of all figures of a summary. The items of a list have one place.
fn places(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = format!("{at}.{name}");
                if BY_CHANCE.contains(&name.as_str()) {
                    found.insert(place);
                } else {
                    places(value, &place, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                places(item, &format!("{at}[]"), found);
            }
        }
        _ => drop(found.insert(at.to_owned())),
    }
}

/// The headings of what was printed.
fn headings(text: &str) -> Vec<&str> {
    let heading = |line: &&str| line.starts_with(char::is_uppercase) && !line.contains("  ");
    text.lines().filter(heading).take_while(|line| !line.ends_with('?')).collect()
}

/// A run over SSH with both hosts on one board gives the tables of `--on local` on that board.
pub fn the_tables_of_one_board_are_the_same_from_here_and_there(desk: &Desk) {
    let out = desk.runtime.path().join("same");
    let file = common::repository().join("experiments/two-boards.toml");
    let text = fs::read_to_string(&file).unwrap();
    desk.on("left", &format!("cat >same.toml <<'FILE'\n{text}FILE"));
    desk.on("left", "ip link add v0 type vtsn");
    let there = desk.on(
        "left",
        &format!(
            "teiji run same.toml --on local --bind talker=v0,listener=v0p --out same {}",
            SHORT.join(" ")
        ),
    );
    let of_board = desk.on("left", "cat same/latest/summary.json");
    let config = desk.folder().join("config");
    let mut command = common::command(&["run", file.to_str().unwrap(), "--bind"]);
    command.args(["talker=ssh:left/v0,listener=ssh:left/v0p", "--ssh-config"]);
    command.args([config.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let here = output_of(&command.args(SHORT).output().unwrap());
    assert_eq!(here.code, 0, "{}{}", here.out, here.err);
    let of_ssh = fs::read_to_string(out.join("latest/summary.json")).unwrap();
    desk.on("left", "ip link del v0");

    let of = |text: &str| {
        let mut summary: Value = serde_json::from_str(text).unwrap();
        let counts = summary["cases"].as_array().unwrap().iter().map(|case| {
            let counts = &case["members"][0]["flows"]["cycle"]["counts"];
            ["planned", "sent", "received", "lost"].map(|name| counts[name].as_u64())
        });
        let counts: Vec<_> = counts.collect();
        let mut found = BTreeSet::new();
        places(&summary["cases"].take(), "cases", &mut found);
        (found, counts)
    };
    let [ssh, board] = [&of_ssh, &of_board].map(|text| of(text));
    assert_eq!(ssh.1, board.1);
    let only: Vec<_> = ssh.0.symmetric_difference(&board.0).collect();
    assert!(only.is_empty(), "only in one summary: {only:#?}");
    let tables = headings(&here.out);
    assert_eq!(tables, headings(&there));
    assert!(tables.contains(&"CPU utilisation while frames were sent"), "{tables:?}");
    assert!(here.out.contains("another machine, real time"), "{}", here.out);
}
