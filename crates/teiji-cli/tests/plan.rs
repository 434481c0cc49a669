//! `teiji plan` and `teiji check --on local`: what is printed works when it is pasted, and
//! what this machine lacks is named. Needs root for namespaces, says SKIP without.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{SMALL, command, output_of, root, teiji};

/// Two cases whose hosts synchronise their clocks.
fn two_cases() -> String {
    format!(
        "{SMALL}\n[hosts.a.ptp]\nrole = \"grandmaster\"\n[hosts.b.ptp]\nrole = \"slave\"\n\
         system-clock = true\n[cases.plain]\n[cases.short]\n\
         hosts.a.ports.line.qdisc = {{ kind = \"pfifo\", limit = 7 }}\n"
    )
}

/// Programs that say what they were started with, and that they follow a master.
fn stand_ins(folder: &Path) {
    for name in ["ptp4l", "phc2sys"] {
        let text = "#!/bin/sh\necho \"$0 $*\" >>/run/started\n\
                    echo 'port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED'\nexec sleep 100\n";
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs shell commands in a fresh network namespace, with a `/run` of its own, for which
/// `ip netns` keeps names.
fn in_a_fresh_namespace(programs: &Path, commands: &str) -> String {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let commands = format!("mount -t tmpfs none /run\nip link set lo up\n{commands}");
    let output = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-ec", &commands])
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .output()
        .unwrap();
    let result = output_of(&output);
    assert_eq!(result.code, 0, "{commands}\n{}\n{}", result.out, result.err);
    result.out
}

#[test]
fn the_printed_cases_run_as_a_script_and_the_comments_undo_the_last() {
    if !root() || Command::new("ip").arg("-V").output().is_err() {
        println!("SKIP: needs root and iproute2, to run what is printed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    stand_ins(dir.path());
    let file = dir.path().join("two.toml");
    fs::write(&file, two_cases()).unwrap();
    let plan = teiji(&["plan", file.to_str().unwrap()]);
    assert_eq!(plan.code, 0, "{}", plan.err);
    let (script, undo) = plan.out.rsplit_once("# to undo\n").unwrap();
    let undo: Vec<&str> = undo.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    // The programs run beside the script.
    let show = "sleep 1\nip netns list | sort\nip netns exec a tc qdisc show dev line root\n\
                ip netns exec b ip -br addr show dev line\ncat /run/teiji-plan/b.cfg\n\
                wc -l </run/teiji-plan/pids\ncat /run/started\n";
    let after = "ip netns list\nls /run/teiji-plan 2>&1 || true\n";
    let commands = format!("{script}\n{show}echo UNDO\n{}\n{after}", undo.join("\n"));
    let out = in_a_fresh_namespace(dir.path(), &commands);
    let (there, left) = out.split_once("UNDO\n").unwrap();
    for expected in ["a\nb\n", "qdisc pfifo", "limit 7p", "/24", "slaveOnly 1", "\n3\n"] {
        assert!(there.contains(expected), "{expected} is missing in:\n{there}");
    }
    // Each case started its own. The first one's phc2sys may be killed before it says so.
    let started = |program: &str| there.matches(program).count();
    assert_eq!(started("ptp4l -f /run/teiji-plan/b.cfg -m -i line"), 2, "{there}");
    assert!((1..=2).contains(&started("phc2sys -s line -c CLOCK_REALTIME")), "{there}");
    assert!(left.starts_with("ls:") || left.contains("No such file"), "{left}");
}

#[test]
fn an_interface_that_is_not_there_is_a_mistake_in_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.toml");
    fs::write(&file, SMALL).unwrap();
    let (file, out) = (file.to_str().unwrap(), dir.path().join("runs"));
    let bind = ["--bind", "a=nosuch0,b=nosuch1"];
    for arguments in
        [&["plan", file][..], &["run", file, "--on", "local", "--out", out.to_str().unwrap()]]
    {
        let result = teiji(&[arguments, &bind].concat());
        assert_eq!(result.code, 2, "{arguments:?}: {}", result.err);
        assert!(result.err.contains("no interface `nosuch0` here; there are lo"), "{}", result.err);
        assert_eq!(result.out, "", "{arguments:?}");
    }
    assert!(!out.exists(), "what is refused leaves nothing behind");
    let result = teiji(&["run", file, "--on", "local", "--bind", "c=lo"]);
    assert_eq!(result.code, 2, "{}", result.err);
}

#[test]
fn each_machine_s_part_is_printed_without_a_connection() {
    let file = common::repository().join("experiments/two-boards.toml");
    let file = file.to_str().unwrap();
    let bind = "talker=ssh:root@nobody/eth5,listener=eth7";
    let result = teiji(&["plan", file, "--case", "ordinary", "--bind", bind]);
    assert_eq!(result.code, 0, "{}", result.err);
    let (talker, listener) = result.out.split_once("# case ordinary on this machine").unwrap();
    assert!(talker.starts_with("# case ordinary on root@nobody\n"), "{talker}");
    assert!(talker.contains("ip link set dev eth5 netns talker"), "{talker}");
    assert!(talker.contains("lladdr MAC-of-listener.line dev eth5"), "{talker}");
    assert!(!talker.contains("eth7") && !listener.contains("eth5"), "{listener}");
    assert!(listener.contains("ip netns add listener"), "{listener}");
    for (bind, sentence) in [
        ("talker=ssh:nobody/eth5", "host `listener` is on no machine: add listener="),
        ("talker=ssh:a/eth5,robot=ssh:a/eth6", "the experiment has no host `robot`"),
    ] {
        let refused = teiji(&["plan", file, "--bind", bind]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{bind}: {}", refused.err);
        assert!(refused.err.contains(sentence), "{bind}: {}", refused.err);
    }
}

#[test]
fn names_of_ports_stand_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let names = folder.path().join("hosts.toml");
    fs::write(&names, "left = \"ssh:root@nobody/eth5\"\ndesk = \"lo\"\n").unwrap();
    let names = names.to_str().unwrap();
    let file = common::repository().join("experiments/two-boards.toml");
    let plan = |bind: &str, more: &[&str]| {
        let file = file.to_str().unwrap();
        let result = teiji(&[&["plan", file, "--case", "ordinary", "--bind", bind], more].concat());
        assert_eq!(result.code, 0, "{}", result.err);
        result.out
    };
    let by_bind = plan("talker=ssh:root@nobody/eth5,listener=lo", &[]);
    assert_eq!(plan("talker=left,listener=desk", &["--hosts", names]), by_bind);

    // A user's own file needs no option; what has no name is an interface.
    let config = folder.path().join("config");
    fs::create_dir_all(config.join("teiji")).unwrap();
    fs::write(config.join("teiji/hosts.toml"), "here = \"lo\"\ngone = \"nowhere0\"\n").unwrap();
    let hosts = |more: &[&str]| {
        let mut command = command(&["hosts"]);
        output_of(&command.args(more).env("XDG_CONFIG_HOME", &config).output().unwrap())
    };
    let found = hosts(&[]);
    assert_eq!(found.code, 4, "{}{}", found.out, found.err);
    let lines: Vec<&str> = found.out.lines().collect();
    assert!(lines[0].starts_with("gone  nowhere0  Linux "), "{}", found.out);
    assert!(lines[1].starts_with("      ! no interface nowhere0; there are "), "{}", found.out);
    assert!(found.out.contains("here  lo        unknown; Linux "), "{}", found.out);
    let json: serde_json::Value = serde_json::from_str(&hosts(&["--json"]).out).unwrap();
    assert_eq!(
        (&json["hosts"][1]["name"], &json["hosts"][1]["state"]),
        (&"here".into(), &"unknown".into())
    );

    fs::write(config.join("teiji/hosts.toml"), "here = 3\n").unwrap();
    for (more, sentence) in [
        (&[][..], "each line is NAME = \"INTERFACE\""),
        (
            &["--hosts", "/nowhere/hosts.toml"][..],
            "cannot read the names of ports in /nowhere/hosts.toml",
        ),
    ] {
        let refused = hosts(more);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{}", refused.err);
        assert!(refused.err.contains(sentence), "{}", refused.err);
    }
    fs::remove_file(config.join("teiji/hosts.toml")).unwrap();
    let none = hosts(&[]);
    assert_eq!(none.code, 2, "{}", none.out);
    assert!(none.err.contains("no NIC has a name: write"), "{}", none.err);
}

#[test]
fn each_machine_s_part_synchronises_its_own_clocks() {
    let parts = |file: &str| {
        let file = common::repository().join("experiments").join(file);
        let bind = "talker=ssh:a/eth5,listener=ssh:b/eth6";
        let result = teiji(&["plan", file.to_str().unwrap(), "--bind", bind]);
        assert_eq!(result.code, 0, "{}", result.err);
        let of = |machine: &str| {
            let parts = result.out.split("# case ").filter(|part| {
                part.lines().next().is_some_and(|line| line.ends_with(&format!(" on {machine}")))
            });
            parts.last().unwrap().to_owned()
        };
        [of("a"), of("b")]
    };
    let hosts = [("talker", "listener"), ("listener", "talker")];
    for (part, (own, other)) in parts("two-boards-one-way.toml").iter().zip(hosts) {
        let ptp4l = format!("ptp4l -f /run/teiji-plan/{own}.cfg -m -i eth");
        assert!(part.contains(&ptp4l), "{part}");
        assert!(!part.contains(&format!("{other}.cfg")) && !part.contains("phc2sys"), "{part}");
        assert!(part.contains("time_stamping software\n"), "{part}");
    }
    // The system clock of each machine follows its NIC, though one host alone has the key.
    for (part, interface) in parts("etf.toml").iter().zip(["eth5", "eth6"]) {
        let phc2sys = format!("phc2sys -s {interface} -c CLOCK_REALTIME");
        assert_eq!(part.matches(&phc2sys).count(), 1, "{part}");
        assert_eq!(part.matches("ptp4l -f").count(), 1, "{part}");
    }
}

#[test]
fn what_this_machine_lacks_is_named_by_check() {
    if !root() {
        println!("SKIP: needs root, to try what the kernel has");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.toml");
    let path = file.to_str().unwrap();
    fs::write(&file, SMALL).unwrap();
    let plain = teiji(&["check", path, "--on", "local"]);
    assert_eq!((plain.code, plain.out.as_str()), (0, &*format!("{path}: no mistakes\n")));
    if Path::new("/sys/module/prioflow").exists() || Path::new("/usr/sbin/ptp4l").exists() {
        println!("SKIP: this machine has what is to be missing");
        return;
    }
    let text = format!(
        "{SMALL}\n[hosts.a.ptp]\nrole = \"grandmaster\"\n[hosts.b.ptp]\nrole = \"slave\"\n\
         [cases.plain]\n[cases.levels]\n\
         hosts.a.ports.line.qdisc = {{ kind = \"prioflow\", link = \"mac-control\" }}\n"
    );
    fs::write(&file, text).unwrap();
    let result = teiji(&["check", path, "--on", "local"]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    for expected in [
        "this machine lacks for plain, levels: there is no `ptp4l` here",
        "this machine lacks for levels: This kernel has no `prioflow` module",
    ] {
        assert!(result.out.contains(expected), "{expected} is missing in:\n{}", result.out);
    }
    let json = teiji(&["check", path, "--on", "local", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json[0]["missing_here"].as_array().unwrap().len(), 2, "{json}");
}

#[test]
fn missing_files_are_mistakes_in_the_command_line_before_anything_is_fetched() {
    let cache = tempfile::tempdir().unwrap();
    for arguments in [
        &["analyze", "nowhere.pcap"][..],
        &["analyze", "crates"],
        &["report", "nowhere"],
        &["compare", "nowhere", "nowhere"],
        &["run", "--replay", "nowhere"],
        &["run", "nowhere.toml"],
        &["check", "nowhere.toml"],
        &["plan", "nowhere.toml"],
        &["margin", "nowhere.toml"],
        &["lab", "suite", "nowhere.sh"],
        &["lab", "shell", "--file", "nowhere", "--", "true"],
        &["apply", "nowhere.toml"],
        &["diff", "nowhere.toml"],
    ] {
        let output = command(arguments).env("XDG_CACHE_HOME", cache.path()).output().unwrap();
        let result = output_of(&output);
        assert_eq!(result.code, 2, "{arguments:?}: {}", result.err);
        assert_eq!(result.err.trim().lines().count(), 1, "{arguments:?}: {}", result.err);
    }
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "something was fetched");
}

#[test]
fn where_no_run_folder_can_be_made_nothing_is_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let (cache, file) = (dir.path().join("cache"), dir.path().join("file"));
    fs::write(&file, "").unwrap();
    let out = file.join("runs");
    let arguments = ["run", "experiments/etf.toml", "--out", out.to_str().unwrap()];
    let result = output_of(&command(&arguments).env("XDG_CACHE_HOME", &cache).output().unwrap());
    assert_eq!(result.code, 1, "{}", result.err);
    assert!(result.err.contains("cannot create the folder"), "{}", result.err);
    assert!(!cache.exists(), "something was fetched");
}

#[test]
fn a_mistyped_subcommand_is_guessed() {
    for (arguments, guess) in
        [(&["rnu"][..], "'run'"), (&["lab", "sehll"], "'shell'"), (&["flow", "statsu"], "'status'")]
    {
        let result = teiji(arguments);
        assert_eq!(result.code, 2, "{arguments:?}");
        let tip = format!("a similar subcommand exists: {guess}");
        assert!(result.err.contains(&tip), "{arguments:?}: {}", result.err);
    }
    assert!(!teiji(&["colour"]).err.contains("similar"));
}

#[test]
fn what_an_experiment_gives_a_host_is_a_profile() {
    let file = common::repository().join("experiments/etf.toml");
    let file = file.to_str().unwrap();
    let plan = ["plan", file, "--profile", "talker=enp3s0"];
    let result = teiji(&[&plan[..], &["--case", "etf"]].concat());
    assert_eq!(result.code, 0, "{}", result.err);
    assert!(result.out.contains("# Not in a profile: "), "{}", result.out);
    let dir = tempfile::tempdir().unwrap();
    let drive = dir.path().join("drive.toml");
    fs::write(&drive, &result.out).unwrap();
    let commands = teiji(&["diff", drive.to_str().unwrap(), "--commands"]);
    assert_eq!(commands.code, 0, "{}", commands.err);
    for part in ["tc qdisc replace dev enp3s0 root handle 100: mqprio", "etf clockid CLOCK_TAI"] {
        assert!(commands.out.contains(part), "no {part} in {}", commands.out);
    }
    let no_case = teiji(&plan);
    let of = |profile| teiji(&["plan", file, "--case", "etf", "--profile", profile]);
    for (result, sentence) in [
        (no_case, "a profile is of one case: --case with one of normal"),
        (of("nobody=enp3s0"), "the experiment has no host `nobody`; it has talker"),
        (of("talker=enp3s0,listener=enp4s0"), "a profile is of one host, not of listener, talker"),
    ] {
        assert_eq!(result.code, 2, "{}", result.out);
        assert!(result.err.contains(sentence), "{}", result.err);
    }
}
