//! A report of made-up data, with everything a report can show: members of an
//! ensemble, two flows, drops, outliers with their way, settings not as planned
//! for, a series that was thinned.
//!
//! `cargo run -p teiji-report --example demo_report -- demo.html`

use std::collections::BTreeMap;
use std::process::ExitCode;

use teiji_record::summary::Testbed;
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_report::{Outlier, Paper, Points, Replay, Report, SetupEntry, SetupSection, Stamp, html};
use teiji_stats::{Counts, FlowStatistics, PointStatistics, Series, TimestampPoint};

const FRAMES: u64 = 20_000;
const PERIOD_NS: i64 = 1_000_000;
/// Every so often a frame of the case `normal` is late by this much.
const LATE_NS: i64 = 38_400;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    /// Evenly in `-1.0..1.0`.
    fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// About a bell curve of this standard deviation.
    fn bell(&mut self, deviation: f64) -> i64 {
        let sum: f64 = (0..6).map(|_| self.even()).sum();
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds below a second")]
        let ns = (sum / 2_f64.sqrt() * deviation) as i64;
        ns
    }
}

/// The deviations of one member: what each frame is late by, as differences.
fn deviations(seed: u64, spread_ns: f64, late_every: u64) -> Vec<i64> {
    let mut numbers = Numbers(seed);
    let mut before = 0;
    (1..FRAMES)
        .map(|frame| {
            let late = if late_every > 0 && frame % late_every == 0 { LATE_NS } else { 0 };
            let offset = numbers.bell(spread_ns) + late;
            let deviation = offset - before;
            before = offset;
            deviation
        })
        .collect()
}

fn series(values: impl IntoIterator<Item = i64>) -> Series {
    values.into_iter().collect()
}

fn statistics(deviations: &[i64], counts: Counts) -> FlowStatistics {
    let mut numbers = Numbers(99);
    let at_wire = PointStatistics {
        interval: series(deviations.iter().copied()).finish(),
        ..PointStatistics::default()
    };
    FlowStatistics {
        counts,
        period_ns: PERIOD_NS,
        timestamp_point: Some(TimestampPoint::Wire),
        timestamp_points: BTreeMap::from([(TimestampPoint::Wire, at_wire)]),
        wake_up: series((0..FRAMES).map(|_| 7_000 + numbers.bell(400.0).abs())).finish(),
        hand_over: series((0..FRAMES).map(|_| 15_000 + numbers.bell(900.0).abs())).finish(),
        ..FlowStatistics::default()
    }
}

fn points(case: &str, seed: u64, flow: &str, deviation_ns: Vec<i64>) -> Points {
    let mut at = 0;
    let t_ns = deviation_ns.iter().map(|deviation| {
        at += PERIOD_NS + deviation;
        at
    });
    Points {
        case: case.to_owned(),
        seed,
        flow: flow.to_owned(),
        point: Some(TimestampPoint::Wire),
        t_ns: t_ns.collect(),
        seq: (1..FRAMES).collect(),
        of: FRAMES - 1,
        deviation_ns,
    }
}

/// The cases with their members, and the points of all.
fn cases() -> (Vec<CaseSummary>, Vec<Points>) {
    let full = Counts { planned: FRAMES, sent: FRAMES, received: FRAMES, ..Counts::default() };
    let dropped = Counts { received: FRAMES - 3, lost: 3, dropped_missed: 3, late: 2, ..full };
    let kinds = [
        ("normal", "wake on the period and send", 320.0, 4_001, full),
        ("etf", "wake early and let ETF release the frame", 9.0, 0, dropped),
    ];
    let mut all = Vec::new();
    let cases = kinds.map(|(name, about, spread_ns, late_every, counts)| {
        let members = [1, 2, 3].map(|seed| {
            let cycle = deviations(seed, spread_ns, late_every);
            let status = deviations(seed + 50, 3.0 * spread_ns, 0);
            let flows = BTreeMap::from([
                ("cycle".to_owned(), statistics(&cycle, counts)),
                ("status".to_owned(), statistics(&status, full)),
            ]);
            all.push(points(name, seed, "cycle", cycle));
            let mut thinned = points(name, seed, "status", status);
            thinned.thin(4_000);
            all.push(thinned);
            MemberSummary { seed, flows, ..MemberSummary::default() }
        });
        CaseSummary {
            name: name.to_owned(),
            about: about.to_owned(),
            paper_result: Some(name.to_owned()),
            members: members.to_vec(),
        }
    });
    (cases.to_vec(), all)
}

fn outlier() -> Outlier {
    let stamps = [
        ("scheduled", 0),
        ("woke", 7_200),
        ("handed over", 61_000),
        ("handed to the NIC", 62_300),
        ("arrived in the kernel", 71_900),
    ];
    Outlier {
        case: "normal".to_owned(),
        seed: 1,
        flow: "cycle".to_owned(),
        seq: 4_001,
        deviation_ns: Some(LATE_NS),
        stamps: stamps.map(|(station, ns)| Stamp { station: station.to_owned(), ns }).to_vec(),
        note: Some("Made up: something else held the processor for 38.4 µs.".to_owned()),
    }
}

fn setup() -> Vec<SetupSection> {
    let entry = |key: &str, observed: &str, planned: Option<&str>| SetupEntry {
        key: key.to_owned(),
        observed: observed.to_owned(),
        planned: planned.map(str::to_owned),
    };
    vec![
        SetupSection {
            title: "Machine".to_owned(),
            entries: vec![entry("kernel", "made up", None), entry("clock source", "tsc", None)],
        },
        SetupSection {
            title: "Case etf: talker on line".to_owned(),
            entries: vec![
                entry("transmit queues", "2", Some("4")),
                entry("root qdisc", "mqprio num_tc 3", Some("mqprio num_tc 3")),
            ],
        },
        SetupSection { title: "Run".to_owned(), entries: vec![entry("seeds", "1, 2, 3", None)] },
    ]
}

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: demo_report FILE.html");
        return ExitCode::from(2);
    };
    let (cases, points) = cases();
    let summary = Summary {
        question: "Does a launch time make periodic sending tighter than a plain send?".to_owned(),
        paper: Some("etf".to_owned()),
        warnings: vec!["Every figure on this page is made up.".to_owned()],
        ..Summary::new("demo", Testbed::Lab, cases)
    };
    let page = html::render(&Report {
        summary: &summary,
        paper: Paper::load("etf").ok(),
        points,
        setup: setup(),
        outliers: vec![outlier()],
        replay: Some(Replay {
            command: "cargo run -p teiji-report --example demo_report -- demo.html".to_owned(),
            note: "The same page, byte for byte.".to_owned(),
        }),
        limits: vec!["It proves nothing: nothing was measured.".to_owned()],
        generator: format!("the demo of teiji-report {}", env!("CARGO_PKG_VERSION")),
        notice: Some("Synthetic data: this page shows the report, not a measurement.".to_owned()),
        ..Report::of(&summary, "")
    });
    if let Err(error) = std::fs::write(&path, page) {
        eprintln!("cannot write {path}: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
