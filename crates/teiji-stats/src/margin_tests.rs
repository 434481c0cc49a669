//! Stations, misses and recommendations of made-up frames.

use teiji_core::time::{Instant, Tai};

use super::misses::contradicts;
use super::*;
use crate::tail::{Evidence, NoFit};

const MARGIN: Span = Span::from_micros(400);
const DELTA: Span = Span::from_micros(150);

/// A frame that wakes and is handed over and released with these latencies.
fn frame(seq: u64, wake_up: i64, hand_over: i64, release: i64) -> FrameRow {
    let scheduled: Instant<Tai> =
        Instant::from_ns(1_000_000_000) + Span::from_millis(1) * i64::try_from(seq).unwrap();
    let woke = scheduled - MARGIN + Span::from_ns(wake_up);
    let sched = woke + Span::from_ns(hand_over);
    FrameRow {
        woke: Some(woke),
        handed_over: Some(sched + Span::from_micros(1)),
        tx_sched: Some(sched),
        tx_kernel: Some(sched.max(scheduled - DELTA) + Span::from_ns(release)),
        ..FrameRow::planned(0, seq, scheduled)
    }
}

fn stations(frames: u64, delta: Option<Span>, frame: impl Fn(u64) -> FrameRow) -> Stations {
    Stations::of(&(0..frames).map(frame).collect::<Vec<_>>(), MARGIN, delta)
}

#[test]
fn each_stretch_is_measured_from_where_it_begins() {
    // The second frame comes to the qdisc 300 µs after its wake-up: delta, 250 µs
    // after it, has begun, and the release counts from the entry.
    let frames = [frame(0, 10_000, 5_000, 7_000), frame(1, 290_000, 10_000, 3_000)];
    let stations = Stations::of(&frames, MARGIN, Some(DELTA));
    assert_eq!(stations.wake_up(), [10_000, 290_000]);
    assert_eq!(stations.hand_over(), [5_000, 10_000]);
    assert_eq!(stations.to_qdisc(), [15_000, 300_000]);
    assert_eq!(stations.release(), [7_000, 3_000]);
    let without_etf = Stations::of(&frames, MARGIN, None);
    assert_eq!(without_etf.release(), [242_000, 3_000]);
}

#[test]
fn every_miss_has_its_reason() {
    let with = |tx_error| FrameRow { tx_error, ..frame(0, 1, 1, 1) };
    let frames = [
        frame(0, 1_000, 1_000, 1_000),
        frame(1, 1_000, 1_000, 150_001),
        with(Some(TxError::Invalid)),
        with(Some(TxError::Missed)),
        with(Some(TxError::SendFailed(105))),
        FrameRow {
            woke: None,
            handed_over: None,
            tx_sched: None,
            tx_kernel: None,
            ..frame(5, 0, 0, 0)
        },
    ];
    let misses = Misses::of(&frames);
    let expected = Misses { frames: 6, invalid: 1, missed: 1, send_failed: 1, late: 1, unsent: 1 };
    assert_eq!((misses, misses.total()), (expected, 5));
}

#[test]
fn frames_without_stamps_are_counted_not_guessed() {
    let without = FrameRow { tx_kernel: None, ..frame(0, 5, 5, 5) };
    let dropped = FrameRow { tx_error: Some(TxError::Missed), ..without };
    let stations = Stations::of(&[without, dropped], MARGIN, Some(DELTA));
    assert_eq!((stations.count(), stations.unstamped, stations.dropped), (2, 1, 1));
    // The dropped one waited for at least the whole of delta.
    assert_eq!((stations.release(), stations.cut_short), (vec![150_001], 1));
    let nothing = Stations::of(&[without], MARGIN, Some(DELTA));
    assert_eq!(Recommendation::of(&[nothing], 0.1), None);
}

#[test]
fn the_margin_is_the_sum_of_both_bounds_in_whole_microseconds() {
    // In an order without clusters of large values, 1000 frames: wake-up 1 to 1000 × 100 ns, release 2 µs to 11.99 µs.
    let stations = stations(1_000, Some(DELTA), |k| {
        let late = i64::try_from(k * 619 % 1_000).unwrap();
        frame(k, (late + 1) * 100, 0, 2_000 + late * 10)
    });
    let recommended = Recommendation::of(std::slice::from_ref(&stations), 0.02).unwrap();
    // By order statistics for 1 %, four of 1000 may lie above: 99.6 µs, 11.95 µs.
    assert_eq!((recommended.reached, recommended.delta_ns), (true, 12_000));
    assert_eq!(recommended.margin_ns, 100_000 + 12_000);
    assert_eq!(recommended.evidence(), Some(Evidence::OrderStatistics));
    assert_eq!(stations.late_at(Span::from_micros(112), Span::from_micros(12)), 0);
}

#[test]
fn too_few_samples_lower_the_claim_instead_of_making_it() {
    let stations = stations(500, None, |k| frame(k, 9_000, 1_000, 2_000));
    let recommended = Recommendation::of(std::slice::from_ref(&stations), 1e-6).unwrap();
    assert!(!recommended.reached && recommended.to_qdisc.upper_ns().is_some());
    assert_eq!(recommended.refused, Some(NoFit::TooFew));
    // 3 / 500 for each of the two stretches.
    assert!((0.011..0.014).contains(&recommended.probability), "{recommended:?}");
}

#[test]
fn just_below_is_where_the_measured_frames_begin_to_be_late() {
    let stations =
        stations(1_000, Some(DELTA), |k| frame(k, i64::try_from(k).unwrap() * 100, 0, 1_000));
    let members = [stations.clone()];
    let (margin, delta) = just_below(&members, MARGIN, DELTA, 10).unwrap();
    // Frame k reaches the NIC after k × 100 ns + 1 µs.
    assert_eq!((margin, delta), (Span::from_micros(99), Span::from_ns(37_125)));
    assert_eq!(stations.late_at(margin, delta), 19);
    assert_eq!(stations.late_at(margin + Span::from_micros(1), delta), 9);
    assert_eq!(just_below(&members, MARGIN, DELTA, 2_000), None);
}

#[test]
fn the_worst_member_decides() {
    // Two members, of which one is handed over in 10 to 20 µs, the other in 30 to 40 µs.
    let member = |least: i64| {
        stations(1_000, Some(DELTA), |k| {
            frame(k, least + i64::try_from(k * 619 % 1_000).unwrap() * 10, 0, 1_000)
        })
    };
    let members = [member(10_000), member(30_000)];
    let recommended = Recommendation::of(&members, 0.04).unwrap();
    // Of 2000 frames 28 may lie above (2 %), which is 39.7 µs; of the worst member's
    // 1000 only 12, which is 39.8 µs and more: the whole microsecond is the same.
    let bounds: Vec<i64> = recommended.members.iter().map(|own| own.to_qdisc_ns).collect();
    assert!(bounds[0] < 20_000 && bounds[1] > 39_700, "{bounds:?}");
    assert!(bounds[1] >= recommended.to_qdisc.order_ns.unwrap());
    assert_eq!((recommended.margin_ns, recommended.delta_ns), (41_000, 1_000));
    // At 35 µs all of the first are on time and half of the second are not.
    let most = late_at_most(&members, Span::from_micros(36), Span::from_micros(1), 400);
    // scipy: poisson.ppf(0.95, 200) = 224.
    assert!((222..=226).contains(&most), "{most}");
}

#[test]
fn one_member_that_fails_refutes_a_margin_that_holds_for_the_others() {
    let with = |late| Misses { frames: 1_000, late, ..Misses::default() };
    // 40 expected of 4000; 30 of them in one member are not by chance.
    assert!(!refuted(&[with(10), with(12), with(9), with(8)], 0.01));
    assert!(refuted(&[with(0), with(0), with(30), with(0)], 0.01));
    // Nor is it if each has a few more than it should.
    assert!(refuted(&[with(16), with(16), with(16), with(16)], 0.01));
}

#[test]
fn a_check_fails_on_misses_that_chance_does_not_explain() {
    // scipy: binom.sf(0, 60000, 1e-6) = 0.058, sf(0, 50000, 1e-6) = 0.0488,
    // sf(1, 60000, 1e-6) = 0.0017, sf(115, 100000, 1e-3) = 0.063, sf(117, …) = 0.0428.
    assert!(!contradicts(0, 60_000, 1e-6, 0.05));
    assert!(!contradicts(1, 60_000, 1e-6, 0.05));
    assert!(contradicts(1, 50_000, 1e-6, 0.05));
    assert!(contradicts(2, 60_000, 1e-6, 0.05));
    assert!(!contradicts(116, 100_000, 1e-3, 0.05));
    assert!(contradicts(118, 100_000, 1e-3, 0.05));
    // Far from the first terms: 1000 ± 31 are expected.
    assert!(!contradicts(1_000, 100_000, 1e-2, 0.05));
    assert!(contradicts(1_060, 100_000, 1e-2, 0.05));
    assert!(contradicts(5, 5, 0.1, 0.05));
}

#[test]
fn the_default_probability_is_reached_by_the_frames_it_is_chosen_for() {
    for (frames, expected) in [(10, 0.1), (1_300, 1e-2), (60_000, 1e-3), (120_000, 1e-4)] {
        let probability = supported_by(frames);
        assert!((probability / expected - 1.0).abs() < 1e-9, "{frames}: {probability}");
        if frames < 1_000 {
            continue;
        }
        // Nothing but order statistics: no two latencies differ enough for a fit.
        let steady = stations(frames, Some(DELTA), |seq| frame(seq, 5_000, 1_000, 3_000));
        let found = Recommendation::of(&[steady], probability).unwrap();
        assert!(found.reached, "{frames}");
    }
}
