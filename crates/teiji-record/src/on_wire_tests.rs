//! Frames on a computed wire give the waits, gates, reservations and stations that they must.

use std::collections::BTreeMap;

use teiji_core::reception::Reception;
use teiji_core::time::Instant;
use teiji_experiment::Experiment;
use teiji_stats::{Station, WireStatistics};

use super::*;
use crate::columns::Row;
use crate::{About, Facts, FlowPlan, FrameRow};

/// Two flows of 64-byte frames over a wire of 1 Gbit/s whose delay is 500 ns, in classes
/// 0 and 1; `cases` follow.
fn experiment(flow: &str, cases: &str) -> Experiment {
    let text = format!(
        r#"
name = "demo"
question = "Is it regular?"
[wires.line]
between = ["talker", "listener"]
nic = "vtsn"
[hosts.talker.ports.line.qdisc]
kind = "mqprio"
map = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]
queues = ["1@0", "1@1", "2@2"]
hw = true
[flows.a]
from = "talker"
to = "listener"
period = "1ms"
frames = 3
payload = 24
priority = 3
{flow}
[flows.b]
from = "talker"
to = "listener"
period = "1ms"
frames = 3
payload = 24
priority = 2
{flow}
{cases}
"#
    );
    Experiment::parse(&text, "demo.toml").unwrap()
}

const BASE: i64 = 1_000_000_000;

/// Frame `seq` of each flow leaves `late(flow, seq)` ns after its plan.
fn wire_statistics(
    experiment: &Experiment,
    case: usize,
    late: impl Fn(u16, i64) -> i64,
) -> BTreeMap<String, WireStatistics> {
    let case = &experiment.cases[case];
    let mut rows = Vec::new();
    let mut flows = Vec::new();
    for (id, flow) in (0_u16..).zip(&case.scenario.flows) {
        flows.push(FlowPlan::new(id, flow, Instant::from_ns(BASE)));
        for seq in 0..3 {
            let scheduled = BASE + seq * 1_000_000;
            // The stamp is of the end of the start delimiter, 8 byte times after the
            // start, at the far end.
            let wire = Some(Instant::from_ns(scheduled + late(id, seq) + 64 + 500));
            let scheduled = Instant::from_ns(scheduled);
            let seq = seq.unsigned_abs();
            rows.push(FrameRow { flow: id, seq, scheduled, wire, ..FrameRow::EMPTY });
        }
    }
    let facts = Facts { wire_resolution: Some(Span::from_ns(1)), ..Facts::default() };
    let (name, seed) = (case.name.clone(), 1);
    let about = About { experiment: "demo".to_owned(), case: name, seed, flows };
    on_wire(experiment, case, &Records { about, facts, rows })
}

#[test]
fn a_launched_frame_that_follows_another_waited_for_it_and_its_departure_is_known() {
    let etf = "hosts.talker.ports.line.qdisc.classes";
    let experiment = experiment(
        "mode = \"launch-time\"\nmargin = \"500us\"",
        &format!(
            "[cases.etf]\n{etf}.0 = {{ kind = \"etf\", delta = \"200us\", offload = true }}\n\
             {etf}.1 = {{ kind = \"etf\", delta = \"200us\", offload = true }}\n"
        ),
    );
    // 42 + 24 + 4 bytes, preamble and gap: 90 bytes of 8 ns.
    let statistics = wire_statistics(&experiment, 0, |flow, _| i64::from(flow) * 720);
    let (a, b) = (&statistics["a"], &statistics["b"]);
    assert_eq!(a.waits, []);
    let wait = Wait { waited_for: "a".to_owned(), count: 3, median_ns: 720, longest_ns: 720 };
    assert_eq!(b.waits, [wait]);
    let ends = |flow: &WireStatistics| {
        let departure = flow.departure.as_ref().unwrap();
        (departure.min_ns, departure.max_ns)
    };
    assert_eq!((ends(a), ends(b)), ((0, 0), (720, 720)));
    assert_eq!(a.rate_bps, Some(720_000));
}

#[test]
fn frames_are_compared_with_their_own_gates_or_with_those_of_the_first_case_that_has_some() {
    let experiment = experiment(
        "",
        "[cases.none]\n[cases.gated]\n\
         [cases.gated.hosts.talker.ports.line.qdisc]\nkind = \"taprio\"\n\
         map = [2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]\nqueues = [\"1@0\", \"1@1\", \"2@2\"]\n\
         entries = [{ open = [0], interval = \"300us\" }, { open = [1, 2], interval = \"700us\" }]\n",
    );
    // The last frame of each flow is outside; 624 ns pass until the end of its FCS.
    let late = |flow, seq| if (flow == 0) == (seq == 2) { 310_000 } else { 20_000 };
    let gated = wire_statistics(&experiment, 1, late);
    let outside = |statistics: &BTreeMap<String, WireStatistics>, flow: &str| {
        let own = statistics[flow].gates.clone().unwrap();
        (own.outside, own.frames, own.worst_ns, own.gates_of)
    };
    assert_eq!(outside(&gated, "a"), (1, 3, 10_624, None));
    assert_eq!(outside(&gated, "b"), (1, 3, 20_624, None));
    let none = wire_statistics(&experiment, 0, late);
    assert_eq!(outside(&none, "a"), (1, 3, 10_624, Some("gated".to_owned())));
}

#[test]
fn a_class_is_compared_with_its_reservation_and_others_are_not() {
    let experiment = experiment(
        "",
        "[cases.none]\n[cases.shaped]\nhosts.talker.ports.line.qdisc.classes.0 = \
         { kind = \"cbs\", bandwidth = \"1Mbit/s\" }\n",
    );
    let statistics = wire_statistics(&experiment, 0, |_, _| 0);
    assert_eq!(statistics["b"].shaping, None);
    let shaping = statistics["a"].shaping.clone().unwrap();
    // 90 bytes a millisecond; hiCredit 2, loCredit −1537 (rounded away from zero).
    assert_eq!((shaping.bandwidth_bps, shaping.reserved_bps), (720_000, 1_000_000));
    assert_eq!((shaping.burst_bytes, shaping.bound_bytes), (89, 2 + 1_537));
    assert_eq!(shaping.reserved_in.as_deref(), Some("shaped"));
}

#[test]
fn the_stretches_of_a_frames_path_are_measured_separately() {
    let experiment = experiment("", "");
    let case = &experiment.cases[0];
    let flow = &case.scenario.flows[0];
    let at = |ns: i64| Instant::from_ns(BASE + ns);
    // 70 bytes with FCS and 8 before them at 1 Gbit/s: 624 ns; the stamp is of the latters' end.
    let row = |interrupt: i64| FrameRow {
        scheduled: at(0),
        woke: Some(at(30_000)),
        tx_sched: Some(at(41_000)),
        tx_kernel: Some(at(45_000)),
        wire: Some(Instant::from_ns(BASE + 50_000 + 64 + 500)),
        rx_kernel: Some(at(60_000)),
        taken: Some(at(75_000)),
        reception: Reception {
            interrupt: Some(at(interrupt)),
            softirq: Some(at(57_000)),
            woken: Some(at(68_000)),
        },
        ..FrameRow::EMPTY
    };
    let stations = |resolution: i64, interrupt: i64| {
        let facts = Facts { wire_resolution: Some(Span::from_ns(resolution)), ..Facts::default() };
        let flows = vec![FlowPlan::new(0, flow, at(0))];
        let (experiment_name, name) = ("demo".to_owned(), case.name.clone());
        let about = About { experiment: experiment_name, case: name, seed: 1, flows };
        let records = Records { about, facts, rows: vec![row(interrupt), FrameRow::EMPTY] };
        let stations = on_wire(&experiment, case, &records)["a"].stations.clone();
        stations.into_iter().map(|(station, took)| (station, took.max_ns)).collect::<Vec<_>>()
    };
    let end = 50_000 + 500 + 624;
    let before = [
        (Station::ToWire, 20_000),
        (Station::Qdisc, 4_000),
        (Station::Nic, 5_000),
        (Station::Receive, 60_000 - end),
    ];
    let own = [(Station::Interrupt, 55_000 - end), (Station::Softirq, 2_000)];
    let polling = (Station::Polling, 3_000);
    let after = [(Station::Deliver, 15_000), (Station::Socket, 8_000), (Station::WakeUp, 7_000)];
    assert_eq!(stations(1, 55_000), [&before[..], &own, &[polling], &after].concat());
    // An interrupt before the frame came was another's.
    assert_eq!(stations(1, 51_000), [&before[..], &[polling], &after].concat());
    // A wire whose time is not computed has a clock of its own.
    assert_eq!(stations(1_000, 55_000), [&[(Station::Qdisc, 4_000)][..], &after].concat());
}
