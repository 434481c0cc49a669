//! A small experiment to build on, and a namespace to test in.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Command;

use teiji_core::time::{ClockId, Span};
use teiji_experiment::Experiment;
use teiji_experiment::scenario::{
    Etf, Mqprio, Pfifo, Qdisc, QdiscTree, QueueRange, Scenario, Transport,
};
use teiji_sys::netns::{self, NetnsError};

/// The ETF study's priorities: 3 → class 0, 2 → class 1, the rest → class 2.
pub const PAPER_MAP: [u8; 16] = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];

/// ```text
///   talker ──── line ──── listener
/// ```
pub fn scenario(qdisc: Option<QdiscTree>, transport: Transport) -> Scenario {
    let text = "name = \"test\"\nquestion = \"?\"\n\
                wires.line.between = [\"talker\", \"listener\"]\n\
                [flows.cycle]\nfrom = \"talker\"\nto = \"listener\"\nperiod = \"1ms\"\n\
                frames = 10\npriority = 3\n";
    let experiment = Experiment::parse(text, "test.toml").unwrap();
    let mut scenario = experiment.cases.into_iter().next().unwrap().scenario;
    scenario.hosts[0].ports[0].qdisc = qdisc;
    scenario.flows[0].transport = transport;
    scenario
}

pub const UDP4: Transport = Transport::Udp4 { port: 7788 };
pub const UDP6: Transport = Transport::Udp6 { port: 7788 };

pub fn etf(offload: bool) -> Qdisc {
    Qdisc::Etf(Etf {
        delta: Span::from_micros(150),
        clock: ClockId::Tai,
        offload,
        deadline_mode: false,
        skip_sock_check: false,
    })
}

/// The ETF study's qdiscs.
pub fn paper_mqprio(offload: bool) -> QdiscTree {
    let range = |count, offset| QueueRange { count, offset };
    let queues = vec![range(1, 0), range(1, 1), range(2, 2)];
    let root = Qdisc::Mqprio(Mqprio { map: PAPER_MAP, queues, hw: false });
    QdiscTree { root, classes: BTreeMap::from([(0, etf(offload))]) }
}

pub fn pfifo(limit: u32) -> QdiscTree {
    Qdisc::Pfifo(Pfifo { limit }).into()
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
