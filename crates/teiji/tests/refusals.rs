//! What cannot work is refused before the first frame, in one sentence with
//! its cause and the next step. The topology is drawn in `wire/mod.rs`.

mod wire;

use std::process::Command;

use teiji::listener::{ListenerConfig, ListenerError, Source};
use teiji::talker::{Destination, LaunchMode, TalkerConfig, TalkerError};
use teiji::{Listener, Schedule, Scheduling, Span, StopFlag, Talker, talker};
use teiji_core::domain::{RtPriority, SocketPriority};
use wire::{RX_MAC, RX_UDP4, Wire, now, schedule, udp};

fn refusal(wire: &Wire, config: &TalkerConfig, frames: u64, schedule: &Schedule) -> TalkerError {
    wire.tx(|| talker::run(config, schedule, frames, &StopFlag::new())).unwrap_err()
}

#[test]
fn impossible_runs_are_refused_with_the_next_step() {
    let Some(wire) = Wire::new() else { return };
    let good = wire::talker(udp(RX_UDP4));
    let ethernet = Destination::Ethernet { to: RX_MAC, vlan: None };
    let with = |change: fn(&mut TalkerConfig)| {
        let mut config = good.clone();
        change(&mut config);
        config
    };
    let cases = [
        (
            with(|c| c.interface = "no-such-if0".to_owned()),
            "there is no interface `no-such-if0` here; there are lo, tx0",
        ),
        (with(|c| c.interface = String::new()), "`` is no interface name"),
        (
            with(|c| c.payload = 1_473),
            "a payload of 1473 bytes is too long for tx0; use 1472 or less, or raise its MTU",
        ),
        (
            with(|c| c.payload = 23),
            "a payload of 23 bytes is too short for the test header; use 24 or more",
        ),
        (
            TalkerConfig { payload: 1_501, ..wire::talker(ethernet) },
            "a payload of 1501 bytes is too long for tx0; use 1500 or less",
        ),
        (
            TalkerConfig { interface: "lo".to_owned(), ..wire::talker(ethernet) },
            "lo is not an Ethernet interface",
        ),
        (
            with(|c| c.scheduling = Scheduling { cpu: Some(8_000), ..c.scheduling }),
            "CPU 8000 cannot be used",
        ),
        (
            with(|c| c.send_buffer = Some(u32::MAX)),
            "a send buffer of 4294967295 bytes is more than the kernel grants",
        ),
    ];
    for (config, sentence) in cases {
        let error = refusal(&wire, &config, 1, &schedule(Span::ZERO)).to_string();
        assert!(error.starts_with(sentence), "expected `{sentence}…`, got `{error}`");
    }
}

#[test]
fn schedules_that_make_no_sense_are_refused() {
    let Some(wire) = Wire::new() else { return };
    let config = wire::talker(udp(RX_UDP4));
    let error = refusal(&wire, &config, 0, &schedule(Span::ZERO)).to_string();
    assert_eq!(error, "the number of frames is 0; it must be at least 1");
    let standstill = Schedule { base: now(), period: Span::ZERO, margin: Span::ZERO };
    let error = refusal(&wire, &config, 1, &standstill).to_string();
    assert!(error.starts_with("a period of 0 s never ends"), "{error}");
    let error = refusal(&wire, &config, 1, &schedule(Span::from_micros(-1))).to_string();
    assert!(error.starts_with("a margin of -1 µs would wake after the departure"), "{error}");
    let error = refusal(&wire, &config, u64::MAX, &schedule(Span::ZERO)).to_string();
    assert!(error.contains("do not fit into memory"), "{error}");
}

#[test]
fn the_longest_payload_that_is_not_refused_arrives_whole() {
    let Some(wire) = Wire::new() else { return };
    let mut listener = wire.rx(|| Listener::udp(RX_UDP4)).unwrap();
    let mut talker = wire.tx(|| Talker::udp("tx0", RX_UDP4).unwrap().open()).unwrap();
    assert_eq!(talker.payload_limit(), 1_472);
    talker.send(&[7; 1_472]).unwrap();
    let mut lengths = Vec::new();
    listener.receive(|arrival| lengths.push(arrival.payload.len())).unwrap();
    assert_eq!(lengths, [1_472]);
    assert!(matches!(talker.send(&[7; 1_473]), Err(TalkerError::PayloadTooLong { .. })));
}

#[test]
fn texts_that_are_no_addresses_are_refused() {
    for text in ["", "10.0.0.2", "10.0.0.2:99999", "host:7788", "fd74::2:7788:x"] {
        assert!(matches!(Talker::udp("lo", text), Err(TalkerError::Address { .. })), "{text}");
        assert!(matches!(Listener::udp(text), Err(ListenerError::Address { .. })), "{text}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let Some(wire) = Wire::new() else { return };
    wire.rx(|| {
        let _first = Listener::udp(RX_UDP4).unwrap();
        let error = Listener::udp(RX_UDP4).err().unwrap().to_string();
        assert!(error.starts_with("port 7788 is in use (10.9.0.2:7788)"), "{error}");
    });
}

#[test]
fn an_address_of_another_host_is_named() {
    let Some(wire) = Wire::new() else { return };
    let error = wire.rx(|| Listener::udp("10.9.0.77:7788")).err().unwrap().to_string();
    assert!(error.starts_with("10.9.0.77 is no address of this host"), "{error}");
}

#[test]
fn listening_for_ethernet_needs_an_interface() {
    let config = ListenerConfig::new(Source::Ethernet { tagged: false });
    assert!(matches!(Listener::open(&config), Err(ListenerError::NoInterface)));
}

#[test]
fn missing_rights_are_named() {
    let Some(wire) = Wire::new() else { return };
    let program = std::env::current_exe().unwrap();
    let output = wire.tx(|| {
        Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .args(["--inh-caps", "-all", "--bounding-set", "-all"])
            .arg(&program)
            .args(["--exact", "as_somebody_without_rights", "--ignored", "--nocapture"])
            .output()
    });
    let output = match output {
        Ok(output) => output,
        Err(error) => return println!("SKIP: setpriv (util-linux) does not start: {error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        return println!("SKIP: the test program cannot be started without rights: {errors}");
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

#[test]
#[ignore = "started by the test above, as another user in a namespace of its own"]
fn as_somebody_without_rights() {
    let open = |change: fn(&mut TalkerConfig)| {
        let mut config = TalkerConfig::new("tx0", udp(RX_UDP4));
        change(&mut config);
        Talker::open(&config).err().map(|error| error.to_string())
    };
    assert_eq!(open(|_| ()), None, "plain UDP needs no right");
    let error = open(|c| c.launch = Some(LaunchMode::Exact)).unwrap();
    assert!(error.contains("CAP_NET_ADMIN"), "{error}");
    let error = open(|c| c.priority = SocketPriority::new(7).unwrap()).unwrap();
    assert!(error.starts_with("no right to socket priority 7"), "{error}");
    let raw = open(|c| c.destination = Destination::Ethernet { to: RX_MAC, vlan: None }).unwrap();
    assert!(raw.contains("CAP_NET_RAW"), "{raw}");
    let error = Listener::open(&ListenerConfig {
        interface: Some("tx0".to_owned()),
        ..ListenerConfig::new(Source::Ethernet { tagged: false })
    });
    assert!(matches!(error, Err(ListenerError::NoRawRight)));
    let error = Listener::udp("10.9.0.1:80").err();
    match error {
        // Where unprivileged ports start below, the port is free to use.
        None => println!("SKIP: ports below 1024 need no right here"),
        Some(error) => assert!(error.to_string().contains("CAP_NET_BIND_SERVICE"), "{error}"),
    }
    let mut config = TalkerConfig::new("tx0", udp(RX_UDP4));
    config.scheduling.realtime = RtPriority::new(50);
    let error = talker::run(&config, &schedule(Span::ZERO), 1, &StopFlag::new()).unwrap_err();
    assert!(error.to_string().contains("CAP_SYS_NICE"), "{error}");
}
