//! What a plan prints, and which plans are refused. Nothing is changed here.

mod common;

use common::{PAPER_MAP, UDP4, UDP6, etf, paper_mqprio, pfifo, scenario};
use teiji_core::domain::RtPriority;
use teiji_core::quantity::Rate;
use teiji_core::time::Span;
use teiji_experiment::scenario::{
    Cbs, Gate, Host, Irq, Mqprio, Napi, Nic, Phc, Policy, Prio, Processing, Qdisc, QdiscTree,
    QueueRange, RtRuntime, Scenario, System, Taprio, TaprioMode, Wire,
};
use teiji_net::{Binding, Plan};

#[test]
fn the_papers_set_up_prints_as_the_commands_a_person_would_type() {
    let scenario = scenario(Some(paper_mqprio(false)), UDP4);
    let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
    assert_eq!(
        plan.script(),
        "\
# talker
ip netns add talker
ip netns exec talker sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip -n talker link set dev lo up

# listener
ip netns add listener
ip netns exec listener sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip -n listener link set dev lo up

# talker
ip -n talker link add name line address 02:74:65:6a:01:01 numtxqueues 4 numrxqueues 1 type veth peer name line address 02:74:65:6a:01:02 numtxqueues 1 numrxqueues 1 netns listener
ip -n talker addr add 10.1.0.1/24 dev line
ip -n talker link set dev line up
tc -n talker qdisc replace dev line root handle 100: mqprio num_tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 hw 0
tc -n talker qdisc replace dev line parent 100:1 etf clockid CLOCK_TAI delta 150000

# listener
ip -n listener addr add 10.1.0.2/24 dev line
ip -n listener link set dev line up

# talker
left=100; until ip -n talker link show dev line | grep -q LOWER_UP || [ $((left -= 1)) -le 0 ]; do sleep 0.1; done
ip -n talker neigh replace 10.1.0.2 lladdr 02:74:65:6a:01:02 dev line nud permanent

# listener
left=100; until ip -n listener link show dev line | grep -q LOWER_UP || [ $((left -= 1)) -le 0 ]; do sleep 0.1; done
ip -n listener neigh replace 10.1.0.1 lladdr 02:74:65:6a:01:01 dev line nud permanent

# to undo
# ip netns del talker
# ip netns del listener
"
    );
}

#[test]
fn nics_are_moved_get_their_queues_and_keep_their_addresses_on_the_wire() {
    let scenario = scenario(Some(paper_mqprio(true)), UDP6);
    let binding = Binding::parse("talker=enp3s0, listener=enp4s0", &scenario).unwrap();
    let script = Plan::compile(&scenario, &binding).unwrap().script();
    for line in [
        "ip link set dev enp3s0 netns talker",
        "ip netns exec talker ethtool -L enp3s0 combined 4",
        "ip -n talker addr add fd74:656a:1::1/64 dev enp3s0 nodad",
        "tc -n talker qdisc replace dev enp3s0 parent 100:1 etf clockid CLOCK_TAI delta 150000 \
         offload",
        "ip -n talker neigh replace fd74:656a:1::2 lladdr $(ip netns exec listener cat \
         /sys/class/net/enp4s0/address) dev enp3s0 nud permanent",
        "ip netns exec listener sysctl -qw net.ipv6.conf.default.accept_dad=0",
        "# ip -n listener link set dev enp4s0 netns $$",
    ] {
        assert!(script.lines().any(|l| l == line), "{line}\n{script}");
    }
    assert!(!script.contains("veth"), "{script}");
    assert!(!script.contains("ethtool -L enp4s0"), "the listener's queues stay:\n{script}");
}

#[test]
fn a_host_on_another_machine_is_not_set_up_here() {
    let scenario = scenario(Some(paper_mqprio(true)), UDP4);
    let part = Binding::parse_part("listener=enp4s0", &scenario).unwrap();
    assert!(part.is_elsewhere("talker") && !part.is_elsewhere("listener"));
    let plan = Plan::compile(&scenario, &part).unwrap();
    assert_eq!(plan.hosts(), ["listener"]);
    let script = plan.script();
    assert!(!script.contains("netns add talker") && !script.contains("-n talker"), "{script}");
    assert!(!script.contains("mqprio"), "{script}");
    for line in [
        "ip link set dev enp4s0 netns listener",
        "ip -n listener addr add 10.1.0.2/24 dev enp4s0",
        "ip -n listener neigh replace 10.1.0.1 lladdr MAC-of-talker.line dev enp4s0 nud permanent",
    ] {
        assert!(script.lines().any(|l| l == line), "{line}\n{script}");
    }
}

#[test]
fn a_vtsn_wire_prints_its_nic_its_gates_and_its_credits() {
    let range = |count, offset| QueueRange { count, offset };
    let cbs = Cbs::for_bandwidth(
        Rate::from_bps(20_000_000),
        Rate::from_bps(100_000_000),
        Cbs::LARGEST_FRAME,
        true,
    );
    let root = Qdisc::Taprio(Taprio {
        map: [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        queues: vec![range(1, 0), range(2, 1)],
        base_time: Span::ZERO,
        cycle: Span::from_millis(1),
        extension: Span::from_micros(5),
        entries: vec![
            Gate { open: vec![0], interval: Span::from_micros(300) },
            Gate { open: vec![0, 1], interval: Span::from_micros(700) },
        ],
        mode: TaprioMode::Offload,
    });
    let classes = [(0, etf(true)), (1, Qdisc::Cbs(cbs.unwrap()))].into();
    let qdisc = QdiscTree { root, classes };
    let mut scenario = scenario(Some(qdisc), UDP4);
    let wire = &mut scenario.wires[0];
    wire.nic = Nic::Vtsn;
    wire.rate = Rate::from_bps(100_000_000);
    wire.delay = Some(Span::from_ns(500));
    let vtsn = &mut scenario.hosts[0].ports[0].vtsn;
    vtsn.ring.tx = Some(64);
    vtsn.pause = Some(true);
    vtsn.phc = Phc { offset: Some(Span::from_millis(1)), drift_ppb: Some(40_000), ..vtsn.phc };
    let script = Plan::compile(&scenario, &Binding::veth()).unwrap().script();
    let expected = "\
ip -n talker link add name line address 02:74:65:6a:01:01 type vtsn peer name line address 02:74:65:6a:01:02 netns listener
ip netns exec talker ethtool -L line tx 3
ip netns exec talker ethtool -s line speed 100 duplex full autoneg off
ip netns exec talker sh -c 'echo 500 > /sys/class/net/line/vtsn/delay_ns'
ip netns exec talker ethtool -G line tx 64
ip netns exec talker ethtool -A line autoneg off rx on tx on
ip netns exec talker sh -c 'echo 40000 > /sys/class/net/line/vtsn/phc_drift_ppb'
ip netns exec talker sh -c 'echo 1000000 > /sys/class/net/line/vtsn/phc_offset_ns'
ip -n talker addr add 10.1.0.1/24 dev line
ip -n talker link set dev line up
tc -n talker qdisc replace dev line root handle 100: taprio num_tc 2 map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 2@1 base-time 0 sched-entry S 01 300000 sched-entry S 03 700000 cycle-time 1000000 cycle-time-extension 5000 flags 0x2
tc -n talker qdisc replace dev line parent 100:1 etf clockid CLOCK_TAI delta 150000 offload
tc -n talker qdisc replace dev line parent 100:2 cbs idleslope 20000 sendslope -80000 hicredit 308 locredit -1231 offload 1
tc -n talker qdisc replace dev line parent 100:3 cbs idleslope 20000 sendslope -80000 hicredit 308 locredit -1231 offload 1
";
    assert!(script.contains(expected), "{script}");
    let listener = "\n# listener\nip -n listener addr add";
    assert!(script.contains(listener), "the wire is set at one end only:\n{script}");
}

#[test]
fn a_class_on_several_queues_gets_its_qdisc_on_each() {
    let range = |count, offset| QueueRange { count, offset };
    let root = Qdisc::Mqprio(Mqprio {
        map: [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        queues: vec![range(1, 0), range(3, 1)],
        hw: true,
    });
    let qdisc = QdiscTree { root, classes: [(1, etf(true))].into() };
    let plan = Plan::compile(&scenario(Some(qdisc), UDP4), &Binding::veth()).unwrap();
    let script = plan.script();
    for class in ["100:2", "100:3", "100:4"] {
        assert!(script.contains(&format!("parent {class} etf ")), "{class}\n{script}");
    }
    assert!(!script.contains("parent 100:1 ") && script.contains("hw 1"), "{script}");
}

#[test]
fn bands_of_prio_count_from_one() {
    let root = Qdisc::Prio(Prio { bands: 3, map: PAPER_MAP });
    let qdisc = QdiscTree { root, classes: [(0, etf(false))].into() };
    let plan = Plan::compile(&scenario(Some(qdisc), UDP4), &Binding::veth()).unwrap();
    let script = plan.script();
    let root = "root handle 100: prio bands 3 priomap 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2";
    assert!(script.contains(root), "{script}");
    assert!(script.contains("parent 100:1 etf clockid CLOCK_TAI delta 150000"), "{script}");
}

#[test]
fn a_wire_with_an_impossible_interface_name_still_gets_a_veth() {
    let mut scenario = scenario(None, UDP4);
    let long = "the-long-wire-to-the-robot";
    scenario.wires[0].name = long.into();
    scenario.hosts.iter_mut().for_each(|h| h.ports[0].wire = long.into());
    let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
    assert_eq!(plan.port("talker", long).unwrap().ifname, "wire0");
}

#[test]
fn queue_numbers_that_do_not_fit_are_explained() {
    let mut scenario = scenario(Some(paper_mqprio(false)), UDP4);
    scenario.hosts[0].ports[0].queues = Some(2);
    assert_eq!(
        Plan::compile(&scenario, &Binding::veth()).unwrap_err().to_string(),
        "talker's port on `line` has 2 transmit queues, its mqprio needs 4; set queues = 4 or \
         change the ranges"
    );
}

#[test]
fn qdiscs_that_the_kernel_cannot_take_are_explained() {
    let error = |qdisc| {
        Plan::compile(&scenario(Some(qdisc), UDP4), &Binding::veth()).unwrap_err().to_string()
    };
    let mut map = PAPER_MAP;
    map[7] = 3;
    let prio = |bands, map| QdiscTree::from(Qdisc::Prio(Prio { bands, map }));
    let mqprio = Mqprio { map: [0; 16], queues: vec![], hw: false };
    let at = "talker's port on `line`: ";
    for (qdisc, text) in [
        (prio(3, map), "priority 7 is mapped to class 3, but the last class is 2"),
        (prio(17, PAPER_MAP), "prio with 17 bands; the kernel knows 2 to 16"),
        (
            QdiscTree { classes: [(3, etf(false))].into(), ..prio(3, PAPER_MAP) },
            "there is a qdisc below class 3, but the last class is 2",
        ),
        (Qdisc::Mqprio(mqprio).into(), "0 traffic classes; the kernel knows 1 to 16"),
    ] {
        assert_eq!(error(qdisc), format!("{at}{text}"));
    }
}

#[test]
fn bindings_that_make_no_sense_are_explained() {
    let mut scenario = scenario(Some(pfifo(10)), UDP4);
    let error = |text: &str, scenario: &_| Binding::parse(text, scenario).unwrap_err().to_string();
    for (text, message) in [
        (
            "enp3s0",
            "`enp3s0` is no binding; write HOST=INTERFACE, or HOST.WIRE=INTERFACE, for example \
             talker=enp3s0",
        ),
        ("speaker=enp3s0", "the experiment has no host `speaker`; it has talker, listener"),
        ("talker.cable=enp3s0", "host `talker` has no port on a wire `cable`; it is on line"),
        (
            "talker=enp3s0",
            "wire `line` has an interface at talker but none at listener; a cable has two ends: \
             add listener=INTERFACE",
        ),
        (
            "talker=enp3s0,listener=enp3s0",
            "`enp3s0` cannot be both talker.line and listener.line; give each its own interface",
        ),
        ("talker=a,talker=b", "talker.line is bound twice, to `a` and to `b`; drop one of the two"),
        (
            "talker=enp3s0:1",
            "`enp3s0:1` is no interface name: 1 to 15 bytes without `/`, `:` and blanks; `ip \
             link` lists them",
        ),
    ] {
        assert_eq!(error(text, &scenario), message);
    }
    // A second wire: the host alone no longer says which port.
    let mut port = scenario.hosts[0].ports[0].clone();
    port.wire = "ring".into();
    scenario.hosts[0].ports.push(port.clone());
    scenario.hosts.push(Host {
        name: "robot".into(),
        bridge: false,
        cpu: None,
        ports: vec![port],
        ptp: None,
        system: System::default(),
    });
    let between = ["talker".into(), "robot".into()];
    let ring = Wire { name: "ring".into(), between, ..scenario.wires[0].clone() };
    scenario.wires.push(ring);
    assert_eq!(
        error("talker=enp3s0", &scenario),
        "host `talker` has ports on line and ring; say which one: talker.line=INTERFACE"
    );
    assert!(Binding::parse("talker.ring=enp3s0,robot=enp4s0", &scenario).is_ok());
    // The listener is elsewhere, and the wire to it begins nowhere.
    let loose = Binding::parse_part("talker.ring=enp3s0,robot=enp4s0", &scenario);
    assert_eq!(
        loose.unwrap_err().to_string(),
        "wire `line` goes to another machine, so its end at talker is an interface: add \
         talker.line=INTERFACE"
    );
}

#[test]
fn interface_names_a_shell_would_take_apart_are_quoted() {
    let scenario = scenario(None, UDP4);
    let binding = Binding::parse("talker=a;b,listener=$(x)", &scenario).unwrap();
    let script = Plan::compile(&scenario, &binding).unwrap().script();
    assert!(script.contains("ip link set dev 'a;b' netns talker"), "{script}");
    assert!(script.contains("ip link set dev '$(x)' netns listener"), "{script}");
}

/// A vtsn wire whose first host requests everything about its kernel and its NIC.
fn prioritised() -> Scenario {
    let mut scenario = scenario(None, UDP4);
    scenario.wires[0].nic = Nic::Vtsn;
    let priority = |number| RtPriority::new(number).unwrap();
    let host = &mut scenario.hosts[0];
    host.cpu = Some(1);
    host.system = System {
        ksoftirqd: Some(Policy::Fifo(priority(1))),
        ktimers: Some(Policy::Other),
        netdev_budget: Some(200),
        netdev_budget_time: Some(Span::from_millis(12)),
        dev_weight: Some(32),
        rt_runtime: Some(RtRuntime::Unlimited),
        pagelist_high_fraction: Some(1_000),
        idle_latency: Some(Span::from_micros(20)),
    };
    host.ports[0].processing = Processing {
        irq: Irq { policy: Some(Policy::Fifo(priority(50))), cpus: Some(vec![0, 1]) },
        napi: Napi {
            threaded: Some(true),
            policy: Some(Policy::Rr(priority(40))),
            cpus: Some(vec![1]),
            defer_hard_irqs: Some(2),
            gro_flush_timeout: Some(Span::from_micros(20)),
        },
        rps: Some(vec![1]),
        xps: Some(vec![vec![0], vec![1]]),
        bql: Some(3_028),
        gso_max_size: Some(4_000),
    };
    scenario
}

#[test]
fn priorities_budgets_and_steering_print_as_plain_commands() {
    let script = Plan::compile(&prioritised(), &Binding::veth()).unwrap().script();
    let line = "ip netns exec talker sh -c 'echo";
    for expected in [
        "sysctl -qw net.core.netdev_budget=200",
        "sysctl -qw net.core.netdev_budget_usecs=12000",
        "sysctl -qw net.core.dev_weight=32",
        "if [ -e /sys/kernel/debug/sched/fair_server ]; then sysctl -qw \
         kernel.sched_rt_runtime_us=-1; for f in \
         /sys/kernel/debug/sched/fair_server/cpu*/runtime; do echo 0 > $f; done; else sysctl -qw \
         kernel.sched_rt_runtime_us=-1; fi",
        "sysctl -qw vm.percpu_pagelist_high_fraction=1000",
        "for c in $(seq 0 $(($(nproc --all) - 1))); do for i in $(seq 16); do taskset -c $c dd \
         if=/dev/zero of=/dev/null bs=1M count=1 status=none; done; done",
        "echo 20 > /sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us",
        "before_idle_latency_of_cpu_1=$(for f in \
         /sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us; do echo $f $(cat $f); done)",
        "# echo \"$before_idle_latency_of_cpu_1\" | while read f limit; do echo $limit > $f; done",
        "chrt -f -p 1 $(pgrep -x ksoftirqd/1)",
        "chrt -o -p 0 $(pgrep -x ktimers/1)",
        &format!("{line} 2 > /sys/class/net/line/napi_defer_hard_irqs'"),
        "ip netns exec talker sh -c 'for q in /sys/class/net/line/queues/tx-*; do echo 3028 > \
         $q/byte_queue_limits/limit_max; done'",
        "ip netns exec talker ip link set line gso_max_size 4000",
        &format!("{line} 20000 > /sys/class/net/line/gro_flush_timeout'"),
        "ip netns exec talker sh -c 'for q in /sys/class/net/line/queues/rx-*; do echo 00000002 \
         > $q/rps_cpus; done'",
        "for i in $(ip netns exec talker cat /sys/class/net/line/vtsn/irq); do echo 0-1 > \
         /proc/irq/$i/smp_affinity_list; done",
        "for i in $(ip netns exec talker cat /sys/class/net/line/vtsn/irq); do for t in $(pgrep \
         \"^irq/$i-\"); do chrt -f -p 50 $t; done; done",
        "before_ksoftirqd_1=$(for t in $(pgrep -x ksoftirqd/1); do echo $t $(chrt -p $t | sed \
         's/.*: //'); done)",
        "# echo \"$before_ksoftirqd_1\" | while read t policy priority; do case $policy in \
         SCHED_FIFO*) chrt -f -p $priority $t;; SCHED_RR*) chrt -r -p $priority $t;; *) chrt -o \
         -p 0 $t;; esac; done",
        "before_real_time=$(sysctl -n kernel.sched_rt_runtime_us; for f in \
         /sys/kernel/debug/sched/fair_server/cpu*/runtime; do if [ -e $f ]; then echo $f $(cat \
         $f); fi; done)",
        "# echo \"$before_real_time\" | while read f runtime; do if [ \"$runtime\" ]; then echo \
         $runtime > $f; fi; done; sysctl -qw kernel.sched_rt_runtime_us=$(echo \
         \"$before_real_time\" | head -n 1)",
    ] {
        assert!(script.lines().any(|line| line == expected), "{expected}\n{script}");
    }
    // The NIC has its interrupt only once it is up, its NAPI threads only in threads.
    let place = |word: &str| script.find(word).unwrap_or_else(|| panic!("{word}\n{script}"));
    assert!(place("link set dev line up") < place("smp_affinity_list"));
    assert!(place("echo 1 > /sys/class/net/line/threaded") < place("chrt -r -p 40 $t"));
    assert!(place("ksoftirqd") < place("link add name line"), "the kernel comes first");
}

#[test]
fn every_cpus_threads_are_meant_where_a_host_has_none_of_its_own() {
    let mut scenario = prioritised();
    scenario.hosts[0].cpu = None;
    let script = Plan::compile(&scenario, &Binding::veth()).unwrap().script();
    let line = "for t in $(pgrep '^ksoftirqd/'); do chrt -f -p 1 $t; done";
    assert!(script.lines().any(|l| l == line), "{script}");
}

#[test]
fn a_veth_pair_has_no_interrupts_to_give_a_priority() {
    let mut scenario = prioritised();
    scenario.wires[0].nic = Nic::Igb;
    let refused = |scenario: &Scenario| Plan::compile(scenario, &Binding::veth()).unwrap_err();
    let error = refused(&scenario).to_string();
    assert!(
        error.starts_with("talker's port on `line` would be the end of a veth pair"),
        "{error}"
    );
    assert!(error.contains("or run with --on lab"), "{error}");
    scenario.hosts[0].ports[0].processing.irq = Irq::default();
    assert!(Plan::compile(&scenario, &Binding::veth()).is_ok());
}

#[test]
fn a_cpu_that_is_not_there_is_refused_before_anything_is_changed() {
    let mut scenario = scenario(None, UDP4);
    scenario.hosts[0].ports[0].processing.rps = Some(vec![0, 8_000]);
    let plan = Plan::compile(&scenario, &Binding::veth()).unwrap();
    let error = plan.apply().unwrap_err().to_string();
    assert!(
        error.starts_with("CPU 8000 does not exist here or is offline; there are 0"),
        "{error}"
    );
    assert!(error.ends_with("Nothing was changed."), "{error}");
}
