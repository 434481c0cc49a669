//! Known frames give the expected counts and deviations.

use teiji_core::send_mode::SendMode;

use super::*;

const PERIOD: i64 = 1_000_000;
const BASE: i64 = 1_800_000_000_000_000_000;

fn terms(mode: SendMode) -> FlowTerms {
    FlowTerms {
        period: Span::from_ns(PERIOD),
        mode,
        stamps_requested: false,
        foreign: 0,
        wire_resolution: None,
        apart: false,
    }
}

fn launch_time() -> FlowTerms {
    terms(SendMode::LaunchTime { margin: Span::from_micros(400), deadline: false })
}

/// A frame that went through: woke 5 µs late, sent 2 µs later, on the wire
/// `deviation_ns` off its time, by an analyser whose clock is 7 s off.
fn frame(seq: u64, deviation_ns: i64) -> FrameRow {
    let scheduled = Instant::from_ns(BASE + PERIOD * i64::try_from(seq).unwrap());
    let woke = scheduled - Span::from_micros(395);
    FrameRow {
        woke: Some(woke),
        handed_over: Some(woke + Span::from_micros(2)),
        wire: Some(Instant::from_ns(scheduled.as_ns() + 7_000_000_000 + deviation_ns)),
        rx_kernel: Some(scheduled + Span::from_ns(60_000 + deviation_ns)),
        arrival: Some(seq),
        copies: 1,
        ..FrameRow::planned(0, seq, scheduled)
    }
}

fn unsent(seq: u64) -> FrameRow {
    let stampless = frame(seq, 0);
    FrameRow { woke: None, handed_over: None, ..lost(&stampless) }
}

fn lost(frame: &FrameRow) -> FrameRow {
    FrameRow { wire: None, rx_kernel: None, arrival: None, copies: 0, ..*frame }
}

#[test]
fn intervals_and_schedule_are_measured_on_the_wire() {
    let frames = [frame(0, 0), frame(1, 10), frame(2, -20), frame(3, 0)];
    let statistics = FlowStatistics::from_frames(&launch_time(), &frames);
    assert_eq!(statistics.timestamp_point, Some(TimestampPoint::Wire));
    let wire = &statistics.timestamp_points[&TimestampPoint::Wire];
    let interval = wire.interval.as_ref().unwrap();
    assert_eq!((interval.count, interval.min_ns, interval.max_ns), (3, -30, 20));
    assert!(wire.centred);
    let schedule = wire.schedule.as_ref().unwrap();
    assert_eq!((schedule.min_ns, schedule.max_ns), (-20, 10));
    let kernel = &statistics.timestamp_points[&TimestampPoint::RxKernel];
    assert!(!kernel.centred);
    assert_eq!(kernel.schedule.as_ref().unwrap().min_ns, 59_980);
    assert_eq!(statistics.wake_up.unwrap().mean_ns.to_string(), "5000");
    assert_eq!(statistics.hand_over.unwrap().max_ns, 2_000);
}

#[test]
fn timestamps_of_another_machines_clock_are_compared_by_differences_only() {
    // Its clock is an hour ahead.
    let ahead = Span::from_secs(3_600);
    let late = |row: FrameRow| FrameRow { rx_kernel: row.rx_kernel.map(|at| at + ahead), ..row };
    let frames = [frame(0, 0), frame(1, 500), frame(2, 0)].map(late);
    let terms = FlowTerms { apart: true, ..launch_time() };
    let statistics = FlowStatistics::from_frames(&terms, &frames);
    let kernel = &statistics.timestamp_points[&TimestampPoint::RxKernel];
    assert!(kernel.centred);
    let near = |ns: i64| ns.abs() < 1_000_000;
    let schedule = kernel.schedule.as_ref().unwrap();
    assert!(near(schedule.min_ns) && near(schedule.max_ns), "{schedule:?}");
    assert!(near(kernel.interval.as_ref().unwrap().max_ns), "{kernel:?}");
}

#[test]
fn a_gap_in_the_sequence_gives_no_interval() {
    let frames = [frame(0, 0), frame(1, 0), lost(&frame(2, 0)), frame(3, 0), frame(4, 0)];
    let statistics = FlowStatistics::from_frames(&launch_time(), &frames);
    let interval = statistics.timestamp_points[&TimestampPoint::Wire].interval.clone().unwrap();
    assert_eq!((interval.count, interval.range_ns), (2, 0));
    assert_eq!(statistics.counts.lost, 1);
}

#[test]
fn a_frame_that_comes_after_the_next_one_shows_in_both_of_its_intervals() {
    let frames = [frame(0, 0), frame(1, 0), frame(2, 1_002_000), frame(3, 0), frame(4, 0)];
    let statistics = FlowStatistics::from_frames(&launch_time(), &frames);
    let interval = statistics.timestamp_points[&TimestampPoint::Wire].interval.clone().unwrap();
    assert_eq!((interval.count, interval.min_ns, interval.max_ns), (4, -1_002_000, 1_002_000));
}

#[test]
fn every_frame_is_counted_once_for_what_became_of_it() {
    let frames = [
        frame(0, 0),
        lost(&frame(1, 0)),
        FrameRow { tx_error: Some(TxError::Missed), ..lost(&frame(2, 0)) },
        FrameRow { tx_error: Some(TxError::Invalid), ..lost(&frame(3, 0)) },
        FrameRow { tx_error: Some(TxError::SendFailed(105)), ..lost(&frame(4, 0)) },
        FrameRow { copies: 3, ..frame(5, 0) },
        unsent(6),
    ];
    let statistics =
        FlowStatistics::from_frames(&FlowTerms { foreign: 9, ..launch_time() }, &frames);
    let expected = Counts {
        planned: 7,
        sent: 5,
        received: 2,
        lost: 5,
        lost_in_a_row: 4,
        duplicated: 2,
        dropped_missed: 1,
        dropped_invalid: 1,
        send_failed: 1,
        foreign: 9,
        ..Counts::default()
    };
    assert_eq!(statistics.counts, expected);
    let Counts { lost, .. } = expected;
    let by = [expected.dropped(), expected.unsent(), expected.lost_on_the_way()];
    assert_eq!((by, by.iter().sum()), ([2, 2, 1], lost));
}

#[test]
fn a_frame_is_reordered_if_a_later_one_came_before_it() {
    let order = [0, 3, 1, 2, 4];
    let frames = order.map(|seq: u64| FrameRow {
        arrival: Some(order[usize::try_from(seq).unwrap()]),
        ..frame(seq, 0)
    });
    // Arrivals by sequence number: 0, 3, 1, 2, 4. Frame 1 came after 2 and 3.
    let mut frames = frames;
    frames.sort_by_key(|f| f.seq);
    assert_eq!(FlowStatistics::from_frames(&launch_time(), &frames).counts.reordered, 1);
}

#[test]
fn late_means_past_the_launch_time_or_past_the_next_departure() {
    let handed_over = |after_ns: i64| {
        let f = frame(0, 0);
        FrameRow { handed_over: Some(f.scheduled + Span::from_ns(after_ns)), ..f }
    };
    let late = |terms: FlowTerms, after_ns| {
        FlowStatistics::from_frames(&terms, &[handed_over(after_ns)]).counts.late
    };
    assert_eq!(late(launch_time(), 0), 0);
    assert_eq!(late(launch_time(), 1), 1);
    assert_eq!(late(terms(SendMode::OnWakeUp), PERIOD), 0);
    assert_eq!(late(terms(SendMode::OnWakeUp), PERIOD + 1), 1);
    assert_eq!(late(terms(SendMode::BackToBack), 9 * PERIOD), 0);
}

#[test]
fn on_wake_up_the_latency_counts_from_the_departure() {
    let f = frame(0, 0);
    let f = FrameRow { woke: Some(f.scheduled + Span::from_ns(77)), ..f };
    let statistics = FlowStatistics::from_frames(&terms(SendMode::OnWakeUp), &[f]);
    assert_eq!(statistics.wake_up.unwrap().max_ns, 77);
}

#[test]
fn a_timestamp_point_that_missed_too_many_frames_is_not_used() {
    let without_wire = |f: FrameRow| FrameRow { wire: None, ..f };
    let frames = (0..100).map(|seq| frame(seq, 0));
    let best_point = |blind: u64| {
        let frames = frames.clone().map(|f| if f.seq < blind { without_wire(f) } else { f });
        let frames: Vec<FrameRow> = frames.collect();
        FlowStatistics::from_frames(&launch_time(), &frames).timestamp_point
    };
    assert_eq!(
        [0, 1, 2, 100].map(best_point),
        [
            Some(TimestampPoint::Wire),
            Some(TimestampPoint::Wire),
            Some(TimestampPoint::RxKernel),
            Some(TimestampPoint::RxKernel),
        ]
    );
}

#[test]
fn without_arrivals_the_timestamp_point_with_most_timestamps_judges() {
    let tx_only = |f: FrameRow| FrameRow { tx_kernel: Some(f.scheduled), ..lost(&f) };
    let frames = [tx_only(frame(0, 0)), tx_only(frame(1, 0)), lost(&frame(2, 0))];
    let statistics = FlowStatistics::from_frames(&launch_time(), &frames);
    assert_eq!(statistics.timestamp_point, Some(TimestampPoint::TxKernel));
    let nothing = FlowStatistics::from_frames(&launch_time(), &[unsent(0)]);
    assert_eq!((nothing.timestamp_point, nothing.timestamp_points.len()), (None, 0));
}

#[test]
fn missing_transmit_stamps_are_counted_by_the_kinds_that_came() {
    let stamped =
        |f: FrameRow| FrameRow { tx_sched: Some(f.scheduled), tx_kernel: Some(f.scheduled), ..f };
    let frames = [
        stamped(frame(0, 0)),
        FrameRow { tx_kernel: None, ..stamped(frame(1, 0)) },
        FrameRow { tx_error: Some(TxError::Missed), ..lost(&frame(2, 0)) },
        frame(3, 0),
    ];
    let missing = |stamps_requested| {
        let terms = FlowTerms { stamps_requested, ..launch_time() };
        FlowStatistics::from_frames(&terms, &frames).counts.tx_stamps_missing
    };
    assert_eq!((missing(true), missing(false)), (2, 0));
}

#[test]
fn the_analysers_resolution_is_stated_at_the_wire() {
    let resolution = |ns| {
        let terms = FlowTerms { wire_resolution: Some(Span::from_ns(ns)), ..launch_time() };
        let statistics = FlowStatistics::from_frames(&terms, &[frame(0, 0)]);
        assert_eq!(statistics.timestamp_points[&TimestampPoint::RxKernel].resolution_ns, None);
        statistics.timestamp_points[&TimestampPoint::Wire].resolution_ns
    };
    assert_eq!((resolution(1_000), resolution(1)), (Some(1_000), Some(1)));
}
