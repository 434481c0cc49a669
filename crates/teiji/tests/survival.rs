//! Talker and listener when things go wrong: losses, duplicates, foreign
//! packets, interfaces that go down, full queues, stops.
//! The topology is drawn in `wire/mod.rs`.

mod wire;

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use teiji::listener::{ExpectedFlow, ListenerConfig, Source};
use teiji::talker::{self, Destination, TalkerConfig};
use teiji::{Deadline, Instant, Listener, Schedule, Span, StopFlag, TalkerLog, TxError};
use teiji_core::errno::{EAGAIN, ENOBUFS};
use teiji_core::wire::Probe;
use wire::{RX_MAC, RX_UDP4, Wire, command, now, schedule, udp};

fn listen_to_flow_3(frames: u64) -> ListenerConfig {
    ListenerConfig {
        flows: vec![ExpectedFlow { id: 3, frames: Some(frames) }],
        ..ListenerConfig::new(Source::Udp(RX_UDP4.parse().unwrap()))
    }
}

#[test]
fn duplicates_reordering_losses_and_foreign_packets_are_distinguished() {
    let Some(wire) = Wire::new() else { return };
    let listener = wire.rx(|| Listener::open(&listen_to_flow_3(5))).unwrap();
    let socket = wire.tx(|| UdpSocket::bind("10.9.0.1:0")).unwrap();
    let send = |flow, seq| {
        let mut payload = [0; 64];
        Probe { flow, seq, scheduled: Instant::from_ns(7) }.emit(&mut payload);
        socket.send_to(&payload, RX_UDP4).unwrap();
    };
    send(3, 0);
    send(3, 2);
    send(3, 1); // reordered
    send(3, 1); // a duplicate
    send(4, 3); // a test frame of another flow
    send(3, 5); // beyond the last frame
    socket.send_to(b"hello", RX_UDP4).unwrap();
    socket.send_to(b"", RX_UDP4).unwrap();
    socket.send_to(&[0xFF; 1400], RX_UDP4).unwrap();
    send(3, 4); // 3 is lost
    let start = now();
    let deadline = Deadline::at(start + Span::from_millis(200));
    let log = listener.run(&deadline, &StopFlag::new()).unwrap();
    let waited = now() - start;
    let order: Vec<_> = log.arrivals.iter().map(|r| r.seq).collect();
    assert_eq!(order, [0, 2, 1, 1, 4]);
    assert_eq!(log.foreign, 5);
    assert!(waited >= Span::from_millis(200), "frame 3 was not waited for");
    assert!(waited < Span::from_secs(2), "{waited}");
}

#[test]
fn frames_that_the_socket_had_no_room_for_are_counted() {
    let Some(wire) = Wire::new() else { return };
    let config = ListenerConfig { receive_buffer: 4_096, ..listen_to_flow_3(200) };
    let listener = wire.rx(|| Listener::open(&config)).unwrap();
    let config = TalkerConfig { payload: 1_000, ..wire::talker(udp(RX_UDP4)) };
    let sent = wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 200, &StopFlag::new()));
    assert_eq!(sent.unwrap().frames.len(), 200);
    let deadline = Deadline::at(now() + Span::from_millis(100));
    let log = listener.run(&deadline, &StopFlag::new()).unwrap();
    assert!(log.socket_drops > 0);
    assert_eq!(log.arrivals.len() as u64 + log.socket_drops, 200);
}

/// Whatever was refused in between, a stamp belongs to the frame it is at: the
/// kernel took the frame between its wake-up and its hand-over.
fn assert_stamps_are_at_their_frames(log: &TalkerLog) {
    for tx in &log.frames {
        if let Some(at) = tx.tx_sched {
            assert!(tx.woke <= at && at <= tx.handed_over, "stamp of another frame: {tx:?}");
        }
    }
    let sent: Vec<_> = log.frames.iter().filter(|tx| tx.tx_error.is_none()).collect();
    let stamped = sent.iter().filter(|tx| tx.tx_sched.is_some()).count();
    assert_eq!(stamped, sent.len(), "every frame that was sent has its stamp");
}

fn failures(log: &TalkerLog, errno: i32) -> usize {
    log.frames.iter().filter(|tx| tx.tx_error == Some(TxError::SendFailed(errno))).count()
}

#[test]
fn an_interface_that_goes_down_and_up_costs_frames_but_not_the_run() {
    let Some(wire) = Wire::new() else { return };
    for destination in [udp(RX_UDP4), Destination::Ethernet { to: RX_MAC, vlan: None }] {
        let config = wire::talker(destination);
        let prepared = wire.tx(|| talker::Prepared::new(&config, 20_000)).unwrap();
        // Stopped only when the link is up again, however long a busy machine takes.
        let stop = StopFlag::new();
        let stopped = stop.clone();
        let running = thread::spawn(move || prepared.run(&schedule(Span::ZERO), &stopped));
        thread::sleep(Duration::from_millis(300));
        wire.ip_tx("link set tx0 down");
        thread::sleep(Duration::from_millis(100));
        // Going down forgot it; asking for it again takes a second where the first
        // question is lost, as it is until the peer has noticed the carrier.
        wire.know_the_peer();
        wire.ip_tx("link set tx0 up");
        thread::sleep(Duration::from_millis(300));
        stop.stop();
        let log = running.join().unwrap().unwrap();
        let tx_errors: Vec<_> = log.frames.iter().map(|tx| tx.tx_error).collect();
        let failed = tx_errors.iter().filter(|tx_error| tx_error.is_some()).count();
        assert!((20..tx_errors.len() - 20).contains(&failed), "{failed} of {}", tx_errors.len());
        assert_eq!((tx_errors.first(), tx_errors.last()), (Some(&None), Some(&None)));
        assert_stamps_are_at_their_frames(&log);
    }
}

#[test]
fn frames_that_a_full_qdisc_refuses_are_records() {
    let Some(wire) = Wire::new() else { return };
    // About one frame of three gets through.
    wire.tx(|| command("tc", "qdisc add dev tx0 root tbf rate 200kbit burst 200 limit 300"));
    let config = wire::talker(Destination::Ethernet { to: RX_MAC, vlan: None });
    let log =
        wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 300, &StopFlag::new())).unwrap();
    assert_eq!(log.frames.len(), 300);
    let refused = failures(&log, ENOBUFS);
    assert!((30..290).contains(&refused), "{refused} frames were refused");
    assert_stamps_are_at_their_frames(&log);
}

#[test]
fn a_full_send_buffer_is_a_record_and_never_blocks() {
    let Some(wire) = Wire::new() else { return };
    // Nearly nothing gets through; what waits fills the send buffer.
    wire.tx(|| command("tc", "qdisc add dev tx0 root tbf rate 300kbit burst 1600 limit 9000000"));
    let config = TalkerConfig { payload: 1_400, ..wire::talker(udp(RX_UDP4)) };
    let start = now();
    let log =
        wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 400, &StopFlag::new())).unwrap();
    assert!(now() - start < Span::from_secs(3));
    assert_eq!(log.frames.len(), 400);
    let refused = failures(&log, EAGAIN);
    assert!((50..390).contains(&refused), "{refused} frames were refused");
    assert_stamps_are_at_their_frames(&log);
}

#[test]
fn a_run_whose_every_send_fails_is_still_a_log() {
    let Some(wire) = Wire::new() else { return };
    wire.ip_tx("link set tx0 down");
    let config = wire::talker(udp(RX_UDP4));
    let log =
        wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 20, &StopFlag::new())).unwrap();
    assert_eq!(log.frames.len(), 20);
    assert!(log.frames.iter().all(|tx| matches!(tx.tx_error, Some(TxError::SendFailed(_)))));
    assert!(log.frames.iter().all(|tx| tx.tx_sched.is_none() && tx.tx_kernel.is_none()));
}

#[test]
fn a_missing_listener_does_not_disturb_the_talker() {
    let Some(wire) = Wire::new() else { return };
    // The peer answers "port unreachable".
    let config = wire::talker(udp(RX_UDP4));
    let log =
        wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 50, &StopFlag::new())).unwrap();
    assert!(log.frames.iter().all(|tx| tx.tx_error.is_none()));
    assert_stamps_are_at_their_frames(&log);
}

#[test]
fn a_stopped_talker_returns_its_log() {
    let Some(wire) = Wire::new() else { return };
    for (period, at_least) in [(Span::from_millis(1), 10), (Span::from_secs(3_600), 1)] {
        let stop = StopFlag::new();
        let stopper = stop.clone();
        let prepared =
            wire.tx(|| talker::Prepared::new(&wire::talker(udp(RX_UDP4)), 1_000)).unwrap();
        let schedule = Schedule { base: now(), period, margin: Span::ZERO };
        let running = thread::spawn(move || prepared.run(&schedule, &stop));
        thread::sleep(Duration::from_millis(100));
        let asked = now();
        stopper.stop();
        let log = running.join().unwrap().unwrap();
        // 100 ms are promised; a busy machine may add to it.
        assert!(now() - asked < Span::from_millis(600), "{}", now() - asked);
        assert!(log.interrupted);
        assert!((at_least..1_000).contains(&log.frames.len()), "{}", log.frames.len());
        assert_stamps_are_at_their_frames(&log);
    }
}

#[test]
fn a_stopped_listener_returns_its_log() {
    let Some(wire) = Wire::new() else { return };
    let listener = wire.rx(|| Listener::open(&listen_to_flow_3(100))).unwrap();
    wire.tx(|| {
        let config = wire::talker(udp(RX_UDP4));
        talker::run(&config, &schedule(Span::ZERO), 10, &StopFlag::new()).unwrap();
    });
    let stop = StopFlag::new();
    let stopper = stop.clone();
    let running = thread::spawn(move || listener.run(&Deadline::never(), &stop));
    thread::sleep(Duration::from_millis(100));
    let asked = now();
    stopper.stop();
    let log = running.join().unwrap().unwrap();
    assert!(now() - asked < Span::from_millis(600), "{}", now() - asked);
    assert_eq!(log.arrivals.len(), 10);
}

#[test]
fn a_deadline_moved_by_another_thread_ends_the_listener() {
    let Some(wire) = Wire::new() else { return };
    let listener = wire.rx(|| Listener::open(&listen_to_flow_3(1))).unwrap();
    let deadline = Deadline::never();
    let moved = deadline.clone();
    let running = thread::spawn(move || listener.run(&deadline, &StopFlag::new()));
    thread::sleep(Duration::from_millis(60));
    moved.set(now());
    assert_eq!(running.join().unwrap().unwrap().arrivals.len(), 0);
}
