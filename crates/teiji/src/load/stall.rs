//! A load that disables interrupts: the kernel's own tracer does it, and counts.

use std::time::Duration;

use teiji_sys::tracefs::{Stalls, TraceError};

use super::pace::Pace;

/// How long interrupts are disabled, and how often.
const WIDTH_US: u32 = 50;
const WINDOW_US: u32 = 10_000;
/// Between two looks at how often it was.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn start() -> Result<Stalls, TraceError> {
    Stalls::start(WIDTH_US, WINDOW_US)
}

/// `_stalls` go on until this ends.
pub(super) fn count(_stalls: Stalls, pace: &mut Pace) {
    let mut before = 0;
    loop {
        std::thread::sleep(LOOK);
        let so_far = match Stalls::count() {
            Ok(count) => count,
            Err(error) => return pace.fail(error.to_string()),
        };
        if !pace.did(so_far.saturating_sub(before)) {
            return;
        }
        before = so_far;
    }
}
