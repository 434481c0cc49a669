//! Who runs when on a host: scheduling of its kernel's threads, and the limit of real time.

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::domain::RtPriority;
use teiji_core::time::Span;

use crate::keys::processing::Processing;

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_OTHER`: not in real time.
    Other,
    /// `SCHED_FIFO` at this priority.
    Fifo(RtPriority),
    /// `SCHED_RR` at this priority.
    Rr(RtPriority),
}

/// As a report says it: `fifo 50`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Fifo(priority) => write!(f, "fifo {priority}"),
            Self::Rr(priority) => write!(f, "rr {priority}"),
        }
    }
}

/// How long real-time threads may run of each second; of each period of
/// `kernel.sched_rt_period_us` on kernels before 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RtRuntime {
    /// As long as they like.
    Unlimited,
    /// This long, whole microseconds.
    Limited(Span),
}

impl Processing {
    /// Every CPU it names, each once, in ascending order.
    pub fn cpus(&self) -> Vec<u16> {
        let lists = [&self.irq.cpus, &self.napi.cpus, &self.rps].into_iter().flatten();
        let xps = self.xps.iter().flatten();
        let mut cpus: Vec<u16> = lists.chain(xps).flatten().copied().collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}
