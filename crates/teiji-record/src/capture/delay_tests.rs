//! Two captures of the same frames, and what must be found in them.

use super::super::{PcapWriter, Precision};
use super::*;
use teiji_core::time::Instant;
use teiji_core::wire::{EtherType, Probe, TEIJI_ETHERTYPE, Tci, ip};

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000_000_000;

fn ethernet(vlan: Option<u16>, ethertype: EtherType, content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let tag = vlan.map(Tci);
    let (destination, source) = (MacAddr([2, 0, 0, 0, 0, 99]), MacAddr([2, 0, 0, 0, 0, 1]));
    EthernetHeader { destination, source, vlan: tag, ethertype }.emit(&mut frame);
    frame.extend_from_slice(content);
    frame
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    ip::emit_udp4([10, 0, 0, 1], [10, 0, 0, 99], 4_000, port, payload, &mut packet);
    ethernet(Some(10), EtherType::IPV4, &packet)
}

fn test_frame(seq: u64) -> Vec<u8> {
    let mut payload = [0; 46];
    Probe { flow: 0, seq, scheduled: Instant::from_ns(0) }.emit(&mut payload);
    ethernet(Some(10), TEIJI_ETHERTYPE, &payload)
}

/// A capture with this snap length.
fn capture(frames: impl IntoIterator<Item = (i64, Vec<u8>)>, snap: usize) -> Vec<u8> {
    let mut file = PcapWriter::new(Vec::new(), Precision::Nanos).unwrap().into_inner();
    for (at, frame) in frames {
        let kept = frame.len().min(snap);
        let at = START + at;
        let stamp = [at / 1_000_000_000, at % 1_000_000_000].map(|n| u32::try_from(n).unwrap());
        let lengths = [kept, frame.len()].map(|n| u32::try_from(n).unwrap());
        let header = stamp.into_iter().chain(lengths);
        file.extend(header.flat_map(u32::to_le_bytes));
        file.extend_from_slice(&frame[..kept]);
    }
    file
}

fn delay_of(first: &[u8], second: &[u8], filter: &Filter) -> Result<DelayAnalysis, DelayError> {
    let reader = |bytes: &[u8]| -> Box<dyn Read> { Box::new(io::Cursor::new(bytes.to_vec())) };
    let (one, other) = (|| Ok(reader(first)), || Ok(reader(second)));
    between(
        [Source { name: "a.pcap", open: &one }, Source { name: "b.pcap", open: &other }],
        filter,
    )
}

fn found(first: &[u8], second: &[u8]) -> DelayAnalysis {
    delay_of(first, second, &Filter::default()).unwrap()
}

fn figures(flow: &FlowDelay) -> (u64, i64, i64, f64) {
    let delay = flow.statistics.delay.as_ref().unwrap();
    (delay.count, delay.min_ns, delay.max_ns, delay.mean_ns)
}

#[test]
fn each_flow_has_its_delay_its_losses_and_its_copies() {
    let at = |k: i64| k * MS;
    let frames = (0..1_000).map(|k| (at(k), test_frame(k.unsigned_abs())));
    let first = capture(
        frames.clone().chain((0..50).map(|k| (at(k) + 7, udp(5_000, &k.to_be_bytes())))),
        9_999,
    );
    // 4 420 … 4 660 ns in steps of 10; five lost, three twice, without tag.
    let later = |(at, mut frame): (i64, Vec<u8>)| {
        let delay = 4_420 + at / MS % 25 * 10;
        frame.drain(12..16);
        (at + delay, frame)
    };
    let mut second: Vec<_> = frames.map(later).collect();
    second.drain(500..505);
    for k in [3, 400, 900] {
        second.insert(k + 1, (second[k].0 + 300, second[k].1.clone()));
    }
    let second = capture(
        second.into_iter().chain((0..60).map(|k| (at(k) + 1_007, udp(5_000, &k.to_be_bytes())))),
        9_999,
    );
    let analysis = found(&first, &second);
    let [cycle, bulk] = &analysis.flows[..2] else { panic!("{:?}", analysis.flows.len()) };
    let expected = (0..1_000_i64).filter(|k| !(500..505).contains(k)).map(|k| 4_420 + k % 25 * 10);
    let mean = expected.clone().sum::<i64>() as f64 / 995.0;
    let (count, min, max, measured) = figures(cycle);
    assert_eq!((count, min, max), (995, 4_420, 4_660));
    assert!((measured - mean).abs() < 1e-6);
    assert_eq!(
        cycle.delays.iter().map(|(_, ns)| *ns).collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
    let counts = cycle.statistics.counts;
    assert_eq!((counts.first.frames, counts.first.alone, counts.first.copies), (1_000, 5, 0));
    assert_eq!(figures(bulk), (50, 1_000, 1_000, 1_000.0));
    let counts = bulk.statistics.counts;
    assert_eq!((counts.first.alone, counts.second.frames, counts.second.alone), (0, 60, 10));
    assert_eq!(analysis.frames, [1_050, 998 + 60]);
    assert_eq!(analysis.warnings.len(), 1, "{:?}", analysis.warnings);
    assert!(analysis.warnings[0].contains("difference between their clocks"));
}

#[test]
fn clocks_that_differ_and_drift_are_reported() {
    let frames = || (0..1_000).map(|k| (k * MS, test_frame(k.unsigned_abs())));
    let first = capture(frames(), 9_999);
    // Half a second behind, and 40 ppm fast.
    let second = capture(
        frames().map(|(at, frame)| (at + at / 25_000 - 500 * MS + 1_000_000_000, frame)),
        9_999,
    );
    let analysis = found(&first, &second);
    assert!(
        analysis.warnings.iter().any(|w| w.contains("40.000 µs per second")),
        "{:?}",
        analysis.warnings
    );
    let swapped = found(&second, &first);
    assert!(
        swapped.warnings.iter().any(|w| w.contains("1 000 delays were negative")),
        "{:?}",
        swapped.warnings
    );
    assert!(swapped.warnings.iter().any(|w| w.contains("falls steadily")));
    let delay = |a: &DelayAnalysis| a.flows[0].statistics.delay.clone().unwrap();
    let (one, other) = (delay(&analysis), delay(&swapped));
    assert_eq!((one.min_ns, one.max_ns), (-other.max_ns, -other.min_ns));
}

#[test]
fn captures_of_different_snap_lengths_are_compared_as_far_as_both_reach() {
    let payload = |k: i64| [&k.to_be_bytes()[..], &[9; 200]].concat();
    let frames = |by: i64| (0..100).map(move |k| (k * MS + by, udp(5_000, &payload(k))));
    let analysis = found(&capture(frames(0), 9_999), &capture(frames(777), 60));
    assert_eq!(figures(&analysis.flows[0]), (100, 777, 777, 777.0));
    assert!(analysis.warnings.iter().any(|w| w.contains("42 bytes after the Ethernet header")));
    // Test frames whose header is cut off at one point only.
    let frames = |by: i64| (0..100).map(move |k| (k * MS + by, test_frame(k.unsigned_abs())));
    let analysis = found(&capture(frames(0), 40), &capture(frames(777), 9_999));
    assert_eq!(figures(&analysis.flows[0]).0, 100);
}

#[test]
fn captures_that_share_nothing_say_what_to_do() {
    let file = |port| capture((0..10).map(|k| (k * MS, udp(port, &k.to_be_bytes()))), 9_999);
    let error = delay_of(&file(1), &file(2), &Filter::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("no frame is in both captures (a.pcap has 10 frames, b.pcap"),
        "{error}"
    );
    let filter = Filter { vlan: Some(5), ..Filter::default() };
    let error = delay_of(&file(1), &file(1), &filter).unwrap_err().to_string();
    assert!(error.starts_with("no frame of a.pcap matches the options"), "{error}");
    let error = delay_of(&file(1), b"no capture", &Filter::default()).unwrap_err().to_string();
    assert!(error.starts_with("b.pcap: neither pcap nor pcapng"), "{error}");
    let error = delay_of(&[], &file(1), &Filter::default()).unwrap_err().to_string();
    assert!(error.starts_with("a.pcap: the file is empty"), "{error}");
}

#[test]
fn the_undamaged_part_of_a_capture_is_analysed_and_the_damage_reported() {
    let frames = || (0..100).map(|k| (k * MS, test_frame(k.unsigned_abs())));
    let file = capture(frames(), 9_999);
    let analysis = found(&file, &file[..file.len() - 5]);
    assert_eq!(figures(&analysis.flows[0]), (99, 0, 0, 0.0));
    assert!(analysis.warnings[0].starts_with("b.pcap: The file ends in the middle of a frame"));
    let summary = analysis.summary();
    assert_eq!(summary.cases[0].name, "a.pcap → b.pcap");
    let delays = &summary.cases[0].members[0].delays;
    assert_eq!(delays.values().next(), Some(&analysis.flows[0].statistics));
}
