//! How far a run is: a bar with the time left on a terminal, plain lines
//! elsewhere, nothing with `--json`. Measured on this machine; in the
//! laboratory the same bar moves with the capture.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::teiji;

/// The command line of a run that takes longer than a second; `None` where it
/// cannot be made.
fn long_run(dir: &Path) -> Option<Vec<String>> {
    if !common::root() {
        println!("SKIP: needs root, to make network namespaces");
        return None;
    }
    let file = dir.join("long.toml");
    // Three seconds of frames.
    fs::write(&file, common::SMALL.replace("frames = 50", "frames = 3000")).unwrap();
    let words = ["run", file.to_str()?, "--on", "local", "--out", dir.join("runs").to_str()?]
        .map(str::to_owned);
    Some(words.to_vec())
}

#[test]
fn a_long_step_shows_a_bar_with_the_time_left_on_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let Some(words) = long_run(dir.path()) else { return };
    let typed = format!("stty rows 24 cols 90; {} {}", common::IN_SHELL, words.join(" "));
    // `script` (util-linux) gives a terminal.
    let shown = Command::new("script")
        .args(["--quiet", "--return", "--command", &typed, "/dev/null"])
        .output();
    let Ok(shown) = shown else {
        println!("SKIP: no `script` (util-linux) to make a terminal with");
        return;
    };
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success(), "{text}");
    let bars: Vec<&str> = text.split(['\r', '\n']).filter(|line| line.contains(" left")).collect();
    assert!(bars.iter().any(|bar| bar.contains("about 1s left")), "{bars:?}");
    assert!(bars.iter().all(|bar| bar.contains('%')), "{bars:?}");
    let (_, result) = text.rsplit_once("3 000/3 000").expect("the result comes after the bar");
    assert!(!result.contains(" left"), "the bar is gone when the result is there: {result}");
}

#[test]
fn elsewhere_a_step_is_a_line_and_with_json_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(words) = long_run(dir.path()) else { return };
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let plain = teiji(&words);
    assert_eq!(plain.code, 0, "{}", plain.err);
    assert!(plain.err.contains("…\n"), "{}", plain.err);
    assert!(!plain.err.contains('\u{1b}') && !plain.err.contains('\r'), "{:?}", plain.err);
    words.push("--json");
    let machine = teiji(&words);
    assert_eq!((machine.code, machine.err.as_str()), (0, ""));
    let summary: serde_json::Value = serde_json::from_str(&machine.out).unwrap();
    assert_eq!(summary["schema"], "teiji-summary/2");
}
