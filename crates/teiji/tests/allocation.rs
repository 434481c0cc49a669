//! Between wake-up and send nothing is allocated: a thousand frames take as
//! many allocations as ten.
//!
//! `allocation-counter` puts a counting allocator into this test program alone.

use std::net::UdpSocket;

use teiji::talker::{self, Destination, LaunchMode, TalkerConfig, TalkerError, TxStamps};
use teiji::{Cycle, Schedule, Span, StopFlag, TxError};
use teiji_sys::clock;

/// Allocations of this thread, and frames that the kernel took, in a run.
fn run(config: &TalkerConfig, frames: u64) -> (u64, usize) {
    let prepared = talker::Prepared::new(config, frames).unwrap();
    let (stop, period) = (StopFlag::new(), Span::from_micros(200));
    let base = clock::now() + Span::from_millis(5);
    let schedule = Schedule { base, period, margin: Span::ZERO };
    let mut log = None;
    let counted = allocation_counter::measure(|| log = Some(prepared.run(&schedule, &stop)));
    let frames = log.unwrap().unwrap().frames;
    let refused = |tx_error: Option<TxError>| matches!(tx_error, Some(TxError::SendFailed(_)));
    (counted.count_total, frames.iter().filter(|frame| !refused(frame.tx_error)).count())
}

#[test]
fn a_frame_more_is_not_an_allocation_more() {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let destination = Destination::Udp(sink.local_addr().unwrap());
    let plain = TalkerConfig::new("lo", destination);
    let stamped = TalkerConfig { stamps: TxStamps::Kernel, ..plain.clone() };
    let timed = TalkerConfig { launch: Some(LaunchMode::Exact), ..stamped.clone() };
    for (mode, config) in [("on wake-up", plain), ("with stamps", stamped), ("timed", timed)] {
        match talker::Prepared::new(&config, 1) {
            Ok(_) => {}
            Err(error @ TalkerError::NoLaunchRight) => {
                println!("SKIP: {mode}: {error}");
                continue;
            }
            Err(other) => panic!("{mode}: {other}"),
        }
        let (few, _) = run(&config, 10);
        let (many, sent) = run(&config, 1_000);
        assert_eq!(sent, 1_000, "{mode}");
        assert!(few > 0, "the book of all frames is one: allocations are counted");
        assert_eq!(few, many, "{mode}: allocations of 10 frames, and of 1 000");
    }
}

#[test]
fn a_cycle_of_ones_own_does_not_allocate_while_it_runs() {
    let cycle = Cycle::every(Span::from_micros(200)).times(500).start().unwrap();
    let mut wakes = 0;
    let counted = allocation_counter::measure(|| wakes = cycle.count());
    assert_eq!((wakes, counted.count_total), (500, 0));
}
