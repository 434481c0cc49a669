//! The table in the terminal, word for word.

use std::collections::BTreeMap;

use teiji_record::summary::{SCHEMA, Testbed};
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_report::terminal::{Options, compare, render};
use teiji_stats::{Counts, FlowStatistics, Series, Vantage, VantageStatistics};

const WIDE: Options = Options { width: 100, color: false, unicode: true };

fn flow(deviations: &[i64], counts: Counts) -> FlowStatistics {
    let interval = deviations.iter().copied().collect::<Series>().finish();
    let at_wire =
        VantageStatistics { interval, schedule: None, centred: false, resolution_ns: Some(1_000) };
    FlowStatistics {
        counts,
        period_ns: 1_000_000,
        judged_at: (!deviations.is_empty()).then_some(Vantage::Wire),
        vantages: BTreeMap::from([(Vantage::Wire, at_wire)]),
        wake_up: None,
        hand_over: None,
    }
}

fn all(n: u64) -> Counts {
    Counts { planned: n, sent: n, received: n, ..Counts::default() }
}

fn case(name: &str, members: Vec<FlowStatistics>) -> CaseSummary {
    CaseSummary {
        name: name.to_owned(),
        about: String::new(),
        paper_result: Some(name.to_owned()),
        members: (1..)
            .zip(members)
            .map(|(seed, flow)| MemberSummary {
                seed,
                records: None,
                capture: None,
                flows: BTreeMap::from([("cycle".to_owned(), flow)]),
                incomplete: false,
            })
            .collect(),
    }
}

fn summary(cases: Vec<CaseSummary>) -> Summary {
    Summary {
        schema: SCHEMA.to_owned(),
        experiment: "etf".to_owned(),
        question: "Does a launch time make sending more regular?".to_owned(),
        paper: Some("etf".to_owned()),
        testbed: Testbed::Lab,
        cases,
        warnings: vec!["The laboratory emulates the card.".to_owned()],
    }
}

fn two_cases() -> Summary {
    summary(vec![
        case("normal", vec![flow(&[-20_000, 3_000, 0, 17_000], all(5))]),
        case("etf", vec![flow(&[-1_000, 0, 1_000, 0], all(5))]),
    ])
}

#[test]
fn a_run_is_told_with_the_paper_beside_it() {
    let expected = "  \
  normal    ████████████████████████████████              5/5   0 lost
  etf       ████████████████████████████████              5/5   0 lost

Deviation of each interval from 1 ms, on the wire, capture resolution 1 µs
                                  paper (i210, Atom E3845)
              normal      etf          normal      etf
  mean          0 ns     0 ns       −398.3 ns   6.0 ns
  min         −20 µs    −1 µs      −11 210 ns   −25 ns
  max          17 µs     1 µs       12 250 ns    30 ns
  range        37 µs     2 µs       23 460 ns    55 ns
";
    let told = render(&two_cases(), &WIDE);
    for (told, expected) in told.lines().zip(expected.lines()).take(8) {
        assert_eq!(
            told.split_whitespace().collect::<Vec<_>>(),
            expected.split_whitespace().collect::<Vec<_>>()
        );
    }
    assert!(told.contains("Yes: with etf the interval on the wire stays within 2 µs"), "{told}");
    assert!(told.ends_with("The laboratory emulates the card.\n"), "{told}");
}

#[test]
fn columns_stand_below_their_heads() {
    let told = render(&two_cases(), &WIDE);
    let lines: Vec<&str> = told.lines().collect();
    let head = lines
        .iter()
        .position(|line| line.trim_start().starts_with("normal  ") && line.contains("etf"))
        .unwrap_or(5);
    let ends = |line: &str| line.chars().count();
    let table: Vec<&&str> =
        lines.iter().skip(head + 1).take_while(|line| !line.is_empty()).collect();
    assert!(table.len() >= 5, "{told}");
    for row in table {
        assert_eq!(ends(row), ends(lines[head]), "{told}");
    }
}

#[test]
fn ascii_terminals_get_ascii() {
    let told = render(&two_cases(), &Options { unicode: false, ..WIDE });
    let foreign: Vec<char> = told.chars().filter(|c| !c.is_ascii()).collect();
    assert!(foreign.is_empty(), "{foreign:?} in\n{told}");
}

#[test]
fn narrow_terminals_get_short_lines_of_words() {
    let mut run = two_cases();
    run.warnings = vec!["word ".repeat(60).trim().to_owned()];
    let told = render(&run, &Options { width: 60, ..WIDE });
    assert!(
        told.lines().filter(|line| line.contains("word")).all(|line| line.chars().count() <= 60)
    );
}

#[test]
fn what_went_wrong_is_said_with_its_reason() {
    let counts = Counts {
        planned: 60,
        sent: 60,
        received: 55,
        lost: 2,
        late: 1,
        dropped_missed: 3,
        ..Counts::default()
    };
    let told = render(&summary(vec![case("etf", vec![flow(&[0, 5, -5], counts)])]), &WIDE);
    assert!(told.contains("2 lost"), "{told}");
    assert!(told.contains("\"missed\""), "{told}");
    assert!(told.contains("woke too late"), "{told}");
}

#[test]
fn an_ensemble_shows_its_spread() {
    let members = vec![
        flow(&[-2_000, 2_000], all(3)),
        flow(&[-4_000, 4_000], all(3)),
        flow(&[-9_000, 9_000], all(3)),
    ];
    let told = render(&summary(vec![case("normal", members)]), &WIDE);
    assert!(told.contains("8 µs [4 … 18 µs]"), "{told}");
    assert!(told.contains("of 3 seeds"), "{told}");
}

#[test]
fn a_run_in_which_nothing_was_seen_has_no_figures_and_no_answer() {
    let told = render(&summary(vec![case("normal", vec![flow(&[], all(0))])]), &WIDE);
    assert!(told.contains("never seen") && told.contains("No answer"), "{told}");
    let told = render(&summary(Vec::new()), &WIDE);
    assert!(told.contains("No answer"), "{told}");
}

#[test]
fn two_runs_are_compared_with_ratios_of_widths_only() {
    let before = two_cases();
    let after = summary(vec![case("normal", vec![flow(&[-40_000, 6_000, 0, 34_000], all(5))])]);
    let told = compare(&before, &after, &WIDE);
    let row =
        |name: &str| told.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or("");
    assert!(row("range").ends_with("2.00") || row("range").contains("2.0"), "{told}");
    assert!(!row("mean").contains('×'), "{told}");
    assert!(told.contains("etf is in the first run only"), "{told}");
    assert!(told.contains("no spread is known"), "{told}");
}
