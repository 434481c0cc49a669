//! The tables in the terminal, word for word: `tests/golden/*.txt` hold what is
//! printed. After a wanted change, `TEIJI_BLESS=1 cargo test -p teiji-report
//! --test terminal` writes them anew; read the difference before committing it.

mod remedies;
mod terminal_runs;

use std::fs;
use std::path::PathBuf;

use teiji_core::cpu_time::CpuTime;
use teiji_core::time::Span;
use teiji_experiment::JudgeBy;
use teiji_record::nic_count::{NicCount, NicProblem};
use teiji_record::summary::{ClockSummary, PeriodicFlow, Testbed};
use teiji_record::{MemberSummary, ReceiveHeadroom, Summary, Verdict};
use teiji_report::terminal::{Options, compare, render};
use teiji_stats::{
    DelayCounts, DelayStatistics, Deviation, GateStatistics, HandOver, Missed, PointCounts, Series,
    ShapingStatistics, TimestampPoint, Wait, WireStatistics,
};
use terminal_runs::{FRAMES, between, case, ensemble, flow, run, two_cases};

const WIDE: Options = Options { width: 100, color: false, unicode: true };
const NARROW: Options = Options { width: 60, color: false, unicode: true };

/// Compares with `tests/golden/<name>.txt`, and holds every line to `options`.
#[track_caller]
fn golden(name: &str, text: &str, options: Options) {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "tests", "golden", &format!("{name}.txt")].iter().collect();
    if std::env::var_os("TEIJI_BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; see this file's head", path.display()));
    assert!(text == expected, "{name} reads otherwise now:\n{text}");
    for line in text.lines() {
        let columns = line.chars().filter(|c| !c.is_control()).count();
        assert!(options.color || columns <= options.width, "{columns} columns in `{line}`");
        assert_eq!(line, line.trim_end(), "spaces at the end");
    }
}

/// Deviations in whole microseconds of one run of wake-ups.
fn wake_ups(worst_ns: i64) -> Option<Deviation> {
    [5_000, 6_000, worst_ns].into_iter().collect::<Series>().finish()
}

fn lossy() -> Summary {
    let mut normal = flow(TimestampPoint::Wire, &between(-43_000, 19_000));
    normal.counts.received = FRAMES - 2;
    normal.counts.lost = 2;
    normal.counts.reordered = 1;
    let mut etf = flow(TimestampPoint::Wire, &between(-1_000, 1_000));
    etf.counts.received = FRAMES - 3;
    etf.counts.lost = 3;
    etf.counts.late = 2;
    etf.counts.dropped_invalid = 2;
    etf.counts.dropped_missed = 1;
    // Waking is no reason: the longest wake-up is far below the margin.
    etf.wake_up = wake_ups(27_300);
    etf.missed = Some(Missed {
        margin_ns: 600_000,
        latest: Some(HandOver { woke_ns: 20_000, handed_over_ns: 612_000 }),
        dropped_in_time: 1,
        least_left_ns: Some(350_000),
    });
    run(vec![case("normal", vec![normal]), case("etf", vec![etf])])
}

#[test]
fn a_run_is_shown_with_the_papers_figures() {
    golden("run", &render(&two_cases(), &WIDE), WIDE);
}

#[test]
fn on_a_narrow_terminal_the_paper_stands_below() {
    golden("run-narrow", &render(&two_cases(), &NARROW), NARROW);
}

#[test]
fn without_unicode_everything_is_ascii() {
    let options = Options { unicode: false, ..WIDE };
    let mut summary = lossy();
    summary.warnings.push("A margin ≥ 200 µs → fine.".to_owned());
    let text = render(&summary, &options);
    assert!(text.is_ascii(), "{text}");
    golden("run-ascii", &text, options);
}

#[test]
fn colours_change_nothing_but_colours() {
    let options = Options { color: true, ..WIDE };
    let text = render(&lossy(), &options);
    let mut plain = text.clone();
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, render(&lossy(), &WIDE));
    golden("run-colour", &text, options);
}

fn required(summary: &mut Summary, verdicts: &[(&str, &str, bool, &str)]) {
    let verdict = |(case, requirement, holds, measured): &(&str, &str, bool, &str)| Verdict {
        case: (*case).to_owned(),
        requirement: (*requirement).to_owned(),
        holds: *holds,
        measured: (*measured).to_owned(),
    };
    summary.verdicts = verdicts.iter().map(verdict).collect();
}

#[test]
fn the_verdict_on_requirements_is_the_headline_and_answers_the_question() {
    let mut summary = two_cases();
    "Does every interval stay within 20 µs?".clone_into(&mut summary.question);
    let pass = ("etf", "range <= 20us", true, "cycle: 2 µs");
    required(&mut summary, &[("normal", "range <= 20us", false, "cycle: 62 µs"), pass]);
    let options = Options { color: true, ..WIDE };
    golden("required", &render(&summary, &options), options);
    required(&mut summary, &[pass, pass]);
    assert!(render(&summary, &WIDE).contains("\n  PASS all 2 requirements hold.\n"));
}

#[test]
fn requirements_determine_the_answer_instead_of_other_criteria() {
    let mut summary = on_the_wire();
    summary.judge.by = JudgeBy::Shaping;
    let before = render(&summary, &WIDE);
    assert!(before.contains("\nNo: with etf"), "{before}");
    required(&mut summary, &[("etf", "lost = 0", true, "cycle: 0")]);
    let text = render(&summary, &WIDE);
    assert!(text.contains("\n  PASS etf: lost = 0 (cycle: 0).\n"), "{text}");
    assert!(text.contains("\nWith etf 20.41") && !text.contains("No: "), "{text}");
}

#[test]
fn a_ratio_is_shown_for_real_nics_only() {
    let mut summary = two_cases();
    let text = |summary: &Summary| render(summary, &Options { width: 1_000, ..WIDE });
    let emulated = "Yes: with etf the interval on the wire stays within 2 µs (range; the stamps \
                    resolve 1 µs), against 62 µs with normal: the stamps resolve no software \
                    jitter.";
    assert!(text(&summary).contains(emulated), "{}", text(&summary));
    // On this machine only `vtsn` shows frames on the wire.
    summary.testbed = Testbed::Local;
    assert!(text(&summary).contains(emulated), "{}", text(&summary));
    let real = |low, high| flow(TimestampPoint::RxHardware, &between(low, high));
    summary.cases =
        vec![case("normal", vec![real(-43_000, 19_000)]), case("etf", vec![real(-4_000, 4_000)])];
    let ratio = "stays within 8 µs (range), 7.8 times tighter than with normal (62 µs).";
    assert!(text(&summary).contains(ratio), "{}", text(&summary));
    // What is left in the laboratory is the software's own, and is not called gone.
    summary.testbed = Testbed::Lab;
    let left = "stays within 8 µs (range), against 62 µs with normal.\n";
    assert!(text(&summary).contains(left), "{}", text(&summary));
}

#[test]
fn several_seeds_show_their_spread() {
    golden("seeds", &render(&ensemble(), &WIDE), WIDE);
}

#[test]
fn frames_that_did_not_get_through_are_explained() {
    golden("lost", &render(&lossy(), &WIDE), WIDE);
}

#[test]
fn a_run_that_was_never_stamped_has_no_table() {
    let cases = vec![case("normal", vec![flow(TimestampPoint::Wire, &[])])];
    golden("unseen", &render(&run(cases), &WIDE), WIDE);
}

#[test]
fn cases_seen_at_different_places_are_not_compared() {
    let cases = vec![
        case("normal", vec![flow(TimestampPoint::RxKernel, &between(-43_000, 19_000))]),
        case("etf", vec![flow(TimestampPoint::Wire, &between(-1_000, 1_000))]),
    ];
    golden("places", &render(&run(cases), &WIDE), WIDE);
}

#[test]
fn a_case_without_figures_was_seen_nowhere_else() {
    let mut single = flow(TimestampPoint::Wire, &between(-1_000, 1_000));
    single.timestamp_points.clear();
    let others = flow(TimestampPoint::Wire, &between(-43_000, 19_000));
    let summary = run(vec![case("single", vec![single]), case("others", vec![others])]);
    let text = render(&summary, &WIDE);
    assert!(!text.contains("same place"), "{text}");
    assert!(text.contains("on the wire"), "{text}");
}

#[test]
fn a_case_that_failed_is_named() {
    let mut summary = two_cases();
    summary.cases[1].members.clear();
    summary.warnings.insert(0, "Case etf is missing: the guest panicked.\n  [    1.0] BUG".into());
    golden("failed-case", &render(&summary, &WIDE), WIDE);
    summary.cases[0].members.clear();
    golden("failed-run", &render(&summary, &WIDE), WIDE);
}

#[test]
fn a_capture_has_neither_paper_nor_seeds() {
    let mut seen = flow(TimestampPoint::Wire, &between(-3_000, 4_000));
    seen.counts.received = FRAMES - 1;
    seen.counts.lost = 1;
    let mut summary = run(vec![case("capture", vec![seen])]);
    summary.experiment = "lathe.pcap".to_owned();
    summary.question = "How regular is the periodic flow in this capture?".to_owned();
    summary.paper = None;
    summary.testbed = Testbed::Capture;
    summary.warnings.clear();
    golden("capture", &render(&summary, &WIDE), WIDE);
    summary.paper = Some("etf".to_owned());
    summary.cases[0].paper_result = Some("normal".to_owned());
    golden("capture-paper", &render(&summary, &WIDE), WIDE);
    summary.paper = None;
    summary.periodic = (0..12).map(periodic).collect();
    golden("capture-flows", &render(&summary, &WIDE), WIDE);
    let ascii = Options { unicode: false, ..NARROW };
    golden("capture-flows-ascii", &render(&summary, &ascii), ascii);
    summary.periodic.truncate(1);
    assert!(!render(&summary, &WIDE).contains("Periodic flows"), "one flow needs no list");
}

fn periodic(number: i64) -> PeriodicFlow {
    PeriodicFlow {
        flow: format!("UDP 10.0.0.{number}:4000 → 10.0.0.99:5000, VLAN 10"),
        options: format!("--src 10.0.0.{number}:4000 --dst 10.0.0.99:5000"),
        frames: 1_000,
        period_ns: 1_000_000 * (number + 1),
        range_ns: (number > 0).then_some(number * 7_345),
        analysed: number == 0,
    }
}

/// Two captures: one flow with losses and copies, many that are at one point only.
fn two_captures(offset_ns: i64) -> Summary {
    let point = |frames, alone, copies, unclear| PointCounts { frames, alone, copies, unclear };
    let counts =
        DelayCounts { matched: 1_000, first: point(1_005, 5, 0, 0), second: point(1_012, 7, 3, 2) };
    let values = (0..1_000).map(|k| 4_420 + k % 25 * 10 + offset_ns);
    let bridge = DelayCounts { second: point(58, 58, 0, 0), ..DelayCounts::default() };
    let mut delays = std::collections::BTreeMap::from([(
        "UDP 10.3.0.1:6666 → 10.3.0.2:6666, VLAN 100".to_owned(),
        DelayStatistics { counts, delay: teiji_stats::delay::delays(values) },
    )]);
    delays.extend((0..11).map(|k| {
        let name = format!("02:00:00:00:00:{k:02x} → 01:80:c2:00:00:00, type 0x0027");
        (name, DelayStatistics { counts: bridge, delay: None })
    }));
    let names = "tap1.pcap → tap2.pcap";
    let mut captures = case(names, vec![]);
    captures.members = vec![MemberSummary { delays, ..MemberSummary::default() }];
    Summary {
        experiment: names.to_owned(),
        paper: None,
        testbed: Testbed::Capture,
        warnings: vec!["The clocks are in it.".to_owned()],
        ..run(vec![captures])
    }
}

#[test]
fn two_captures_have_their_delay_and_what_only_one_of_them_has() {
    golden("delay", &render(&two_captures(0), &WIDE), WIDE);
    let ascii = Options { unicode: false, ..NARROW };
    golden("delay-negative", &render(&two_captures(-1_000_000), &ascii), ascii);
}

#[test]
fn more_cases_than_fit_are_continued_below() {
    let cases = ["idle", "cpu", "disk", "network", "everything"];
    let mut summary = run((1..)
        .zip(cases)
        .map(|(i, name)| {
            case(name, vec![flow(TimestampPoint::Wire, &between(-i * 9_000, i * 7_000))])
        })
        .collect());
    summary.paper = None;
    golden("many-cases", &render(&summary, &NARROW), NARROW);
}

#[test]
fn every_flow_has_its_own_table() {
    let mut summary = two_cases();
    for case in &mut summary.cases {
        let slow = flow(TimestampPoint::RxKernel, &between(-90_000, 70_000));
        case.members[0].flows.insert("slow".to_owned(), slow);
    }
    golden("two-flows", &render(&summary, &WIDE), WIDE);
}

#[test]
fn clocks_that_ptp_kept_have_a_table_with_the_worst_seed() {
    let clock = |clock: &str, rms_ns: f64, worst_ns: i64| ClockSummary {
        clock: clock.to_owned(),
        reference: "listener.line".to_owned(),
        settled_ns: 3_000_000_000,
        samples: 100,
        mean_ns: 0.0,
        rms_ns,
        worst_ns,
    };
    let flows = vec![flow(TimestampPoint::Wire, &between(-9_000, 9_000)); 2];
    let mut summary = run(vec![case("normal", flows)]);
    summary.cases[0].members[0].clocks =
        vec![clock("talker.line", 2.1, -17), clock("the system", 9.0, 40)];
    summary.cases[0].members[1].clocks =
        vec![clock("talker.line", 4.1, 12), clock("the system", 3.5, 23)];
    let text = render(&summary, &WIDE);
    let rows = text.lines().skip_while(|line| !line.contains("kept by PTP")).skip(2).take(4);
    let rows: Vec<String> =
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        [
            "talker.line, following listener.line",
            "normal 4.1 ns 17 ns 3 s",
            "the system, following listener.line",
            "normal 9 ns 40 ns 3 s"
        ],
        "{text}"
    );
}

#[test]
fn files_cannot_command_the_terminal() {
    let mut summary = two_cases();
    summary.experiment = "\x1b]0;title\x07\x1b[2J".to_owned();
    summary.question = "\x1b[31mred?".to_owned();
    summary.cases[0].name = "a\rb".to_owned();
    summary.warnings = vec!["\x1b[8mhidden\nnext\x1b[0m".to_owned()];
    for text in [render(&summary, &WIDE), compare(&summary, &summary, &[], &WIDE)] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}

#[test]
fn no_width_and_no_summary_breaks_the_table() {
    let mut summaries = vec![two_cases(), ensemble(), lossy(), run(Vec::new())];
    summaries[0].cases[0].name = "周期".repeat(20);
    for summary in &summaries {
        for width in [0, 1, 40, 61, 79, 1_000] {
            for unicode in [false, true] {
                let options = Options { width, color: true, unicode };
                assert!(render(summary, &options).ends_with('\n'));
                assert!(compare(summary, &summaries[1], &[], &options).ends_with('\n'));
            }
        }
    }
}

#[test]
fn two_runs_stand_side_by_side_and_one_sample_is_called_one() {
    let mut after = run(vec![
        case("normal", vec![flow(TimestampPoint::Wire, &between(-20_000, 11_000))]),
        case("etf", vec![flow(TimestampPoint::Wire, &between(-1_000, 2_000))]),
        case("mqprio", vec![flow(TimestampPoint::Wire, &between(-1_000, 2_000))]),
    ]);
    after.testbed = Testbed::Local;
    after.warnings = vec!["The time is real: other programs disturb the figures.".to_owned()];
    golden("compare", &compare(&two_cases(), &after, &[], &WIDE), WIDE);
    golden("compare-narrow", &compare(&two_cases(), &after, &[], &NARROW), NARROW);
}

#[test]
fn a_run_compared_with_itself_is_identical() {
    golden("compare-same", &compare(&lossy(), &lossy(), &[], &WIDE), WIDE);
}

#[test]
fn ensembles_differ_only_if_their_ranges_do_not_overlap() {
    let mut after = ensemble();
    let faster = [(-5_000, 1_000), (-5_000, 2_000), (-6_000, 1_000)];
    let flows = faster.map(|(low, high)| flow(TimestampPoint::Wire, &between(low, high))).to_vec();
    after.cases[0] = case("normal", flows);
    after.cases[1].members.swap(0, 2);
    after.cases[1].members.pop();
    golden("compare-seeds", &compare(&ensemble(), &after, &[], &WIDE), WIDE);
}

#[test]
fn runs_without_a_common_case_or_place_are_not_compared() {
    let other =
        run(vec![case("taprio", vec![flow(TimestampPoint::Wire, &between(-9_000, 9_000))])]);
    golden("compare-nothing", &compare(&two_cases(), &other, &[], &WIDE), WIDE);
    let elsewhere =
        vec![case("etf", vec![flow(TimestampPoint::RxKernel, &between(-9_000, 9_000))])];
    golden("compare-places", &compare(&two_cases(), &run(elsewhere), &[], &WIDE), WIDE);
    let unseen = vec![case("etf", vec![flow(TimestampPoint::Wire, &[])])];
    golden("compare-unseen", &compare(&two_cases(), &run(unseen), &[], &WIDE), WIDE);
}

#[test]
fn a_case_that_failed_in_one_run_or_both_is_not_passed_over() {
    let (mut before, mut after) = (two_cases(), two_cases());
    before.cases[1].members.clear();
    after.cases[0].members.clear();
    after.cases[1].members.clear();
    golden("compare-failed", &compare(&before, &after, &[], &WIDE), WIDE);
}

/// Shaped and gated, beside a load; frames wait for each other and come late.
fn on_the_wire() -> Summary {
    let mut summary = two_cases();
    "Do frames leave inside the gates of their class only?".clone_into(&mut summary.question);
    summary.judge.by = JudgeBy::Gates;
    summary.background = vec!["load".to_owned()];
    let outside = [(250, 97_000, Some("etf".to_owned())), (0, 0, None)];
    for (case, (outside, worst_ns, gates_of)) in summary.cases.iter_mut().zip(outside) {
        let member = &mut case.members[0];
        let mut load = flow(TimestampPoint::Wire, &[]);
        load.counts.late = 900;
        load.counts.send_failed = 10;
        member.flows.insert("load".to_owned(), load);
        let gates =
            GateStatistics { frames: FRAMES, outside, worst_ns, gates_of: gates_of.clone() };
        let shaping = ShapingStatistics {
            frames: FRAMES,
            bandwidth_bps: 20_413_000,
            reserved_bps: 20_000_000,
            burst_bytes: 58_046,
            bound_bytes: 1_539,
            reserved_in: gates_of,
        };
        let wait = |longest_ns| Wait {
            waited_for: "load".to_owned(),
            count: 7,
            median_ns: 752,
            longest_ns,
        };
        let cycle = WireStatistics {
            waits: vec![wait(if outside > 0 { 752 } else { 8_530 })],
            gates: Some(gates),
            shaping: Some(shaping),
            ..WireStatistics::default()
        };
        let load = WireStatistics { rate_bps: Some(84_470_000), ..WireStatistics::default() };
        member.wire = [("cycle".to_owned(), cycle), ("load".to_owned(), load)].into();
        let room = ReceiveHeadroom {
            buffer: 212_992,
            high: 42_496,
            headroom: 170_496,
            frames: 74,
            pause_requests: 3,
            fullest: 53_000,
        };
        member.headrooms = [("cycle".to_owned(), room)].into();
        // Of the delayed ones the waits tell; of the late ones only the NIC.
        let count = |trouble, frames| NicCount {
            host: "talker".to_owned(),
            wire: "line".to_owned(),
            trouble,
            queues: vec![0],
            frames,
        };
        member.nic_counts =
            vec![count(NicProblem::LaunchDelayed, 7), count(NicProblem::LaunchLate, outside)];
        member.nic_counts.retain(|count| count.frames > 0);
    }
    summary
}

#[test]
fn frames_on_the_wire_have_tables_and_loads_one_line_per_case() {
    golden("on-the-wire", &render(&on_the_wire(), &WIDE), WIDE);
}

#[test]
fn frames_late_in_the_nic_are_added_up_over_seeds() {
    let mut summary = on_the_wire();
    let mut second = summary.cases[0].members[0].clone();
    second.seed = 2;
    second.nic_counts.iter_mut().for_each(|count| count.queues = vec![1]);
    summary.cases[0].members.push(second);
    let text = render(&summary, &Options { width: 1_000, ..WIDE });
    let late = "talker on line: 500 frames late in the NIC: handed to it after the launch time, \
                transmitted at once (queues 0, 1).";
    assert!(text.contains(late), "{text}");
    let waits =
        text.lines().skip_while(|line| !line.contains("waited for the wire")).nth(3).unwrap();
    let waits: Vec<&str> = waits.split_whitespace().collect();
    assert_eq!(waits.join(" "), "normal load 14 752 ns 752 ns", "{text}");
}

#[test]
fn round_trips_are_shown_and_the_best_ranked_case_is_one_line() {
    let mut summary = two_cases();
    remedies::remedies(&mut summary);
    golden("remedies", &render(&summary, &WIDE), WIDE);
    golden("remedies-narrow", &render(&summary, &NARROW), NARROW);
}

#[test]
fn round_trips_above_all_flows_are_held_against_their_bound() {
    let mut summary = two_cases();
    remedies::remedies(&mut summary);
    summary.cases[0].members[0].blocking = [("ask".to_owned(), Span::from_micros(900))].into();
    let text = render(&summary, &Options { width: 1_000, ..WIDE });
    let text = text.replace(['\u{a0}', '\u{202f}'], " ");
    let sentence = "may be in transmission on each wire of the path, 900 µs in all. With the shortest round \
                trip of all cases, 112 µs, the bound is 1.01 ms; the longest round trip took 5.1 ms, \
                5.04 times the bound.";
    assert!(text.contains(sentence), "{text}");
    assert_eq!(text.matches("in transmission").count(), 1, "of the other case nothing is known");
}

#[test]
fn a_run_of_only_round_trips_or_none_is_answered_by_what_was_measured() {
    let answer = |summary: &Summary, by: JudgeBy| {
        let mut summary = summary.clone();
        summary.judge.by = by;
        let text = render(&summary, &Options { width: 1_000, ..WIDE });
        let mut lines = text.lines().skip_while(|line| *line != summary.question);
        lines.nth(1).unwrap().to_owned()
    };
    let mut both = two_cases();
    remedies::remedies(&mut both);
    let [interval, round_trip] =
        [JudgeBy::Interval, JudgeBy::RoundTrip].map(|by| answer(&both, by));
    assert!(interval.contains("the interval") && round_trip.contains("the longest round trip"));
    let [mut no_round_trips, mut no_flows] = [both.clone(), both];
    let members = no_round_trips.cases.iter_mut().flat_map(|case| &mut case.members);
    members.for_each(|member| member.round_trips.clear());
    let members = no_flows.cases.iter_mut().flat_map(|case| &mut case.members);
    members.for_each(|member| member.flows.clear());
    assert_eq!(answer(&no_flows, JudgeBy::Interval), round_trip);
    assert_eq!(answer(&no_round_trips, JudgeBy::RoundTrip), interval);
}

#[test]
fn the_answer_by_shaping_or_schedule_names_every_case() {
    let mut summary = on_the_wire();
    summary.judge.by = JudgeBy::Shaping;
    let text = render(&summary, &Options { width: 1_000, ..WIDE });
    let shaping = "No: with etf 20.41 Mbit/s of the 20 Mbit/s reserved, in bursts of 58 046 bytes \
                   (bound 1 539); with normal 20.41 Mbit/s where etf reserves 20 Mbit/s, in bursts \
                   of 58 046 bytes (bound 1 539).";
    assert!(text.replace(['\u{a0}', '\u{202f}'], " ").contains(shaping), "{text}");
    summary.judge.by = JudgeBy::Schedule;
    for (case, departures) in summary.cases.iter_mut().zip([[0, 816], [-2, 3]]) {
        let wire = case.members[0].wire.get_mut("cycle").unwrap();
        wire.departure = departures.into_iter().collect::<Series>().finish();
        wire.resolution_ns = 3;
    }
    let text = render(&summary, &Options { width: 1_000, ..WIDE });
    let schedule = "Only with etf: with etf all 2 frames are transmitted within 3 ns of \
                    their planned departure; with normal 7 of 2 frames wait for another one, for up \
                    to 752 ns.";
    assert!(text.replace(['\u{a0}', '\u{202f}'], " ").contains(schedule), "{text}");
}

#[test]
fn two_named_cases_are_compared_and_no_other() {
    let mut summary = two_cases();
    summary.cases.push(case("other", vec![flow(TimestampPoint::Wire, &between(-20_000, 19_000))]));
    summary.judge.cases = Some(["normal".to_owned(), "other".to_owned()]);
    let text = render(&summary, &Options { width: 1_000, ..WIDE });
    assert!(text.contains("with other the interval on the wire"), "{text}");
    assert!(text.contains("against 62 µs with normal"), "{text}");
}

#[test]
fn how_busy_each_cpu_was_has_a_row_for_each_case_and_of_many_cpus_the_busiest() {
    let mut summary = two_cases();
    let time = |idle_ms| CpuTime { elapsed: Span::from_secs(2), idle: Span::from_millis(idle_ms) };
    summary.cases[0].members[0].cpu_time = [(0, time(1_753)), (1, time(2_000))].into();
    summary.cases[1].members[0].cpu_time = [(0, time(4)), (3, time(1_999))].into();
    golden("cpu-time", &render(&summary, &WIDE), WIDE);
    let many = (0..64).map(|cpu| (cpu, time(2_000 - i64::from(cpu % 10) * 100)));
    summary.cases[0].members[0].cpu_time = many.collect();
    let text = render(&summary, &WIDE);
    assert!(text.contains("The busiest 8 of 64 CPUs; all of them: the report."), "{text}");
}
