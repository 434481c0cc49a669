//! Taking existing interfaces and giving them back: a veth pair stands in for
//! two NICs on a cable. Needs root, says SKIP without.
//!
//! ```text
//!   before and after:   c0 ═══ c1              in the machine
//!   meanwhile:          talker[c0] ═══ listener[c1]
//! ```

mod common;

use std::time::Duration;

use common::{UDP4, etf, have, in_a_machine_of_its_own, pfifo, scenario, sh};
use teiji_experiment::scenario::QdiscTree;
use teiji_net::nic;
use teiji_net::{Applied, ApplyOptions, Binding, KeeperProgram, NetError, Plan, SshConnection};

fn plan(qdisc: Option<QdiscTree>) -> Plan {
    let scenario = scenario(qdisc, UDP4);
    let binding = Binding::parse("talker=c0,listener=c1", &scenario).unwrap();
    Plan::compile(&scenario, &binding).unwrap()
}

/// Takes only NICs that are not in use.
fn apply(plan: &Plan) -> Result<Applied, NetError> {
    plan.apply_with(&ApplyOptions { keeper: KeeperProgram::None, ..ApplyOptions::default() })
}

fn take(plan: &Plan) -> Result<Applied, NetError> {
    let keeper = KeeperProgram::None;
    plan.apply_with(&ApplyOptions { keeper, take: true, ..ApplyOptions::default() })
}

/// Runs `test` on a machine with two NICs; `more` is done to them first.
fn with_nics(more: &str, test: impl FnOnce() + Send) {
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

/// The state of the NICs as `ip` and `tc` tell it, in a fixed order.
fn state() -> Vec<String> {
    let text = sh("ip -br addr show dev c0; ip -br addr show dev c1
                   ip -br link show dev c0; ip -br link show dev c1; ip -d route show table all
                   ip -6 route; ip -d -br link show type bridge_slave; tc qdisc");
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
fn nics_are_moved_used_and_given_back_as_they_were() {
    with_nics(CONFIGURED, || {
        let before = state();
        let plan = plan(Some(pfifo(33)));
        let applied = take(&plan).unwrap();
        assert!(!sh("ip -br link").contains("c0"), "the NICs are away");
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
fn a_nic_that_was_down_comes_back_down() {
    with_nics("true", || {
        let before = state();
        drop(apply(&plan(None)).unwrap());
        assert_restored(&before);
    });
}

#[test]
fn a_failure_midway_gives_the_nics_back() {
    with_nics(CONFIGURED, || {
        let before = state();
        let text = take(&plan(Some(etf(true).into()))).unwrap_err().to_string();
        assert!(text.ends_with("Nothing was changed."), "{text}");
        assert_restored(&before);
    });
}

#[test]
fn too_few_queues_are_explained_and_the_nics_given_back() {
    with_nics(CONFIGURED, || {
        let before = state();
        let text = take(&plan(Some(common::paper_mqprio(false)))).unwrap_err().to_string();
        assert!(
            text.contains("`ip netns exec talker ethtool -L c0 combined 4` failed: "),
            "{text}"
        );
        assert!(text.contains("the plan needs 4 transmit queues, its driver offers"), "{text}");
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

/// Applies the plan to NICs made ready by `more`; it is refused with `message` and
/// nothing is touched.
fn refused(more: &str, options: &ApplyOptions<'_>, message: &str) {
    with_nics(more, || {
        let before = settled("ip addr; ip route; tc qdisc");
        let error = plan(None).apply_with(options).unwrap_err();
        assert!(matches!(error, NetError::Refused(_)), "{error}");
        assert_eq!(error.to_string(), format!("{message}. Nothing was changed."));
        assert_eq!(sh("ip addr; ip route; tc qdisc"), before);
    });
}

const UP: &str = "ip addr add 192.0.2.1/24 dev c0; ip link set c0 up; ip link set c1 up;";

#[test]
fn nics_in_use_are_refused_without_take_and_stay_unchanged() {
    let in_use = |ifname: &str, uses: &str| {
        format!(
            "{ifname} is in use: it {uses}. Choose another NIC, or give --take to take {ifname} for \
             the run; the run puts all of this back at its end"
        )
    };
    let options = ApplyOptions { keeper: KeeperProgram::None, ..ApplyOptions::default() };
    let refused = |more: &str, ifname, uses| refused(more, &options, &in_use(ifname, uses));
    // As on a board that is reached by a static address without gateway.
    refused(UP, "c0", "has the address 192.0.2.1/24");
    // Also of a NIC that is down.
    refused("ip addr add 2001:db8::1/64 dev c1", "c1", "has the address 2001:db8::1/64");
    refused(
        &format!("{UP} ip route add default via 192.0.2.2"),
        "c0",
        "has the address 192.0.2.1/24 and carries the default route",
    );
    refused(
        "ip link set c0 up; ip link set c1 up; ip route add 203.0.113.0/24 dev c0",
        "c0",
        "carries a route",
    );
    refused(
        "ip link add br0 type bridge; ip link set c0 master br0",
        "c0",
        "is a port of the bridge br0",
    );
}

#[test]
fn a_nic_that_carries_the_ssh_connection_is_refused() {
    let (client, local) = ("198.51.100.7".parse().unwrap(), "192.0.2.1".parse().unwrap());
    let options = ApplyOptions {
        keeper: KeeperProgram::None,
        ssh: Some(SshConnection { client, local }),
        ..ApplyOptions::default()
    };
    let refused = |more: &str, uses: &str| {
        let message = format!(
            "c0 is in use: it carries this SSH connection (from 198.51.100.7){uses}. Choose \
             another NIC, or give --take to take c0 for the run (the connection stalls meanwhile: \
             start it with `nohup` or in tmux); the run puts all of this back at its end"
        );
        refused(more, &options, &message);
    };
    refused(UP, " and has the address 192.0.2.1/24");
    // The address is another interface's, the way to the client leads over the NIC.
    refused(
        "ip addr add 192.0.2.1/32 dev lo; ip link set c0 up; ip link set c1 up
            ip route add 198.51.100.0/24 dev c0",
        " and carries a route",
    );
    // It reaches the machine through a bridge.
    refused(
        "ip link add br0 up type bridge; ip link set c0 master br0; ip addr add 192.0.2.1/24 dev br0",
        " and is a port of the bridge br0",
    );
}

#[test]
fn an_address_that_the_kernel_made_is_no_use() {
    with_nics("ip link set c0 up; ip link set c1 up; sleep 0.3", || {
        let before = settled("ip -br addr show dev c0");
        assert!(before.contains("fe80::"), "{before}");
        apply(&plan(None)).unwrap().undo().unwrap();
    });
}

#[test]
fn routes_and_bridge_of_taken_nics_are_restored() {
    let used = "ip addr add 192.0.2.1/24 dev c0; ip addr add 2001:db8::1/64 dev c0 nodad
        ip link add br0 type bridge; ip link set c1 master br0
        ip link set c0 up; ip link set c1 up
        ip route add 203.0.113.0/24 via 192.0.2.2 metric 7
        ip route add default via 203.0.113.9 dev c0 onlink
        ip route add 198.51.100.0/24 dev c0 table 77 src 192.0.2.1
        ip -6 route add 2001:db8:5::/48 via 2001:db8::2 dev c0; sleep 0.3";
    with_nics(used, || {
        assert_eq!(nic::look("c1", &[]).unwrap().port_of.as_deref(), Some("br0"));
        let before = state();
        let applied = take(&plan(None)).unwrap();
        assert!(!sh("ip route show table all").contains("203.0.113"));
        applied.undo().unwrap();
        assert_restored(&before);
    });
}

#[test]
fn nics_with_what_cannot_be_put_back_are_refused_even_with_take() {
    for take in [false, true] {
        let keeper = KeeperProgram::None;
        let options = ApplyOptions { keeper, take, ..ApplyOptions::default() };
        refused(
            "ip link add link c1 name up1 type macvlan",
            &options,
            "c1 carries up1, which would lose its NIC; remove it first (`ip link del up1`) or \
             choose another NIC",
        );
        refused(
            "tc qdisc add dev c0 root handle 7: pfifo limit 9",
            &options,
            "c0 has a configured qdisc (pfifo 7:), which would be lost; remove it first (`tc \
             qdisc del dev c0 root`) or choose another NIC",
        );
        refused(
            "tc qdisc add dev c1 clsact",
            &options,
            "c1 has a configured qdisc (clsact ffff:), which would be lost; remove it first (`tc \
             qdisc del dev c1 clsact`) or choose another NIC",
        );
        refused(
            "ip link set c1 name eth9",
            &options,
            "there is no interface `c1` here; there are lo, eth9, c0",
        );
    }
}

#[test]
fn the_loopback_device_is_no_nic() {
    with_nics("true", || {
        let scenario = scenario(None, UDP4);
        let binding = Binding::parse("talker=lo,listener=c1", &scenario).unwrap();
        let error = apply(&Plan::compile(&scenario, &binding).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("lo is not an Ethernet interface"), "{error}");
    });
}
