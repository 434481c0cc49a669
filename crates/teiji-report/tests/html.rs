//! The page: complete, harmless, self-contained, and alive in a browser.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use teiji_record::summary::{SCHEMA, Testbed};
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_report::{Outlier, Paper, Points, Replay, Report, SetupEntry, SetupSection, Stamp, html};
use teiji_stats::{Counts, FlowStatistics, Series, Vantage, VantageStatistics};

const NASTY: &str = "Is </script><script>alert(1)</script> & \"quoted\" <b>text</b> harmless?";
const FRAMES: u64 = 2_000;

fn deviations(spread_ns: i64) -> Vec<i64> {
    (1..i64::try_from(FRAMES).unwrap())
        .map(|i| (i * 7_919 % (2 * spread_ns + 1)) - spread_ns)
        .collect()
}

fn statistics(deviations: &[i64]) -> FlowStatistics {
    let series: Series = deviations.iter().copied().collect();
    let at_wire = VantageStatistics {
        interval: series.finish(),
        schedule: None,
        centred: false,
        resolution_ns: Some(1_000),
    };
    FlowStatistics {
        counts: Counts { planned: FRAMES, sent: FRAMES, received: FRAMES, ..Counts::default() },
        period_ns: 1_000_000,
        judged_at: Some(Vantage::Wire),
        vantages: BTreeMap::from([(Vantage::Wire, at_wire)]),
        wake_up: None,
        hand_over: None,
    }
}

fn case(name: &str, deviations: &[i64]) -> CaseSummary {
    CaseSummary {
        name: name.to_owned(),
        about: String::new(),
        paper_result: Some(name.to_owned()),
        members: vec![MemberSummary {
            seed: 1,
            records: None,
            capture: None,
            flows: BTreeMap::from([("cycle".to_owned(), statistics(deviations))]),
            incomplete: false,
        }],
    }
}

fn points(case: &str, deviation_ns: Vec<i64>) -> Points {
    Points {
        case: case.to_owned(),
        seed: 1,
        flow: "cycle".to_owned(),
        vantage: Vantage::Wire,
        t_ns: (1..i64::try_from(FRAMES).unwrap()).map(|i| i * 1_000_000).collect(),
        seq: (1..FRAMES).collect(),
        of: deviation_ns.len() as u64,
        deviation_ns,
    }
}

fn page() -> String {
    let (wide, narrow) = (deviations(20_000), deviations(500));
    let summary = Summary {
        schema: SCHEMA.to_owned(),
        experiment: "synthetic <data>".to_owned(),
        question: NASTY.to_owned(),
        paper: Some("etf".to_owned()),
        testbed: Testbed::Lab,
        cases: vec![case("normal", &wide), case("etf", &narrow)],
        warnings: vec!["A warning with <angle> brackets.".to_owned()],
    };
    html::render(&Report {
        summary: &summary,
        paper: Some(Paper::load("etf").unwrap()),
        points: vec![points("normal", wide), points("etf", narrow)],
        outliers: vec![Outlier {
            case: "normal".to_owned(),
            seed: 1,
            flow: "cycle".to_owned(),
            seq: 7,
            deviation_ns: Some(-43_000),
            stamps: vec![Stamp { station: "woke".to_owned(), ns: 7_200 }],
            note: None,
        }],
        setup: vec![SetupSection {
            title: "Card".to_owned(),
            entries: vec![SetupEntry {
                key: "queues".to_owned(),
                observed: "8".to_owned(),
                asked: Some("4".to_owned()),
            }],
        }],
        replay: Some(Replay { command: "teiji run --replay x".to_owned(), note: "n".to_owned() }),
        limits: vec!["It is made up.".to_owned()],
        generator: "teiji test".to_owned(),
        created: None,
        notice: Some("Synthetic data.".to_owned()),
    })
}

#[test]
fn nothing_of_the_users_text_becomes_markup() {
    let page = page();
    assert!(!page.contains("<script>alert"), "a question became a script");
    assert!(!page.contains("<b>text</b>"));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(page.contains("A warning with &lt;angle&gt; brackets."));
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let page = page();
    for loader in ["src=\"", "href=\"", "url(", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(loader), "{loader}");
    }
}

#[test]
fn the_page_says_what_the_design_asks_for_from_top_to_bottom() {
    let page = page();
    let order = [
        "Synthetic data.",
        "<h1>",
        "class=\"answer\"",
        "resolution",
        "paper",
        "23.5",
        "Every frame",
        "Histogram",
        "Tail",
        "Outliers",
        "#7",
        "Set-up as observed",
        "asked for: 4",
        "Replay",
        "teiji run --replay x",
        "To be known",
        "What this does not prove",
    ];
    let mut at = 0;
    for words in order {
        let found = page[at..].find(words);
        assert!(found.is_some(), "`{words}` is missing or out of order");
        at += found.unwrap_or(0);
    }
}

#[test]
fn every_plot_names_its_units() {
    let page = page();
    assert_eq!(page.matches("<svg").count(), 2);
    for label in ["deviation in µs", "absolute deviation in µs", "intervals", "share of intervals"]
    {
        assert!(page.contains(label), "{label}");
    }
}

#[test]
fn a_browser_draws_every_frame_without_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("report.html");
    std::fs::write(&path, page()).unwrap();
    let chromium = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,2000",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
        .arg(format!("file://{}?theme=dark", path.display()))
        .output();
    let Ok(output) = chromium else {
        println!("SKIP: chromium is not installed");
        return;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let root = dom.split_once('>').map_or("", |_| &dom[..dom.len().min(2_000)]);
    for fact in
        ["data-errors=\"0\"", "data-ready=\"yes\"", "data-points=\"3998\"", "data-theme=\"dark\""]
    {
        assert!(root.contains(fact), "{fact} is missing in {root}");
    }
    for drawn in ["data-drawn1=\"1999\"", "data-drawn2=\"1999\""] {
        assert!(dom.contains(drawn), "{drawn}: the chart drew something else");
    }
}
