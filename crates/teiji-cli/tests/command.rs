//! The command line without a laboratory: help, mistakes, plans, local runs,
//! captures, exit codes.

mod common;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use common::{SMALL, root, run_folder, teiji};

fn write(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn help_names_every_subcommand_and_exit_code() {
    let result = teiji(&["--help"]);
    assert_eq!(result.code, 0);
    for word in [
        "run", "check", "doctor", "plan", "talk", "listen", "analyze", "report", "compare", "lab",
        "130",
    ] {
        assert!(result.out.contains(word), "{word} is missing in:\n{}", result.out);
    }
    for hidden in ["keeper", "guest"] {
        assert!(!result.out.contains(hidden), "{hidden} should be hidden");
    }
}

#[test]
fn a_closed_pipe_ends_the_command_without_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = write(dir.path(), "wrong.toml", "name = 1");
    for arguments in [
        &["check", "experiments/etf.toml"][..],
        &["check", "experiments/etf.toml", "--json"],
        &["check", &wrong],
        &["plan", "experiments/etf.toml"],
        &["generate", "completions", "bash"],
        &["generate", "schema"],
        &["lab", "status"],
        &["talk", "lo", "127.0.0.1", "--frames", "1"],
        &["listen", "--address", "127.0.0.1", "--port", "47789", "--for", "1ms", "--csv"],
    ] {
        // What is written to a socket whose other end is closed fails as in a pipe.
        let (writer, reader) = UnixStream::pair().unwrap();
        drop(reader);
        let output = common::command(arguments)
            .stdout(OwnedFd::from(writer))
            .env("XDG_CACHE_HOME", dir.path())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(13), "SIGPIPE: {arguments:?}: {err}");
        assert!(!err.contains("teiji:") && !err.contains("panicked"), "{arguments:?}: {err}");
    }
}

#[test]
fn a_full_disk_is_reported_and_a_closed_standard_error_is_ignored() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = common::command(&["plan", "experiments/etf.toml"]).stdout(full).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("No space left on device"), "{err}");
    let (writer, reader) = UnixStream::pair().unwrap();
    drop(reader);
    let output =
        common::command(&["check", "nowhere.toml"]).stderr(OwnedFd::from(writer)).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_table_has_the_terminals_width_or_that_of_columns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("steady.pcap");
    fs::write(&path, common::capture((0..100).map(|i| i * 1_000))).unwrap();
    let widest = |setting: &str| {
        // `script` (Debian: bsdutils, always there) gives a terminal.
        let typed = format!(
            "stty rows 24 cols 44; {setting} {} analyze '{}'",
            common::IN_SHELL,
            path.display()
        );
        let output = Command::new("script")
            .args(["--quiet", "--return", "--command", &typed, "/dev/null"])
            .env_remove("COLUMNS")
            .env("NO_COLOR", "1")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("interval"), "{text}");
        // The command to type next is one word after another, not to be broken.
        let lines = text.lines().filter(|line| !line.starts_with("Plots"));
        lines.map(|line| line.trim_end().chars().count()).max()
    };
    let Some(width) = widest("") else {
        println!("SKIP: no `script` (util-linux) to make a terminal with");
        return;
    };
    assert!((20..=44).contains(&width), "{width} columns in a terminal of 44");
    assert!(widest("COLUMNS=90").unwrap() > 44);
}

#[test]
fn check_distinguishes_a_file_for_real_nics_from_a_wrong_one() {
    let file = "experiments/two-boards-one-way.toml";
    let result = teiji(&["check", file]);
    assert_eq!(result.code, 2, "the laboratory cannot run it");
    assert!(result.out.contains("no mistakes for real NICs (`teiji check exp"), "{}", result.out);
    let local = teiji(&["check", file, "--on", "local"]);
    assert!(local.out.starts_with(&format!("{file}: no mistakes\n")), "{}", local.out);
}

#[test]
fn mistakes_are_explained_with_their_place_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "wrong.toml", &SMALL.replace("period", "perod"));
    let result = teiji(&["check", &file]);
    assert_eq!(result.code, 2, "{}", result.out);
    assert!(result.out.contains("wrong.toml:10:1"), "{}", result.out);
    assert!(result.out.contains("did you mean `period`"), "{}", result.out);
    assert!(!result.out.contains("real NICs"), "{}", result.out);
    // `run` refuses with the same words and leaves no folder behind.
    let out = dir.path().join("runs");
    let run = teiji(&["run", &file, "--out", out.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("did you mean `period`"), "{}", run.err);
    assert!(run.err.starts_with(&file), "the columns stay below each other: {}", run.err);
    assert!(!out.exists());
}

#[test]
fn a_missing_file_and_an_unknown_case_are_usage_errors() {
    let result = teiji(&["check", "nowhere.toml"]);
    assert_eq!(result.code, 2);
    assert!(result.err.contains("cannot read nowhere.toml"), "{}", result.err);
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("binary.toml");
    fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    let result = teiji(&["check", binary.to_str().unwrap()]);
    assert!(result.err.contains("it is no text"), "{}", result.err);
    let result = teiji(&["run", "experiments/etf.toml", "--jobs", "0"]);
    assert_eq!(result.code, 2);
    let result = teiji(&["run", "experiments/etf.toml", "--case", "etv"]);
    assert_eq!(result.code, 2);
    assert!(result.err.contains("there are normal, software, etf"), "{}", result.err);
}

/// PROMISES.md: `[`test`](file)` and `[script](file)`.
#[test]
fn each_promise_names_a_test_that_exists() {
    let folder = common::repository();
    let text = fs::read_to_string(folder.join("PROMISES.md")).unwrap();
    let links: Vec<(&str, &str)> = text
        .split('[')
        .filter_map(|rest| rest.split_once("]("))
        .filter_map(|(name, rest)| Some((name.trim_matches('`'), rest.split_once(')')?.0)))
        .collect();
    assert!(links.len() > 50, "{links:?}");
    for (name, file) in links {
        let held_by =
            fs::read_to_string(folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let is_test = Path::new(file).extension().is_some_and(|end| end == "rs");
        assert!(!is_test || held_by.contains(&format!("fn {name}(")), "{file} has no {name}");
    }
}

#[test]
fn every_published_experiment_is_without_mistakes() {
    let folder = common::repository().join("experiments");
    let files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    assert!(!files.is_empty());
    for file in files {
        let result = teiji(&["check", &file]);
        if fs::read_to_string(&file).unwrap().contains("timestamps = \"software\"") {
            // For machines of one's own.
            assert!(
                result.code == 2 && result.out.contains("for hosts on different machines"),
                "{}",
                result.out
            );
            continue;
        }
        assert_eq!((result.code, result.out.contains("no mistakes")), (0, true), "{}", result.out);
    }
}

#[test]
fn a_plan_is_a_script_of_plain_commands() {
    let result = teiji(&["plan", "experiments/etf.toml", "--case", "etf"]);
    assert_eq!(result.code, 0, "{}", result.err);
    for command in [
        "ip netns",
        "type vtsn peer",
        "mqprio num_tc 3 map 2 2 1 0",
        "etf clockid CLOCK_TAI delta 150000 offload",
    ] {
        assert!(result.out.contains(command), "{command} is missing in:\n{}", result.out);
    }
}

#[test]
fn a_local_run_over_veth_leaves_records_a_summary_and_a_report() {
    if !root() {
        println!("SKIP: needs root, to make network namespaces");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = write(dir.path(), "small.toml", SMALL);
    let out = dir.path().join("runs");
    let out = out.to_str().unwrap();
    let result = teiji(&["run", &file, "--on", "local", "--out", out]);
    assert_eq!(result.code, 0, "{}\n{}", result.out, result.err);
    assert!(result.out.contains("real"), "the report says that time is real: {}", result.out);
    let folder = run_folder(Path::new(out));
    for name in ["manifest.json", "experiment.toml", "summary.json", "report.html"] {
        assert!(folder.join(name).exists(), "{name} is missing");
    }
    let again = teiji(&["report", folder.to_str().unwrap(), "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    let counts = &summary["cases"][0]["members"][0]["flows"]["one"]["counts"];
    assert_eq!((&counts["planned"], &counts["received"]), (&50.into(), &50.into()));
    let folder = folder.to_str().unwrap();
    let both = teiji(&["compare", folder, folder]);
    assert_eq!(both.code, 0, "{}", both.err);
    // As if the disk had been full, and as if it had been killed before it was summed up.
    fs::write(format!("{folder}/summary.json"), "{\"schema\": ").unwrap();
    let damaged = teiji(&["report", folder]);
    assert!(damaged.err.contains("delete it, and `teiji report"), "{}", damaged.err);
    fs::remove_file(format!("{folder}/summary.json")).unwrap();
    let unsummed = teiji(&["compare", folder, folder]);
    assert_eq!(unsummed.code, 0, "{}", unsummed.err);
    let rebuilt = |why: &str| {
        let rebuilt = teiji(&["report", folder, "--json"]);
        assert_eq!(rebuilt.code, 0, "{}", rebuilt.err);
        let rebuilt: serde_json::Value = serde_json::from_str(&rebuilt.out).unwrap();
        assert_eq!(rebuilt["cases"], summary["cases"]);
        let warnings = rebuilt["warnings"].as_array().unwrap();
        assert!(warnings[0].as_str().unwrap().contains(why), "{rebuilt}");
        assert_eq!(warnings[1..], *summary["warnings"].as_array().unwrap());
    };
    rebuilt("The run ended before its summary was written");
    // In the form of an older version, whose fields meant something else.
    fs::write(format!("{folder}/summary.json"), "{\"schema\": \"teiji-summary/1\"}").unwrap();
    rebuilt("An older Teiji wrote the summary of this run (`teiji-summary/1`)");
    fs::remove_dir_all(format!("{folder}/records")).unwrap();
    fs::remove_file(format!("{folder}/summary.json")).unwrap();
    let nothing = teiji(&["report", folder]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.err.contains("before anything was measured"), "{}", nothing.err);
}

#[test]
fn the_best_ranked_case_is_written_as_a_file_with_the_same_plan() {
    if !root() {
        println!("SKIP: needs root, to make network namespaces");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "judge = {{ rank = true }}\nloads = [\"tcp-tx\"]\n{SMALL}\n[cases.plain]\n\n[cases.fifo]\n\
         hosts.a.ports.line.qdisc = {{ kind = \"pfifo\", limit = 7 }}\n"
    );
    let file = write(dir.path(), "small.toml", &text);
    let out = dir.path().join("runs");
    let result = teiji(&["run", &file, "--on", "local", "--out", out.to_str().unwrap()]);
    assert_eq!(result.code, 0, "{}\n{}", result.out, result.err);
    assert!(result.out.contains("On this machine: "), "{}", result.out);
    let folder = run_folder(&out);
    let summary = fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    // Which one it is, the machine decides.
    let best = summary["ranking"]["best"].as_str().unwrap();
    let recommended = folder.join("recommended.toml");
    let recommended = recommended.to_str().unwrap();
    assert_eq!(teiji(&["check", recommended]).code, 0);
    let plan = |arguments: &[&str]| {
        let result = teiji(&[&["plan"], arguments].concat());
        assert_eq!(result.code, 0, "{}", result.err);
        let commands = result.out.lines().filter(|line| !line.trim_start().starts_with('#'));
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    let planned = plan(&[recommended]);
    assert!(planned.len() > 3, "{planned:?}");
    assert_eq!(planned, plan(&[&file, "--case", best]));

    // It becomes a profile; as it is, it says how.
    let applied = teiji(&["apply", recommended]);
    assert_eq!(applied.code, 2, "{}", applied.err);
    let command = format!("`teiji plan {recommended} --profile HOST=INTERFACE >profile.toml`");
    assert!(applied.err.contains(&command), "{}", applied.err);
    assert!(applied.err.contains("(a, b)"), "{}", applied.err);
    if best == "fifo" {
        let profile = teiji(&["plan", recommended, "--profile", "a=lo"]);
        let profile = write(dir.path(), "profile.toml", &profile.out);
        let commands = teiji(&["diff", &profile, "--commands"]);
        assert!(commands.out.contains("tc qdisc replace dev lo root"), "{}", commands.err);
    }
}

#[test]
fn a_qdisc_this_kernel_lacks_is_named_and_nothing_stays() {
    if !root() {
        println!("SKIP: needs root, to make network namespaces");
        return;
    }
    if Path::new("/sys/module/sch_mqprio").exists() || teiji(&["--version"]).code != 0 {
        println!("SKIP: this kernel has mqprio");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("runs");
    let arguments = [
        "run",
        "experiments/etf-igb.toml",
        "--on",
        "local",
        "--case",
        "etf",
        "--out",
        out.to_str().unwrap(),
    ];
    let result = teiji(&arguments);
    if result.code == 0 {
        println!("SKIP: this kernel loads mqprio by itself");
        return;
    }
    assert_eq!(result.code, 1);
    assert!(result.err.contains("mqprio") && result.err.contains("--on lab"), "{}", result.err);
    let left = fs::read_dir(&out).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a run of which nothing was measured leaves a folder");
}

#[test]
fn captures_are_analysed_and_damaged_ones_explained() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes, words) in [
        ("empty.pcap", &b""[..], "empty"),
        ("text.pcap", &b"this is no capture at all, just words"[..], "capture"),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let result = teiji(&["analyze", path.to_str().unwrap()]);
        assert_eq!(result.code, 1, "{}", result.out);
        assert!(result.err.contains(words), "{}", result.err);
        assert_eq!(result.err.trim().lines().count(), 1, "one sentence: {}", result.err);
    }
    let result = teiji(&["analyze", "nowhere.pcap"]);
    assert!(result.err.contains("cannot read nowhere.pcap"), "{}", result.err);
}

#[test]
fn two_captures_of_the_same_frames_give_their_delay() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, stamps: Vec<u32>| {
        let path = dir.path().join(name);
        fs::write(&path, common::capture(stamps)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let first = file("first.pcap", (0..100).map(|i| i * 1_000).collect());
    let second = file("second.pcap", (5..100).map(|i| i * 1_000 + 7).collect());
    let report = dir.path().join("report.html").to_str().unwrap().to_owned();
    let result = teiji(&["analyze", &first, &second, "--report", &report]);
    assert_eq!(result.code, 0, "{}", result.err);
    assert!(result.out.contains("95 of 100 frames at the first point matched"), "{}", result.out);
    assert!(result.out.contains("5 only at the first"), "{}", result.out);
    assert!(result.out.contains("difference between their clocks"), "{}", result.out);
    assert!(result.out.contains("told apart by time"), "equal frames: {}", result.out);
    let page = fs::read_to_string(&report).unwrap();
    assert!(
        page.contains("Histogram of the delays") && page.contains("Two captures show the wire")
    );
    let json = teiji(&["analyze", &first, &second, "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let delays = &summary["cases"][0]["members"][0]["delays"];
    let flow = delays.as_object().unwrap().values().next().unwrap();
    assert_eq!(flow["counts"]["first"]["alone"], 5, "{flow}");
    assert_eq!(
        (&flow["delay"]["min_ns"], &flow["delay"]["max_ns"]),
        (&7_000.into(), &7_000.into())
    );

    let refused = teiji(&["analyze", &first, &second, "--period", "1ms"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let refused = teiji(&["analyze", &first, "-"]);
    assert_eq!((refused.code, refused.err.trim().lines().count()), (2, 1), "{}", refused.err);
    let missing = teiji(&["analyze", &first, "nowhere.pcap"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("nowhere.pcap"), "{}", missing.err);
    let nothing = teiji(&["analyze", &first, &second, "--vlan", "5"]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.err.contains("matches the options"), "{}", nothing.err);
}

#[test]
fn a_period_that_is_not_the_flows_is_questioned() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("steady.pcap");
    fs::write(&path, common::capture((0..1_200).map(|i| i * 1_000))).unwrap();
    let analyze = |period: &str| teiji(&["analyze", path.to_str().unwrap(), "--period", period]);
    let right = analyze("1ms");
    assert!(!right.out.contains("seems"), "{}", right.out);
    assert_eq!(right.out.matches("resolution").count(), 3, "head and caveat: {}", right.out);
    let near = analyze("900us");
    assert!(near.out.contains("seems to have a period of 1 ms"), "{}", near.out);
    let far = analyze("2ms");
    assert_eq!(far.code, 1);
    assert!(far.err.contains("no flow among 1 200 frames has a period of 2 ms"), "{}", far.err);
    assert!(far.err.contains("1 200 frames  every 1 ms  UDP"), "{}", far.err);
    let none = analyze("0");
    assert_eq!(none.code, 2, "{}", none.err);
    assert!(none.err.contains("is no distance between two frames"), "{}", none.err);
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = teiji(&["report", "nowhere"]);
    assert!(nowhere.err.contains("no such run; `ls .` shows"), "{}", nowhere.err);
    let deeper = teiji(&["report", "nowhere/at/all"]);
    assert!(deeper.err.contains("`teiji run` says where"), "{}", deeper.err);
    let result = teiji(&["report", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 2);
    assert!(result.err.contains("run folder"), "{}", result.err);
}

#[test]
fn a_silent_peer_is_counted_and_reported() {
    // A socket that answers nothing.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let result = teiji(&["ping", &to, "--count", "3", "--period", "20ms", "--json"]);
    assert_eq!(result.code, 1, "{}{}", result.out, result.err);
    assert!(
        result.err.contains("no reply within 20 ms: is `teiji reflect` running"),
        "{}",
        result.err
    );
    let summary: serde_json::Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!((&summary["requests"], &summary["lost"]), (&3.into(), &3.into()));
}

#[test]
fn talk_and_listen_refuse_what_cannot_be() {
    for (code, arguments, words) in [
        (2, &["talk", "nosuch0", "127.0.0.1"][..], "nosuch0"),
        (2, &["talk", "lo", "127.0.0.1", "--period", "0"], "--period 1ms"),
        (2, &["talk", "lo", "127.0.0.1", "--frames", "0"], "frames"),
        (1, &["talk", "lo", "127.0.0.1", "--payload", "8"], "24"),
        (1, &["talk", "lo", "127.0.0.1", "--payload", "65535"], "bytes"),
        (2, &["talk", "lo", "somewhere"], "no destination"),
        (2, &["talk", "lo", "127.0.0.1", "--margin=-1us"], "negative"),
        (2, &["listen", "nosuch0"], "nosuch0"),
        (2, &["listen", "--for", "0"], "--for 10s"),
        (2, &["listen", "--pause", "0"], "--pause 5ms"),
        (2, &["listen", "--pause-random"], "--pause <DURATION>"),
    ] {
        let result = teiji(arguments);
        assert_eq!(result.code, code, "{arguments:?}: {}", result.err);
        assert!(result.err.contains(words), "{arguments:?}: {}", result.err);
        assert!(!result.err.contains("panicked"), "{}", result.err);
    }
}

#[test]
fn a_talker_warns_if_no_qdisc_uses_its_launch_times() {
    let arguments = ["talk", "lo", "127.0.0.1:47789", "--frames", "1"];
    let with_launch_times = [&arguments[..], &["--margin", "400us"]].concat();
    let warning = "nothing on lo keeps launch times";
    let result = teiji(&with_launch_times);
    assert!(result.err.contains(warning), "{}", result.err);
    let result = teiji(&arguments);
    assert!(!result.err.contains(warning), "{}", result.err);
}

#[test]
fn man_pages_and_completions_are_generated() {
    let dir = tempfile::tempdir().unwrap();
    let result = teiji(&["generate", "man", dir.path().to_str().unwrap()]);
    assert_eq!(result.code, 0, "{}", result.err);
    let page = fs::read_to_string(dir.path().join("teiji-run.1")).unwrap();
    assert!(page.contains("replay"), "{page}");
    assert!(!dir.path().join("teiji-keeper.1").exists());
    let result = teiji(&["generate", "completions", "bash"]);
    assert!(result.out.contains("_teiji"));
}

#[test]
fn the_schema_of_experiment_files_is_generated() {
    let result = teiji(&["generate", "schema"]);
    assert_eq!(result.code, 0, "{}", result.err);
    let schema: serde_json::Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(schema["definitions"]["flows-NAME"]["properties"]["dscp"]["maximum"], 63);
}

#[test]
fn a_machine_is_looked_at_without_rights_and_in_json() {
    let result = teiji(&["doctor", "lo"]);
    assert_eq!(result.code, 0, "{}", result.err);
    assert!(result.out.starts_with("lo\n    launch times  not applicable\n"), "{}", result.out);
    let result = teiji(&["doctor", "lo", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["verdicts"][0]["feature"], "launch-times");
    assert_eq!(document["verdicts"][0]["readiness"], "not-applicable");
    assert_eq!(document["facts"]["nics"][0]["name"], "lo");
    // Loopback is ready for none of both.
    let result = teiji(&["doctor", "lo", "--require", "launch-times,flow-control"]);
    assert_eq!(result.code, 4, "{}", result.out);
}

#[test]
fn what_cannot_be_looked_at_is_a_mistake() {
    for command in [&["doctor"][..], &["flow", "status"], &["reflect"]] {
        let result = teiji(&[command, &["no-such-if0"]].concat());
        assert_eq!(result.code, 2, "{command:?}");
        let sentence = "no interface `no-such-if0` here; there are lo";
        assert!(result.err.contains(sentence), "{command:?}: {}", result.err);
    }
    let result = teiji(&["doctor", "lo", "--probe", "10ms"]);
    assert_eq!(result.code, 2);
    assert!(result.err.contains("give it 200ms or more"), "{}", result.err);
    let result = teiji(&["doctor", "lo", "--require", "everything"]);
    assert_eq!(result.code, 2);
}
