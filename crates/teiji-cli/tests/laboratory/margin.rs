//! `teiji margin`, as a person uses it. The laboratory's part boots four members for
//! each run, of which there are five or more.

use crate::common;
use serde_json::Value;

#[test]
fn a_margin_is_measured_checked_and_undercut_in_the_laboratory() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (out, save) = (at("runs"), at("margin.json"));
    // 600 frames suffice for order statistics at half of 1 %; four members share them.
    let result = common::teiji(&[
        "margin",
        "experiments/etf.toml",
        "--frames",
        "4000",
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
    assert_eq!(result.code, 0, "{}\n{}", result.out, result.err);
    let found: Value = serde_json::from_str(&result.out).unwrap();
    let number = |path: &str| found.pointer(path).and_then(Value::as_i64).unwrap();
    assert_eq!(found["confirmed"], true);
    assert_eq!(found["recommendation"]["reached"], true);
    // Four members, and again four for each check that did not hold.
    let refuted = found["refuted"].as_array().unwrap();
    let members = found.pointer("/recommendation/members").unwrap().as_array().unwrap();
    assert_eq!(members.len(), 4 * (1 + refuted.len()));
    assert_eq!(number("/check/misses/frames"), 4_000);
    // A margin that was refuted is not tried again.
    for tried in refuted {
        assert!(tried["margin_ns"].as_i64() < Some(number("/check/margin_ns")), "{}", result.out);
    }
    let loads: Vec<&str> =
        found["loads"].as_array().unwrap().iter().map(|l| l["kind"].as_str().unwrap()).collect();
    assert_eq!(loads, ["cpu", "udp-rx"]);
    assert!(found["loads"].as_array().unwrap().iter().all(|load| load["done"].as_u64() > Some(0)));
    // The flood reached its rate.
    let flood = &found["loads"][1];
    let per_s = flood["done"].as_u64().unwrap() * 1_000 / flood["ran_ms"].as_u64().unwrap();
    assert!((3_200..4_400).contains(&per_s), "{flood}");
    // Below it more and more frames are late, and each has its reason.
    let below = found["below"].as_array().unwrap();
    assert!(below.len() >= 2, "{}", result.out);
    let mut above = number("/check/margin_ns");
    for step in below {
        assert!(step["margin_ns"].as_i64() < Some(above));
        above = step["margin_ns"].as_i64().unwrap();
        assert!(step["predicted_at_most"].as_u64() >= Some(40), "{step}");
    }
    let late = |run: &Value| {
        let of = |cause: &str| run["misses"][cause].as_u64().unwrap();
        of("invalid") + of("missed") + of("late")
    };
    // The last step is where half of the measured frames would be late, if the timer
    // took as long as with a longer delta.
    let last = late(below.last().unwrap());
    assert!(last > late(&found["check"]) && last > 40, "{}", result.out);
    // All of it is in the report of the check, with the way to each run.
    let folder = std::path::Path::new(found["check"]["run"].as_str().unwrap());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    let section = page.split_once("<section id=\"margin\">").expect("a section on the margin").1;
    let section = section.split_once("</section>").unwrap().0;
    assert_eq!(section.matches("<tr><th>").count() - 1, 2 + refuted.len() + below.len());
    for (_, link) in section.match_indices("href=\"").map(|(at, _)| section[at..].split_at(6)) {
        let link = link.split_once('"').unwrap().0;
        assert!(folder.join(link).is_file(), "{link}");
    }
    // What was saved is what was checked, and is the laboratory's.
    let saved: Value = serde_json::from_slice(&std::fs::read(&save).unwrap()).unwrap();
    assert_eq!(saved["margin_ns"], found["check"]["margin_ns"]);
    assert_eq!((&saved["testbed"], &saved["confirmed"]), (&"lab".into(), &true.into()));
}

/// In a guest: a machine's own settings are changed.
#[test]
fn a_margin_of_nics_becomes_a_profile_that_is_applied() {
    let script = common::repository().join("crates/teiji-cli/tests/laboratory/margin_profile.sh");
    let result = common::teiji(&["lab", "suite", script.to_str().unwrap()]);
    assert_eq!(result.code, 0, "{}{}", result.out, result.err);
}

#[test]
fn what_cannot_be_measured_is_refused_with_the_next_step() {
    for (code, arguments, words) in [
        (
            1,
            &["margin", "experiments/etf.toml", "--case", "normal"][..],
            "no flow here has a launch time",
        ),
        (2, &["margin", "experiments/etf.toml", "--load", "dsk"], "there is no load `dsk`"),
        (2, &["margin", "experiments/etf.toml", "--probability", "2"], "makes no sense"),
        (2, &["margin", "experiments/etf.toml", "--bind", "talker=x"], "goes with --on local"),
        (2, &["margin", "no-such-card0"], "no interface `no-such-card0` here"),
        (2, &["margin", "lo", "--load", "udp"], "needs a host at the other end"),
    ] {
        let result = common::teiji(arguments);
        assert_eq!(result.code, code, "{arguments:?}: {}", result.err);
        assert!(result.err.contains(words), "{arguments:?}: {}", result.err);
        assert!(!result.err.contains("measuring"), "{arguments:?}: {}", result.err);
    }
}
