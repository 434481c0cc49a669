//! How a packet came through the kernel that received it, where that was traced.

use serde::{Deserialize, Serialize};

use crate::time::{Instant, Tai};

/// Instants on the way from the NIC to the program, in the order they pass. The kernel's
/// stamp of the packet is between the softirq and the waking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reception {
    /// The last interrupt of the port before the softirq began (`irq:irq_handler_entry`). The
    /// packet came after it if the softirq was at work already.
    pub interrupt: Option<Instant<Tai>>,
    /// The softirq that took the packet from the NIC began (`irq:softirq_entry`). Missing
    /// where a thread polls.
    pub softirq: Option<Instant<Tai>>,
    /// The kernel woke the program (`sched:sched_waking`). Missing where it was awake.
    pub woken: Option<Instant<Tai>>,
}

impl Reception {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { interrupt: None, softirq: None, woken: None };
}
