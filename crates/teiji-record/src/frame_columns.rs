//! The columns of the records of frames.

use teiji_core::frame::TxError;
use teiji_core::time::Instant;

use crate::FrameRow;
use crate::columns::{Column, Kind, Row, as_counted, as_stored, flow, instant, seq, stamp};
use crate::parquet::FORMAT;

impl Row for FrameRow {
    const FORMAT: &'static str = FORMAT;
    const MESSAGE: &'static str = "frames";
    const COLUMNS: &'static [Column<Self>] = &[
        flow!(),
        seq!(seq),
        instant!("scheduled_tai_ns", scheduled),
        stamp!("woke_tai_ns", woke),
        stamp!("handed_over_tai_ns", handed_over),
        stamp!("tx_sched_tai_ns", tx_sched),
        stamp!("tx_kernel_tai_ns", tx_kernel),
        stamp!("tx_hardware_phc_ns", tx_hardware),
        stamp!("wire_capture_ns", wire),
        stamp!("rx_interrupt_tai_ns", reception.interrupt),
        stamp!("rx_softirq_tai_ns", reception.softirq),
        stamp!("rx_kernel_tai_ns", rx_kernel),
        stamp!("rx_hardware_phc_ns", rx_hardware),
        stamp!("rx_woken_tai_ns", reception.woken),
        stamp!("rx_taken_tai_ns", taken),
        Column {
            name: "arrival",
            optional: true,
            kind: Kind::Int64(
                "(INTEGER(64,false))",
                |row| row.arrival.map(as_stored),
                |row, arrival| row.arrival = Some(as_counted(arrival)),
            ),
        },
        Column {
            name: "copies",
            optional: false,
            kind: Kind::Int32(
                "(INTEGER(32,false))",
                |row| i32::from_ne_bytes(row.copies.to_ne_bytes()),
                |row, copies| row.copies = u32::from_ne_bytes(copies.to_ne_bytes()),
            ),
        },
        Column {
            name: "fate",
            optional: true,
            kind: Kind::Text(
                |row| row.tx_error.map(|tx_error| tx_error.to_string()),
                |row, text| {
                    row.tx_error = Some(TxError::parse(text)?);
                    Some(())
                },
            ),
        },
    ];

    const EMPTY: Self = FrameRow::planned(0, 0, Instant::from_ns(0));
}
