//! A small experiment to build on, and a namespace to test in.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Command;

use teiji_core::time::{ClockId, Span};
use teiji_core::wire::MacAddr;
use teiji_experiment::scenario::{
    Card, Etf, Flow, Host, LeafQdisc, Nic, Port, Processing, Qdisc, QueueRange, Rests, Scenario,
    SendMode, System, Transport, Wire,
};
use teiji_sys::netns::{self, NetnsError};

/// The ETF study's priorities: 3 → class 0, 2 → class 1, the rest → class 2.
pub const PAPER_MAP: [u8; 16] = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];

/// ```text
///   talker ──── line ──── listener
/// ```
pub fn scenario(qdisc: Option<Qdisc>, transport: Transport) -> Scenario {
    let port = |end: u8, qdisc| Port {
        wire: "line".into(),
        mac: MacAddr([0x02, 0x74, 0x65, 0x6a, 1, end]),
        ipv4: Some([10, 1, 0, end].into()),
        ipv6: Some([0xfd74, 0x656a, 1, 0, 0, 0, 0, u16::from(end)].into()),
        queues: None,
        qdisc,
        card: Card::default(),
        processing: Processing::default(),
    };
    let host = |name: &str, port| Host {
        name: name.into(),
        bridge: false,
        cpu: None,
        ports: vec![port],
        ptp: None,
        system: System::default(),
    };
    Scenario {
        hosts: vec![host("talker", port(1, qdisc)), host("listener", port(2, None))],
        wires: vec![Wire {
            name: "line".into(),
            between: ["talker".into(), "listener".into()],
            nic: Nic::Igb,
            rate: Nic::Igb.rate(),
            delay: None,
        }],
        flows: vec![Flow {
            name: "cycle".into(),
            from: "talker".into(),
            to: "listener".into(),
            wire: "line".into(),
            beyond: Vec::new(),
            period: Span::from_millis(1),
            offset: Span::ZERO,
            frames: 10,
            payload: 64,
            transport,
            mode: SendMode::OnWakeUp,
            priority: 3,
            dscp: 0,
            realtime: None,
            listener_realtime: None,
            listener_busy_poll: None,
            listener_pause: None,
            listener_rests: Rests::Equal,
            listener_buffer: None,
            listener_trace: false,
            flow_control: None,
            cpu: None,
            tx_stamps: false,
            background: false,
        }],
        round_trips: Vec::new(),
        loads: Vec::new(),
    }
}

pub const UDP4: Transport = Transport::Udp4 { port: 7788 };
pub const UDP6: Transport = Transport::Udp6 { port: 7788 };

pub fn etf(offload: bool) -> LeafQdisc {
    LeafQdisc::Etf(Etf {
        delta: Span::from_micros(150),
        clock: ClockId::Tai,
        offload,
        deadline_mode: false,
        skip_sock_check: false,
    })
}

/// The ETF study's qdiscs.
pub fn paper_mqprio(offload: bool) -> Qdisc {
    let range = |count, offset| QueueRange { count, offset };
    Qdisc::Mqprio {
        map: PAPER_MAP,
        queues: vec![range(1, 0), range(1, 1), range(2, 2)],
        hw: false,
        classes: BTreeMap::from([(0, etf(offload))]),
    }
}

pub fn pfifo(limit: u32) -> Qdisc {
    Qdisc::Leaf(LeafQdisc::Pfifo { limit })
}

/// Runs `test` in a fresh network namespace, as if it were the machine; skips
/// without root.
pub fn in_a_machine_of_its_own(test: impl FnOnce() + Send) {
    match netns::create() {
        Ok(home) => netns::in_namespace(home.as_fd(), test).unwrap(),
        Err(NetnsError::NoRight { .. }) => println!("SKIP: network namespaces need root"),
        Err(other) => panic!("{other}"),
    }
}

/// Runs a shell command in the calling thread's namespace; its output.
pub fn sh(command: &str) -> String {
    let output = Command::new("sh").args(["-ec", command]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// True if `tool` is there; says SKIP if not.
pub fn have(tool: &str) -> bool {
    let found = Command::new(tool).arg("-V").output().is_ok();
    if !found {
        println!("SKIP: `{tool}` is not installed, nothing to compare with");
    }
    found
}
