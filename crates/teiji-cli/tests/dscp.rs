//! The code point that `talk`, `ping` and `reflect` send with, as a tap sees it.
//!
//! ```text
//!   a namespace of the test's own
//!   ┌────────────────────────────────┐
//!   │ lo   talk, ping  ⇄  reflect    │ ← tap
//!   └────────────────────────────────┘
//! ```

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use common::{root, teiji};
use teiji_core::time::Span;
use teiji_core::wire::{EtherType, EthernetHeader, TEIJI_ECHO_PORT, TEIJI_UDP_PORT, UdpFlow, ip};
use teiji_sys::netns;
use teiji_sys::socket::{Address, Queue, Receiver, Socket};

const TALK: u8 = 46;
const PING: u8 = 10;
/// Not the requests': a reply's code point is its sender's.
const REFLECT: u8 = 34;

/// `None`, with a reason on the terminal, where there are no rights for it.
fn loopback() -> Option<OwnedFd> {
    if !root() {
        println!("SKIP: needs root, to make network namespaces");
        return None;
    }
    let namespace = netns::create().unwrap();
    let up = || Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(netns::in_namespace(namespace.as_fd(), up).unwrap().success());
    Some(namespace)
}

fn tap() -> Socket {
    const EVERY_PROTOCOL: u16 = 3; // ETH_P_ALL
    let tap = Socket::packet().unwrap();
    tap.set_receive_timeout(Span::from_millis(200)).unwrap();
    let index = teiji_sys::interface::index("lo").unwrap();
    tap.bind(&Address::link(index, EVERY_PROTOCOL)).unwrap();
    tap
}

/// Who sent it, in which IP version, and the code point with the two bits of ECN.
fn marking(frame: &[u8]) -> Option<(&'static str, u8, u8)> {
    let (ethernet, packet) = EthernetHeader::parse(frame)?;
    let (udp, _) = ip::parse_udp(ethernet.ethertype, packet)?;
    let sender = match udp {
        UdpFlow { destination_port: TEIJI_UDP_PORT, .. } => "talk",
        UdpFlow { destination_port: TEIJI_ECHO_PORT, .. } => "ping",
        UdpFlow { source_port: TEIJI_ECHO_PORT, .. } => "reflect",
        _ => return None,
    };
    Some(if ethernet.ethertype == EtherType::IPV4 {
        (sender, 4, packet[1])
    } else {
        (sender, 6, (packet[0] << 4) | (packet[1] >> 4))
    })
}

fn sent(tap: &Socket) -> BTreeSet<(&'static str, u8, u8)> {
    let mut receiver = Receiver::new(64, 2_048);
    let mut seen = BTreeSet::new();
    while receiver.receive(tap, Queue::Arrivals).unwrap() > 0 {
        seen.extend(receiver.messages().filter_map(|message| marking(message.payload)));
    }
    seen
}

#[test]
fn every_packet_carries_the_code_point_that_its_command_was_given() {
    let Some(namespace) = loopback() else { return };
    let seen = netns::in_namespace(namespace.as_fd(), || {
        let tap = tap();
        let _listener = UdpSocket::bind(("::", TEIJI_UDP_PORT)).unwrap();
        let mut reflector = common::command(&["reflect", "--dscp", &REFLECT.to_string()])
            .args(["--for", "60s"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Once it says that it answers, no request is lost.
        let mut line = String::new();
        BufReader::new(reflector.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("answering on"), "{line}");
        for address in ["127.0.0.1", "::1"] {
            let talk =
                teiji(&["talk", "lo", address, "--frames", "2", "--dscp", &TALK.to_string()]);
            // 3: a machine with other work may send late, with the same code point.
            assert!(matches!(talk.code, 0 | 3), "{}{}", talk.out, talk.err);
            let ping = teiji(&["ping", address, "--count", "2", "--dscp", &PING.to_string()]);
            assert!(ping.out.starts_with("2 requests, 0 lost"), "{}{}", ping.out, ping.err);
        }
        reflector.kill().unwrap();
        reflector.wait().unwrap();
        sent(&tap)
    });
    let expected = [("talk", TALK), ("ping", PING), ("reflect", REFLECT)];
    let expected = expected.map(|(who, dscp)| [(who, 4, dscp << 2), (who, 6, dscp << 2)]);
    assert_eq!(seen.unwrap(), expected.into_iter().flatten().collect());
}

#[test]
fn a_code_point_that_cannot_be_is_refused() {
    let range = "64 is not in 0..=63";
    for (arguments, words) in [
        (&["talk", "lo", "127.0.0.1", "--dscp", "64"][..], range),
        (&["ping", "127.0.0.1", "--dscp", "64"], range),
        (&["reflect", "--dscp", "64", "--for", "1ms"], range),
        (
            &["talk", "lo", "02:00:00:00:00:02", "--dscp", "46"],
            "--dscp is for UDP; write an address",
        ),
    ] {
        let result = teiji(arguments);
        assert_ne!(result.code, 0, "{arguments:?}");
        assert!(result.err.contains(words), "{arguments:?}: {}", result.err);
    }
}
