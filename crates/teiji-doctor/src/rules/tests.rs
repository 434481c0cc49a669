//! Each rule on a machine that differs in one thing from one that has nothing to complain about.

use teiji_core::time::{ClockId, Span};
use teiji_experiment::scenario::{Etf, LinkMode, Mqprio, Prioflow, Qdisc, QueueRange};
use teiji_net::Napi;
use teiji_net::fair_server::FairServer;
use teiji_net::machine::Machine;
use teiji_net::nic::{Eee, Interrupt, Moderation, Nic, PhcOffset};
use teiji_net::observe::{Driver, Stamps};
use teiji_net::qdisc::{Counters, Handle, ObservedQdisc};
use teiji_net::threads::Scheduled;

use super::*;
use crate::facts::{Cpus, Daemon, IdleState, Kernel, Ptp4l, Rights};
use crate::finding::{Fix, Weight};
use crate::probe::{Lateness, Probe};
use crate::{Diagnosis, Readiness};

fn thread(name: &str, priority: u8) -> Scheduled {
    let policy = if priority == 0 { "other".to_owned() } else { format!("fifo {priority}") };
    Scheduled { name: name.to_owned(), policy, priority, cpus: vec![0] }
}

fn daemon(line: &str) -> Daemon {
    let mut words = line.split(' ').map(str::to_owned);
    Daemon { name: words.next().unwrap(), pid: 1, arguments: words.collect(), unit: None }
}

fn qdisc(handle: u32, parent: u32, settings: Qdisc) -> ObservedQdisc {
    let counters = Counters::default();
    ObservedQdisc { handle: Handle(handle), parent: Handle(parent), settings, counters }
}

fn etf(offload: bool) -> Qdisc {
    let (delta, clock) = (Span::from_micros(300), ClockId::Tai);
    Qdisc::Etf(Etf { delta, clock, offload, deadline_mode: false, skip_sock_check: false })
}

/// Three classes on a queue each; priority 3 has the first, 2 the second, all others the third.
fn mqprio() -> Qdisc {
    let queues = (0..3).map(|offset| QueueRange { count: 1, offset }).collect();
    Qdisc::Mqprio(Mqprio {
        map: [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        queues,
        hw: false,
    })
}

fn driver(name: &str) -> Driver {
    let (firmware, bus) = (String::new(), String::new());
    Driver { name: name.to_owned(), version: "6.18".to_owned(), firmware, bus }
}

fn fair_server(runtime: Span) -> FairServer {
    FairServer { runtime, period: Span::from_secs(1) }
}

/// A board with an I225 that is set up for launch times, and a kernel of 6.18 with `PREEMPT_RT`.
fn board() -> Facts {
    Facts {
        machine: Machine {
            kernel_release: Some("6.18.1-rt-amd64".to_owned()),
            kernel_version: None,
            preempt_rt: true,
            command_line: None,
            clocksource: Some("tsc".to_owned()),
            tai_offset: Span::from_secs(37),
            cpu_model: None,
            cpus_online: Some("0-3".to_owned()),
            cpus_isolated: None,
            governor: None,
            virtual_machine: false,
            rt_runtime_us: Some(950_000),
            rt_period_us: Some(1_000_000),
            fair_servers: Some([(0, fair_server(Span::ZERO))].into()),
        },
        kernel: Kernel {
            options: Some([("HIGH_RES_TIMERS".to_owned(), "y".to_owned())].into()),
            modules: Some(["sch_etf", "sch_mqprio", "prioflow"].map(str::to_owned).into()),
            loaded: [].into(),
        },
        cpus: Cpus {
            idle: vec![],
            latency_limit_us: Some(2_000_000_000),
            governors: vec!["performance".to_owned()],
            smt: Some(false),
        },
        threads: vec![thread("rcuc/0", 2), thread("ksoftirqd/0", 1), thread("irq/9-acpi", 50)],
        daemons: vec![daemon("ptp4l -i eth1"), daemon("phc2sys -s eth1 -c CLOCK_REALTIME -w")],
        ptp4l: Some(Ptp4l { has_time: true, offset: Span::from_ns(-12) }),
        rights: Rights { net_admin: true, sys_nice: true, rtprio_limit: 0, memory_lock: true },
        rmem_max: Some(8 << 20),
        fragment_distance: Some(0),
        nics: vec![Nic {
            name: "eth1".to_owned(),
            driver: Some(driver("igc")),
            pci: Some("8086:15f3".to_owned()),
            up: true,
            carrier: true,
            speed_mbps: Some(1000),
            tx_queues: 4,
            stamps: Some(Stamps {
                tx_software: true,
                tx_hardware: true,
                rx_hardware: true,
                phc: Some(0),
            }),
            phc: Some(PhcOffset { ahead: Span::from_ns(40), within: Span::from_ns(900) }),
            eee: Some(Eee { enabled: false, active: false }),
            moderation: Some(Moderation { tx_us: 0, rx_us: 0, adaptive: false }),
            pause: Some((false, false)),
            qdiscs: vec![
                qdisc(0x100_0000, Handle::ROOT.0, mqprio()),
                qdisc(0x200_0000, 0x100_0001, etf(true)),
            ],
            interrupts: vec![Interrupt {
                number: 24,
                cpus: Some("1".to_owned()),
                threads: vec![thread("irq/24-eth1", 60)],
            }],
            napi_threaded: Some(false),
            defer_hard_irqs: Some(0),
            gro_flush_timeout: Some(Span::ZERO),
            aspm_l1: Some(false),
            runtime_pm: Some(false),
            ..Nic::default()
        }],
    }
}

/// What is found of the board with this change, beside "no flow control now".
fn found(change: impl FnOnce(&mut Facts)) -> Vec<Finding> {
    let mut facts = board();
    change(&mut facts);
    let findings = Diagnosis::of(&facts).findings;
    findings.into_iter().filter(|finding| finding.id != "no-flow-control").collect()
}

/// The only finding with this change.
#[track_caller]
fn only(id: &str, weight: Weight, change: impl FnOnce(&mut Facts)) -> Finding {
    let found = found(change);
    let [one] = found.as_slice() else { panic!("not one finding: {found:#?}") };
    assert_eq!((one.id, one.weight), (id, weight), "{one:?}");
    one.clone()
}

#[track_caller]
fn contains(finding: &Finding, words: &str) {
    assert!(finding.seen.contains(words), "`{words}` is not in: {}", finding.seen);
}

#[track_caller]
fn fixed_by(finding: &Finding, words: &str) {
    match &finding.fix {
        Fix::Command(text) | Fix::Advice(text) => {
            assert!(text.contains(words), "`{words}` is not in: {text}");
        }
        Fix::NotOnThisHardware => panic!("{finding:?}"),
    }
}

#[test]
fn a_board_that_is_set_up_is_ready_for_all() {
    assert_eq!(found(|_| ()), []);
    let diagnosis = Diagnosis::of(&board());
    assert!(diagnosis.is_ready(&Feature::ALL), "{:?}", diagnosis.verdicts);
    assert_eq!(diagnosis.verdicts.len(), 3);
}

#[test]
fn an_ordinary_kernel_has_no_priorities_but_launch_times() {
    let mut facts = board();
    facts.machine.preempt_rt = false;
    facts.machine.kernel_release = Some("6.18.1-amd64".to_owned());
    let diagnosis = Diagnosis::of(&facts);
    assert!(!diagnosis.is_ready(&[Feature::Priorities]));
    assert!(diagnosis.is_ready(&[Feature::LaunchTimes, Feature::FlowControl]));
    let one = only("preempt-rt", Weight::Blocks, |f| {
        f.machine.preempt_rt = false;
        f.machine.kernel_release = Some("6.1.0-12-arm64".to_owned());
        f.machine.rt_runtime_us = Some(-1);
    });
    fixed_by(&one, "apt install linux-image-rt-arm64");
}

#[test]
fn missing_modules_are_named_by_what_needs_them() {
    let without = |name: &'static str| {
        move |f: &mut Facts| {
            f.kernel.modules.as_mut().unwrap().remove(name);
        }
    };
    fixed_by(&only("etf", Weight::Blocks, without("sch_etf")), "CONFIG_NET_SCH_ETF");
    only("mqprio", Weight::Costs, without("sch_mqprio"));
    only("no-prioflow", Weight::Blocks, without("prioflow"));
    // Where nothing tells, nothing is claimed.
    let unknown = |f: &mut Facts| (f.kernel.modules, f.kernel.options) = (None, None);
    assert_eq!(found(unknown), []);
}

#[test]
fn a_kernel_is_named_for_what_it_was_built_with() {
    let option = |name: &'static str| {
        move |f: &mut Facts| {
            f.kernel.options.as_mut().unwrap().insert(name.to_owned(), "y".to_owned());
        }
    };
    contains(&only("debug-kernel", Weight::Costs, option("PROVE_LOCKING")), "PROVE_LOCKING");
    only("no-high-resolution-timers", Weight::Blocks, |f| f.kernel.options = Some([].into()));
    only("rt-group-sched", Weight::Costs, option("RT_GROUP_SCHED"));
    only("bh-lock", Weight::Note, option("PREEMPT_RT_NEEDS_BH_LOCK"));
    only("bh-lock", Weight::Note, |f| {
        f.machine.kernel_release = Some("6.12.117+deb12-rt-amd64".to_owned());
    });
    let unknown = only("kernel-unknown", Weight::Note, |f| {
        f.machine.kernel_release = None;
        f.machine.preempt_rt = false;
    });
    contains(&unknown, "/proc is not there");
    only("virtual-machine", Weight::Costs, |f| f.machine.virtual_machine = true);
    only("clocksource", Weight::Costs, |f| f.machine.clocksource = Some("hpet".to_owned()));
}

#[test]
fn limits_of_real_time_threads_are_reported_with_their_fix() {
    let server = fair_server(Span::from_millis(50));
    let limited = only("real-time-limit", Weight::Costs, |f| {
        f.machine.fair_servers = Some([(0, server)].into());
    });
    fixed_by(&limited, "fair_server");
    let found = found(|f| {
        f.machine.kernel_release = Some("6.1.0-9-rt-amd64".to_owned());
        f.machine.fair_servers = None;
    });
    let throttled = found.iter().find(|finding| finding.id == "real-time-limit").unwrap();
    fixed_by(throttled, "sysctl -w kernel.sched_rt_runtime_us=-1");
    only("real-time-limit-unknown", Weight::Note, |f| f.machine.fair_servers = None);
}

/// NXP/isochron#2, #6, #8, #18: all deadlines missed, and no hint why.
#[test]
fn a_phc_that_shows_another_time_is_why_every_launch_time_is_missed() {
    let ahead = |ahead| move |f: &mut Facts| f.nics[0].phc.as_mut().unwrap().ahead = ahead;
    let wrong = only("phc-offset", Weight::Blocks, ahead(Span::from_ns(-37_000_000_001)));
    contains(&wrong, "37 s behind CLOCK_TAI; that is TAI − UTC");
    let drifting = only("phc-offset", Weight::Costs, ahead(Span::from_micros(30)));
    contains(&drifting, "30 µs ahead of CLOCK_TAI");
    let far = only("phc-offset", Weight::Blocks, ahead(Span::from_ns(5_432_987)));
    contains(&far, "is 5.433 ms ahead of");
    // Within what the reading may be wrong by, and one microsecond.
    assert_eq!(found(ahead(Span::from_ns(1_899))), []);
    let alone = only("phc-offset", Weight::Blocks, |f| {
        ahead(Span::from_secs(5))(f);
        f.daemons.clear();
    });
    fixed_by(&alone, "phc2sys -s CLOCK_REALTIME -c eth1 -O 37");
    // A NIC that sends by software does not look at its PHC.
    let software = found(|f| {
        ahead(Span::from_secs(5))(f);
        f.nics[0].driver = Some(driver("e1000e"));
        f.nics[0].qdiscs[1].settings = etf(false);
    });
    assert!(software.iter().all(|finding| finding.id != "phc-offset"), "{software:?}");
}

/// seapath/ansible#252, #857; linuxptp-daemon#618.
#[test]
fn phc2sys_in_the_wrong_direction_is_reported() {
    let ptp = |lines: &'static [&'static str]| {
        move |f: &mut Facts| f.daemons = lines.iter().map(|line| daemon(line)).collect()
    };
    let both = ptp(&["ptp4l -i eth1", "phc2sys -s CLOCK_REALTIME -c eth1 -O 37"]);
    contains(&only("phc2sys-direction", Weight::Blocks, both), "ptp4l steers the same clock");
    let ntp = ptp(&["chronyd", "phc2sys -s CLOCK_REALTIME -c /dev/ptp0 -O 37"]);
    contains(&only("phc2sys-direction", Weight::Costs, ntp), "not a PTP master");
    let other = ptp(&["phc2sys -s CLOCK_REALTIME -c /dev/ptp1 -O 37"]);
    assert_eq!(found(other), []);
    let two = ptp(&["chronyd", "ptp4l -i eth1", "phc2sys -a -r"]);
    fixed_by(&only("two-steer-system-clock", Weight::Blocks, two), "end chronyd (process 1)");
    let debian = |f: &mut Facts| {
        two(f);
        f.daemons[0].unit = Some("chrony.service".to_owned());
    };
    let named = only("two-steer-system-clock", Weight::Blocks, debian);
    fixed_by(&named, "systemctl disable --now chrony.service");
    // timemaster's phc2sys gives the time to its chronyd.
    let timemaster =
        ptp(&["chronyd -n", "ptp4l -H -i eth1", "phc2sys -a -r -R 1.00 -n 0 -E ntpshm -M 0"]);
    assert_eq!(found(timemaster), []);
    // chronyd -x serves time and steers nothing.
    assert_eq!(found(ptp(&["chronyd -x", "ptp4l -i eth1", "phc2sys -a -rr"])), []);
    let bare = ptp(&["ptp4l -i eth1", "phc2sys -s eth1"]);
    contains(&only("phc2sys-without-tai-offset", Weight::Costs, bare), "37 s ahead");
    let half = ptp(&["ptp4l -i eth1", "phc2sys -a"]);
    only("phc2sys-without-system-clock", Weight::Costs, half);
}

#[test]
fn ptp4l_and_the_tai_offset_have_findings() {
    only("ptp4l-not-locked", Weight::Costs, |f| f.ptp4l.as_mut().unwrap().has_time = false);
    let far = |f: &mut Facts| f.ptp4l.as_mut().unwrap().offset = Span::from_micros(-3);
    contains(&only("ptp4l-offset", Weight::Costs, far), "3 µs");
    only("tai-offset", Weight::Note, |f| f.machine.tai_offset = Span::ZERO);
}

/// raspberrypi/linux#7515, canonical/checkbox#2746; igc has four registers (RTC-Testbench#34).
#[test]
fn lost_transmit_stamps_are_named_in_ptp4ls_words() {
    let lost = |f: &mut Facts| {
        f.nics[0].counters =
            [("tx_hwtstamp_timeouts".to_owned(), 2), ("tx_hwtstamp_skipped".to_owned(), 5)].into();
    };
    let found = only("transmit-stamps-lost", Weight::Costs, lost);
    contains(&found, "7 transmit timestamps");
    fixed_by(&found, "igc has registers for 4");
}

/// `iotg_tsn_ref_sw#8`: etf drops frames silently.
#[test]
fn drops_of_etf_are_counted() {
    let drops = |f: &mut Facts| f.nics[0].qdiscs[1].counters.drops = 12;
    fixed_by(&only("etf-drops", Weight::Costs, drops), "teiji margin eth1");
}

/// `iotg_tsn_ref_sw#14`: ETF on a priority of ptp4l's frames breaks it.
#[test]
fn an_etf_that_has_all_frames_is_why_nothing_else_gets_through() {
    let root =
        |f: &mut Facts| f.nics[0].qdiscs = vec![qdisc(0x100_0000, Handle::ROOT.0, etf(true))];
    contains(&only("etf-for-all", Weight::Costs, root), "ARP, SSH, ptp4l's");
    let third = |f: &mut Facts| f.nics[0].qdiscs[1].parent = Handle(0x100_0003);
    only("etf-for-all", Weight::Costs, third);
    let software = |f: &mut Facts| f.nics[0].qdiscs[1].settings = etf(false);
    fixed_by(
        &only("etf-in-software", Weight::Costs, software),
        "tc qdisc del dev eth1 parent 100:1 && tc qdisc add dev eth1 parent 100:1 etf clockid CLOCK_TAI \
         delta 300000 offload",
    );
    let none = |f: &mut Facts| f.nics[0].qdiscs = vec![qdisc(0, Handle::ROOT.0, Qdisc::Mq)];
    let none = only("no-etf", Weight::Note, none);
    fixed_by(&none, "parent 100:1 etf clockid CLOCK_TAI delta 300000 offload");
}

/// `EnGINE`'s documentation: offload misbehaves on more than the first two queues.
#[test]
fn an_i210_has_launch_times_on_two_queues_and_an_i350_on_none() {
    let igb = |pci: &'static str, class: u32| {
        move |f: &mut Facts| {
            let nic = &mut f.nics[0];
            (nic.driver, nic.pci) = (Some(driver("igb")), Some(pci.to_owned()));
            nic.qdiscs[1].parent = Handle(0x100_0000 + class);
        }
    };
    assert_eq!(found(igb("8086:1533", 2)), []);
    let third = found(igb("8086:1533", 3));
    assert!(third.iter().any(|finding| finding.id == "etf-on-other-queue"), "{third:?}");
    let i350 = only("no-launch-times", Weight::Costs, igb("8086:1521", 1));
    assert_eq!(i350.fix, Fix::NotOnThisHardware);
}

/// On Intel's and NXP's boards stmmac has launch times on all queues but the first.
#[test]
fn stmmac_has_launch_times_on_other_queues_than_the_first() {
    let stmmac = |class: u32, offload: bool| {
        move |f: &mut Facts| {
            f.nics[0].driver = Some(driver("st_gmac"));
            f.nics[0].qdiscs[1] = qdisc(0x200_0000, 0x100_0000 + class, etf(offload));
        }
    };
    let first = only("etf-on-other-queue", Weight::Costs, stmmac(1, false));
    contains(&first, "transmit queue 0 of eth1, which has launch times on others only");
    fixed_by(&first, "`queues 1@1 …`");
    assert_eq!(found(stmmac(1, true)), [], "its driver has accepted the queue");
    fixed_by(&only("etf-in-software", Weight::Costs, stmmac(2, false)), "parent 100:2 etf");
    let none = |f: &mut Facts| {
        f.nics[0].driver = Some(driver("st_gmac"));
        f.nics[0].qdiscs = vec![qdisc(0, Handle::ROOT.0, Qdisc::Mq)];
    };
    let none = only("no-etf", Weight::Note, none);
    fixed_by(&none, "map 2 2 0 1 2 2");
    fixed_by(&none, "parent 100:2 etf clockid CLOCK_TAI delta 300000 offload");
}

/// No hardware at hand: `iotg_tsn_ref_sw#10`, #15; tsn-doc#34.
#[test]
fn a_nic_without_tsn_is_ready_in_software_and_its_missing_features_are_named() {
    let mut facts = board();
    let nic = &mut facts.nics[0];
    nic.driver = Some(driver("r8169"));
    (nic.tx_queues, nic.phc) = (1, None);
    nic.stamps =
        Some(Stamps { tx_software: true, tx_hardware: false, rx_hardware: false, phc: None });
    nic.qdiscs.clear();
    let diagnosis = Diagnosis::of(&facts);
    assert!(diagnosis.is_ready(&[Feature::LaunchTimes]));
    let ids: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.id).collect();
    for id in ["no-launch-times", "one-transmit-queue", "no-phc", "no-etf"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
    let unknown =
        only("launch-times-unknown", Weight::Note, |f| f.nics[0].driver = Some(driver("xyz")));
    fixed_by(&unknown, "dev eth1 root etf clockid CLOCK_TAI delta 300000 offload");
}

/// seapath/ansible#813.
#[test]
fn ptp_on_the_port_of_a_bridge_reaches_virtual_machines() {
    let port = |f: &mut Facts| f.nics[0].port_of = Some("br0".to_owned());
    let bridged = only("ptp-on-bridge-port", Weight::Note, port);
    contains(&bridged, "a port of br0");
    fixed_by(&bridged, "ether type 0x88f7 drop");
    let elsewhere = |f: &mut Facts| {
        port(f);
        f.daemons[0] = daemon("ptp4l -i eth2");
    };
    assert_eq!(found(elsewhere), []);
}

/// raspberrypi/linux#6065; RTC-Testbench#49.
#[test]
fn what_sleeps_is_named_with_what_waking_takes() {
    let eee = |mbps, active| {
        move |f: &mut Facts| {
            f.nics[0].speed_mbps = Some(mbps);
            f.nics[0].eee = Some(Eee { enabled: true, active });
        }
    };
    let on = only("eee", Weight::Costs, eee(1000, true));
    contains(&on, "16.5 µs");
    fixed_by(&on, "ethtool --set-eee eth1 eee off");
    contains(&only("eee", Weight::Note, eee(1000, false)), "if the peer agrees");
    let idle = |name: &str, exit_us| IdleState { name: name.to_owned(), exit_us, disabled: false };
    let deep = move |f: &mut Facts| f.cpus.idle = vec![idle("POLL", 0), idle("C6", 133)];
    contains(&only("idle-states", Weight::Costs, deep), "C6, which takes up to 133 µs");
    only("governor", Weight::Costs, |f| f.cpus.governors.push("schedutil".to_owned()));
    only("smt", Weight::Note, |f| f.cpus.smt = Some(true));
    only("aspm", Weight::Costs, |f| f.nics[0].aspm_l1 = Some(true));
    only("runtime-pm", Weight::Note, |f| f.nics[0].runtime_pm = Some(true));
}

#[test]
fn findings_that_a_probe_is_about_have_what_was_measured() {
    let late = |us| Lateness {
        wakes: 50,
        median: Span::from_micros(us),
        p99: Span::from_micros(us),
        max: Span::from_micros(2 * us),
    };
    let probe = Probe { as_is: late(60), awake: Some(late(5)), clock_reading: Span::from_ns(800) };
    let mut facts = board();
    facts.cpus.idle = vec![IdleState { name: "C6".to_owned(), exit_us: 133, disabled: false }];
    facts.machine.clocksource = Some("hpet".to_owned());
    let mut diagnosis = Diagnosis::of(&facts);
    diagnosis.add_measured(&probe);
    let seen = |id| {
        let mut findings = diagnosis.findings.iter();
        findings.find(|finding| finding.id == id).unwrap().clone()
    };
    contains(
        &seen("idle-states"),
        "woke 120 µs late at most, 60 µs in the median; with idle states held off 10 µs and 5 µs",
    );
    contains(&seen("clocksource"), "(measured: one reading takes 800 ns)");
}

/// RTC-Testbench PR#55: deferred interrupts missed a cycle every few hours.
#[test]
fn interrupts_that_wait_are_found_in_both_places() {
    let all = |f: &mut Facts| {
        f.nics[0].defer_hard_irqs = Some(10);
        f.nics[0].gro_flush_timeout = Some(Span::from_micros(200));
    };
    let deferred = only("interrupts-deferred", Weight::Costs, all);
    contains(&deferred, "by up to 2 ms");
    fixed_by(&deferred, "echo 0 > /sys/class/net/eth1/napi_defer_hard_irqs");
    let one = |f: &mut Facts| {
        f.nics[0].napis = vec![Napi {
            id: 8193,
            irq: Some(24),
            thread: None,
            defer_hard_irqs: Some(2),
            gro_flush_timeout: Some(Span::from_micros(50)),
            irq_suspend_timeout: None,
        }];
    };
    let own = only("interrupts-deferred", Weight::Costs, one);
    contains(&own, "NAPI instance 8193 of eth1 are deferred while it is polled, by up to 100 µs");
    let moderated = |name: &'static str, rx_us, tx_us| {
        only("interrupt-moderation", Weight::Costs, |f| {
            f.nics[0].driver = Some(driver(name));
            f.nics[0].moderation = Some(Moderation { tx_us, rx_us, adaptive: false });
        })
    };
    let times = moderated("st_gmac", 20, 3);
    contains(&times, "by 20 µs after reception and 3 µs after transmission");
    fixed_by(&times, "ethtool -C eth1 rx-usecs 0 tx-usecs 0");
    let modes = moderated("igc", 3, 3);
    contains(&modes, "by what igc chooses by the load (mode 3) after reception and what igc");
    assert_eq!(modes.fix, Fix::command("ethtool -C eth1 rx-usecs 0"));
    contains(&moderated("igc", 4, 4), "by 4 µs");
}

/// ni/meta-nilrt#722; openwrt#24732.
#[test]
fn threads_in_the_wrong_order_are_named() {
    let order = only("ksoftirqd-over-rcu", Weight::Costs, |f| f.threads[1].priority = 10);
    fixed_by(&order, "chrt -f -p 11");
    let same = |f: &mut Facts| f.nics[0].interrupts[0].threads = vec![thread("irq/24-eth1", 50)];
    only("interrupt-priority", Weight::Note, same);
    let none = |f: &mut Facts| f.nics[0].interrupts[0].threads = vec![thread("irq/24-eth1", 0)];
    let none = only("interrupt-thread-without-priority", Weight::Costs, none);
    fixed_by(&none, "$(grep -lx 'irq/24-eth1' /proc/[0-9]*/comm | cut -d/ -f3)");
    let isolated = |f: &mut Facts| f.machine.cpus_isolated = Some("1-2".to_owned());
    contains(&only("interrupt-on-isolated-cpu", Weight::Note, isolated), "the isolated CPU 1");
    let polled = |f: &mut Facts| f.threads.push(thread("napi/eth1-8193", 0));
    let polled = only("napi-thread-without-priority", Weight::Costs, polled);
    fixed_by(&polled, "'napi/eth1-.*'");
    only("irqbalance", Weight::Costs, |f| f.daemons.push(daemon("irqbalance --foreground")));
    only("stalld", Weight::Costs, |f| f.daemons.push(daemon("stalld --systemd")));
}

#[test]
fn missing_rights_are_reported_and_the_machine_is_ready() {
    let mut facts = board();
    facts.rights = Rights::default();
    let diagnosis = Diagnosis::of(&facts);
    assert!(diagnosis.is_ready(&Feature::ALL));
    let ids: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.id).collect();
    assert_eq!(ids[..3], ["no-net-admin", "no-realtime", "no-memory-lock"]);
}

#[test]
fn a_link_that_is_down_blocks_what_needs_it() {
    for (id, change) in [
        ("down", (|f| f.nics[0].up = false) as fn(&mut Facts)),
        ("no-carrier", |f| f.nics[0].carrier = false),
    ] {
        only(id, Weight::Blocks, change);
        let mut facts = board();
        change(&mut facts);
        let diagnosis = Diagnosis::of(&facts);
        assert!(!diagnosis.is_ready(&[Feature::LaunchTimes]), "{id}");
        assert!(diagnosis.is_ready(&[Feature::Priorities]), "{id}");
    }
    contains(&only("slow-link", Weight::Note, |f| f.nics[0].speed_mbps = Some(100)), "123 µs");
    only("damaged-frames", Weight::Costs, |f| f.nics[0].rx_crc_errors = 3);
}

/// `librealsense#14928`, `ros2_documentation#700`: buffers; perftest#284, sonic-buildimage#23441: PAUSE.
#[test]
fn settings_that_drop_or_stop_frames_are_reported() {
    only("small-receive-buffers", Weight::Note, |f| f.rmem_max = Some(212_992));
    only("receive-ring-overflows", Weight::Costs, |f| f.nics[0].rx_missed = 9);
    let obeyed = only("pause-obeyed", Weight::Note, |f| {
        f.nics[0].pause = Some((true, true));
        f.nics[0].counters = [("rx_flow_control_xoff".to_owned(), 3)].into();
    });
    contains(&obeyed, "(3 such frames were received so far)");
}

/// Level frames have MAC Control's ethertype, and some drivers pass no such frames on.
#[test]
fn drivers_that_keep_mac_control_frames_need_the_experimental_link() {
    let flow_control = |name: &'static str, link: LinkMode| {
        move |f: &mut Facts| {
            f.nics[0].driver = Some(driver(name));
            let prioflow = Prioflow { link, ..Prioflow::default() };
            f.nics[0].qdiscs.push(qdisc(0, 0x100_0002, Qdisc::Prioflow(prioflow)));
        }
    };
    let igc = flow_control("igc", LinkMode::MacControl);
    let kept = only("mac-control-frames", Weight::Costs, igc);
    fixed_by(&kept, "teiji flow enable eth1 --link experimental");
    assert_eq!(found(flow_control("igc", LinkMode::Experimental)), []);
    let enetc = flow_control("fsl_enetc", LinkMode::MacControl);
    assert_eq!(found(enetc), []);
    let fragments = only("fragments-between-levels", Weight::Note, |f| {
        enetc(f);
        f.fragment_distance = Some(64);
    });
    contains(&fragments, "more than 64 others");
    assert_eq!(found(|f| f.fragment_distance = Some(64)), [], "without levels");
    let command = |name: &str| {
        let mut facts = board();
        facts.nics[0].driver = Some(driver(name));
        let findings = Diagnosis::of(&facts).findings;
        findings.into_iter().find(|finding| finding.id == "no-flow-control").unwrap().fix
    };
    let enable = "teiji flow enable eth1";
    assert_eq!(command("igc"), Fix::Command(format!("{enable} --link experimental")));
    assert_eq!(command("fsl_enetc"), Fix::Command(enable.to_owned()));
}

/// experiments/README.md: why frames of the study's `software` case are late.
#[test]
fn qdisc_timers_after_other_threads_are_found_where_a_qdisc_needs_them() {
    let with = |etf_: Qdisc, priority| {
        move |f: &mut Facts| {
            f.nics[0].qdiscs[1].settings = etf_;
            f.threads.push(thread("ktimers/0", priority));
        }
    };
    let offloaded = only("timer-thread-priority", Weight::Note, with(etf(true), 1));
    contains(&offloaded, "expire in ktimers/0 (fifo 1), after all threads of higher priority");
    contains(&offloaded, "as irq/9-acpi (fifo 50): `delta` of etf has to cover that");
    fixed_by(&offloaded, "grep -lx 'ktimers/.*'");
    assert_eq!(found(with(etf(true), 60)), []);
    let ids = |found: Vec<Finding>| -> Vec<_> {
        found.iter().map(|finding| (finding.id, finding.weight)).collect()
    };
    let in_software =
        [("etf-in-software", Weight::Costs), ("timer-thread-priority", Weight::Costs)];
    assert_eq!(ids(found(with(etf(false), 1))), in_software);
    let no_qdisc = |f: &mut Facts| {
        f.nics[0].qdiscs.clear();
        f.threads.push(thread("ktimers/0", 1));
    };
    only("no-etf", Weight::Note, no_qdisc);
}

#[test]
fn a_long_transmit_ring_without_byte_limit_is_found_unless_classes_have_queues() {
    let ring = |frames, limit, packets, classes: bool| {
        move |f: &mut Facts| {
            let nic = &mut f.nics[0];
            nic.rings = Some((frames, 256));
            (nic.byte_queue_limit, nic.tx_packets) = (Some(limit), packets);
            if !classes {
                nic.qdiscs.remove(0);
            }
        }
    };
    let long = only("transmit-ring", Weight::Costs, ring(256, 0, 5000, false));
    // 256 frames of 1538 octets at 1 Gbit/s.
    contains(&long, "holds 256 frames, and its driver limits no bytes in it (BQL)");
    contains(&long, "waits up to 3.149824 ms");
    assert_eq!(found(ring(256, 3028, 5000, false)), [], "BQL limits it");
    assert_eq!(found(ring(256, 0, 10, false)), [], "too few frames to tell");
    assert_eq!(found(ring(64, 0, 5000, false)), [], "0.8 ms");
    assert_eq!(found(ring(256, 0, 5000, true)), [], "mqprio gives each class its queue");
}

#[test]
fn every_finding_is_in_the_documentation() {
    let page = include_str!("../../../../docs/doctor.md");
    let rules = [
        include_str!("clock.rs"),
        include_str!("flow.rs"),
        include_str!("kernel.rs"),
        include_str!("launch.rs"),
        include_str!("link.rs"),
        include_str!("power.rs"),
        include_str!("priorities.rs"),
        include_str!("rights.rs"),
    ];
    // An id is a string of small letters and hyphens in a line of its own.
    let id = |line: &'static str| {
        let text = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
        let letter = |c: char| c.is_ascii_lowercase() || c == '-';
        (text.contains('-') && text.chars().all(letter)).then_some(text)
    };
    let ids: Vec<&str> = rules.iter().flat_map(|rule| rule.lines()).filter_map(id).collect();
    assert!(ids.len() > 35, "{ids:?}");
    for id in ids.into_iter().filter(|id| !super::launch::WITHOUT.contains(id)) {
        assert!(page.contains(&format!("`{id}`")), "docs/doctor.md does not have {id}");
    }
}

#[test]
fn loopback_has_neither_launch_times_nor_flow_control() {
    let mut facts = board();
    facts.nics = vec![Nic { name: "lo".to_owned(), up: true, carrier: true, ..Nic::default() }];
    let diagnosis = Diagnosis::of(&facts);
    let readiness: Vec<Readiness> =
        diagnosis.verdicts.iter().map(|verdict| verdict.readiness).collect();
    let none = Readiness::NotApplicable;
    assert_eq!(readiness, [none, Readiness::Ready, none]);
    assert_eq!(diagnosis.findings, []);
    facts.nics.clear();
    let alone = Diagnosis::of(&facts);
    assert!(alone.is_ready(&[Feature::Priorities]) && !alone.is_ready(&[Feature::LaunchTimes]));
}
