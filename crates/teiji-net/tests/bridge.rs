//! Plans with bridges: as commands, and for real over veth pairs, which needs root and
//! says SKIP without.
//!
//! ```text
//!   a ── left ── x ── middle ── y ── right ── s
//!                x ── below ── b
//! ```

mod common;

use std::net::UdpSocket;
use std::time::Duration;

use common::{have, in_a_machine_of_its_own, sh};
use teiji_experiment::{Experiment, Scenario};
use teiji_net::{Applied, Binding, Plan};
use teiji_sys::netns;

fn scenario(transport: &str) -> Scenario {
    let text = format!(
        r#"
        name = "bridges"
        question = "?"
        wires.left.between = ["a", "x"]
        wires.below.between = ["x", "b"]
        wires.middle.between = ["x", "y"]
        wires.right.between = ["y", "s"]
        hosts.x.bridge = true
        hosts.y.bridge = true
        [flows.over]
        from = "a"
        to = "s"
        transport = "{transport}"
        period = "1ms"
        frames = 1
        "#
    );
    Experiment::parse(&text, "bridges.toml").unwrap().cases[0].scenario.clone()
}

fn compile(transport: &str) -> Plan {
    Plan::compile(&scenario(transport), &Binding::veth()).unwrap()
}

#[test]
fn bridges_print_as_plain_commands() {
    let script = compile("udp4").script();
    for expected in [
        "ip -n x link add name br0 up type bridge mcast_snooping 0\n",
        "ip -n x link set dev middle master br0\n",
        "ip -d -n y link show dev right | grep -q 'state forwarding' ||",
        // Each host at the port that leads to it.
        "bridge -n x fdb replace 02:74:65:6a:04:02 dev middle master static\n",
        "bridge -n x fdb replace 02:74:65:6a:01:01 dev left master static\n",
        "bridge -n y fdb replace 02:74:65:6a:02:02 dev middle master static\n",
        // Each host knows the others of its network.
        "ip -n a neigh replace 10.1.0.3 lladdr 02:74:65:6a:04:02 dev left nud permanent\n",
        "ip -n s neigh replace 10.1.0.2 lladdr 02:74:65:6a:02:02 dev right nud permanent\n",
    ] {
        assert!(script.contains(expected), "`{expected}` is not in\n{script}");
    }
    // Two bridges, three hosts.
    assert_eq!(script.matches("master static").count(), 2 * 3);
    assert_eq!(script.matches("nud permanent").count(), 6);
    assert!(!script.contains("-n x addr add"), "{script}");
}

#[test]
fn a_bridge_speaks_no_ipv6_where_its_hosts_do() {
    let script = compile("udp6").script();
    let off = |host: &str| {
        script.contains(&format!(
            "ip netns exec {host} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"
        ))
    };
    assert!(off("x") && off("y") && !off("a"), "{script}");
    assert!(script.contains("ip -n s addr add fd74:656a:1::3/64 dev right nodad"), "{script}");
}

#[test]
fn frames_pass_two_bridges_and_nothing_is_flooded() {
    in_a_machine_of_its_own(|| {
        let plan = compile("udp4");
        let applied = plan.apply().unwrap();
        let observed = applied.observe().unwrap();
        assert_eq!(observed.differences(&plan), Vec::<String>::new());
        let bridge = |host: &str, wire: &str| observed.port(host, wire).unwrap().bridge.clone();
        assert_eq!(bridge("x", "middle").as_deref(), Some("forwarding"));
        assert_eq!(bridge("a", "left"), None);
        let bind = |host, address| inside(&applied, host, || UdpSocket::bind(address).unwrap());
        let receiver = bind("s", "10.1.0.3:7788");
        let sender = bind("a", "10.1.0.1:0");
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut buffer = [0; 16];
        for _ in 0..5 {
            sender.send_to(b"over", "10.1.0.3:7788").unwrap();
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 4);
        }
        let after = applied.observe().unwrap();
        let came = |host: &str, wire: &str| after.port(host, wire).unwrap().rx_packets;
        assert_eq!((came("s", "right"), came("b", "below")), (5, 0));
        if have("bridge") {
            let known = inside(&applied, "x", || sh("bridge fdb show br br0 dev left"));
            assert!(known.contains("02:74:65:6a:01:01 master br0 static"), "{known}");
        }
        applied.undo().unwrap();
    });
}

fn inside<T: Send>(applied: &Applied, host: &str, work: impl FnOnce() -> T + Send) -> T {
    netns::in_namespace(applied.namespace(host).unwrap(), work).unwrap()
}
