//! `teiji margin`, as a person uses it. The laboratory's part boots it three
//! times.

mod common;

use serde_json::Value;

#[test]
fn a_margin_is_measured_checked_and_undercut_in_the_laboratory() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (out, save) = (at("runs"), at("margin.json"));
    // 600 frames suffice for order statistics at half of 1 %.
    let said = common::teiji(&[
        "margin",
        "experiments/etf.toml",
        "--frames",
        "2000",
        "--probability",
        "0.01",
        "--load",
        "cpu,udp-rx",
        "--out",
        &out,
        "--save",
        &save,
        "--json",
    ]);
    assert_eq!(said.code, 0, "{}\n{}", said.out, said.err);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let number = |path: &str| found.pointer(path).and_then(Value::as_i64).unwrap();
    assert_eq!(found["confirmed"], true);
    assert_eq!(found["recommendation"]["reached"], true);
    assert_eq!(number("/recommendation/to_qdisc/samples"), 2_000);
    let loads: Vec<&str> =
        found["loads"].as_array().unwrap().iter().map(|l| l["kind"].as_str().unwrap()).collect();
    assert_eq!(loads, ["cpu", "udp-rx"]);
    assert!(found["loads"].as_array().unwrap().iter().all(|load| load["done"].as_u64() > Some(0)));
    // Below it frames are late, and each has its reason.
    let late = number("/below/misses/invalid")
        + number("/below/misses/missed")
        + number("/below/misses/late");
    assert!(late > 0 && number("/below/predicted") >= 10, "{}", said.out);
    assert!(number("/below/margin_ns") < number("/check/margin_ns"));
    // What was saved is what was checked, and is the laboratory's.
    let saved: Value = serde_json::from_slice(&std::fs::read(&save).unwrap()).unwrap();
    assert_eq!(saved["margin_ns"], found["check"]["margin_ns"]);
    assert_eq!((&saved["testbed"], &saved["confirmed"]), (&"lab".into(), &true.into()));
}

#[test]
fn what_cannot_be_measured_is_refused_with_the_next_step() {
    for (arguments, words) in [
        (
            &["margin", "experiments/etf.toml", "--case", "normal"][..],
            "no flow here has a launch time",
        ),
        (&["margin", "experiments/etf.toml", "--load", "disk"], "there is no load `disk`"),
        (&["margin", "experiments/etf.toml", "--probability", "2"], "makes no sense"),
        (&["margin", "experiments/etf.toml", "--bind", "talker=x"], "goes with --on local"),
        (&["margin", "no-such-card0"], "no-such-card0"),
        (&["margin", "lo", "--load", "udp"], "needs a host at the other end"),
    ] {
        let said = common::teiji(arguments);
        assert_ne!(said.code, 0, "{arguments:?}");
        assert!(said.err.contains(words), "{arguments:?}: {}", said.err);
    }
}
