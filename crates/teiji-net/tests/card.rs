//! Taking existing interfaces and giving them back: a veth pair stands in for
//! two cards on a cable. Needs root, says SKIP without.
//!
//! ```text
//!   before and after:   c0 ═══ c1              in the machine
//!   meanwhile:          talker[c0] ═══ listener[c1]
//! ```

mod common;

use std::time::Duration;

use common::{UDP4, etf, have, in_a_machine_of_its_own, pfifo, scenario, sh};
use teiji_experiment::scenario::Qdisc;
use teiji_net::{Applied, ApplyOptions, Binding, KeeperProgram, NetError, Plan};

fn plan(qdisc: Option<Qdisc>) -> Plan {
    let scenario = scenario(qdisc, UDP4);
    let binding = Binding::parse("talker=c0,listener=c1", &scenario).unwrap();
    Plan::compile(&scenario, &binding).unwrap()
}

fn apply(plan: &Plan) -> Result<Applied, NetError> {
    plan.apply_with(&ApplyOptions { keeper: KeeperProgram::None, ..ApplyOptions::default() })
}

/// Runs `test` on a machine with two cards; `more` is done to them first.
fn with_cards(more: &str, test: impl FnOnce() + Send) {
    if !have("ip") {
        return;
    }
    in_a_machine_of_its_own(|| {
        sh("ip link set lo up
            ip link add c0 address 02:00:00:00:00:c0 type veth peer name c1 address 02:00:00:00:00:c1");
        sh(more);
        test();
    });
}

/// The state of the cards as `ip` and `tc` tell it, in a fixed order.
fn state() -> Vec<String> {
    let text = sh("ip -br addr show dev c0; ip -br addr show dev c1
                   ip -br link show dev c0; ip -br link show dev c1; ip route; tc qdisc");
    let mut lines: Vec<_> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.sort();
    lines
}

/// The state is `before` again; the kernel reports a link's state with a delay.
#[track_caller]
fn assert_restored(before: &[String]) {
    for _ in 0..250 {
        if state() == before {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(state(), before);
}

const CONFIGURED: &str = "ip addr add 192.0.2.1/24 brd + dev c0
    ip addr add 192.0.2.7/32 dev c0 label c0:alias
    ip addr add 2001:db8::1/64 dev c0 nodad
    ip addr add 198.51.100.9/24 dev c0 valid_lft 3600 preferred_lft 1800
    ip link set c0 up; ip link set c1 up; sleep 0.3";

#[test]
fn cards_are_moved_used_and_given_back_as_they_were() {
    with_cards(CONFIGURED, || {
        let before = state();
        let plan = plan(Some(pfifo(33)));
        let applied = apply(&plan).unwrap();
        assert!(!sh("ip -br link").contains("c0"), "the cards are away");
        assert_eq!(applied.observe().unwrap().differences(&plan), Vec::<String>::new());
        let port = applied.port("talker", "line").unwrap();
        assert_eq!((port.ifname.as_str(), port.mac.0[5]), ("c0", 0xc0));
        applied.undo().unwrap();
        assert_restored(&before);
        let lifetimes = sh("ip addr show dev c0");
        assert!(lifetimes.contains("preferred_lft 1800sec"), "{lifetimes}");
        assert!(lifetimes.contains("scope global c0:alias"), "{lifetimes}");
    });
}

#[test]
fn a_card_that_was_down_comes_back_down() {
    with_cards("true", || {
        let before = state();
        drop(apply(&plan(None)).unwrap());
        assert_restored(&before);
    });
}

#[test]
fn a_failure_midway_gives_the_cards_back() {
    with_cards(CONFIGURED, || {
        let before = state();
        let text = apply(&plan(Some(Qdisc::Leaf(etf(true))))).unwrap_err().to_string();
        assert!(text.ends_with("Nothing was changed."), "{text}");
        assert_restored(&before);
    });
}

#[test]
fn too_few_queues_are_explained_and_the_cards_given_back() {
    with_cards(CONFIGURED, || {
        let before = state();
        let text = apply(&plan(Some(common::paper_mqprio(false)))).unwrap_err().to_string();
        assert!(
            text.contains("`ip netns exec talker ethtool -L c0 combined 4` failed: "),
            "{text}"
        );
        assert!(text.contains("4 transmit queues are asked for, its driver offers"), "{text}");
        assert!(text.contains("Use `prio` instead"), "{text}");
        assert_restored(&before);
    });
}

/// What a command prints once it prints the same twice: a link that comes up
/// changes its state by itself for a moment.
fn settled(command: &str) -> String {
    let mut last = sh(command);
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let next = sh(command);
        if next == last {
            break;
        }
        last = next;
    }
    last
}

#[test]
fn cards_the_machine_needs_are_refused_and_left_alone() {
    let refused = |more: &str, message: &str| {
        with_cards(more, || {
            let before = settled("ip addr; ip route; tc qdisc");
            let error = apply(&plan(None)).unwrap_err();
            assert!(matches!(error, NetError::Refused(_)), "{error}");
            let text = error.to_string();
            assert_eq!(text, format!("{message}. Nothing was changed."));
            assert_eq!(sh("ip addr; ip route; tc qdisc"), before);
        });
    };
    refused(
        "ip link add br0 type bridge; ip link set c0 master br0",
        "c0 is a member of br0, which would lose it; take it out first (`ip link set c0 \
         nomaster`) or choose another card",
    );
    refused(
        "ip link add link c1 name up1 type macvlan",
        "c1 carries up1, which would lose its card; remove it first (`ip link del up1`) or \
         choose another card",
    );
    let up = "ip addr add 192.0.2.1/24 dev c0; ip link set c0 up; ip link set c1 up;";
    refused(
        &format!("{up} ip route add default via 192.0.2.2"),
        "c0 carries this machine's default route: taking it would cut the machine off. Choose \
         another card, or run with --on lab",
    );
    refused(
        &format!("{up} ip route add 203.0.113.0/24 via 192.0.2.2"),
        "c0 has 1 configured route, which would be lost; remove it first (`ip route show dev \
         c0`) or choose another card",
    );
    refused(
        "tc qdisc add dev c0 root handle 7: pfifo limit 9",
        "c0 has a configured qdisc (pfifo 7:), which would be lost; remove it first (`tc qdisc \
         del dev c0 root`) or choose another card",
    );
    refused(
        "tc qdisc add dev c1 clsact",
        "c1 has a configured qdisc (clsact ffff:), which would be lost; remove it first (`tc \
         qdisc del dev c1 clsact`) or choose another card",
    );
    refused("ip link set c1 name eth9", "there is no interface `c1` here; there are lo, eth9, c0");
}

#[test]
fn the_loopback_device_is_no_card() {
    with_cards("true", || {
        let scenario = scenario(None, UDP4);
        let binding = Binding::parse("talker=lo,listener=c1", &scenario).unwrap();
        let error = apply(&Plan::compile(&scenario, &binding).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("lo is not an Ethernet interface"), "{error}");
    });
}
