//! Round trips over a veth pair: every request on record, whatever becomes of it.
//! The topology is drawn in `wire/mod.rs`; the reflector is at the listener's end.

#[allow(dead_code, reason = "shared with the tests of talker and listener")]
mod wire;

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use teiji::roundtrip::{ReflectorConfig, Requester, RequesterConfig, RoundTripError, request};
use teiji::{Deadline, Reflector, RequesterLog, Scheduling, Span, StopFlag};
use teiji_core::domain::{Dscp, SocketPriority};
use teiji_core::wire::{Echo, Probe};
use wire::{Wire, now};

const REFLECTOR_V4: &str = "10.9.0.2:7789";
const REFLECTOR_V6: &str = "[fd74:656a:9::2]:7789";

fn config(destination: &str, count: u64) -> RequesterConfig {
    RequesterConfig {
        destination: destination.parse().unwrap(),
        interface: Some("tx0".to_owned()),
        count,
        period: None,
        timeout: Span::from_secs(5),
        payload: 122,
        flow: 7,
        priority: SocketPriority::default(),
        dscp: Dscp::default(),
        scheduling: Scheduling::default(),
    }
}

fn reflector(wire: &Wire, address: &str) -> Reflector {
    let config = ReflectorConfig {
        address: address.parse().unwrap(),
        interface: None,
        priority: SocketPriority::default(),
        dscp: Dscp::default(),
        busy_poll: None,
        scheduling: Scheduling::default(),
    };
    wire.rx(|| Reflector::open(&config)).unwrap()
}

fn requests(wire: &Wire, config: &RequesterConfig) -> RequesterLog {
    wire.tx(|| request(config, &StopFlag::new())).unwrap()
}

#[test]
fn every_request_gets_its_reply_with_the_reflectors_times() {
    let Some(wire) = Wire::new() else { return };
    for address in [REFLECTOR_V4, REFLECTOR_V6] {
        let reflector = reflector(&wire, address);
        let stop = StopFlag::new();
        let (counts, log) = std::thread::scope(|scope| {
            let stopped = stop.clone();
            let answering = scope.spawn(move || reflector.run(&Deadline::never(), &stopped));
            let log = requests(&wire, &config(address, 200));
            stop.stop();
            (answering.join().unwrap().unwrap(), log)
        });
        assert_eq!(counts.answered, 200);
        assert_eq!((log.lost(), log.late, log.duplicated, log.foreign), (0, 0, 0, 0));
        assert!(!log.interrupted);
        for (seq, round) in log.rounds.iter().enumerate() {
            assert_eq!(round.seq, seq as u64);
            // One machine, one clock: the instants must be in order.
            let arrived = round.reflector_arrived.expect("the reflector's kernel stamp");
            let (sent, received) = (round.reflector_sent.unwrap(), round.received.unwrap());
            assert!(round.sent <= arrived && arrived <= sent && sent <= received, "{round:?}");
            let kernel = round.reply_kernel.expect("this kernel's stamp");
            assert!(sent <= kernel && kernel <= received, "{round:?}");
            assert_eq!(round.time().unwrap(), received - round.sent);
            assert_eq!(round.reflector_time().unwrap(), sent - arrived);
        }
    }
}

#[test]
fn a_period_sets_the_distance_of_the_requests() {
    let Some(wire) = Wire::new() else { return };
    let reflector = reflector(&wire, REFLECTOR_V4);
    let period = Span::from_millis(5);
    let stop = StopFlag::new();
    let base = now() + period;
    let log = std::thread::scope(|scope| {
        let stopped = stop.clone();
        scope.spawn(move || reflector.run(&Deadline::never(), &stopped));
        let config =
            RequesterConfig { period: Some(period), timeout: period, ..config(REFLECTOR_V4, 20) };
        let log = wire.tx(|| Requester::open(&config)?.run(base, &StopFlag::new())).unwrap();
        stop.stop();
        log
    });
    assert_eq!(log.rounds.len(), 20);
    for round in &log.rounds {
        let due = base + Span::from_ns(period.as_ns() * i64::try_from(round.seq).unwrap());
        assert!(round.sent >= due, "never before its time: {round:?}");
    }
}

#[test]
fn a_silent_peer_costs_a_time_out_a_request_and_no_more() {
    let Some(wire) = Wire::new() else { return };
    let silent = wire.rx(|| UdpSocket::bind(REFLECTOR_V4)).unwrap();
    let before = now();
    let config = RequesterConfig { timeout: Span::from_millis(20), ..config(REFLECTOR_V4, 5) };
    let log = requests(&wire, &config);
    assert_eq!((log.rounds.len(), log.lost()), (5, 5));
    assert!(now() - before >= Span::from_millis(100));
    drop(silent);

    // Nobody there at all: the kernel's refusal is no reply either.
    let log = requests(&wire, &config);
    assert_eq!((log.rounds.len(), log.lost()), (5, 5));
}

/// Answers like a bad network: request 0 not at all, 1 twice, 2 after its
/// time-out, then with rubbish in front.
fn answer_badly(socket: &UdpSocket) {
    let mut buffer = [0; 256];
    while let Ok((length, source)) = socket.recv_from(&mut buffer) {
        let bytes = &mut buffer[..length];
        let seq = Probe::parse(bytes).unwrap().seq;
        Echo::Reply { arrived: None, sent: now() }.emit(bytes);
        let reply = |bytes: &[u8], to: SocketAddr| drop(socket.send_to(bytes, to));
        match seq {
            0 => {}
            1 => {
                reply(bytes, source);
                reply(bytes, source);
            }
            2 => {
                std::thread::sleep(Duration::from_millis(300));
                reply(bytes, source);
            }
            _ => {
                reply(b"rubbish", source);
                reply(bytes, source);
                return;
            }
        }
    }
}

#[test]
fn lost_doubled_late_and_foreign_replies_are_distinguished() {
    let Some(wire) = Wire::new() else { return };
    let peer = wire.rx(|| UdpSocket::bind(REFLECTOR_V4)).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let log = std::thread::scope(|scope| {
        scope.spawn(|| answer_badly(&peer));
        // 3's reply comes while 3 is awaited, behind 2's, which is late by then.
        let timeout = Span::from_millis(200);
        requests(&wire, &RequesterConfig { timeout, ..config(REFLECTOR_V4, 4) })
    });
    let got = |seq: usize| log.rounds[seq].received.is_some();
    assert_eq!([got(0), got(1), got(2), got(3)], [false, true, true, true], "{log:?}");
    assert_eq!((log.lost(), log.late, log.duplicated, log.foreign), (1, 1, 1, 1));
    assert!(log.rounds[2].time().unwrap() > Span::from_millis(200));
    assert_eq!(log.rounds[1].reflector_time(), None, "this peer has no stamp");
}

/// Median of the round-trip times in ns.
fn median(log: &RequesterLog) -> f64 {
    let mut times: Vec<i64> =
        log.rounds.iter().filter_map(|round| Some(round.time()?.as_ns())).collect();
    times.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "round trips are far below 2^52 ns")]
    let median = times[times.len() / 2] as f64;
    median
}

/// sockperf's median of round trips on the same wire, in ns.
fn sockperf(wire: &Wire) -> f64 {
    let server = ["server", "-i", "10.9.0.2", "-p", "7800"];
    let mut server =
        wire.rx(|| Command::new("sockperf").args(server).stdout(Stdio::null()).spawn()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let client = "ping-pong -i 10.9.0.2 -p 7800 -t 1 -m 122 --full-rtt";
    let output = wire.tx(|| Command::new("sockperf").args(client.split(' ')).output()).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains("percentile 50.0"));
    let us = line.and_then(|line| line.rsplit('=').next()?.trim().parse::<f64>().ok());
    us.unwrap_or_else(|| panic!("no median in what sockperf says: {text}")) * 1_000.0
}

/// Both wait in the kernel for each reply, so both see the same wire, kernel and
/// scheduler; a factor of three leaves room for a busy machine. They run one after
/// the other, so a load that comes or goes between them is given a second chance.
#[test]
fn sockperf_measures_the_same_on_the_same_wire() {
    if Command::new("sockperf").arg("--version").output().is_err() {
        println!("SKIP: no sockperf on this machine (apt-get install sockperf)");
        return;
    }
    let Some(wire) = Wire::new() else { return };
    let mut tries = Vec::new();
    for _ in 0..5 {
        let theirs = sockperf(&wire);
        let reflector = reflector(&wire, REFLECTOR_V4);
        let stop = StopFlag::new();
        let ours = std::thread::scope(|scope| {
            let stopped = stop.clone();
            scope.spawn(move || reflector.run(&Deadline::never(), &stopped));
            let log = requests(&wire, &config(REFLECTOR_V4, 2_000));
            stop.stop();
            median(&log)
        });
        tries.push((ours, theirs));
        if ours < 3.0 * theirs && theirs < 3.0 * ours {
            return;
        }
    }
    panic!("median round trips in ns, ours and sockperf's: {tries:?}");
}

#[test]
fn a_flag_ends_the_measurement_and_the_log_records_it() {
    let Some(wire) = Wire::new() else { return };
    let silent = wire.rx(|| UdpSocket::bind(REFLECTOR_V4)).unwrap();
    let stop = StopFlag::new();
    let log = std::thread::scope(|scope| {
        // Once the first request is there; its reply is waited for in vain for 5 s.
        scope.spawn(|| {
            silent.recv(&mut [0; 256]).unwrap();
            stop.stop();
        });
        wire.tx(|| request(&config(REFLECTOR_V4, 1_000), &stop)).unwrap()
    });
    assert!(log.interrupted && log.rounds.len() == 1, "{log:?}");
    // Who stops before it begins has asked for nothing.
    let log = wire.tx(|| request(&config(REFLECTOR_V4, 1_000), &stop)).unwrap();
    assert!(log.interrupted && log.rounds.is_empty(), "{log:?}");
}

#[test]
fn what_cannot_work_is_refused_with_the_next_step() {
    let Some(wire) = Wire::new() else { return };
    let good = config(REFLECTOR_V4, 1);
    let refused = |config: RequesterConfig| -> RoundTripError {
        wire.tx(|| request(&config, &StopFlag::new())).unwrap_err()
    };
    for (config, sentence) in [
        (RequesterConfig { payload: 47, ..good.clone() }, "too short for a round trip; use 48"),
        (RequesterConfig { payload: 60_000, ..good.clone() }, "does not fit into one frame"),
        (RequesterConfig { timeout: Span::ZERO, ..good.clone() }, "waits for nothing"),
        (RequesterConfig { period: Some(Span::ZERO), ..good.clone() }, "never ends"),
        (
            RequesterConfig { period: Some(Span::from_millis(1)), ..good.clone() },
            "longer than the period",
        ),
        (RequesterConfig { count: u64::MAX, ..good.clone() }, "do not fit into memory"),
        (RequesterConfig { interface: Some("no0".to_owned()), ..good }, "no interface `no0`"),
    ] {
        let error = refused(config).to_string();
        assert!(error.contains(sentence), "{error}");
    }

    let busy = wire.rx(|| UdpSocket::bind(REFLECTOR_V4)).unwrap();
    let config = |address: &str| ReflectorConfig {
        address: address.parse().unwrap(),
        interface: None,
        priority: SocketPriority::default(),
        dscp: Dscp::default(),
        busy_poll: None,
        scheduling: Scheduling::default(),
    };
    for (address, sentence) in
        [(REFLECTOR_V4, "port 7789 is in use"), ("10.9.9.9:7789", "is no address of this host")]
    {
        let error = wire.rx(|| Reflector::open(&config(address))).err().unwrap().to_string();
        assert!(error.contains(sentence), "{error}");
    }
    drop(busy);
}
