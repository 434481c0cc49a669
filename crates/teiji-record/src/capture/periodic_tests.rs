//! Captures with known flows, and what must be found in them.

use super::super::{Filter, PcapWriter, PeriodSource, Precision};
use super::*;
use crate::summary::Testbed;
use teiji_core::time::{Instant, Tai};
use teiji_core::wire::{EtherType, EthernetHeader, MacAddr, Probe, TEIJI_ETHERTYPE, Tci, ip};

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000_000_000;

/// A frame of type `ethertype` from station `station`.
fn ethernet(station: u8, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    EthernetHeader {
        destination: MacAddr([2, 0, 0, 0, 0, 99]),
        source: MacAddr([2, 0, 0, 0, 0, station]),
        vlan: Some(Tci(10)),
        ethertype: EtherType(ethertype),
    }
    .emit(&mut frame);
    frame.extend_from_slice(payload);
    frame
}

fn udp(station: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    ip::emit_udp4([10, 0, 0, station], [10, 0, 0, 99], 4_000, 5_000, payload, &mut packet);
    ethernet(station, 0x0800, &packet)
}

fn probe(flow: u16, seq: u64, scheduled_ns: i64) -> Vec<u8> {
    let mut payload = [0; 46];
    let scheduled = Instant::<Tai>::from_ns(scheduled_ns);
    Probe { flow, seq, scheduled }.emit(&mut payload);
    ethernet(1, TEIJI_ETHERTYPE.0, &payload)
}

/// A capture file of frames in order of time.
fn capture(mut frames: Vec<(i64, Vec<u8>)>) -> Vec<u8> {
    frames.sort_by_key(|(at, _)| *at);
    let mut writer = PcapWriter::new(Vec::new(), Precision::Nanos).unwrap();
    for (at, frame) in frames {
        writer.write(Instant::from_ns(START + at), &frame).unwrap();
    }
    writer.into_inner()
}

/// `n` numbers below `bound` that look random.
fn random(n: usize, bound: i64) -> impl Iterator<Item = i64> {
    let mut state = 1_u64;
    let next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i64::try_from(state >> 33).unwrap() % bound
    };
    std::iter::repeat_with(next).take(n)
}

/// A cycle with jitter up to ±450 ns.
fn cycle(n: i64, period: i64, frame: &[u8]) -> Vec<(i64, Vec<u8>)> {
    let jitter = random(usize::try_from(n).unwrap(), 901);
    (0..n).zip(jitter).map(|(k, j)| (k * period + j, frame.to_vec())).collect()
}

/// Traffic without a period: `n` frames at random times within a second.
fn noise(n: usize, frame: &[u8]) -> Vec<(i64, Vec<u8>)> {
    random(n, 1_000 * MS).map(|at| (at, frame.to_vec())).collect()
}

fn found(file: &[u8]) -> CaptureAnalysis {
    analyze(file, &Options::default()).unwrap()
}

fn interval(analysis: &CaptureAnalysis) -> &teiji_stats::Deviation {
    analysis.statistics.timestamp_points[&teiji_stats::TimestampPoint::Wire]
        .interval
        .as_ref()
        .unwrap()
}

#[test]
fn a_cycle_is_found_among_heavier_traffic() {
    let mut frames = noise(20_000, &udp(7, b"bulk"));
    frames.extend(noise(300, &ethernet(8, 0x0806, &[0; 46])));
    frames.extend(cycle(1_000, MS, &ethernet(1, 0x8892, &[0; 46])));
    let analysis = found(&capture(frames));
    assert_eq!(analysis.flow.ethertype, 0x8892);
    assert_eq!(analysis.statistics.period_ns, MS);
    assert_eq!(analysis.period_source, PeriodSource::Rounded);
    assert_eq!((analysis.frames, interval(&analysis).count), (21_300, 999));
    assert!(interval(&analysis).range_ns <= 1_800);
    assert_eq!(analysis.envelope.buckets().len(), 999);
    assert_eq!(analysis.periodic.len(), 1);
    assert_eq!(analysis.warnings, Vec::<String>::new());
}

#[test]
fn the_table_is_that_of_the_intervals_one_by_one() {
    let frames = cycle(5_000, MS, &udp(1, b"cycle"));
    let expected: teiji_stats::Series =
        frames.windows(2).map(|pair| pair[1].0 - pair[0].0 - MS).collect();
    let analysis = found(&capture(frames));
    assert_eq!(interval(&analysis), &expected.finish().unwrap());
    assert_eq!(analysis.statistics.timestamp_points.len(), 1);
}

#[test]
fn period_loss_duplicates_and_reordering_of_test_frames_are_found() {
    let schedule = |seq: i64| 37_000_000_000 + seq * 1_234_567;
    let frame = |seq: i64| {
        let frame = probe(3, seq.unsigned_abs(), schedule(seq));
        (seq * 1_234_567 + 100, frame)
    };
    let mut frames: Vec<_> = (10..60).filter(|s| ![20, 21].contains(s)).map(frame).collect();
    frames.push((frame(30).0 + 50, frame(30).1));
    let (overtaken, _) = frame(40);
    frames.iter_mut().filter(|(at, _)| *at == overtaken).for_each(|f| f.0 += 1_300_000);
    let analysis = found(&capture(frames));
    assert_eq!(analysis.flow.probe, Some(3));
    assert_eq!(analysis.period_source, PeriodSource::TestHeader);
    assert_eq!(analysis.statistics.period_ns, 1_234_567);
    let counts = analysis.statistics.counts;
    assert_eq!((counts.planned, counts.received, counts.lost), (50, 48, 2));
    assert_eq!((counts.duplicated, counts.reordered), (1, 1));
    let wire = &analysis.statistics.timestamp_points[&teiji_stats::TimestampPoint::Wire];
    // Not the intervals over the gap; the overtaken frame is late, the next one early.
    let deviations = wire.interval.as_ref().unwrap();
    assert_eq!(deviations.count, 50 - 1 - 3);
    assert_eq!((deviations.min_ns, deviations.max_ns), (-1_300_000, 1_300_000));
    let schedule = wire.schedule.as_ref().unwrap();
    assert!(wire.centred);
    assert_eq!((schedule.count, schedule.min_ns, schedule.max_ns), (48, 0, 1_300_000));
}

/// Test frames every millisecond, of which some are lost, some come twice, and
/// some 1.0024 ms late, after the next one.
fn troubled_flow() -> Vec<(i64, Vec<u8>)> {
    let jitter: Vec<i64> = random(20_000, 201).map(|j| j - 100).collect();
    let mut frames = Vec::new();
    for (seq, jitter) in (0_u64..).zip(jitter) {
        let scheduled = i64::try_from(seq).unwrap() * MS;
        let frame = probe(1, seq, 37_000_000_000 + scheduled);
        match seq {
            // 17 lost, 25 copies, 40 overtaken, all far from each other.
            _ if seq % 1_150 == 700 => {}
            _ if seq % 790 == 100 && seq < 25 * 790 => {
                frames.push((scheduled + jitter, frame.clone()));
                frames.push((scheduled + jitter + 70_000, frame));
            }
            _ if seq % 491 == 333 && seq < 40 * 491 => frames.push((scheduled + 1_002_400, frame)),
            _ => frames.push((scheduled + jitter, frame)),
        }
    }
    frames
}

#[test]
fn intervals_under_loss_copies_and_reordering_are_those_of_the_frames_by_number() {
    let file = capture(troubled_flow());
    let analysis = found(&file);
    // The same by hand: the first stamp of each number, in order of the numbers.
    let mut first = std::collections::BTreeMap::new();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    while let Some(packet) = reader.next_packet().unwrap() {
        let probe = wire::parse(packet.frame).unwrap().probe().unwrap();
        first.entry(probe.seq).or_insert(packet.at.as_ns());
    }
    let stamps: Vec<(u64, i64)> = first.into_iter().collect();
    let expected: teiji_stats::Series = stamps
        .windows(2)
        .filter(|pair| pair[1].0 == pair[0].0 + 1)
        .map(|pair| pair[1].1 - pair[0].1 - MS)
        .collect();
    assert_eq!(interval(&analysis), &expected.finish().unwrap());
    let counts = analysis.statistics.counts;
    assert_eq!((counts.lost, counts.duplicated, counts.reordered), (17, 25, 40));
    assert_eq!(interval(&analysis).count, 19_965);
    assert!((2_004_800..2_005_000).contains(&interval(&analysis).range_ns));
}

#[test]
fn a_run_and_a_capture_of_its_frames_have_the_same_intervals() {
    use teiji_core::frame::FrameRow;
    use teiji_core::send_mode::SendMode;
    use teiji_stats::{FlowStatistics, FlowTerms};
    let analysis = found(&capture(troubled_flow()));
    let mut rows: Vec<FrameRow> = (0..20_000_i64)
        .map(|k| FrameRow::planned(0, k.unsigned_abs(), Instant::from_ns(37_000_000_000 + MS * k)))
        .collect();
    for (at, frame) in troubled_flow() {
        let probe = wire::parse(&frame).unwrap().probe().unwrap();
        let row = &mut rows[usize::try_from(probe.seq).unwrap()];
        row.wire = row.wire.or(Some(Instant::from_ns(START + at)));
    }
    let terms = FlowTerms {
        period: Span::from_ns(MS),
        mode: SendMode::OnWakeUp,
        stamps_requested: false,
        foreign: 0,
        wire_resolution: None,
        apart: false,
    };
    let run = FlowStatistics::from_frames(&terms, &rows);
    let run = run.timestamp_points[&teiji_stats::TimestampPoint::Wire].interval.clone().unwrap();
    assert_eq!(interval(&analysis), &run);
}

#[test]
fn a_capture_with_truncated_test_headers_has_a_warning() {
    let frames = || (0..100).map(|s: i64| (s * MS, udp(1, &test_header(s.unsigned_abs(), s * MS))));
    let whole = capture(frames().collect());
    for (snap, warned) in [(20, true), (45, true), (69, true), (70, false), (200, false)] {
        let analysis = found(&cut(&whole, snap));
        assert_eq!(analysis.flow.probe.is_none(), warned, "{snap}");
        let warns = analysis.warnings.iter().any(|w| w.contains("cut too short"));
        assert_eq!(warns, warned, "{snap}: {:?}", analysis.warnings);
    }
    let other = capture((0..100).map(|s| (s * MS, udp(1, &[b'x'; 40]))).collect());
    assert_eq!(found(&cut(&other, 60)).warnings, Vec::<String>::new());
}

fn test_header(seq: u64, scheduled_ns: i64) -> [u8; 46] {
    let mut payload = [0; 46];
    Probe { flow: 3, seq, scheduled: Instant::from_ns(scheduled_ns) }.emit(&mut payload);
    payload
}

/// The same pcap file recorded with this snap length.
fn cut(file: &[u8], snap: usize) -> Vec<u8> {
    let (header, mut rest) = file.split_at(24);
    let mut out = header.to_vec();
    while let Some((record, after)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes([record[8], record[9], record[10], record[11]]) as usize;
        let kept = length.min(snap);
        out.extend_from_slice(&record[..8]);
        out.extend_from_slice(&u32::try_from(kept).unwrap().to_le_bytes());
        out.extend_from_slice(&record[12..]);
        out.extend_from_slice(&after[..kept]);
        rest = &after[length..];
    }
    out
}

#[test]
fn every_periodic_flow_is_listed_with_its_range_and_how_to_select_it() {
    let mut frames = noise(4_000, &udp(9, b"bulk"));
    for station in 1..=7_u8 {
        let period = MS * i64::from(station);
        frames.extend(cycle(400, period, &udp(station, b"cycle")));
    }
    let file = capture(frames);
    let analysis = found(&file);
    assert_eq!(analysis.periodic.len(), 7, "{:?}", analysis.periodic);
    let first = &analysis.periodic[0];
    assert!(first.analysed && analysis.periodic[1..].iter().all(|flow| !flow.analysed));
    assert_eq!(first.flow, analysis.flow.to_string());
    assert_eq!(first.range_ns, Some(interval(&analysis).range_ns));
    // What is listed of a flow is what analysing it gives.
    for listed in &analysis.periodic {
        let options: Vec<&str> = listed.options.split(' ').collect();
        let ["--src", source, "--dst", destination] = options[..] else { panic!("{options:?}") };
        let filter = Filter {
            source: source.parse().ok(),
            destination: destination.parse().ok(),
            ..Filter::default()
        };
        let alone = analyze(&file[..], &Options { filter, period: None }).unwrap();
        assert_eq!(alone.periodic, [PeriodicFlow { analysed: true, ..listed.clone() }]);
        assert_eq!(listed.frames, 400);
        assert_eq!(listed.range_ns, Some(interval(&alone).range_ns));
    }
}

#[test]
fn frames_of_another_run_of_the_same_flow_are_left_out() {
    let run = |start: i64, n: i64| {
        (0..n).map(move |s| (start + s * MS, probe(0, s.unsigned_abs(), start + s * MS)))
    };
    let analysis = found(&capture(run(0, 100).chain(run(300 * MS + 7, 40)).collect()));
    assert_eq!(analysis.statistics.counts.received, 100);
    assert_eq!(interval(&analysis).range_ns, 0);
    assert!(
        analysis.warnings[0].contains("40 test frames of another run of this flow were left out")
    );
}

#[test]
fn the_filter_and_the_period_decide() {
    let mut frames = cycle(500, MS, &udp(1, b"fast"));
    frames.extend(cycle(50, 10 * MS, &udp(2, b"slow")));
    frames.extend(noise(400, &udp(3, b"bulk")));
    let file = capture(frames);
    assert_eq!(found(&file).statistics.period_ns, MS);
    let with = |filter: Filter, period| analyze(&file[..], &Options { filter, period }).unwrap();
    let source = |text: &str| Filter { source: text.parse().ok(), ..Filter::default() };
    assert_eq!(with(source("10.0.0.2"), None).statistics.period_ns, 10 * MS);
    assert_eq!(with(source("02:00:00:00:00:02"), None).statistics.period_ns, 10 * MS);
    let slow = with(Filter::default(), Some(Span::from_ns(10 * MS + 1)));
    assert_eq!((slow.statistics.period_ns, slow.period_source), (10 * MS + 1, PeriodSource::Given));
    assert_eq!(slow.flow.udp.unwrap().source.to_string(), "10.0.0.2");
    // Pointed at, even traffic without a period is measured against one.
    let bulk = with(source("10.0.0.3:4000"), Some(Span::from_ns(2 * MS)));
    assert_eq!(interval(&bulk).count, 399);
}

#[test]
fn a_capture_without_the_flow_lists_what_is_there_and_the_next_step() {
    let mut frames = noise(500, &udp(7, b"bulk"));
    frames.extend(noise(3, &ethernet(8, 0x0806, &[0; 46])));
    let file = capture(frames);
    let error = analyze(&file[..], &Options::default()).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines[0], "no periodic flow among 503 frames; flows seen:");
    assert!(lines[1].contains("500 frames  every"), "{error}");
    assert!(lines[1].ends_with("UDP 10.0.0.7:4000 → 10.0.0.99:5000, VLAN 10"), "{error}");
    assert!(lines[3].starts_with("Point at one with --src"), "{error}");
    let filter = Filter { flow: Some(5), ..Filter::default() };
    let error = analyze(&file[..], &Options { filter, period: None }).unwrap_err().to_string();
    assert!(error.contains("matches the options") && error.contains("Change or leave out --flow"));
    let empty = capture(Vec::new());
    let error = analyze(&empty[..], &Options::default()).unwrap_err().to_string();
    assert_eq!(error, "the capture holds no Ethernet frame with a time stamp");
    let zero = Options { period: Some(Span::ZERO), ..Options::default() };
    let error = analyze(&file[..], &zero).unwrap_err().to_string();
    assert!(error.contains("no distance between two frames"), "{error}");
}

#[test]
fn a_truncated_capture_gives_its_whole_frames_and_a_warning() {
    let file = capture(cycle(100, MS, &udp(1, b"cycle")));
    let analysis = found(&file[..file.len() - 10]);
    assert_eq!(interval(&analysis).count, 98);
    assert!(analysis.warnings[0].starts_with("The file ends in the middle of a frame at byte"));
}

#[test]
fn missing_frames_without_sequence_numbers_are_estimated() {
    let mut frames = cycle(100, MS, &udp(1, b"cycle"));
    frames.drain(40..43);
    let analysis = found(&capture(frames));
    assert_eq!(interval(&analysis).count, 96);
    assert!(analysis.warnings[0].starts_with("1 interval is longer"), "{:?}", analysis.warnings);
    assert!(analysis.warnings[0].contains("about 3 frames were"));
}

#[test]
fn an_irregular_beginning_is_given_up() {
    let frame = udp(1, b"cycle");
    let mut frames: Vec<_> = random(FIRST_FRAMES, 100 * MS).map(|at| (at, frame.clone())).collect();
    frames.extend(cycle(1_000, MS, &frame).into_iter().map(|(at, f)| (at + 101 * MS, f)));
    let analysis = found(&capture(frames));
    assert_eq!(interval(&analysis).count, 999);
    assert!(analysis.warnings.iter().any(|w| w.contains("first 256 frames were not periodic")));
}

#[test]
fn thousands_of_flows_and_many_cycles_stay_within_bounds() {
    let mut frames: Vec<_> = (0..5_000_i64)
        .map(|i| (i * 50_000, ethernet(7, u16::try_from(0x9000 + i).unwrap(), &[0; 46])))
        .collect();
    // Seven odd periods, then the round one.
    for station in 10..17_u8 {
        let period = MS + 23_457 * i64::from(station);
        frames.extend(cycle(400, period, &udp(station, b"odd")));
    }
    frames.extend(cycle(300, 2 * MS, &udp(1, b"round")));
    let analysis = found(&capture(frames));
    assert_eq!(analysis.statistics.period_ns, 2 * MS);
    assert!(analysis.warnings.iter().any(|w| w.contains("more than 1 024 flows")));
}

#[test]
fn a_capture_of_another_link_is_refused() {
    let file =
        super::super::blocks::Blocks::new(false).interface(113, &[]).packet(0, 5, b"cooked").bytes;
    let error = analyze(&file[..], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("link type 113 (Linux cooked"), "{error}");
}

#[test]
fn a_summary_holds_the_flow_under_its_description() {
    let analysis = found(&capture(cycle(100, MS, &udp(1, b"cycle"))));
    let summary = analysis.summary("tap.pcap");
    assert_eq!(summary.testbed, Testbed::Capture);
    let flows = &summary.cases[0].members[0].flows;
    assert_eq!(flows["UDP 10.0.0.1:4000 → 10.0.0.99:5000, VLAN 10"], analysis.statistics);
}
