//! Records written and read back, and files that are not ours.

use std::path::PathBuf;

use super::*;
use crate::columns::Row;
use crate::table::ROW_GROUP;
use proptest::prelude::*;
use teiji::TxError;
use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span};
use teiji_experiment::SendMode;

fn about() -> About {
    let flow = FlowPlan {
        flow: 0,
        name: "cycle".to_owned(),
        frames: 3,
        base: Instant::from_ns(1),
        period: Span::from_millis(1),
        mode: SendMode::LaunchTime { margin: Span::from_micros(400), deadline: false },
        tx_stamps: true,
    };
    About { experiment: "etf".to_owned(), case: "normal".to_owned(), seed: 7, flows: vec![flow] }
}

fn stamp<C: teiji_core::time::Clock>() -> impl Strategy<Value = Option<Instant<C>>> {
    proptest::option::of(any::<i64>().prop_map(Instant::from_ns))
}

fn tx_error() -> impl Strategy<Value = Option<TxError>> {
    proptest::option::of(prop_oneof![
        Just(TxError::Missed),
        Just(TxError::Invalid),
        any::<i32>().prop_map(TxError::SendFailed)
    ])
}

fn row() -> impl Strategy<Value = FrameRow> {
    let tx = (stamp(), stamp(), stamp(), stamp(), stamp());
    let rx = (stamp(), stamp(), stamp(), any::<Option<u64>>(), any::<u32>(), tx_error());
    let inside = (stamp(), stamp(), stamp(), stamp());
    (any::<u16>(), any::<u64>(), any::<i64>(), tx, rx, inside).prop_map(
        |(flow, seq, scheduled, tx, rx, inside)| FrameRow {
            flow,
            seq,
            scheduled: Instant::from_ns(scheduled),
            woke: tx.0,
            handed_over: tx.1,
            tx_sched: tx.2,
            tx_kernel: tx.3,
            tx_hardware: tx.4,
            wire: rx.0,
            rx_kernel: rx.1,
            rx_hardware: rx.2,
            taken: inside.0,
            reception: Reception { interrupt: inside.1, softirq: inside.2, woken: inside.3 },
            arrival: rx.3,
            copies: rx.4,
            tx_error: rx.5,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_written_reads_back_and_equal_records_are_equal_bytes(
        rows in proptest::collection::vec(row(), 0..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.parquet"), folder.path().join("b.parquet"));
        let records = Records { about: about(), facts: Facts::default(), rows };
        records.write(&a).unwrap();
        records.write(&b).unwrap();
        prop_assert_eq!(Records::read(&a).unwrap(), records);
        prop_assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    }

    #[test]
    fn a_damaged_file_is_an_error_or_other_records_but_no_panic(
        at in any::<proptest::sample::Index>(), value: u8, cut in any::<Option<proptest::sample::Index>>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let row = FrameRow::EMPTY;
        Records { about: about(), facts: Facts::default(), rows: vec![row; 50] }.write(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, bytes).unwrap();
        drop(Records::read(&path));
    }
}

fn records(rows: usize) -> Records {
    let rows = (0..rows).map(|seq| FrameRow { seq: seq as u64, ..FrameRow::EMPTY }).collect();
    Records { about: about(), facts: Facts::default(), rows }
}

#[test]
fn several_row_groups_read_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.parquet");
    let records = records(ROW_GROUP + 1);
    records.write(&path).unwrap();
    assert_eq!(Records::read(&path).unwrap(), records);
}

#[test]
fn sixty_thousand_regular_frames_take_little_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    records(60_000).write(&path).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 200_000, "{bytes} bytes");
}

/// Replaces `from` by `to` (of the same length) in a file of records.
fn patched(from: &[u8], to: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    records(3).write(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(from.len()).rposition(|w| w == from).unwrap();
    bytes[at..at + from.len()].copy_from_slice(to);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn another_version_is_named_in_the_error() {
    let (_folder, path) = patched(b"teiji-frames/2", b"teiji-frames/3");
    let error = Records::read(&path).unwrap_err();
    assert!(matches!(&error, RecordsError::Version { found, .. } if found == "teiji-frames/3"));
    assert!(error.to_string().contains("this Teiji reads `teiji-frames/2`"), "{error}");
}

#[test]
fn a_foreign_parquet_file_is_recognised() {
    let (_folder, path) = patched(b"teiji.format", b"someones.own");
    assert!(matches!(Records::read(&path), Err(RecordsError::Foreign { .. })));
}

#[test]
fn what_is_no_parquet_file_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(Records::read(&path), Err(RecordsError::NotParquet { .. })));
    assert!(matches!(Records::read(folder.path()), Err(RecordsError::Io { .. })));
    let missing = Records::read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("none: No such file"), "{missing}");
}
