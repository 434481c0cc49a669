//! The third study's experiments in the laboratory, with fewer frames: nothing is lost with flow
//! control from socket to socket, and what is lost without is counted where it was.

use std::path::Path;

use crate::common::{self, CommandOutput, teiji};
use crate::run::{self, count, flow};
use serde_json::Value;

/// Runs these cases of an experiment with these settings, as it has to succeed.
fn run(experiment: &str, cases: &[&str], sets: &[&str]) -> (CommandOutput, Value) {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path(), experiment, cases, sets);
    let summary = run::summary(dir.path());
    (run, summary)
}

/// The same; its folder stays.
fn run_in(out: &Path, experiment: &str, cases: &[&str], sets: &[&str]) -> CommandOutput {
    let file = common::repository().join(format!("experiments/{experiment}.toml"));
    let out = out.to_str().unwrap();
    let mut arguments = vec!["run", file.to_str().unwrap(), "--out", out];
    arguments.extend(cases.iter().flat_map(|case| ["--case", case]));
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let run = teiji(&arguments);
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    run
}

#[test]
fn a_slow_reader_loses_frames_and_with_flow_control_none() {
    // The buffer is smaller than a flow's own, and sooner full.
    let sets = ["flows.stream.frames=1500", "flows.stream.listener-buffer=106496"];
    let (run, summary) = run("loss", &["ordinary", "controlled"], &sets);
    let ordinary = flow(&summary, "ordinary", 0, "stream");
    let lost = count(ordinary, "lost");
    assert!(lost > 0, "{ordinary}");
    assert_eq!(count(ordinary, "received") + lost, 1_500, "{ordinary}");
    // The socket's buffer overflows; the ring can, too, while the reader has the processor.
    let counted = summary["cases"][0]["members"][0]["cards"].as_array().unwrap();
    assert!(counted.iter().any(|one| one["trouble"] == "socket-full"), "{counted:?}");
    // The sender does not wait for room in the socket's buffer: some frames are not sent at all.
    let on_the_way = lost - count(ordinary, "send_failed");
    let counted = counted.iter().map(|one| one["frames"].as_u64().unwrap());
    assert_eq!(counted.sum::<u64>(), on_the_way, "each is counted where it was lost: {summary}");
    let controlled = flow(&summary, "controlled", 0, "stream");
    assert_eq!(count(controlled, "received"), 1_500, "{controlled}");
    assert_eq!(count(controlled, "late"), 0, "back to back, nobody is late");
    let room = &summary["cases"][1]["members"][0]["rooms"]["stream"];
    let of = |figure: &str| room[figure].as_u64().unwrap();
    // 100 Mbit/s for 1 ms, as 7 datagrams of two fragments and a tiny one; a ring of 64 and a frame
    // under way; each 2304 bytes to the kernel. Two more are the datagram that crosses the mark.
    assert_eq!((of("frames"), of("headroom")), (80, 82 * 2304), "{room}");
    assert_eq!(of("high") + of("headroom"), of("buffer"), "{room}");
    assert!((of("high")..=of("buffer")).contains(&of("fullest")), "it was needed: {room}");
    assert!(of("asks") > 0, "{room}");
    assert!(run.out.contains("Headroom of receivers: stream"), "{}", run.out);
    assert!(run.out.contains("PASS controlled: lost = 0"), "{}", run.out);
}

/// QEMU's NICs have no line rate, and Realtek's 8139 a ring of 64.
#[test]
fn with_emulated_nics_only_frames_beyond_a_small_ring_are_lost() {
    // Sooner full than a flow's own.
    let sets = ["flows.stream.frames=2000", "flows.stream.listener-buffer=400000"];
    let (_, summary) = run("loss-nics", &["igb", "rtl8139"], &sets);
    let intel = flow(&summary, "igb", 0, "stream");
    assert_eq!(count(intel, "received"), 2_000, "{intel}");
    let realtek = flow(&summary, "rtl8139", 0, "stream");
    let lost = count(realtek, "lost");
    assert!((1..500).contains(&lost), "{realtek}");
    let nics = &summary["cases"][1]["members"][0]["cards"][0];
    assert_eq!(nics["trouble"], "rx-overrun", "{nics}");
    assert_eq!(nics["frames"], lost, "each is counted where it was lost");
}

/// The third study's number of frames.
#[test]
fn a_hundred_thousand_frames_reach_a_reader_with_random_pauses() {
    // Both hosts on one processor: it is the quicker, and nothing here needs two.
    let sets = ["flows.stream.frames=100000", "hosts.reader.cpu=0"];
    let (_, summary) = run("loss", &["at-random"], &sets);
    let stream = flow(&summary, "at-random", 0, "stream");
    assert_eq!(count(stream, "sent"), 100_000, "{stream}");
    assert_eq!(count(stream, "received"), 100_000, "{stream}");
    // The sender waited for its processing delays: the wire alone takes 101 us per frame.
    let longest = stream["vantages"]["wire"]["interval"]["max_ns"].as_i64().unwrap();
    assert!(longest > 5_000_000, "{stream}");
}

/// A ring of 4 holds what was handed to the NIC before XOFF; the reader's
/// port sends XOFF once per read of 32 frames.
#[test]
fn frames_received_after_xoff_are_counted() {
    let (run, summary) = run("xoff", &["ring-4"], &["flows.stream.frames=320"]);
    let xoff = &summary["cases"][0]["members"][0]["wire"]["stream"]["silence"];
    let of = |figure: &str| xoff[figure].as_u64().unwrap();
    assert!((5..32).contains(&of("asks")), "{xoff}");
    assert!((1..=8).contains(&of("most_frames")), "{xoff}");
    // A frame takes 101 us.
    let longest = xoff["time"]["max_ns"].as_u64().unwrap();
    assert!((101_000 * (of("most_frames") - 1)..1_000_000).contains(&longest), "{xoff}");
    assert!(run.out.contains("Frames received after XOFF: stream"), "{}", run.out);
}

/// A port's pause ends 100 ms after its peer's last level frame. With a live peer it lasts for the
/// reader's processing delay, 300 ms.
#[test]
fn a_peer_that_dies_keeps_the_wire_silent_for_a_lifetime_at_most() {
    // Both hosts on one processor: it is the quicker, and nothing here needs two.
    let sets = ["flows.stream.frames=200", "hosts.reader.cpu=0"];
    let (_, summary) = run("peer-death", &["dies"], &sets);
    let stream = flow(&summary, "dies", 0, "stream");
    let longest = stream["vantages"]["wire"]["interval"]["max_ns"].as_i64().unwrap();
    assert!((40_000_000..165_000_000).contains(&longest), "{stream}");
    // It sent all, and nobody had it wait for the reader.
    assert_eq!(count(stream, "sent"), 200, "{stream}");
    assert!(count(stream, "lost") > 0, "{stream}");
}

#[test]
fn a_bridge_with_one_way_out_loses_frames_and_with_flow_control_none() {
    let sets = ["flows.from-a.frames=1200", "flows.from-b.frames=1200"];
    let (result, summary) = run("loss-star", &["levels", "controlled"], &sets);
    let received = |case: &str, name: &str| count(flow(&summary, case, 0, name), "received");
    assert_eq!([received("controlled", "from-a"), received("controlled", "from-b")], [1200, 1200]);
    let arrived = received("levels", "from-a") + received("levels", "from-b");
    assert!(arrived < 2400, "{}", result.out);
    assert!(result.out.contains("x on s: "), "{}", result.out);
    // 100 Mbit/s for 1 ms, frames of the smallest size, a ring of 64 and one under way; twice that.
    let ports = summary["cases"][1]["members"][0]["bridge_rooms"].as_array().unwrap();
    assert_eq!(ports.len(), 3, "{ports:?}");
    for port in ports {
        assert_eq!(
            (&port["host"], &port["headroom"], &port["room"]),
            (&"x".into(), &213.into(), &426.into()),
            "{port}"
        );
        assert_eq!(port["beyond"], 0, "{port}");
    }
    let to_s = ports.iter().find(|port| port["wire"] == "s").unwrap();
    assert!((213..=426).contains(&to_s["most"].as_u64().unwrap()), "it was needed: {to_s}");
    // Of the wire by which they arrive, which they share.
    let wire = &summary["cases"][1]["members"][0]["wire"]["from-a"];
    let rate = wire["rate_bps"].as_u64().unwrap();
    assert!((10_000_000..=101_000_000).contains(&rate), "{rate} bit/s");
    assert!(wire["departure"].is_null(), "{wire}");
}

#[test]
fn xoff_passes_three_hops_and_nothing_is_lost() {
    let (_, summary) = run("loss-hops", &["controlled"], &["flows.stream.frames=1000"]);
    let stream = flow(&summary, "controlled", 0, "stream");
    assert_eq!(count(stream, "received"), 1_000, "{stream}");
    let ports = summary["cases"][0]["members"][0]["bridge_rooms"].as_array().unwrap();
    let pause_requests: Vec<(&str, bool)> = ports
        .iter()
        .map(|port| (port["wire"].as_str().unwrap(), port["asks"].as_u64().unwrap() > 0))
        .collect();
    let wanted = [("first", true), ("second", false), ("second", true), ("third", false)];
    assert_eq!(
        pause_requests, wanted,
        "each bridge sends XOFF on the wire of arriving frames: {ports:?}"
    );
}

/// Four hosts, each on a processor of its own, with 2 x 10^9 instructions per second while all
/// are busy: less than a nanosecond for one of them, below the resolution of QEMU's own clock.
#[test]
fn round_trips_above_the_load_wait_for_one_of_its_frames() {
    let sets = ["round-trips.ask.count=50", "flows.load.frames=1200"];
    let dir = tempfile::tempdir().unwrap();
    // The case requires 1.5 times the bound at most.
    let run = run_in(dir.path(), "rtt-priority", &["above"], &sets);
    let summary = run::summary(dir.path());
    // 1266 octets of the wire from the bridge to S.
    assert_eq!(summary["cases"][0]["members"][0]["blocking"]["ask"], 101_280);
    assert!(run.out.contains("the bound is"), "{}", run.out);
    // The wire is full.
    let rate = summary["cases"][0]["members"][0]["wire"]["load"]["rate_bps"].as_u64().unwrap();
    assert!((95_000_000..=101_000_000).contains(&rate), "{rate} bit/s");
    let manifest = run::manifest(dir.path());
    let lab = &manifest["lab"];
    let settings = (&lab["cpus"], &lab["icount_shift"], &lab["slowdown"]);
    assert_eq!(settings, (&4.into(), &0.into(), &8.into()), "125 ps an instruction");
    let again = tempfile::tempdir().unwrap();
    let first = common::run_folder(dir.path());
    let replay = ["run", "--replay", first.to_str().unwrap(), "--out"];
    let replay = teiji(&[&replay[..], &[again.path().to_str().unwrap()]].concat());
    assert!(replay.out.contains("identical to the last bit"), "{}\n{}", replay.out, replay.err);
}

#[test]
fn a_list_of_free_pages_is_short_from_the_start() {
    let sets = ["round-trips.ask.count=50", "flows.load.frames=1200"];
    let dir = tempfile::tempdir().unwrap();
    run_in(dir.path(), "rtt-allocator", &["short"], &sets);
    let manifest = run::manifest(dir.path());
    assert_eq!(manifest["lab"]["slowdown"], 1, "1 ns an instruction");
    let had = &manifest["observed"]["short-s1"]["network"]["system"];
    assert_eq!(had["vm.percpu_pagelist_high_fraction"], "1000000", "{had}");
    // Four batches of 31; this kernel keeps some thousand if nobody frees any after the sysctl.
    let pages = had["longest list of free pages at the start"].as_str().unwrap();
    assert!(pages.parse::<u64>().unwrap() <= 124, "{had}");
}
