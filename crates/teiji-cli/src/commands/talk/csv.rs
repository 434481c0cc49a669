//! One row of CSV for each frame that a talker attempted.

use std::fmt::Write;

use teiji::TalkerLog;

/// The column names, which `teiji join` looks for.
pub(in crate::commands) const HEADER: &str = "seq,scheduled_tai_ns,woke_tai_ns,handed_over_tai_ns,tx_sched_tai_ns,tx_kernel_tai_ns,\
     tx_hardware_phc_ns,fate";

pub(super) fn rows(log: &TalkerLog) -> String {
    let mut text = format!("{HEADER}\n");
    for frame in &log.frames {
        let or_empty = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{}",
            frame.seq,
            frame.scheduled.as_ns(),
            frame.woke.as_ns(),
            frame.handed_over.as_ns(),
            or_empty(frame.tx_sched.map(teiji::Instant::as_ns)),
            or_empty(frame.tx_kernel.map(teiji::Instant::as_ns)),
            or_empty(frame.tx_hardware.map(teiji::Instant::as_ns)),
            frame.tx_error.map_or_else(String::new, |error| error.to_string()),
        );
    }
    text
}
