//! What comes out of a file that is right: defaults, inheritance, overrides,
//! and the experiments that come with Teiji.

use std::fs;
use std::path::Path;

use teiji_core::domain::{Level, RtPriority, SocketPriority};
use teiji_core::time::Span;
use teiji_experiment::scenario::{
    Irq, LevelSource, LevelTable, LinkMode, PauseScope, Pfifo, Policy, Prio, Prioflow,
};
use teiji_experiment::{
    Case, Etf, Experiment, Mistakes, Mqprio, Nic, PauseLength, Qdisc, Reader, SendMode, Severity,
    Transport, keys, reader::NicSource,
};

const PLAIN: &str = r#"
name = "demo"
question = "Is it regular?"
[wires.line]
between = ["talker", "listener"]
[flows.cycle]
from = "talker"
to = "listener"
period = "1ms"
frames = 1000
"#;

fn read(text: &str) -> Experiment {
    Experiment::parse(text, "test.toml").unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn case<'a>(experiment: &'a Experiment, name: &str) -> &'a Case {
    experiment.cases.iter().find(|c| c.name == name).unwrap()
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A reader for an experiment of the repository: some are for machines of one's own alone.
fn reader(name: &str, text: &str) -> Reader {
    let own = text.contains("timestamps = \"software\"");
    Reader::new(name).nics(if own { NicSource::Own } else { NicSource::Emulated })
}

#[test]
fn every_experiment_of_the_repository_is_read_without_a_finding() {
    let mut seen = Vec::new();
    for entry in fs::read_dir(repository("experiments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let reading = reader(&name, &text).read(&text);
        assert!(reading.findings.is_empty(), "{}", reading.findings);
        assert_eq!(reading.experiment.unwrap().name, name, "a file is called as its experiment");
        seen.push(name);
    }
    assert!(seen.contains(&"etf".to_owned()), "{seen:?}");
}

#[test]
fn a_case_alone_has_the_same_scenario_as_among_the_others() {
    let mut seen = 0;
    for entry in fs::read_dir(repository("experiments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let plain = reader("file", &text);
        let with_cpu = plain.clone().set("hosts.talker.cpu", "3");
        // Some files have no host of that name.
        let reader = if with_cpu.read(&text).experiment.is_some() { with_cpu } else { plain };
        for case in reader.read(&text).experiment.unwrap().cases {
            let alone = reader.alone(&text, &case.name).unwrap();
            let reading = self::reader("alone", &alone).read(&alone);
            assert!(reading.findings.is_empty(), "{alone}\n{}", reading.findings);
            let [only] = &reading.experiment.unwrap().cases[..] else { panic!("{alone}") };
            assert_eq!(only.scenario, case.scenario, "{alone}");
            assert_eq!(only.requirements, case.requirements, "{alone}");
            seen += 1;
        }
        assert_eq!(reader.alone(&text, "no-such-case"), None);
    }
    assert!(seen > 30, "{seen}");
    assert_eq!(Reader::new("file").alone("name = 3", "default"), None);
}

#[test]
fn the_etf_experiment_is_the_papers_at_full_size() {
    let text = fs::read_to_string(repository("experiments/etf.toml")).unwrap();
    let experiment = read(&text);
    let paper = fs::read_to_string(repository("papers/etf.toml")).unwrap();
    let paper: toml::de::DeTable<'_> = toml::de::DeTable::parse(&paper).unwrap().into_inner();
    let number = |section: &str, key: &str| -> i64 {
        let text = paper[section].get_ref()[key].get_ref().as_integer().unwrap();
        text.as_str().parse().unwrap()
    };
    for case in &experiment.cases {
        let flow = &case.scenario.flows[0];
        assert_eq!(flow.period.as_ns(), number("traffic", "period"));
        assert_eq!(i64::try_from(flow.frames), Ok(number("traffic", "frames")));
        assert_eq!(i64::from(flow.priority), number("traffic", "so_priority"));
        assert_eq!(case.scenario.duration(), Span::from_secs(number("traffic", "duration_s")));
    }
    let etf = case(&experiment, "etf");
    let SendMode::LaunchTime { margin, deadline: false } = etf.scenario.flows[0].mode else {
        panic!("{:?}", etf.scenario.flows[0].mode)
    };
    assert_eq!(margin.as_ns(), number("traffic", "margin"));
    let qdisc = etf.scenario.port("talker", "line").unwrap().qdisc.as_ref().unwrap();
    let Some(Qdisc::Etf(leaf)) = qdisc.leaf_of(SocketPriority::new(3).unwrap()) else {
        panic!("{qdisc:?}")
    };
    assert_eq!(leaf.delta.as_ns(), number("qdisc", "etf_delta"));
    let Qdisc::Mqprio(Mqprio { map, queues, .. }) = &qdisc.root else { panic!("{qdisc:?}") };
    let list = |key: &str| -> Vec<String> {
        let items = paper["qdisc"].get_ref()[key].get_ref().as_array().unwrap().iter();
        let text = |v: &toml::de::DeValue<'_>| match v {
            toml::de::DeValue::Integer(n) => n.as_str().to_owned(),
            other => other.as_str().unwrap().to_owned(),
        };
        items.map(|item| text(item.get_ref())).collect()
    };
    assert_eq!(map.map(|class| class.to_string()).to_vec(), list("prio_to_tc"));
    assert_eq!(queues.iter().map(ToString::to_string).collect::<Vec<_>>(), list("queues"));
}

#[test]
fn the_ksoftirqd_experiment_has_the_papers_traffic_priorities_and_twelve_cells() {
    let text = fs::read_to_string(repository("experiments/ksoftirqd.toml")).unwrap();
    let experiment = read(&text);
    let paper = fs::read_to_string(repository("papers/ksoftirqd.toml")).unwrap();
    let paper: toml::de::DeTable<'_> = toml::de::DeTable::parse(&paper).unwrap().into_inner();
    let number = |section: &str, key: &str| -> u8 {
        let text = paper[section].get_ref()[key].get_ref().as_integer().unwrap();
        text.as_str().parse().unwrap()
    };
    let mut cells = Vec::new();
    for case in &experiment.cases {
        let board = case.scenario.host("board").unwrap();
        let payload = match (&*case.scenario.flows, &*case.scenario.round_trips) {
            ([flow], []) => {
                assert_eq!(flow.period, Span::from_millis(10));
                assert_eq!(
                    flow.realtime.map(RtPriority::get),
                    Some(number("rt_priority", "periodic_sender"))
                );
                flow.payload
            }
            ([], [requests]) => {
                assert_eq!(requests.to, "board");
                let responder = Some(number("rt_priority", "rtt_responder"));
                assert_eq!(requests.responder_realtime.map(RtPriority::get), responder);
                requests.payload
            }
            _ => panic!("{} has both or neither", case.name),
        };
        // Headers of Ethernet, IPv4 and UDP.
        assert_eq!(14 + 20 + 8 + payload, u16::from(number("traffic", "packet_bytes")));
        let irq = RtPriority::new(number("rt_priority", "ethernet_irq_thread")).map(Policy::Fifo);
        assert!(irq.is_some());
        assert_eq!(board.ports[0].processing.irq.policy, irq);
        let loads: Vec<&str> = case.scenario.loads.iter().map(|load| load.name()).collect();
        cells.push((loads.concat(), board.system.ksoftirqd.unwrap(), case.paper_result.clone()));
    }
    let (other, rt1) = (Policy::Other, Policy::Fifo(RtPriority::LEAST));
    let mut wanted = Vec::new();
    for what in ["jitter", "rtt"] {
        let cell = |load: &str, policy, key: &str| {
            (load.to_owned(), policy, Some(format!("{what}.{key}")))
        };
        wanted.extend([
            cell("", other, "none.not_rt"),
            cell("", rt1, "none.rt1"),
            cell("tcp-tx", other, "tcp_transmit.not_rt"),
            cell("tcp-tx", rt1, "tcp_transmit.rt1"),
            cell("tcp-rx", other, "tcp_receive.not_rt"),
            cell("tcp-rx", rt1, "tcp_receive.rt1"),
        ]);
    }
    assert_eq!(cells, wanted);
}

#[test]
fn the_papers_a_file_may_name_are_those_of_the_repository() {
    let mut found: Vec<String> = fs::read_dir(repository("papers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, keys::PAPERS.map(|(paper, _)| paper));
}

#[test]
fn the_results_a_case_may_name_are_those_of_the_papers() {
    for (paper, results) in keys::PAPERS {
        let text = fs::read_to_string(repository(&format!("papers/{paper}.toml"))).unwrap();
        let sections = text.lines().filter_map(|line| line.strip_prefix("[result."));
        let mut wanted: Vec<&str> = sections.filter_map(|line| line.split(']').next()).collect();
        let mut found: Vec<&str> = Vec::new();
        for result in results {
            // `ksoftirqd` has both settings of a load below one header, and all loads of round trips.
            let header = wanted.iter().find(|section| {
                result
                    .strip_prefix(**section)
                    .is_some_and(|rest| matches!(rest.chars().next(), None | Some('.')))
            });
            found.push(header.unwrap_or_else(|| panic!("{paper} has no {result}")));
        }
        found.sort_unstable();
        found.dedup();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{paper}");
    }
}

#[test]
fn an_absent_key_gets_the_documented_default() {
    let experiment = read(PLAIN);
    assert_eq!((experiment.seed, experiment.paper.as_deref()), (1, None));
    let case = case(&experiment, "default");
    let scenario = &case.scenario;
    assert_eq!(scenario.wires[0].nic, Nic::Igb);
    let flow = &scenario.flows[0];
    assert_eq!(flow.transport, Transport::Udp4 { port: 7788 });
    assert_eq!(flow.mode, SendMode::OnWakeUp);
    assert_eq!((flow.payload, flow.priority.get(), flow.realtime, flow.cpu), (64, 0, None, None));
    let port = scenario.port("listener", "line").unwrap();
    assert_eq!(port.mac.to_string(), "02:74:65:6a:01:02");
    assert_eq!(port.ipv4.unwrap().to_string(), "10.1.0.2");
    assert_eq!(port.ipv6.unwrap().to_string(), "fd74:656a:1::2");
    assert_eq!((port.queues, &port.qdisc), (None, &None));
}

#[test]
fn mqprio_sets_as_many_queues_as_it_needs_when_none_are_given() {
    let text = format!(
        "{PLAIN}[hosts.talker.ports.line.qdisc]\nkind = \"mqprio\"\n\
         map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nqueues = [\"1@0\", \"2@1\"]\n"
    );
    let experiment = read(&text);
    let port = experiment.cases[0].scenario.port("talker", "line").unwrap();
    assert_eq!(port.queues, Some(3));
}

#[test]
fn a_case_overrides_single_values_and_keeps_the_rest() {
    let text = format!(
        "{PLAIN}priority = 5\n[cases.slow]\nflows.cycle.period = \"2ms\"\n\
         [cases.slower]\ninherits = \"slow\"\nflows.cycle.frames = 10\n\
         [cases.back]\ninherits = \"slower\"\nflows.cycle.period = \"1ms\"\n"
    );
    let experiment = read(&text);
    let of = |name| {
        let flow = &case(&experiment, name).scenario.flows[0];
        (flow.period, flow.frames, flow.priority.get())
    };
    assert_eq!(of("slow"), (Span::from_millis(2), 1000, 5));
    assert_eq!(of("slower"), (Span::from_millis(2), 10, 5));
    assert_eq!(of("back"), (Span::from_millis(1), 10, 5));
    let names: Vec<_> = experiment.cases.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["slow", "slower", "back"], "cases keep the file's order");
}

#[test]
fn each_case_may_have_a_processor_of_its_own_speed() {
    let text = format!(
        "instruction = \"4ns\"\n{PLAIN}\n[cases.one]\n[cases.two]\ninstruction = \"1ns\"\n\
         [cases.three]\ninherits = \"two\"\n"
    );
    let texts = |experiment: &Experiment| {
        let times = experiment.instruction_times();
        times.iter().map(|(time, cases)| format!("{time}: {}", cases.join(" "))).collect::<Vec<_>>()
    };
    assert_eq!(texts(&read(&text)), ["4 ns: one", "1 ns: two three"]);
    assert_eq!(texts(&read(PLAIN)), ["2 ns: default"]);
}

#[test]
fn a_case_may_inherit_from_one_that_comes_later() {
    let text = format!(
        "{PLAIN}[cases.first]\ninherits = \"second\"\n[cases.second]\nabout = \"not mine\"\n\
         flows.cycle.frames = 7\n"
    );
    let experiment = read(&text);
    assert_eq!(case(&experiment, "first").scenario.flows[0].frames, 7);
    assert_eq!(case(&experiment, "first").about, "", "`about` is not inherited");
}

#[test]
fn a_case_that_changes_the_kind_of_a_qdisc_starts_from_an_empty_table() {
    let text = format!(
        "{PLAIN}[hosts.talker.ports.line.qdisc]\nkind = \"prio\"\nbands = 4\n\
         [cases.prio]\nhosts.talker.ports.line.qdisc.bands = 5\n\
         [cases.pfifo]\nhosts.talker.ports.line.qdisc.kind = \"pfifo\"\n\
         [cases.none]\nhosts.talker.ports.line.qdisc.kind = \"default\"\n"
    );
    let experiment = read(&text);
    let qdisc =
        |name| case(&experiment, name).scenario.port("talker", "line").unwrap().qdisc.clone();
    let root = |name| qdisc(name).map(|tree| tree.root);
    assert!(matches!(root("prio"), Some(Qdisc::Prio(Prio { bands: 5, .. }))));
    assert_eq!(root("pfifo"), Some(Qdisc::Pfifo(Pfifo { limit: 1000 })));
    assert_eq!(qdisc("none"), None);
}

#[test]
fn prioflow_is_read_as_root_and_below_a_class_and_its_mistakes_name_the_possible_values() {
    let root = |settings: &str| {
        format!("{PLAIN}[hosts.talker.ports.line.qdisc]\nkind = \"prioflow\"\n{settings}")
    };
    let experiment = read(&root(
        "link = \"mac-control\"\nstorm = \"0\"\nring = 4\nbytes = 9000\nby = \"pcp\"\n\
         table = [0, 0, 1, 1, 2, 2, 3, 14]\nscope = \"below\"\nobey = 7\npropagate = false\n",
    ));
    let port = experiment.cases[0].scenario.port("talker", "line").unwrap().clone();
    let wanted = Prioflow {
        link: LinkMode::MacControl,
        storm: Span::ZERO,
        ring: 4,
        bytes: Some(9000),
        source: LevelSource::Pcp,
        table: LevelTable::new(&[0, 0, 1, 1, 2, 2, 3, 14]).ok(),
        scope: PauseScope::Below,
        obey: Level::new(7).unwrap(),
        propagate: false,
        ..Prioflow::default()
    };
    assert_eq!(port.qdisc, Some(Qdisc::Prioflow(wanted).into()));

    let below = "[hosts.talker.ports.line.qdisc]\nkind = \"prio\"\n\
                 classes.1 = { kind = \"prioflow\", by = \"priority\" }\n";
    let experiment = read(&format!("{PLAIN}{below}"));
    let port = experiment.cases[0].scenario.port("talker", "line").unwrap().clone();
    let tree = port.qdisc.unwrap();
    let leaf = tree.leaf_of(SocketPriority::LEAST);
    assert!(matches!(leaf, Some(Qdisc::Prioflow(Prioflow { source: LevelSource::Priority, .. }))));

    for (mistake, words) in [
        ("link = \"xoff\"\n", "mac-control"),
        ("scope = \"all\"\n", "below"),
        ("obey = 16\n", "obey"),
        ("propagate = 1\n", "propagate"),
        ("storm = \"100us\"\n", "whole multiples of 1 ms"),
        ("reaction = \"33ms\"\n", "from 1 µs to 32 ms"),
        ("ring = 0\n", "ring"),
        ("bytes = 1000\n", "1514 to"),
        ("table = [1, 2]\n", "64 levels (by dscp), 16"),
        ("table = [0, 0, 0, 0, 0, 0, 0, 99]\nby = \"pcp\"\n", "99 is none"),
        ("table = [0, 0, 0, 0, 0, 0, 0, 1]\n", "has 8 levels, and dscp has 64 values"),
        ("table = [\"a\"]\n", "whole numbers only"),
        ("table = 3\n", "a list"),
        ("delta = \"1us\"\n", "means nothing to prioflow"),
    ] {
        let reading = Reader::new("test.toml").read(&root(mistake));
        let found = reading.findings.to_string();
        assert!(found.contains(words), "{mistake}: {found}");
    }
}

#[test]
fn a_flow_has_flow_control_between_two_ports_that_have_a_link() {
    let with = |flow: &str, hosts: &[&str]| {
        let port = |host: &&str| {
            format!(
                "[hosts.{host}.ports.line.qdisc]\nkind = \"prioflow\"\nlink = \"experimental\"\n"
            )
        };
        let ports: String = hosts.iter().map(port).collect();
        format!("{PLAIN}flow-control = 3\nmode = \"back-to-back\"\n{flow}{ports}")
    };
    let both = ["talker", "listener"];
    let experiment = read(&with("listener-pause = \"5ms\"\n", &both));
    let flow = &experiment.cases[0].scenario.flows[0];
    assert_eq!((flow.flow_control, flow.mode), (Level::new(3), SendMode::BackToBack));
    assert_eq!(flow.listener_pause, Some(Span::from_millis(5)));
    assert_eq!(flow.listener_pause_length, PauseLength::Equal);
    let random = "listener-pause = \"5ms\"\nlistener-pause-random = true\n";
    let experiment = read(&with(random, &both));
    assert_eq!(experiment.cases[0].scenario.flows[0].listener_pause_length, PauseLength::Random);
    // 1000 frames of 64 bytes take longer than their schedule.
    assert_eq!(experiment.cases[0].scenario.duration(), Span::from_secs(1));
    let tight = with("", &both).replace("\"1ms\"", "\"1ns\"");
    assert_eq!(read(&tight).cases[0].scenario.duration(), Span::from_micros(1_040));

    for (text, words) in [
        (with("", &["talker"]), "`listener`'s port on `line` has none"),
        (with("", &[]), "`talker`'s port on `line` has none"),
        (with("transport = \"ethernet\"\n", &both), "no sockets with UDP"),
        (with("listener-pause = \"0\"\n", &both), "the listener's pause is 0"),
        (with("listener-pause-random = true\n", &both), "no effect without listener-pause"),
        (with("margin = \"1ms\"\n", &both), "without launch times"),
        (with("", &both).replace("flow-control = 3", "flow-control = 15"), "never paused"),
    ] {
        let found = Reader::new("test.toml").read(&text).findings.to_string();
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn a_base_may_hold_what_only_one_case_uses() {
    let etf = "[hosts.talker.ports.line.qdisc]\nkind = \"prio\"\n\
               classes.0 = { kind = \"etf\", delta = \"150us\" }\n";
    let text = format!(
        "{PLAIN}margin = \"400us\"\npriority = 6\n{etf}[cases.normal]\nflows.cycle.priority = 0\n\
         [cases.etf]\nflows.cycle.mode = \"launch-time\"\n"
    );
    let reading = Reader::new("test.toml").read(&text);
    assert!(reading.findings.is_empty(), "{}", reading.findings);
}

#[test]
fn an_override_from_the_command_line_wins_over_every_case() {
    let text = format!("{PLAIN}[cases.a]\n[cases.b]\nflows.cycle.frames = 5\n");
    let set = [("flows.cycle.frames", "60_000"), ("flows.cycle.period", "2ms"), ("seed", "9")];
    let experiment = Experiment::parse_with(&text, "test.toml", &set).unwrap();
    for case in &experiment.cases {
        let flow = &case.scenario.flows[0];
        assert_eq!((flow.frames, flow.period), (60_000, Span::from_millis(2)), "{}", case.name);
    }
    assert_eq!(experiment.seed, 9);
}

#[test]
fn an_override_can_be_limited_to_one_case() {
    let text = format!("{PLAIN}[cases.a]\n[cases.b]\n");
    let set = [("cases.b.flows.cycle.frames", "5")];
    let experiment = Experiment::parse_with(&text, "test.toml", &set).unwrap();
    assert_eq!(case(&experiment, "a").scenario.flows[0].frames, 1000);
    assert_eq!(case(&experiment, "b").scenario.flows[0].frames, 5);
}

#[test]
fn a_case_that_changes_a_threads_policy_starts_from_an_empty_table() {
    let text = format!(
        "{PLAIN}[hosts.talker]\nsystem.ksoftirqd = {{ policy = \"fifo\", priority = 1 }}\n\
         ports.line.irq = {{ priority = 50, cpus = [1, 0, 1] }}\n\
         [cases.a]\n[cases.b]\nhosts.talker.system.ksoftirqd = {{ policy = \"other\" }}\n\
         hosts.talker.ports.line.irq.priority = 60\n"
    );
    let experiment = read(&text);
    let settings = |name: &str| {
        let host = &case(&experiment, name).scenario.hosts[0];
        (host.system.ksoftirqd, host.ports[0].processing.irq.clone())
    };
    let irq = |priority| Irq {
        policy: RtPriority::new(priority).map(Policy::Fifo),
        cpus: Some(vec![0, 1]),
    };
    assert_eq!(settings("a"), (Some(Policy::Fifo(RtPriority::LEAST)), irq(50)));
    assert_eq!(settings("b"), (Some(Policy::Other), irq(60)));
}

#[test]
fn offloads_that_emulated_nics_lack_are_possible_on_real_nics() {
    let text = format!(
        "{PLAIN}priority = 6\nmode = \"launch-time\"\nmargin = \"400us\"\n\
         [hosts.talker.ports.line]\nqueues = 16\n[hosts.talker.ports.line.qdisc]\nkind = \"prio\"\n\
         classes.0 = {{ kind = \"etf\", delta = \"150us\", offload = true }}\n"
    );
    let emulated = Reader::new("test.toml").read(&text);
    assert_eq!(emulated.findings.mistakes(), 2, "{}", emulated.findings);
    let own = Reader::new("test.toml").nics(NicSource::Own).read(&text);
    assert!(own.findings.is_empty(), "{}", own.findings);
    let port = own.experiment.unwrap().cases.remove(0).scenario.hosts[0].ports[0].clone();
    let tree = port.qdisc.unwrap();
    let Some(Qdisc::Etf(Etf { offload, .. })) = tree.leaf_of(SocketPriority::new(6).unwrap())
    else {
        panic!()
    };
    assert!(offload);
}

#[test]
fn warnings_come_with_an_experiment() {
    let reading = Reader::new("test.toml").read(&format!("{PLAIN}margin = \"1ms\"\n"));
    assert!(reading.experiment.is_some());
    let Mistakes { findings, .. } = reading.findings;
    assert_eq!(findings.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Warning]);
}

#[test]
fn an_experiment_survives_json() {
    let text = fs::read_to_string(repository("experiments/etf.toml")).unwrap();
    let experiment = read(&text);
    let json = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
}

/// ```text
///   a ── left ── x ── middle ── y ── right ── s        a ── aside ── s
///                x ── below ── b
/// ```
#[test]
fn bridges_join_wires_to_one_network_and_flows_find_their_way() {
    let text = r#"
        name = "bridges"
        question = "?"
        wires.left.between = ["a", "x"]
        wires.aside.between = ["a", "s"]
        wires.below.between = ["x", "b"]
        wires.middle.between = ["y", "x"]
        wires.right.between = ["s", "y"]
        hosts.x.bridge = true
        hosts.y.bridge = true
        [flows.over]
        from = "a"
        to = "s"
        wire = "left"
        period = "1ms"
        frames = 1
        dscp = 46
        [flows.direct]
        from = "s"
        to = "a"
        wire = "aside"
        period = "1ms"
        frames = 1
        [round-trips.ask]
        from = "b"
        to = "s"
        count = 1
        dscp = 4
    "#;
    let scenario = Experiment::parse(text, "bridges.toml").unwrap().cases[0].scenario.clone();
    let address = |host: &str, wire: &str| scenario.port(host, wire).unwrap().ipv4;
    assert_eq!(address("a", "left").unwrap().to_string(), "10.1.0.1");
    assert_eq!(address("b", "below").unwrap().to_string(), "10.1.0.2");
    assert_eq!(address("s", "right").unwrap().to_string(), "10.1.0.3");
    assert_eq!(address("a", "aside").unwrap().to_string(), "10.2.0.1");
    assert_eq!(address("x", "left"), None);
    assert!(scenario.host("x").unwrap().bridge && !scenario.host("a").unwrap().bridge);
    // Two frames of 64 bytes and all that is around them, 130 octets each, at 1 Gbit/s.
    assert_eq!(scenario.longest_wait(), Span::from_ns(2 * 130 * 8));
    let over = &scenario.flows[0];
    assert_eq!((over.wire.as_str(), over.last_wire(), over.dscp.get()), ("left", "right", 46));
    assert_eq!(over.downstream_wires, ["middle", "right"]);
    let direct = &scenario.flows[1];
    assert_eq!((direct.wire.as_str(), direct.last_wire()), ("aside", "aside"));
    let ask = &scenario.round_trips[0];
    assert_eq!((ask.wire.as_str(), ask.last_wire(), ask.dscp.get()), ("below", "right", 4));
}
