//! Tests of the attribution of reports to frames.

use super::*;
use teiji_core::time::{Phc, Realtime};

const OFFSET: Span = Span::from_secs(37);
const PERIOD: Span = Span::from_millis(1);

fn ledger(frames: u64, stamps: TxStamps) -> Ledger {
    let schedule =
        Schedule { base: Instant::from_ns(1_000_000_000), period: PERIOD, margin: Span::ZERO };
    let mut ledger = Ledger::new(frames, stamps).unwrap();
    ledger.begin(schedule, OFFSET);
    ledger
}

/// Enters the next frame: woken at its departure, handed over 10 µs later.
fn enter(ledger: &mut Ledger, result: Result<(), i32>) {
    let departure = ledger.schedule.departure(ledger.attempted as u64);
    ledger.enter(departure, departure, departure + Span::from_micros(10), result);
}

/// What the kernel's clock shows `after` the departure of frame `k`.
fn kernel_time(ledger: &Ledger, k: u64, after: Span) -> Instant<Realtime> {
    (ledger.schedule.departure(k) + after).on(-OFFSET)
}

fn stamp(kind: TxStampKind, key: u32, software: Instant<Realtime>) -> TxEvent {
    let stamps = Stamps { software: Some(software), hardware: None };
    TxEvent::Stamp { kind, key, stamps }
}

fn hardware(key: u32, at: i64) -> TxEvent {
    let stamps = Stamps { software: None, hardware: Some(Instant::<Phc>::from_ns(at)) };
    TxEvent::Stamp { kind: TxStampKind::Sent, key, stamps }
}

const AFTER: Span = Span::from_micros(5);

#[test]
fn stamps_are_entered_at_their_frame_on_tai() {
    let mut ledger = ledger(3, TxStamps::Kernel);
    (0..2).for_each(|_| enter(&mut ledger, Ok(())));
    let at = kernel_time(&ledger, 1, AFTER);
    ledger.report(stamp(TxStampKind::Scheduled, 1, at));
    assert!(ledger.expects_stamps());
    ledger.report(stamp(TxStampKind::Sent, 1, at));
    ledger.report(stamp(TxStampKind::Sent, 0, at));
    assert!(!ledger.expects_stamps());
    let frames = ledger.into_frames();
    assert_eq!(frames.len(), 2, "the third was never attempted");
    assert_eq!(frames[1].tx_sched, Some(frames[1].scheduled + AFTER));
    assert_eq!(frames[1].tx_kernel, frames[1].tx_sched);
    assert_eq!(frames[0].tx_sched, None, "a stamp that never came stays empty");
}

#[test]
fn hardware_timestamps_are_awaited_on_request() {
    let mut ledger = ledger(1, TxStamps::Hardware);
    enter(&mut ledger, Ok(()));
    let at = kernel_time(&ledger, 0, AFTER);
    ledger.report(stamp(TxStampKind::Sent, 0, at));
    assert!(ledger.expects_stamps());
    ledger.report(hardware(0, 77));
    ledger.report(hardware(0, 78)); // a second one does no harm
    assert!(!ledger.expects_stamps());
    let record = ledger.into_frames()[0];
    assert_eq!(record.tx_kernel, Some(record.scheduled + AFTER));
    assert!(record.tx_hardware.is_some());
}

#[test]
fn stamps_of_frames_that_were_not_attempted_are_ignored() {
    let mut ledger = ledger(2, TxStamps::Kernel);
    enter(&mut ledger, Ok(()));
    let at = kernel_time(&ledger, 0, AFTER);
    for key in [1, 2, u32::MAX] {
        ledger.report(stamp(TxStampKind::Sent, key, at));
    }
    assert_eq!(ledger.into_frames()[0].tx_kernel, None);
}

#[test]
fn etf_drops_are_entered_by_launch_time() {
    let mut ledger = ledger(4, TxStamps::Kernel);
    (0..3).for_each(|_| enter(&mut ledger, Ok(())));
    let launch = |k| ledger.schedule.departure(k);
    let events = [
        TxEvent::Dropped { error: LaunchError::Missed, launch: launch(1) },
        TxEvent::Dropped { error: LaunchError::Invalid, launch: launch(2) },
        // Of nobody: between two frames, before the first, not attempted yet.
        TxEvent::Dropped { error: LaunchError::Missed, launch: launch(0) + AFTER },
        TxEvent::Dropped { error: LaunchError::Missed, launch: launch(0) - PERIOD },
        TxEvent::Dropped { error: LaunchError::Missed, launch: launch(3) },
    ];
    for event in events {
        ledger.report(event);
    }
    assert!(ledger.expects_stamps(), "only frame 0 can still be stamped");
    let at = kernel_time(&ledger, 0, AFTER);
    ledger.report(stamp(TxStampKind::Sent, 0, at));
    assert!(!ledger.expects_stamps());
    let tx_errors: Vec<_> = ledger.into_frames().iter().map(|r| r.tx_error).collect();
    assert_eq!(tx_errors, [None, Some(TxError::Missed), Some(TxError::Invalid)]);
}

#[test]
fn the_reason_of_a_drop_wins_over_the_failed_send_call() {
    let mut ledger = ledger(1, TxStamps::Kernel);
    enter(&mut ledger, Err(105));
    let launch = ledger.schedule.departure(0);
    ledger.report(TxEvent::Dropped { error: LaunchError::Invalid, launch });
    assert!(!ledger.expects_stamps());
    assert_eq!(ledger.into_frames()[0].tx_error, Some(TxError::Invalid));
}

/// Frames 0 to 7, of which those in `failed` are refused; the refusal uses up
/// a number if `uses_number`. Gives which frames were stamped.
fn stamped_after_failures(failed: &[u64], uses_number: bool) -> Vec<u64> {
    let mut ledger = ledger(8, TxStamps::Kernel);
    let mut key = 0;
    for k in 0..8 {
        let fails = failed.contains(&k);
        enter(&mut ledger, if fails { Err(11) } else { Ok(()) });
        if !fails {
            let at = kernel_time(&ledger, k, AFTER);
            ledger.report(stamp(TxStampKind::Scheduled, key, at));
            ledger.report(stamp(TxStampKind::Sent, key, at));
        }
        key += u32::from(!fails || uses_number);
    }
    let expects_stamps = ledger.expects_stamps();
    assert!(!expects_stamps);
    let frames = ledger.into_frames();
    for record in frames.iter().filter(|r| r.tx_kernel.is_some()) {
        assert_eq!(record.tx_kernel, Some(record.scheduled + AFTER), "stamp of another frame");
    }
    frames.iter().filter(|r| r.tx_kernel.is_some()).map(|r| r.seq).collect()
}

#[test]
fn stamps_find_their_frame_after_failed_sends_whether_or_not_those_used_a_number() {
    for uses_number in [false, true] {
        assert_eq!(stamped_after_failures(&[2], uses_number), [0, 1, 3, 4, 5, 6, 7]);
        assert_eq!(stamped_after_failures(&[0, 1, 2], uses_number), [3, 4, 5, 6, 7]);
        assert_eq!(stamped_after_failures(&[1, 3, 4, 7], uses_number), [0, 2, 5, 6]);
    }
}

#[test]
fn after_a_failure_a_timestamp_without_its_frame_is_discarded() {
    let mut ledger = ledger(3, TxStamps::Kernel);
    enter(&mut ledger, Ok(()));
    enter(&mut ledger, Err(11));
    enter(&mut ledger, Ok(()));
    let at = kernel_time(&ledger, 2, AFTER);
    ledger.report(stamp(TxStampKind::Sent, 1, at));
    assert!(ledger.into_frames().iter().all(|r| r.tx_kernel.is_none()));
}

#[test]
fn more_frames_than_memory_are_refused() {
    let error = Ledger::new(u64::MAX, TxStamps::None).unwrap_err();
    assert!(matches!(error, TalkerError::TooManyFrames { .. }), "{error}");
}
