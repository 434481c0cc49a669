//! The search on a made-up machine, whose latencies may grow from one run to the next.

use std::path::{Path, PathBuf};

use teiji::StopFlag;
use teiji_core::domain::SocketPriority;
use teiji_core::frame::{FrameRow, TxError};
use teiji_core::time::{Instant, Tai};
use teiji_experiment::{Experiment, Profile};
use teiji_net::in_place::InPlace;

use super::*;
use crate::margin::{FlowBench, Wanted};

const FRAMES: u64 = 1_000;
const PROBABILITY: f64 = 0.01;

/// A machine whose frames take `before` to the qdisc and `way` from there to the NIC, in
/// nanoseconds and spread over the microsecond below; the last entry lasts. As a real one
/// it drops what comes too late.
struct Machine {
    runs: Vec<(i64, i64)>,
    etf: Etf,
    generous: (Span, Span),
}

impl Machine {
    fn of(runs: &[(i64, i64)]) -> Self {
        let generous = (Span::from_micros(1_000), Span::from_micros(500));
        Self { runs: runs.to_vec(), etf: Etf::Ours, generous }
    }

    fn frame(&self, seq: u64, margin: Span, delta: Span, round: u64) -> FrameRow {
        let (before, way) = self.runs[usize::try_from(round).unwrap().min(self.runs.len() - 1)];
        let spread = |k: u64| i64::try_from(seq * k % FRAMES).unwrap();
        let scheduled: Instant<Tai> =
            Instant::from_ns(1_000_000_000) + self.period() * i64::try_from(seq).unwrap();
        let woke = scheduled - margin;
        let sched = woke + Span::from_ns(before - spread(619));
        let nic = sched.max(scheduled - delta) + Span::from_ns(way - spread(367));
        let tx_error = match () {
            () if sched > scheduled => Some(TxError::Invalid),
            () if nic > scheduled => Some(TxError::Missed),
            () => None,
        };
        FrameRow {
            woke: Some(woke),
            handed_over: Some(sched),
            tx_sched: Some(sched),
            tx_kernel: tx_error.is_none().then_some(nic),
            tx_error,
            ..FrameRow::planned(0, seq, scheduled)
        }
    }
}

impl Bench for Machine {
    fn run(&self, margin: Span, delta: Span, round: u64) -> anyhow::Result<Trial> {
        let member = |_| {
            let frames: Vec<_> =
                (0..FRAMES).map(|seq| self.frame(seq, margin, delta, round)).collect();
            Member {
                stations: Stations::of(&frames, margin, Some(delta)),
                misses: Misses::of(&frames),
            }
        };
        Ok(Trial {
            members: (0..2).map(member).collect(),
            loads: Vec::new(),
            folder: None,
            kernel: None,
            incomplete: false,
        })
    }

    fn generous(&self) -> (Span, Span) {
        self.generous
    }

    fn etf(&self) -> Etf {
        self.etf
    }

    fn period(&self) -> Span {
        Span::from_millis(1)
    }
}

fn search(machine: &Machine) -> Findings {
    measure(machine, "a machine".to_owned(), "made up", PROBABILITY, &crate::Unwatched).unwrap()
}

#[test]
fn a_machine_that_stays_as_it_was_passes_its_first_check() {
    let found = search(&Machine::of(&[(20_000, 30_000)]));
    assert!(found.confirmed && found.refuted.is_empty() && found.problems.is_empty());
    assert_eq!((found.check.margin_ns, found.check.delta_ns), (50_000, Some(30_000)));
    assert_eq!(found.check.misses.total(), 0);
    // The shortest is where half of the frames are late; this machine keeps to the forecast.
    let last = found.below.last().unwrap();
    assert!(last.run.misses.total() > 500 && last.run.misses.total() <= last.predicted_at_most);
}

#[test]
fn a_margin_that_its_check_refutes_is_lengthened_and_checked_again() {
    // It was quiet while it was measured.
    let found = search(&Machine::of(&[(20_000, 30_000), (20_000, 42_000)]));
    assert!(found.confirmed);
    let [refuted] = &found.refuted[..] else { panic!("{:?}", found.refuted) };
    assert_eq!((refuted.margin_ns, refuted.delta_ns), (50_000, Some(30_000)));
    assert!(refuted.misses.missed > 1_900);
    // ETF does not say by how much it came too late: half as much again.
    assert_eq!((found.check.margin_ns, found.check.delta_ns), (65_000, Some(45_000)));
    assert_eq!(found.check.misses.total(), 0);
}

#[test]
fn a_way_to_the_qdisc_that_grows_lengthens_the_margin_and_not_delta() {
    let found = search(&Machine::of(&[(20_000, 30_000), (56_000, 30_000)]));
    assert!(found.confirmed && found.refuted.len() == 1);
    assert_eq!(found.check.delta_ns, Some(30_000));
    assert!(found.check.margin_ns >= 85_000, "{}", found.check.margin_ns);
}

#[test]
fn a_machine_that_gets_worse_each_time_ends_without_a_margin() {
    let found = search(&Machine::of(&[
        (20_000, 30_000),
        (20_000, 60_000),
        (20_000, 120_000),
        (20_000, 240_000),
    ]));
    assert!(!found.confirmed && found.below.is_empty());
    assert_eq!(found.refuted.len() + 1, CHECKS);
    let margins: Vec<i64> =
        found.refuted.iter().chain([&found.check]).map(|run| run.margin_ns).collect();
    assert!(margins.is_sorted() && margins[0] < margins[2], "{margins:?}");
}

#[test]
fn a_first_run_with_too_little_time_is_repeated_with_more() {
    let tight = (Span::from_micros(40), Span::from_micros(20));
    let found = search(&Machine { generous: tight, ..Machine::of(&[(20_000, 30_000)]) });
    assert_eq!((found.measured.margin_ns, found.measured.delta_ns), (80_000, Some(40_000)));
    assert!(found.confirmed && found.problems.is_empty(), "{:?}", found.problems);
}

#[test]
fn a_delta_of_the_interfaces_own_stays_and_the_margin_makes_up_for_it() {
    let etf = Etf::Theirs(Span::from_micros(100));
    let generous = (Span::from_micros(1_000), Span::from_micros(100));
    let found = search(&Machine { etf, generous, ..Machine::of(&[(20_000, 30_000)]) });
    assert_eq!((found.check.margin_ns, found.check.delta_ns), (120_000, Some(100_000)));
    assert!(found.confirmed);
}

/// An experiment file of the repository, as it would be measured with these bindings.
fn bench<'a>(bind: Option<&str>, experiment: &Experiment, text: &str) -> FlowBench<'a> {
    let wanted = Wanted {
        name: "etf.toml".to_owned(),
        text: text.to_owned(),
        overrides: Vec::new(),
        case: Some("etf".to_owned()),
        flow: None,
        frames: None,
        bind: bind.map(str::to_owned),
        take: false,
        kernel: None,
        seeds: Vec::new(),
        loads: Vec::new(),
        out: PathBuf::new(),
        stop: StopFlag::new(),
        progress: &crate::Unwatched,
    };
    FlowBench::new(wanted, experiment).unwrap()
}

#[test]
fn what_was_measured_on_nics_becomes_a_profile_with_the_delta_that_was_checked() {
    let text = include_str!("../../../../experiments/etf.toml");
    let experiment = Experiment::parse(text, "etf.toml").unwrap();
    // A delta that is longer than the margin in the file.
    let found = search(&Machine::of(&[(20_000, 430_000)]));
    assert_eq!(found.check.delta_ns, Some(430_000));
    let saved = Path::new("teiji-margin.json");
    let nics = bench(Some("talker=enp3s0,listener=enp4s0"), &experiment, text);
    let written = nics.profile(&found, saved).unwrap().unwrap();
    let profile = Profile::parse(&written, "margin.profile.toml").unwrap();
    let [port] = &profile.ports[..] else { panic!("{written}") };
    assert_eq!(port.interface, "enp3s0");
    let etf = port.qdisc.as_ref().unwrap().etf_of(SocketPriority::new(3).unwrap()).unwrap();
    assert_eq!(etf.delta, Span::from_micros(430), "{written}");
    InPlace::compile(&profile).unwrap();
    for part in [
        "# Profile of `talker`, enp3s0 of this machine",
        "# Measured: a machine, this machine, an unknown kernel",
        "# Check at 450 µs, delta 430 µs: 0 of 2000 frames not on time, passed",
        "Margin::calibrated() reads it from teiji-margin.json; `teiji talk --margin 450us`",
    ] {
        assert!(written.contains(part), "no {part} in\n{written}");
    }
    // The laboratory's figures, and those of a veth pair, are not this machine's.
    for bind in [None, Some("")] {
        assert_eq!(bench(bind, &experiment, text).profile(&found, saved).unwrap(), None);
    }
}
