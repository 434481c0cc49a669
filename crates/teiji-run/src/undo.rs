//! Whether something is set up on this machine that is taken back before the run ends: what
//! Ctrl-C has to say depends on it.

use std::sync::atomic::{AtomicBool, Ordering};

static PENDING: AtomicBool = AtomicBool::new(false);

/// Says whether there is something to take back.
pub(crate) fn set_pending(pending: bool) {
    PENDING.store(pending, Ordering::Relaxed);
}

/// Whether this process has set something up that it takes back before it ends.
pub fn is_undo_pending() -> bool {
    PENDING.load(Ordering::Relaxed)
}
