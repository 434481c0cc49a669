//! One row of CSV for each arrival.

use std::fmt::Write;

use teiji::{Instant, RxRecord};

/// The column names, which `teiji join` looks for.
pub(in crate::commands) const HEADER: &str =
    "flow,seq,scheduled_tai_ns,rx_kernel_tai_ns,rx_hardware_phc_ns";

pub(super) fn rows(arrivals: &[RxRecord]) -> String {
    let or_empty = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
    arrivals.iter().fold(String::new(), |mut text, arrival| {
        let _ = writeln!(
            text,
            "{},{},{},{},{}",
            arrival.flow,
            arrival.seq,
            arrival.scheduled.as_ns(),
            or_empty(arrival.rx_kernel.map(Instant::as_ns)),
            or_empty(arrival.rx_hardware.map(Instant::as_ns)),
        );
        text
    })
}
