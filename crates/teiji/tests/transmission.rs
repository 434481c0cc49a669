//! Talker and listener over a veth pair: what is sent arrives, with stamps.
//! The topology is drawn in `wire/mod.rs`.

mod wire;

use std::thread;

use teiji::listener::{ExpectedFlow, ListenerConfig, Source};
use teiji::talker::{Destination, LaunchMode, TalkerConfig, TxStamps};
use teiji::{
    Deadline, Listener, ListenerLog, Schedule, Scheduling, Span, StopFlag, Talker, TalkerLog,
    talker,
};
use teiji_core::domain::{RtPriority, SocketPriority};
use teiji_core::wire::{Tci, VlanTag};
use teiji_sys::sched::{self, SchedError};
use teiji_sys::socket::{Address, Queue, Receiver, Socket};
use wire::{RX_MAC, RX_UDP4, TX_MAC, Wire, now, schedule, udp};

const RX_UDP6: &str = "[fd74:656a:9::2]:7788";
const FRAMES: u64 = 50;

fn listen_to(source: Source) -> ListenerConfig {
    ListenerConfig {
        interface: Some("rx0".to_owned()),
        flows: vec![ExpectedFlow { id: 3, frames: Some(FRAMES) }],
        ..ListenerConfig::new(source)
    }
}

/// Sends [`FRAMES`] frames and gives both logs. The listener has two seconds.
fn transmit(
    wire: &Wire,
    config: &TalkerConfig,
    listen: &ListenerConfig,
    margin: Span,
) -> (TalkerLog, ListenerLog) {
    let listener = wire.rx(|| Listener::open(listen)).unwrap();
    let deadline = Deadline::at(now() + Span::from_secs(2));
    let listening = thread::spawn(move || listener.run(&deadline, &StopFlag::new()));
    let sent = wire.tx(|| talker::run(config, &schedule(margin), FRAMES, &StopFlag::new()));
    (sent.unwrap(), listening.join().unwrap().unwrap())
}

/// Every frame was sent, stamped at each station, and received once, in order.
fn assert_complete(sent: &TalkerLog, received: &ListenerLog) {
    assert_eq!(sent.frames.len() as u64, FRAMES);
    assert!(!sent.interrupted);
    assert_eq!((received.foreign, received.socket_drops), (0, 0));
    let order: Vec<_> = received.arrivals.iter().map(|r| r.seq).collect();
    assert_eq!(order, (0..FRAMES).collect::<Vec<_>>());
    for (tx, rx) in sent.frames.iter().zip(&received.arrivals) {
        assert_eq!((rx.flow, rx.seq, rx.scheduled), (3, tx.seq, tx.scheduled));
        assert_eq!(tx.tx_error, None);
        let stations = [
            Some(tx.woke),
            tx.tx_sched,
            tx.tx_kernel,
            Some(rx.rx_kernel.expect("a receive stamp")),
        ];
        let stations = stations.map(|station| station.expect("a stamp"));
        assert!(stations.is_sorted(), "a later station has an earlier stamp: {tx:?} {rx:?}");
        assert!(tx.tx_sched.unwrap() <= tx.handed_over, "{tx:?}");
        assert_eq!((tx.tx_hardware, rx.rx_hardware), (None, None), "veth has no hardware");
    }
}

#[test]
fn udp_over_ipv4_arrives_with_all_stamps() {
    let Some(wire) = Wire::new() else { return };
    let listen = listen_to(Source::Udp(RX_UDP4.parse().unwrap()));
    let (sent, received) = transmit(&wire, &wire::talker(udp(RX_UDP4)), &listen, Span::ZERO);
    assert_complete(&sent, &received);
    let base = sent.frames[0].scheduled;
    for (k, tx) in (0..).zip(&sent.frames) {
        assert_eq!(tx.scheduled, base + Span::from_millis(k));
        assert!(tx.woke >= tx.scheduled, "woken early: {tx:?}");
    }
}

#[test]
fn udp_over_ipv6_arrives_with_all_stamps() {
    let Some(wire) = Wire::new() else { return };
    let listen = listen_to(Source::Udp(RX_UDP6.parse().unwrap()));
    let (sent, received) = transmit(&wire, &wire::talker(udp(RX_UDP6)), &listen, Span::ZERO);
    assert_complete(&sent, &received);
}

#[test]
fn raw_ethernet_frames_arrive_with_and_without_tag() {
    let Some(wire) = Wire::new() else { return };
    for vlan in [None, VlanTag::new(0, 5), VlanTag::new(10, 5)] {
        let destination = Destination::Ethernet { to: RX_MAC, vlan };
        let listen = listen_to(Source::Ethernet { tagged: vlan.is_some() });
        let (sent, received) = transmit(&wire, &wire::talker(destination), &listen, Span::ZERO);
        assert_complete(&sent, &received);
    }
}

#[test]
fn the_vlan_tag_is_on_the_wire() {
    const EVERY_PROTOCOL: u16 = 3; // ETH_P_ALL: also sees what leaves
    let Some(wire) = Wire::new() else { return };
    let tap = wire.tx(|| {
        let tap = Socket::packet().unwrap();
        tap.set_receive_timeout(Span::from_millis(200)).unwrap();
        let index = teiji_sys::interface::index("tx0").unwrap();
        tap.bind(&Address::link(index, EVERY_PROTOCOL)).unwrap();
        tap
    });
    let vlan = VlanTag::new(10, 5);
    let config = wire::talker(Destination::Ethernet { to: RX_MAC, vlan });
    wire.tx(|| talker::run(&config, &schedule(Span::ZERO), 3, &StopFlag::new())).unwrap();
    let mut receiver = Receiver::new(64, 2_048);
    let mut seen = Vec::new();
    while receiver.receive(&tap, Queue::Arrivals).unwrap() > 0 {
        for message in receiver.messages() {
            let Some(frame) = teiji_core::wire::parse(message.payload) else { continue };
            if let Some(probe) = frame.probe() {
                let header = frame.ethernet;
                assert_eq!((header.source, header.destination), (TX_MAC, RX_MAC));
                assert_eq!((header.vlan, frame.payload.len()), (vlan.map(Tci::from), 64));
                seen.push(probe.seq);
            }
        }
    }
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn frames_with_launch_times_are_handed_over_one_margin_early() {
    let Some(wire) = Wire::new() else { return };
    let margin = Span::from_micros(400);
    for launch in [LaunchMode::Exact, LaunchMode::Deadline] {
        for destination in [udp(RX_UDP4), Destination::Ethernet { to: RX_MAC, vlan: None }] {
            let listen = listen_to(match destination {
                Destination::Udp(address) => Source::Udp(address),
                Destination::Ethernet { .. } => Source::Ethernet { tagged: false },
            });
            let config = TalkerConfig { launch: Some(launch), ..wire::talker(destination) };
            let (sent, received) = transmit(&wire, &config, &listen, margin);
            // Nothing on this wire heeds launch times; the kernel takes them.
            assert_complete(&sent, &received);
            let early = sent.frames.iter().filter(|tx| tx.woke < tx.scheduled).count();
            assert!(early > 0, "no frame was prepared before its departure");
        }
    }
}

#[test]
fn a_realtime_talker_and_listener_work_and_give_their_priority_back() {
    let Some(wire) = Wire::new() else { return };
    match wire.tx(|| sched::Realtime::enter(RtPriority::new(10).unwrap()).map(drop)) {
        Ok(()) => {}
        Err(error @ (SchedError::NoRealtimeRight { .. } | SchedError::NoRealtimeBudget { .. })) => {
            return println!("SKIP: {error}");
        }
        Err(other) => panic!("{other}"),
    }
    let scheduling = Scheduling { realtime: RtPriority::new(10), cpu: Some(0), lock_memory: false };
    let config = TalkerConfig { scheduling, ..wire::talker(udp(RX_UDP4)) };
    let source = Source::Udp(RX_UDP4.parse().unwrap());
    let listen = ListenerConfig { scheduling, ..listen_to(source) };
    let (sent, received) = transmit(&wire, &config, &listen, Span::ZERO);
    assert_complete(&sent, &received);
    let policy = wire.tx(|| {
        talker::run(&config, &schedule(Span::ZERO), 1, &StopFlag::new()).unwrap();
        // Field 41 of stat(5), after the name: the scheduling policy.
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(38).unwrap().to_owned()
    });
    assert_eq!(policy, "0", "SCHED_OTHER again after the run");
}

#[test]
fn missing_hardware_timestamps_are_none_and_the_run_continues() {
    let Some(wire) = Wire::new() else { return };
    let config = TalkerConfig { stamps: TxStamps::Hardware, ..wire::talker(udp(RX_UDP4)) };
    let source = Source::Udp(RX_UDP4.parse().unwrap());
    let listen = ListenerConfig { hardware_stamps: true, ..listen_to(source) };
    let start = now();
    let (sent, received) = transmit(&wire, &config, &listen, Span::ZERO);
    assert_complete(&sent, &received);
    assert!(now() - start < Span::from_secs(2), "waited for stamps that nobody takes");
}

#[test]
fn what_takes_time_is_done_before_the_first_wake_up() {
    let Some(wire) = Wire::new() else { return };
    let config = wire::talker(udp(RX_UDP4));
    let first_wake_up = |frames: u64| {
        wire.tx(|| {
            let prepared = talker::Prepared::new(&config, frames).unwrap();
            let begin = now();
            let ready = prepared.ready().unwrap();
            let getting_ready = now() - begin;
            let margin = Span::from_micros(400);
            let decided = now();
            let base = ready.first_departure(Span::from_millis(1), margin);
            assert!(base - margin > decided && base - decided < getting_ready * 4);
            let stop = StopFlag::new();
            let stopped = stop.clone();
            let timer = thread::spawn(move || {
                thread::sleep(std::time::Duration::from_millis(100));
                stopped.stop();
            });
            let schedule = Schedule { base, period: Span::from_millis(1), margin };
            let log = ready.run(&schedule, &stop).unwrap();
            timer.join().unwrap();
            let late = log.frames[0].woke - (log.frames[0].scheduled - margin);
            (late, getting_ready)
        })
    };
    // A hundred megabytes of records, of which every page is touched: a wake-up that
    // waits for it is late by all of that. A busy machine is late by less, and
    // not three times in a row.
    let attempts: Vec<_> = (0..3).map(|_| first_wake_up(1_000_000)).collect();
    assert!(attempts.iter().any(|(late, ready)| *late * 10 < *ready), "{attempts:?}");
}

#[test]
fn the_library_sends_now_or_at_an_instant() {
    let Some(wire) = Wire::new() else { return };
    let mut listener = wire.rx(|| Listener::udp(RX_UDP4)).unwrap();
    assert_eq!(listener.local_address(), Some(RX_UDP4.parse().unwrap()));
    let mut plain = wire
        .tx(|| {
            Talker::udp("tx0", RX_UDP4).unwrap().priority(SocketPriority::new(3).unwrap()).open()
        })
        .unwrap();
    plain.send(b"now").unwrap();
    let error = plain.send_at(now() + Span::from_secs(1), b"then").unwrap_err();
    assert!(matches!(error, talker::TalkerError::NoLaunchTimes), "{error}");

    let mut timed = wire.tx(|| Talker::udp("tx0", RX_UDP4).unwrap().launch_time().open()).unwrap();
    timed.send_at(now() + Span::from_secs(1), b"soon").unwrap();
    let error = timed.send_at(now() - Span::from_millis(2), b"late").unwrap_err();
    match error {
        talker::TalkerError::Missed { by } => assert!(by >= Span::from_millis(2), "{by}"),
        other => panic!("{other}"),
    }
    let mut payloads = Vec::new();
    while listener.receive(|arrival| payloads.push(arrival.payload.to_vec())).unwrap() > 0 {}
    assert_eq!(payloads, [&b"now"[..], b"soon"], "a missed frame is not sent");
}
