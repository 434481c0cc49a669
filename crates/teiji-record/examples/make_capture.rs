//! Writes a capture of any size for measurements: a cycle of test frames at
//! 1 ms with jitter, an RTP-like flow without test header, and bulk traffic in
//! random bursts, the same on every machine.
//!
//!     cargo run --release -p teiji-record --example make_capture -- FRAMES FILE

use std::fs::File;
use std::io::BufWriter;

use teiji_core::time::Instant;
use teiji_core::wire::{EtherType, EthernetHeader, MacAddr, Probe, TEIJI_UDP_PORT, ip};
use teiji_record::capture::{PcapWriter, Precision};

const START_NS: i64 = 1_800_000_000_000_000_000;
const PERIOD_NS: i64 = 1_000_000;

/// Knuth's MMIX generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).unwrap_or(0) % bound
    }
}

fn udp(station: u8, port: u16, payload: &[u8], frame: &mut Vec<u8>) {
    frame.clear();
    EthernetHeader {
        destination: MacAddr([2, 0, 0, 0, 0, 99]),
        source: MacAddr([2, 0, 0, 0, 0, station]),
        vlan: None,
        ethertype: EtherType::IPV4,
    }
    .emit(frame);
    ip::emit_udp4([10, 0, 0, station], [10, 0, 0, 99], 40_000, port, payload, frame);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(frames), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: make_capture FRAMES FILE".into());
    };
    let frames: i64 = frames.parse()?;
    let mut writer =
        PcapWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?), Precision::Nanos)?;
    let mut random = Random(1);
    let (mut cycle, mut other, mut bulk) = (Vec::new(), Vec::new(), Vec::new());
    udp(2, 5_004, &[0; 160], &mut other);
    udp(3, 5_001, &[0; 64], &mut bulk);
    // Each millisecond: the cycle, one frame of the other flow, a burst.
    let (mut written, mut k) = (0, 0_u32);
    while written < frames {
        let at = START_NS + i64::from(k) * PERIOD_NS;
        let mut payload = [0; 64];
        Probe { flow: 0, seq: u64::from(k), scheduled: Instant::from_ns(at) }.emit(&mut payload);
        udp(1, TEIJI_UDP_PORT, &payload, &mut cycle);
        writer.write(Instant::from_ns(at + random.below(24_000)), &cycle)?;
        writer.write(Instant::from_ns(at + 100_000 + random.below(200_000)), &other)?;
        let burst = random.below(4);
        for i in 0..burst {
            writer.write(Instant::from_ns(at + 400_000 + i * 6_720), &bulk)?;
        }
        written += 2 + burst;
        k += 1;
    }
    writer.into_inner().into_inner()?.sync_all()?;
    println!("{written} frames, {k} of them test frames");
    Ok(())
}
