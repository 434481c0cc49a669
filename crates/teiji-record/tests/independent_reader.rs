//! The records are what they claim to be to somebody else's Parquet reader.
//!
//! Needs Python with pyarrow: `$TEIJI_PYTHON`, or `python3`.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use teiji::TxError;
use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span};
use teiji_experiment::SendMode;
use teiji_record::{About, Facts, FlowPlan, FrameRow, Records};

const NOT_INSTALLED: i32 = 77;

/// A row in which the fields given by the bits of `pattern` are there.
fn row(seq: u64, pattern: u32) -> FrameRow {
    let ns = |bit: u32| {
        let value = 1_800_000_000_000_000_000 + i64::from(pattern) * 1_000_003 + i64::from(bit);
        (pattern & (1 << bit) != 0).then_some(value)
    };
    let tx_errors = [
        None,
        Some(TxError::Missed),
        Some(TxError::Invalid),
        Some(TxError::SendFailed(105)),
        Some(TxError::SendFailed(-7)),
    ];
    FrameRow {
        flow: u16::MAX - u16::try_from(pattern % 3).unwrap(),
        seq,
        scheduled: Instant::from_ns(i64::MIN + i64::from(pattern)),
        woke: ns(0).map(Instant::from_ns),
        handed_over: ns(1).map(Instant::from_ns),
        tx_sched: ns(2).map(Instant::from_ns),
        tx_kernel: ns(3).map(Instant::from_ns),
        tx_hardware: ns(4).map(Instant::from_ns),
        wire: ns(5).map(Instant::from_ns),
        rx_kernel: ns(6).map(Instant::from_ns),
        rx_hardware: ns(7).map(Instant::from_ns),
        taken: ns(8).map(Instant::from_ns),
        reception: Reception {
            interrupt: ns(1).map(Instant::from_ns),
            softirq: ns(2).map(Instant::from_ns),
            woken: ns(3).map(Instant::from_ns),
        },
        arrival: (pattern & 0x100 != 0).then_some(u64::MAX - seq),
        copies: if pattern == 7 { u32::MAX } else { pattern },
        tx_error: tx_errors[(pattern % 5) as usize],
    }
}

/// The row as another reader must see it, by column.
fn expected(row: &FrameRow) -> Value {
    let tx_error = row.tx_error.map(|tx_error| match tx_error {
        TxError::Missed => "missed",
        TxError::Invalid => "invalid",
        TxError::SendFailed(105) => "send-failed:ENOBUFS",
        TxError::SendFailed(_) => "send-failed:-7",
    });
    json!({
        "flow": row.flow,
        "seq": row.seq,
        "scheduled_tai_ns": row.scheduled,
        "woke_tai_ns": row.woke,
        "handed_over_tai_ns": row.handed_over,
        "tx_sched_tai_ns": row.tx_sched,
        "tx_kernel_tai_ns": row.tx_kernel,
        "tx_hardware_phc_ns": row.tx_hardware,
        "wire_capture_ns": row.wire,
        "rx_interrupt_tai_ns": row.reception.interrupt,
        "rx_softirq_tai_ns": row.reception.softirq,
        "rx_kernel_tai_ns": row.rx_kernel,
        "rx_hardware_phc_ns": row.rx_hardware,
        "rx_woken_tai_ns": row.reception.woken,
        "rx_taken_tai_ns": row.taken,
        "arrival": row.arrival,
        "copies": row.copies,
        "fate": tx_error,
    })
}

#[test]
fn pyarrow_reads_every_column_value_and_null() {
    let flow = FlowPlan {
        flow: 0,
        name: "cycle".to_owned(),
        frames: 3,
        base: Instant::from_ns(1),
        period: Span::from_millis(1),
        mode: SendMode::OnWakeUp,
        tx_stamps: true,
    };
    let about = About {
        experiment: "etf".to_owned(),
        case: "normal".to_owned(),
        seed: 7,
        flows: vec![flow],
    };
    // More than one row group.
    let rows: Vec<FrameRow> = (0..70_000).map(|seq| row(seq, (seq % 512) as u32)).collect();
    let wanted = json!({
        "columns": [
            ["flow", "uint16"], ["seq", "uint64"], ["scheduled_tai_ns", "int64"],
            ["woke_tai_ns", "int64"], ["handed_over_tai_ns", "int64"],
            ["tx_sched_tai_ns", "int64"], ["tx_kernel_tai_ns", "int64"],
            ["tx_hardware_phc_ns", "int64"], ["wire_capture_ns", "int64"],
            ["rx_interrupt_tai_ns", "int64"], ["rx_softirq_tai_ns", "int64"],
            ["rx_kernel_tai_ns", "int64"], ["rx_hardware_phc_ns", "int64"],
            ["rx_woken_tai_ns", "int64"], ["rx_taken_tai_ns", "int64"],
            ["arrival", "uint64"], ["copies", "uint32"], ["fate", "string"],
        ],
        "metadata": {
            "teiji.format": "teiji-frames/2",
            "teiji.about": serde_json::to_string(&about).unwrap(),
        },
        "rows": rows.iter().map(expected).collect::<Vec<_>>(),
    });
    let folder = tempfile::tempdir().unwrap();
    let (file, json) = (folder.path().join("records.parquet"), folder.path().join("expected.json"));
    Records { about, facts: Facts::default(), rows }.write(&file).unwrap();
    fs::write(&json, wanted.to_string()).unwrap();

    let python = std::env::var("TEIJI_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/independent_reader.py");
    let output = match Command::new(&python).arg(script).arg(&file).arg(&json).output() {
        Ok(output) => output,
        Err(error) => return println!("SKIP: cannot start {python}: {error}"),
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(NOT_INSTALLED) {
        return println!("SKIP: {python}: {stdout}");
    }
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{complained}");
    assert_eq!(stdout.trim(), "agree: 70000 rows, SNAPPY");
}
