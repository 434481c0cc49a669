//! Outcomes of frames, from records with known content.

use super::*;
use teiji_core::time::Instant;

const SCHEDULED: i64 = 1_000_000_000;

fn us(us: i64) -> Span {
    Span::from_micros(us)
}

/// Woken 400 µs before its schedule and handed over 10 µs later; no timestamps.
fn frame() -> TxRecord {
    let scheduled = Instant::from_ns(SCHEDULED);
    TxRecord {
        seq: 0,
        scheduled,
        woke: scheduled - us(400),
        handed_over: scheduled - us(390),
        tx_sched: Some(scheduled - us(395)),
        tx_kernel: None,
        tx_hardware: None,
        tx_error: None,
    }
}

fn launch() -> Criteria {
    Criteria {
        tolerance: us(100),
        launch: Some(LaunchMode::Exact),
        launch_times: Some(LaunchTimes::Etf(Span::ZERO)),
        stamps: TxStamps::Hardware,
        phc: Some([Offset { ahead: Span::ZERO, within: Span::ZERO }; 2]),
    }
}

fn on_wake_up() -> Criteria {
    let (launch, launch_times) = (None, Some(LaunchTimes::Ignored));
    Criteria { tolerance: us(1_000), launch, launch_times, stamps: TxStamps::Kernel, phc: None }
}

/// A frame that the NIC stamped so long after the schedule, by the PHC.
fn stamped(after: Span) -> TxRecord {
    TxRecord {
        tx_kernel: Some(Instant::from_ns(SCHEDULED) - us(380)),
        tx_hardware: Some(Instant::from_ns(SCHEDULED) + after),
        ..frame()
    }
}

fn ahead(offset: Span) -> Criteria {
    Criteria { phc: Some([Offset { ahead: offset, within: Span::ZERO }; 2]), ..launch() }
}

#[test]
fn a_launch_time_is_kept_within_the_tolerance() {
    let of = |after| launch().outcome(&stamped(after), 0, 1);
    assert_eq!(of(us(100)), Outcome::OnTime);
    assert_eq!(of(us(101)), Outcome::Late { by: us(101), woke_late: false });
    assert_eq!(of(us(-101)), Outcome::Early { by: us(101) });
}

#[test]
fn a_phc_that_is_not_on_tai_is_never_on_time() {
    // 2 s ahead: every launch time has passed, the NIC sends at once and stamps by its PHC.
    let second = Span::from_secs(1);
    let at_once = stamped(second * 2 - us(390));
    let late = ahead(second * 2).outcome(&at_once, 0, 1);
    assert_eq!(late, Outcome::Late { by: second * 2 - us(390), woke_late: false });
    // Half a second behind: kept to the nanosecond by the PHC, half a second late by the rest.
    let kept = stamped(Span::ZERO);
    let by = us(500_000);
    assert_eq!(ahead(-by).outcome(&kept, 0, 1), Outcome::Late { by, woke_late: false });
    // On wake-up the PHC stamps only.
    let stamps = TxStamps::Hardware;
    let criteria = Criteria { launch: None, stamps, ..ahead(second * 2) };
    assert_eq!(criteria.outcome(&stamped(second * 2 + us(30)), 0, 1), Outcome::OnTime);
    // A PHC that drifts meanwhile is compared as it was at the frame.
    let [before, after] = [Span::ZERO, second].map(|ahead| Offset { ahead, within: Span::ZERO });
    let criteria = Criteria { phc: Some([before, after]), ..criteria };
    assert_eq!(criteria.outcome(&stamped(us(500_030)), 50, 100), Outcome::OnTime);
}

#[test]
fn a_missing_timestamp_shows_how_far_the_frame_came() {
    let of = |frame: &TxRecord| launch().outcome(frame, 0, 1);
    assert_eq!(of(&frame()), Outcome::NoTimestamp(Reached::Qdisc));
    let no_neighbour = TxRecord { tx_sched: None, ..frame() };
    assert_eq!(of(&no_neighbour), Outcome::NoTimestamp(Reached::Nothing));
    let lost = TxRecord { tx_hardware: None, ..stamped(Span::ZERO) };
    assert_eq!(of(&lost), Outcome::NoTimestamp(Reached::Driver));
}

#[test]
fn the_kernels_reasons_come_first() {
    for (tx_error, outcome) in [
        (TxError::Missed, Outcome::Missed),
        (TxError::Invalid, Outcome::Invalid),
        (TxError::SendFailed(105), Outcome::Refused(105)),
    ] {
        let frame = TxRecord { tx_error: Some(tx_error), ..frame() };
        assert_eq!(launch().outcome(&frame, 0, 1), outcome);
    }
}

#[test]
fn a_frame_that_was_sent_on_a_late_wake_up_is_late() {
    let scheduled = Instant::from_ns(SCHEDULED);
    let at = |after: Span, stamps| {
        let tx_kernel = (stamps == TxStamps::Kernel).then_some(scheduled + after);
        let record = TxRecord {
            woke: scheduled + after,
            handed_over: scheduled + after,
            tx_kernel,
            ..frame()
        };
        Criteria { stamps, ..on_wake_up() }.outcome(&record, 0, 1)
    };
    for stamps in [TxStamps::Kernel, TxStamps::None] {
        assert_eq!(at(us(1_000), stamps), Outcome::OnTime);
        let by = us(1_700_000);
        assert_eq!(at(by, stamps), Outcome::Late { by, woke_late: true });
    }
    // Woken in time, then it waited.
    let waited = TxRecord { woke: scheduled, tx_kernel: Some(scheduled + us(5_000)), ..frame() };
    let by = us(5_000);
    assert_eq!(on_wake_up().outcome(&waited, 0, 1), Outcome::Late { by, woke_late: false });
}

#[test]
fn software_etf_may_send_delta_early_and_an_ignored_launch_time_is_early() {
    let kernel = |launch_times| Criteria {
        stamps: TxStamps::Kernel,
        phc: None,
        launch_times: Some(launch_times),
        ..launch()
    };
    let at_once = stamped(Span::ZERO); // The driver had it 380 µs before.
    let of = |launch_times| kernel(launch_times).outcome(&at_once, 0, 1);
    assert_eq!(of(LaunchTimes::Etf(us(300))), Outcome::OnTime);
    assert_eq!(of(LaunchTimes::Ignored), Outcome::Early { by: us(380) });
    assert_eq!(of(LaunchTimes::Etf(Span::ZERO)), Outcome::OnTime, "the NIC does the rest");
    assert_eq!(of(LaunchTimes::Taprio), Outcome::OnTime, "gates decide");
    let deadline = Criteria { launch: Some(LaunchMode::Deadline), ..kernel(LaunchTimes::Ignored) };
    assert_eq!(deadline.outcome(&at_once, 0, 1), Outcome::OnTime);
}

#[test]
fn every_frame_is_counted_once() {
    let mut frames = vec![stamped(Span::ZERO); 3];
    frames[1].tx_error = Some(TxError::SendFailed(105));
    frames[2].tx_hardware = None;
    let log = TalkerLog { flow: 0, frames, interrupted: false, stamps_requested: true };
    let counts = Counts::of(&log, &launch());
    assert_eq!((counts.attempted, counts.on_time, counts.not_on_time()), (3, 1, 2));
    assert_eq!((counts.no_timestamp_after_driver, counts.refused[&105]), (1, 1));
}
