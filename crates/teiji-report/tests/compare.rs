//! Limits on the difference of two runs, and the page of both.

mod terminal_runs;

use teiji_experiment::Threshold;
use teiji_record::{CaseSummary, Summary, Verdict};
use teiji_report::compare::limits;
use teiji_report::html;
use teiji_report::terminal::{Options, compare};
use teiji_report::units::Glyphs;
use teiji_stats::{TimestampPoint, WireStatistics};
use terminal_runs::{FRAMES, between, case, ensemble, flow, run, two_cases};

fn checked(before: &Summary, after: &Summary, conditions: &[&str]) -> Result<Vec<Verdict>, String> {
    let thresholds: Vec<Threshold> = conditions.iter().map(|text| text.parse().unwrap()).collect();
    limits(before, after, &thresholds, &Glyphs::UNICODE).map_err(|error| error.to_string())
}

/// `pass normal: cycle: 62 µs → 31 µs, 0.50×`, a line for each verdict.
#[track_caller]
fn compared(before: &Summary, after: &Summary, conditions: &[&str]) -> Vec<String> {
    let verdicts = checked(before, after, conditions).unwrap();
    let word = |verdict: &Verdict| if verdict.holds { "pass" } else { "FAIL" };
    verdicts.iter().map(|v| format!("{} {}: {}", word(v), v.case, v.measured)).collect()
}

fn seen(high_ns: i64) -> CaseSummary {
    case("normal", vec![flow(TimestampPoint::RxHardware, &between(-20_000, high_ns))])
}

fn lossy(lost: u64) -> Summary {
    let mut summary = run(vec![seen(20_000)]);
    let counts = &mut summary.cases[0].members[0].flows.get_mut("cycle").unwrap().counts;
    counts.received = FRAMES - lost;
    counts.lost = lost;
    summary
}

#[test]
fn a_figure_may_grow_to_the_limit_and_no_further() {
    let before = run(vec![seen(20_000)]);
    let after = |high| run(vec![seen(high)]);
    let limit = ["range > 1.2x"];
    assert_eq!(
        compared(&before, &after(28_000), &limit),
        ["pass normal: cycle: 40 µs → 48 µs, 1.20×"]
    );
    assert_eq!(
        compared(&before, &after(29_000), &limit),
        ["FAIL normal: cycle: 40 µs → 49 µs, 1.23×"]
    );
    assert_eq!(
        compared(&before, &after(28_000), &["range >= 1.2x"]),
        ["FAIL normal: cycle: 40 µs → 48 µs, 1.20×"]
    );
    assert_eq!(checked(&before, &before, &[]).unwrap(), []);
    let verdict = &checked(&before, &before, &limit).unwrap()[0];
    assert_eq!(verdict.requirement, "fail if range > 1.2x");
}

#[test]
fn of_several_seeds_the_median_counts() {
    let mut after = ensemble();
    let wider = [(-30_000, 4_000), (-22_000, 2_000), (-23_000, 30_000)];
    let flows = wider.map(|(low, high)| flow(TimestampPoint::Wire, &between(low, high))).to_vec();
    after.cases[0] = case("normal", flows);
    after.cases.truncate(1);
    let text = compared(&ensemble(), &after, &["range > 1.3x"]);
    assert_eq!(text, ["FAIL normal: cycle: 25 µs → 34 µs, 1.36×"]);
}

#[test]
fn a_difference_below_the_resolution_is_not_worse() {
    let of =
        |high| run(vec![case("etf", vec![flow(TimestampPoint::Wire, &between(-1_000, high))])]);
    assert_eq!(
        compared(&of(1_000), &of(3_000), &["range > 1.2x", "stddev > 1.2x"]),
        ["pass etf: cycle: 2 µs → 4 µs, 2.00×", "FAIL etf: cycle: 44.7 ns → 832.8 ns, 18.6×"]
    );
    assert_eq!(
        compared(&of(1_000), &of(4_000), &["range > 1.2x"]),
        ["FAIL etf: cycle: 2 µs → 5 µs, 2.50×"]
    );
}

#[test]
fn a_time_of_the_remaining_frames_is_no_evidence() {
    let (whole, lost) = (lossy(0), lossy(3));
    assert_eq!(
        compared(&whole, &lost, &["range > 1.2x"]),
        [
            "FAIL normal: cycle: lost 0 of 1 000 → 3 of 1 000, and the figure is of the rest; a limit on \
          `lost` allows for that"
        ]
    );
    assert_eq!(
        compared(&lost, &lost, &["range > 1.2x"]),
        ["pass normal: cycle: 40 µs → 40 µs, 1.00×"]
    );
    assert_eq!(
        compared(&whole, &lost, &["range > 1.2x", "lost > 1x"]),
        ["pass normal: cycle: 40 µs → 40 µs, 1.00×", "FAIL normal: cycle: 0 of 1 000 → 3 of 1 000"]
    );
    assert_eq!(
        compared(&lost, &lossy(4), &["lost > 1.5x"]),
        ["pass normal: cycle: 3 of 1 000 → 4 of 1 000"]
    );
    assert_eq!(compared(&whole, &whole, &["lost > 1x", "late > 1x", "dropped > 1x"]).len(), 3);
}

#[test]
fn what_cannot_be_compared_fails() {
    let before = run(vec![seen(20_000)]);
    let unseen = run(vec![case("normal", vec![flow(TimestampPoint::RxHardware, &[])])]);
    let elsewhere =
        run(vec![case("normal", vec![flow(TimestampPoint::Wire, &between(-9_000, 9_000))])]);
    let mut failed = before.clone();
    failed.cases[0].members.clear();
    let other =
        run(vec![case("taprio", vec![flow(TimestampPoint::Wire, &between(-9_000, 9_000))])]);
    let limit = ["range > 1.2x"];
    assert_eq!(
        compared(&before, &unseen, &limit),
        ["FAIL normal: cycle: not measured in both runs, or too little for it"]
    );
    assert_eq!(
        compared(&before, &elsewhere, &limit),
        ["FAIL normal: cycle: not seen at the same place in both runs"]
    );
    assert_eq!(
        compared(&before, &failed, &limit),
        ["FAIL normal: cycle: not measured in both runs"]
    );
    assert_eq!(compared(&failed, &failed, &limit), ["FAIL normal: not measured"]);
    assert_eq!(compared(&before, &other, &limit), ["FAIL all: the runs have no case in common"]);
    assert_eq!(
        compared(&before, &before, &["p99.9999 > 2x"]),
        ["FAIL normal: cycle: not measured in both runs, or too little for it"]
    );
    assert_eq!(
        compared(&before, &before, &["rate < 0.9x"]),
        ["FAIL normal: cycle: no two frames were seen on the wire in both runs"]
    );
}

#[test]
fn a_limit_that_is_about_nothing_is_a_mistake() {
    let runs = run(vec![seen(20_000)]);
    let why = |condition: &str| checked(&runs, &runs, &[condition]).unwrap_err();
    assert_eq!(
        why("range of cycel > 1.2x"),
        "`range of cycel > 1.2x`: the runs have no flow `cycel`; there is cycle"
    );
    assert_eq!(why("max rtt > 2x"), "`max rtt > 2x`: the runs have no round trips");
}

#[test]
fn background_is_compared_where_it_is_named() {
    let with_rate = |bps| {
        let mut summary = run(vec![seen(20_000)]);
        summary.background = vec!["load".to_owned()];
        let member = &mut summary.cases[0].members[0];
        member.flows.insert("load".to_owned(), flow(TimestampPoint::Wire, &[]));
        let wire = WireStatistics { rate_bps: Some(bps), ..WireStatistics::default() };
        member.wire.insert("load".to_owned(), wire);
        summary
    };
    let (before, after) = (with_rate(94_000_000), with_rate(47_000_000));
    assert_eq!(
        compared(&before, &after, &["rate of load < 0.9x"]),
        ["FAIL normal: load: 94 Mbit/s → 47 Mbit/s, 0.50×"]
    );
    assert_eq!(compared(&before, &after, &["range > 1x"]).len(), 1, "the load has no say");
}

#[test]
fn the_headline_of_both_media_is_the_verdict_on_the_limits() {
    let after = run(vec![
        case("normal", vec![flow(TimestampPoint::Wire, &between(-43_000, 43_000))]),
        case("etf", vec![flow(TimestampPoint::Wire, &between(-1_000, 1_000))]),
    ]);
    let before = two_cases();
    let limits = checked(&before, &after, &["range > 1.2x"]).unwrap();
    let options = Options { width: 100, color: true, unicode: true };
    let text = compare(&before, &after, &limits, &options);
    let headline = "\n  \u{1b}[31mFAIL\u{1b}[0m 1 of 2 limits: normal: fail if range > 1.2x (cycle: \
                    62 µs → 86 µs, 1.39×).\n";
    assert!(text.contains(headline), "{text}");
    assert!(text.contains("\n  \u{1b}[32mpass\u{1b}[0m etf: fail if range > 1.2x"), "{text}");

    let page = html::compare(&before, &after, &limits, "teiji test");
    assert!(
        page.contains("<p class=\"verdict fail\"><strong>FAIL</strong> 1 of 2 limits"),
        "{page}"
    );
    for part in [
        "<section id=\"limits\">",
        "<section id=\"case-0\">\n<h2>normal</h2>",
        "<section id=\"case-1\">\n<h2>etf</h2>",
        "<th>after/before</th>",
        "<td>1.39×</td>",
        "Histogram of the deviations",
        "The range is wider after, from one sample each.",
        "One sample has no spread",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn names_do_not_become_markup() {
    let mut runs = two_cases();
    runs.experiment = "<b>".to_owned();
    runs.cases[0].name = "<script>alert(1)</script>".to_owned();
    runs.warnings = vec!["<i>".to_owned()];
    let limits = checked(&runs, &runs, &["range > 1.2x"]).unwrap();
    let page = html::compare(&runs, &runs, &limits, "teiji test");
    assert!(!page.contains("<script>alert") && !page.contains("<b>:"), "{page}");
    assert!(!page.contains("<i>"), "{page}");
    // Without anything in common there is a page, too.
    let page = html::compare(&run(Vec::new()), &runs, &[], "teiji test");
    assert!(page.contains("no case in common"), "{page}");
}
