//! Who runs when on a host: its kernel's threads, budgets and real-time limit, and
//! who processes the frames of a port. What is `None` stays as the kernel has it.

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_OTHER`: not in real time.
    Other,
    /// `SCHED_FIFO` at this priority, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` at this priority, 1 to 99.
    Rr(u8),
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

/// What a host's kernel does for all its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// The threads `ksoftirqd/N` of the host's CPUs.
    pub ksoftirqd: Option<Policy>,
    /// The threads `ktimers/N` of the host's CPUs (`PREEMPT_RT`).
    pub ktimers: Option<Policy>,
    /// `net.core.netdev_budget`: frames that one receive softirq takes.
    pub netdev_budget: Option<u32>,
    /// `net.core.netdev_budget_usecs`: for how long, whole microseconds.
    pub netdev_budget_time: Option<Span>,
    /// `net.core.dev_weight`.
    pub dev_weight: Option<u32>,
    /// `kernel.sched_rt_runtime_us`, or what the fair servers leave.
    pub rt_runtime: Option<RtRuntime>,
    /// `vm.percpu_pagelist_high_fraction`: a CPU keeps no more than this fraction of a zone's
    /// free pages to itself, and gives no more back at once
    /// (`Documentation/admin-guide/sysctl/vm.rst`).
    pub pagelist_high_fraction: Option<u32>,
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

/// Who processes the frames of a port, and where; how many may lie in its card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processing {
    /// Its interrupts and their threads.
    pub irq: Irq,
    /// Its polling.
    pub napi: Napi,
    /// CPUs that process what any of its queues received (RPS).
    pub rps: Option<Vec<u16>>,
    /// For each transmit queue from the first on, the CPUs that choose it (XPS).
    pub xps: Option<Vec<Vec<u16>>>,
    /// Most bytes in the ring of each transmit queue (byte queue limits).
    pub bql: Option<u32>,
    /// Most bytes that TCP hands over in one piece (generic segmentation offload).
    #[serde(default)]
    pub gso_max_size: Option<u32>,
}

/// A port's interrupts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Irq {
    /// Of the threads `irq/NUMBER-…`.
    pub policy: Option<Policy>,
    /// Where they are handled.
    pub cpus: Option<Vec<u16>>,
}

/// How a port is polled (NAPI).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Napi {
    /// In threads `napi/PORT-…` of its own instead of in softirqs.
    pub threaded: Option<bool>,
    /// Of these threads.
    pub policy: Option<Policy>,
    /// Where these threads run.
    pub cpus: Option<Vec<u16>>,
    /// `napi_defer_hard_irqs`.
    pub defer_hard_irqs: Option<u32>,
    /// `gro_flush_timeout`.
    pub gro_flush_timeout: Option<Span>,
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
