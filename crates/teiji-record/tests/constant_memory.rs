//! Analysing a capture takes little memory, however long it is and however
//! many flows it holds. A process of its own: its peak is the measurement.

use std::io::{self, Read};

use teiji_core::time::{Instant, Span};
use teiji_core::wire::{Probe, TEIJI_ETHERTYPE};
use teiji_record::capture::{Filter, Options, PcapWriter, Precision, analyze};

/// PROMISES: below this, on a file of any length.
const LIMIT_KIB: u64 = 64 << 10;

/// Enough for everything that is bounded to reach its bound: four followed
/// flows beyond exact percentiles and beyond a complete plot, and several times
/// more flows than are known at once.
const CYCLES: u64 = 300_000;

/// A capture that is written while it is read.
struct Endless {
    cycle: u64,
    bytes: Vec<u8>,
    read: usize,
}

impl Endless {
    fn new() -> Self {
        let header = PcapWriter::new(Vec::new(), Precision::Nanos).unwrap().into_inner();
        Self { cycle: 0, bytes: header, read: 0 }
    }

    /// One period: five test flows, and a frame of a flow that comes rarely.
    fn refill(&mut self) {
        let mut writer = PcapWriter::new(Vec::new(), Precision::Nanos).unwrap();
        let start = i64::try_from(self.cycle).unwrap() * 1_000_000;
        for flow in 0..5_u16 {
            let at = start + i64::from(flow) * 10_000;
            let mut frame = vec![2; 60];
            frame[12..14].copy_from_slice(&TEIJI_ETHERTYPE.0.to_be_bytes());
            let scheduled = Instant::from_ns(at);
            Probe { flow, seq: self.cycle, scheduled }.emit(&mut frame[14..]);
            // A jitter that fills many bins.
            let jitter = i64::try_from(self.cycle * 7_919 % 90_001).unwrap();
            writer.write(Instant::from_ns(at + jitter), &frame).unwrap();
        }
        let mut rare = [0; 60];
        rare[..8].copy_from_slice(&(self.cycle % 20_000).to_be_bytes());
        writer.write(Instant::from_ns(start + 500_000), &rare).unwrap();
        self.bytes = writer.into_inner().split_off(24);
        self.read = 0;
        self.cycle += 1;
    }
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.bytes.len() {
            if self.cycle == CYCLES {
                return Ok(0);
            }
            self.refill();
        }
        let count = into.len().min(self.bytes.len() - self.read);
        into[..count].copy_from_slice(&self.bytes[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn the_worst_capture_is_analysed_in_less_than_64_mib() {
    let analysis = analyze(Endless::new(), &Options::default()).unwrap();
    assert_eq!(analysis.frames, CYCLES * 6);
    assert_eq!(analysis.statistics.counts.received, CYCLES);
    assert_eq!(analysis.statistics.period_ns, 1_000_000);
    let peak = peak_kib();
    assert!(peak < LIMIT_KIB, "{peak} KiB");
    println!("peak {peak} KiB");

    // What one flow of four costs is known: pointed at, the others take nothing.
    let filter = Filter { flow: Some(4), ..Filter::default() };
    let options = Options { filter, period: Some(Span::from_micros(1_000)) };
    let alone = analyze(Endless::new(), &options).unwrap();
    assert_eq!(alone.flow.probe, Some(4));
    assert!(peak_kib() < LIMIT_KIB);
}
