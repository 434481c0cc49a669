//! Plans over veth pairs, for real: needs root, says SKIP without.
//!
//! ```text
//!   ┌ talker ┐            ┌ listener ┐
//!   │   line ├─── veth ───┤ line     │     both namespaces anonymous
//!   └────────┘            └──────────┘
//! ```

mod common;

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use common::{UDP4, UDP6, etf, have, in_a_machine_of_its_own, pfifo, scenario, sh};
use teiji_core::wire::MacAddr;
use teiji_experiment::scenario::QdiscTree;
use teiji_net::{Applied, ApplyOptions, Binding, NetError, Plan};
use teiji_sys::netns;

fn compile(qdisc: Option<QdiscTree>) -> Plan {
    Plan::compile(&scenario(qdisc, UDP4), &Binding::veth()).unwrap()
}

fn inside<T: Send>(applied: &Applied, host: &str, work: impl FnOnce() -> T + Send) -> T {
    netns::in_namespace(applied.namespace(host).unwrap(), work).unwrap()
}

#[test]
fn a_wire_is_made_and_ip_and_tc_see_what_was_observed() {
    in_a_machine_of_its_own(|| {
        let plan = compile(Some(pfifo(77)));
        let applied = plan.apply().unwrap();
        let observed = applied.observe().unwrap();
        assert_eq!(observed.differences(&plan), Vec::<String>::new());
        let port = observed.port("talker", "line").unwrap();
        assert!(port.carrier && port.state == "UP", "{port:?}");
        assert_eq!(port.driver.as_ref().unwrap().name, "veth");
        assert_eq!(port.addresses, ["10.1.0.1/24"]);
        assert_eq!(teiji_net::qdisc::words(&port.qdiscs[0].settings), "pfifo limit 77");
        let info = applied.port("talker", "line").unwrap();
        assert_eq!(info.mac, MacAddr([2, 0x74, 0x65, 0x6a, 1, 1]));
        if have("ip") && have("tc") {
            let qdiscs = inside(&applied, "talker", || sh("tc qdisc show dev line"));
            assert_eq!(qdiscs.trim(), "qdisc pfifo 100: root refcnt 2 limit 77p");
            let links = inside(&applied, "talker", || sh("ip -o link show dev line"));
            assert!(links.contains("LOWER_UP") && links.contains("02:74:65:6a:01:01"), "{links}");
            let neighbours = inside(&applied, "listener", || sh("ip neigh show dev line"));
            assert_eq!(neighbours.trim(), "10.1.0.1 lladdr 02:74:65:6a:01:01 PERMANENT");
        }
        applied.undo().unwrap();
    });
}

#[test]
fn the_wire_carries_what_is_sent_and_nothing_else() {
    in_a_machine_of_its_own(|| {
        let applied = compile(None).apply().unwrap();
        let bind = |host, address| inside(&applied, host, || UdpSocket::bind(address).unwrap());
        let receiver = bind("listener", "10.1.0.2:7788");
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let sender = bind("talker", "10.1.0.1:0");
        for n in 0..5_u8 {
            sender.send_to(&[n; 64], "10.1.0.2:7788").unwrap();
            let mut buffer = [0; 100];
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 64);
            assert_eq!(buffer[0], n);
        }
        // Time enough for anything the kernel would send by itself at link-up.
        std::thread::sleep(Duration::from_millis(500));
        let observed = applied.observe().unwrap();
        let packets: Vec<_> = observed.ports.iter().map(|p| (p.tx_packets, p.rx_packets)).collect();
        assert_eq!(packets, [(5, 0), (0, 5)], "five frames, no ARP, no discovery, no reports");
    });
}

#[test]
fn ipv6_works_at_once_and_is_quiet_after_its_first_reports() {
    in_a_machine_of_its_own(|| {
        let plan = Plan::compile(&scenario(None, UDP6), &Binding::veth()).unwrap();
        let applied = plan.apply().unwrap();
        let observed = applied.observe().unwrap();
        assert_eq!(observed.differences(&plan), Vec::<String>::new());
        let port = observed.port("talker", "line").unwrap();
        assert_eq!(port.addresses, ["10.1.0.1/24", "fd74:656a:1::1/64"], "no link-local address");
        let sender = inside(&applied, "talker", || UdpSocket::bind("[fd74:656a:1::1]:0").unwrap());
        sender.send_to(b"x", "[fd74:656a:1::2]:9").unwrap();
        let count = || applied.observe().unwrap().ports[0].tx_packets;
        std::thread::sleep(Duration::from_millis(500));
        let early = count();
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(count(), early, "nothing is sent once the multicast reports are out");
    });
}

#[test]
fn undo_leaves_nothing_behind_and_dropping_does_the_same() {
    in_a_machine_of_its_own(|| {
        let links =
            || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap().lines().count();
        let before = links();
        let applied = compile(None).apply().unwrap();
        let talker = applied.namespace("talker").unwrap().try_clone_to_owned().unwrap();
        applied.undo().unwrap();
        let there = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let left = netns::in_namespace(std::os::fd::AsFd::as_fd(&talker), there).unwrap();
        assert!(!left.contains("line"), "{left}");
        drop(compile(None).apply().unwrap());
        assert_eq!(links(), before);
    });
}

#[test]
fn a_kernel_or_device_without_the_qdisc_is_explained_and_everything_undone() {
    in_a_machine_of_its_own(|| {
        // Fails on every kernel: without sch_etf the kind is unknown, with it
        // a veth cannot offload.
        let error = compile(Some(etf(true).into())).apply().unwrap_err();
        let text = error.to_string();
        let NetError::Step(step) = error else { panic!("{text}") };
        let kernel = step.kernel.unwrap();
        if kernel.errno == 2 {
            assert_eq!(
                text,
                "talker: `tc -n talker qdisc replace dev line root handle 100: etf clockid \
                 CLOCK_TAI delta 150000 offload` failed: No such file or directory (errno 2); \
                 kernel: \"Specified qdisc kind is unknown\". This kernel has no `etf` qdisc: \
                 load it with `modprobe sch_etf`, or run with --on lab. Nothing was changed."
            );
        } else {
            assert!(
                text.starts_with("line (veth) has no launch-time queue: `etf offload`"),
                "{text}"
            );
            assert!(text.ends_with(" Nothing was changed."), "{text}");
        }
        assert_eq!(step.not_restored, Vec::<String>::new());
    });
}

#[test]
fn an_impossible_mac_address_is_explained() {
    in_a_machine_of_its_own(|| {
        let mut scenario = scenario(None, UDP4);
        scenario.hosts[0].ports[0].mac = MacAddr([1, 0, 0, 0, 0, 1]);
        let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
        let text = plan.apply().unwrap_err().to_string();
        assert!(text.contains("A MAC address must be a unicast address"), "{text}");
    });
}

#[test]
fn an_interruption_undoes_what_was_done() {
    in_a_machine_of_its_own(|| {
        let interrupted = std::sync::atomic::AtomicBool::new(true);
        let options = ApplyOptions { interrupted: Some(&interrupted), ..ApplyOptions::default() };
        let text = compile(None).apply_with(&options).unwrap_err().to_string();
        assert_eq!(text, "interrupted while the network was being set up. Nothing was changed.");
    });
}

#[test]
fn differences_between_plan_and_kernel_are_sentences() {
    in_a_machine_of_its_own(|| {
        let plan = compile(Some(pfifo(77)));
        let applied = plan.apply().unwrap();
        if !have("tc") {
            return;
        }
        inside(&applied, "talker", || {
            sh("tc qdisc replace dev line root handle 100: pfifo limit 10; ip addr flush dev line")
        });
        inside(&applied, "listener", || sh("ip link set dev line down"));
        assert_eq!(
            applied.observe().unwrap().differences(&plan),
            [
                "talker.line: addresses: none, configured: 10.1.0.1/24",
                "talker.line: line has no carrier (DOWN)",
                "talker.line at root: qdisc: `pfifo limit 10`, configured: `pfifo limit 77`",
                "listener.line: line has no carrier (DOWN)",
            ]
        );
    });
}

/// Named namespaces that do not outlive the test, however it ends.
struct NamedNamespaces([String; 2]);

impl Drop for NamedNamespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            // Gone already, as it should be, unless the test failed.
            drop(Command::new("ip").args(["netns", "delete", name]).output());
        }
    }
}

#[test]
fn the_printed_commands_do_what_applying_does() {
    if !have("ip") {
        return;
    }
    in_a_machine_of_its_own(|| {
        let mut scenario = scenario(Some(pfifo(77)), UDP6);
        // Named namespaces are shared by the whole machine.
        let unique = |name: &str| format!("{name}-{}", std::process::id());
        for host in &mut scenario.hosts {
            host.name = unique(&host.name);
        }
        let names = [unique("talker"), unique("listener")];
        scenario.wires[0].between = names.clone();
        let _gone_at_the_end = NamedNamespaces(names);
        let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
        sh(&plan.script());
        let show = "tc qdisc show dev line; ip -br addr show dev line; ip neigh show dev line nud permanent";
        let by_hand = sh(&format!("ip netns exec {} sh -c '{show}'", unique("talker")));
        plan.undo_commands().iter().for_each(|command| drop(sh(command)));
        let applied = plan.apply().unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let by_us = inside(&applied, &unique("talker"), || sh(show));
        assert_eq!(words(&by_us), words(&by_hand));
    });
}

#[test]
fn a_kernel_without_vtsn_is_reported_and_nothing_remains() {
    in_a_machine_of_its_own(|| {
        if std::path::Path::new("/sys/module/vtsn").exists() {
            println!("SKIP: this kernel has vtsn");
            return;
        }
        let mut scenario = scenario(None, UDP4);
        scenario.wires[0].nic = teiji_experiment::Nic::Vtsn;
        let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
        let text = plan.apply().unwrap_err().to_string();
        assert!(text.contains("This kernel has no `vtsn` module"), "{text}");
        assert!(text.ends_with(" Nothing was changed."), "{text}");
    });
}
