//! `teiji run --on local --why`: the kernel is traced while frames are sent in real time.

mod common;

use common::{number, teiji};
use serde_json::Value;

#[test]
fn what_cannot_be_traced_is_refused() {
    let file = common::repository().join("experiments/etf.toml");
    let file = file.to_str().unwrap();
    for (words, sentence) in [
        (&["run", file, "--why"][..], "use `teiji why RUN` afterwards"),
        (&["run", file, "--on", "local", "--why=0us"], "0us is not a limit"),
        (&["run", file, "--on", "local", "--why=soon"], "soon"),
    ] {
        let result = teiji(words);
        assert_eq!((result.code, result.out.as_str()), (2, ""), "{words:?}");
        assert!(result.err.contains(sentence), "{words:?}: {}", result.err);
    }
}

#[test]
fn a_run_in_real_time_shows_what_delays_its_frames() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("veth.toml");
    let flow = r#"from = "board", to = "peer", period = "1ms", frames = 4000"#;
    let text = format!(
        "name = \"veth\"\nquestion = \"What delays frames?\"\n\
         wires.line = {{ between = [\"board\", \"peer\"] }}\nflows.cycle = {{ {flow} }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let out = dir.path().to_str().unwrap();
    let local = ["run", file.to_str().unwrap(), "--on", "local", "--out", out];
    let plain = teiji(&local);
    if plain.err.contains("no right to") {
        return println!("SKIP: {}", plain.err);
    }
    assert_ne!(plain.code, 1, "{}", plain.err);
    let latest = dir.path().join("latest");
    let latest = latest.to_str().unwrap();
    let untraced = teiji(&["why", latest]);
    assert_eq!(untraced.code, 1);
    assert!(untraced.err.contains("its kernel was not traced"), "{}", untraced.err);
    let run = teiji(&[&local[..], &["--why"]].concat());
    if run.err.contains("out of reach") {
        return println!("SKIP: {}", run.err);
    }
    assert!(run.out.contains("while the kernel was traced"), "{}{}", run.out, run.err);
    let why = teiji(&["why", latest, "--json"]);
    assert_eq!(why.code, 0, "{}{}", why.out, why.err);
    let found: Vec<Value> = serde_json::from_str(&why.out).unwrap();
    let [cycle] = &found[..] else { panic!("{found:?}") };
    let tracing = &cycle["tracing"];
    // How many depends on what else the machine does: a sender that comes too late leaves periods out.
    assert!(number(&tracing["untraced"], "count") >= 40, "{tracing}");
    let (frames, seen) = (number(cycle, "frames"), number(&tracing["traced"], "count"));
    assert!(frames > 200 && 10 * frames >= 9 * seen, "{frames} of {seen} have a path: {cycle}");
    for frame in cycle["shown"].as_array().unwrap() {
        let parts = frame["parts"].as_array().unwrap();
        let sum: i64 = parts.iter().map(|part| number(part, "time_ps")).sum();
        assert_eq!(sum, number(frame, "whole_ps"), "{frame}");
    }
    // Without real-time priority.
    assert!(cycle["causes"].to_string().contains("timer slack of the sender"), "{cycle}");
    let folder = std::fs::canonicalize(latest).unwrap();
    let report = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("What tracing costs"));
}
