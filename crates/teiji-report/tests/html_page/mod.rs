//! A report of synthetic data for the tests of the page.

use std::collections::BTreeMap;

use teiji_core::activity::{Activity, CpuActivity, ThreadActivity};
use teiji_core::cpu_time::CpuTime;
use teiji_core::time::Span;
use teiji_record::summary::Testbed;
use teiji_record::{CaseSummary, MemberSummary, Summary};
use teiji_report::{
    Band, MarginRun, MarginSearch, OffsetSeries, Outlier, Paper, Points, Replay, Report,
    SetupEntry, SetupSection, Stamp, html,
};
use teiji_stats::{Counts, FlowStatistics, PointStatistics, Series, TimestampPoint};
use teiji_why::cause::Cause;
use teiji_why::document::{Causes, MemberFlow};
use teiji_why::path::{self, Path};
use teiji_why::summary::{Shown, summarise};

/// A question that must stay one.
pub const NASTY: &str =
    "Is </script><script>alert(1)</script> & \"quoted\" <b>text</b> steadier than <!-- 'this'?";
/// Frames of each case.
pub const FRAMES: u64 = 2_000;

/// Of which each case's CPU was idle so long: 12.5 %.
const ELAPSED: Span = Span::from_secs(2);
const IDLE: Span = Span::from_millis(250);

fn deviations(spread_ns: i64) -> Vec<i64> {
    (1..i64::try_from(FRAMES).unwrap())
        .map(|i| (i * 7_919 % (2 * spread_ns + 1)) - spread_ns)
        .collect()
}

fn statistics(deviations: &[i64]) -> FlowStatistics {
    let series: Series = deviations.iter().copied().collect();
    let at_wire = PointStatistics {
        interval: series.finish(),
        resolution_ns: Some(1_000),
        ..PointStatistics::default()
    };
    let wake_up: Series = (7_000..8_000).collect();
    FlowStatistics {
        counts: Counts { planned: FRAMES, sent: FRAMES, received: FRAMES, ..Counts::default() },
        period_ns: 1_000_000,
        timestamp_point: Some(TimestampPoint::Wire),
        timestamp_points: BTreeMap::from([(TimestampPoint::Wire, at_wire)]),
        wake_up: wake_up.finish(),
        ..FlowStatistics::default()
    }
}

fn case(name: &str, deviations: &[i64]) -> CaseSummary {
    CaseSummary {
        name: name.to_owned(),
        about: "about </script> it".to_owned(),
        paper_result: Some(name.to_owned()),
        members: vec![MemberSummary {
            seed: 1,
            flows: BTreeMap::from([("cycle".to_owned(), statistics(deviations))]),
            activity: activity(),
            cpu_time: BTreeMap::from([(0, CpuTime { elapsed: ELAPSED, idle: IDLE })]),
            ..MemberSummary::default()
        }],
    }
}

fn activity() -> Activity {
    let squeezed = CpuActivity { squeezed: 17, ..CpuActivity::default() };
    let ran = Span::from_micros(4_500);
    let ksoftirqd = ThreadActivity { wakeups: 1_234, ran, ..ThreadActivity::default() };
    Activity {
        cpus: BTreeMap::from([(0, squeezed)]),
        threads: BTreeMap::from([("ksoftirqd/0".to_owned(), ksoftirqd)]),
        requeues: BTreeMap::from([("talker.line".to_owned(), 0)]),
        byte_limits: BTreeMap::from([("talker.line".to_owned(), 3_028)]),
    }
}

fn points(case: &str, deviation_ns: Vec<i64>) -> Points {
    Points {
        case: case.to_owned(),
        seed: 1,
        flow: "cycle".to_owned(),
        point: Some(TimestampPoint::Wire),
        t_ns: (1..i64::try_from(FRAMES).unwrap()).map(|i| i * 1_000_000).collect(),
        seq: (1..FRAMES).collect(),
        of: deviation_ns.len() as u64,
        deviation_ns,
    }
}

/// The page.
pub fn page() -> String {
    page_of(|_| {})
}

/// 200 frames, one of which waited for a lock.
fn causes() -> Causes {
    let path_of = |locked: i64| Path {
        from: 0,
        to: 16_000_000 + locked,
        parts: [
            (Cause::TimerInterrupt, 1_000_000),
            (Cause::Lock("the <BH> lock".to_owned()), locked),
            (Cause::Sender, 12_000_000),
            (Cause::Driver, 3_000_000),
        ]
        .into_iter()
        .filter(|(_, time)| *time > 0)
        .collect(),
    };
    let frames: Vec<(u64, Option<Path>)> =
        (0..200).map(|seq| (seq, Some(path_of(if seq == 77 { 24_000_000 } else { 0 })))).collect();
    let mut causes = summarise(&frames, Shown::Slowest(1));
    causes.shown[0].activity = [("ptp4l </b>", 1, 26), ("cycle", 26, 40)]
        .map(|(context, from, to)| path::Activity {
            cpu: 0,
            context: context.to_owned(),
            from_ps: from * 1_000_000,
            to_ps: to * 1_000_000,
        })
        .to_vec();
    let mut all = Causes::default();
    all.put(MemberFlow {
        case: "normal".to_owned(),
        seed: 1,
        flow: "cycle".to_owned(),
        round_trips: false,
        tracing: None,
        causes,
    });
    all
}

/// The page of another summary.
pub fn page_of(change: impl FnOnce(&mut Summary)) -> String {
    let (wide, narrow) = (deviations(20_000), deviations(500));
    let mut summary = Summary {
        question: NASTY.to_owned(),
        paper: Some("etf".to_owned()),
        paper_differences: vec!["It has <other> queues.".to_owned()],
        warnings: vec!["A warning with <angle> brackets.".to_owned()],
        ..Summary::new(
            "synthetic <data>",
            Testbed::Lab,
            vec![case("normal", &wide), case("etf", &narrow)],
        )
    };
    change(&mut summary);
    html::render(&Report {
        summary: &summary,
        paper: Some(Paper::load("etf").unwrap()),
        points: vec![points("normal", wide), points("etf", narrow)],
        bands: vec![Band {
            case: "normal".to_owned(),
            seed: 1,
            load: "tcp-tx".to_owned(),
            unit: "kbit received".to_owned(),
            from_ns: -200_000_000,
            step_ns: 100_000_000,
            amounts: vec![0, 9_000, 9_400, 9_400],
        }],
        offsets: vec![OffsetSeries {
            case: "normal".to_owned(),
            seed: 1,
            clock: "talker.<line>".to_owned(),
            looks: vec![(-9_000_000_000, 900_000), (0, 40), (1_000_000_000, -20)],
        }],
        outliers: vec![Outlier {
            case: "normal".to_owned(),
            seed: 1,
            flow: "cycle".to_owned(),
            seq: 7,
            deviation_ns: Some(-43_000),
            stamps: [("scheduled", 0), ("woke </b>", 7_200), ("handed over", 21_000)]
                .map(|(station, ns)| Stamp { station: station.to_owned(), ns })
                .to_vec(),
            note: Some("It woke <late>.".to_owned()),
        }],
        causes: causes(),
        setup: vec![SetupSection {
            title: "NIC".to_owned(),
            entries: vec![SetupEntry {
                key: "queues".to_owned(),
                observed: "8 <eight>".to_owned(),
                planned: Some("4".to_owned()),
            }],
        }],
        margin: Some(MarginSearch {
            schema: MarginSearch::SCHEMA.to_owned(),
            sentences: vec!["Margin for <one> in a hundred: 177 µs.".to_owned()],
            runs: vec![MarginRun {
                what: "check".to_owned(),
                margin: "177 µs".to_owned(),
                delta: "123 µs".to_owned(),
                not_on_time: "0 of <b>2000".to_owned(),
                predicted: String::new(),
                reasons: String::new(),
                folder: Some("run-<1>".to_owned()),
            }],
            problems: vec!["It is <invented>.".to_owned()],
        }),
        recommended: Some("# <best>".to_owned()),
        replay: Some(Replay { command: "teiji run --replay x".to_owned(), note: "n".to_owned() }),
        limits: vec!["It is made up.".to_owned()],
        generator: "teiji test".to_owned(),
        created: None,
        notice: Some("Synthetic data.".to_owned()),
    })
}
