//! `teiji compare` and the verdict of a run, typed as a person would.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{SMALL, output_of, repository, root, run_folder, teiji};
use serde_json::Value;

/// A run on this machine; `None` without root.
fn run(dir: &Path, text: &str) -> Option<PathBuf> {
    if !root() {
        println!("SKIP: needs root, to make network namespaces");
        return None;
    }
    let file = dir.join("small.toml");
    fs::write(&file, text).unwrap();
    let out = dir.join("runs");
    let run =
        teiji(&["run", file.to_str().unwrap(), "--on", "local", "--out", out.to_str().unwrap()]);
    assert!([0, 4].contains(&run.code), "{}\n{}", run.out, run.err);
    Some(run_folder(&out))
}

/// `run` once more, with ranges three times as wide.
fn wider(run: &Path, copy: &Path) {
    fs::create_dir(copy).unwrap();
    fs::copy(run.join("manifest.json"), copy.join("manifest.json")).unwrap();
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&text).unwrap();
    let vantages = &mut summary["cases"][0]["members"][0]["flows"]["one"]["vantages"];
    for point in vantages.as_object_mut().unwrap().values_mut() {
        let range = &mut point["interval"]["range_ns"];
        *range = (3 * range.as_i64().unwrap()).into();
    }
    fs::write(copy.join("summary.json"), summary.to_string()).unwrap();
}

#[test]
fn a_run_that_is_worse_than_allowed_ends_with_4_and_a_mistake_with_2() {
    let dir = tempfile::tempdir().unwrap();
    let Some(before) = run(dir.path(), SMALL) else { return };
    let after = dir.path().join("after");
    wider(&before, &after);
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let compare = |more: &[&str]| teiji(&[&["compare", before, after], more].concat());

    assert_eq!(compare(&[]).code, 0);
    let page = dir.path().join("compare.html");
    let worse = compare(&[
        "--fail-if",
        "range > 1.2x",
        "--fail-if",
        "lost > 1x",
        "--html",
        page.to_str().unwrap(),
    ]);
    assert_eq!(worse.code, 4, "{}\n{}", worse.out, worse.err);
    let headline = "\n  FAIL 1 of 2 limits: default: fail if range > 1.2x (one: ";
    assert!(worse.out.contains(headline), "{}", worse.out);
    assert!(worse.out.contains("3.00×"), "{}", worse.out);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("<strong>FAIL</strong> 1 of 2 limits"));
    let enough = compare(&["--fail-if", "range > 4x"]);
    assert_eq!(enough.code, 0, "{}", enough.out);
    assert!(enough.out.contains("\n  PASS default: fail if range > 4x"), "{}", enough.out);

    let machine = compare(&["--fail-if", "range > 1.2x", "--json"]);
    assert_eq!((machine.code, machine.err.as_str()), (4, ""));
    let document: Value = serde_json::from_str(&machine.out).unwrap();
    assert_eq!(document["schema"], "teiji-compare/1");
    let case = &document["cases"][0];
    assert_eq!([&case["name"], &case["of"], &case["measure"]], ["default", "one", "interval"]);
    let range = case["figures"].as_array().unwrap().iter().find(|f| f["figure"] == "range");
    let range = range.unwrap();
    assert_eq!(range["ratio"], 3.0);
    let [earlier, later] = ["before", "after"].map(|s| range[s]["median"].as_f64().unwrap());
    assert!((later - 3.0 * earlier).abs() < 1e-6, "{range}");
    assert_eq!(case["after"]["counts"]["planned"], 50);
    assert_eq!(document["limits"][0]["holds"], false);

    for (condition, why) in [
        ("range > 20us", "`20us` is no factor of the other run's figure"),
        ("rnage > 2x", "did you mean `range`?"),
        ("range of two > 2x", "the runs have no flow `two`; there is one"),
    ] {
        let mistake = compare(&["--fail-if", condition]);
        assert_eq!(mistake.code, 2, "{}", mistake.err);
        assert!(mistake.err.contains(why), "{}", mistake.err);
    }
    let nowhere = compare(&["--html", "/nowhere/at/all.html"]);
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.err.contains("cannot write /nowhere/at/all.html"), "{}", nowhere.err);
}

#[test]
fn a_failed_requirement_is_the_headline_red_on_a_terminal_and_plain_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let strict = format!("require = [\"range < 1ns\", \"lost = 0\"]\n{SMALL}");
    let Some(folder) = run(dir.path(), &strict) else { return };
    let folder = folder.to_str().unwrap();
    let piped = teiji(&["report", folder]).out;
    let headline = "FAIL 1 of 2 requirements: default: range < 1ns";
    assert!(piped.lines().nth(1).unwrap().trim_start().starts_with(headline), "{piped}");
    assert!(!piped.contains('\u{1b}'), "{piped}");

    // `script` (Debian: bsdutils, always there) gives a terminal.
    let typed = format!("{} report {folder}", env!("CARGO_BIN_EXE_teiji"));
    let on_terminal = |no_color: bool| {
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &typed, "/dev/null"]);
        script.env_remove("NO_COLOR").current_dir(repository());
        if no_color {
            script.env("NO_COLOR", "1");
        }
        script.output().ok().map(|output| output_of(&output).out)
    };
    let Some(coloured) = on_terminal(false) else {
        println!("SKIP: no `script` (util-linux) to make a terminal with");
        return;
    };
    assert!(coloured.contains("\u{1b}[31mFAIL\u{1b}[0m 1 of 2"), "{coloured}");
    assert!(!on_terminal(true).unwrap().contains("\u{1b}[31m"));
}
