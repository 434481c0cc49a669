//! What a kernel's packet processing did: softirqs, exhausted budgets, requeues, and the
//! threads that do the work.
//!
//! It is the machine's: whatever else the machine did meanwhile is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Counts since boot, or since another look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// By CPU number.
    pub cpus: BTreeMap<u16, CpuActivity>,
    /// By name: `ksoftirqd/0`, `irq/24-eth0`, `napi/eth0-8193`. Where several have one name,
    /// all together.
    pub threads: BTreeMap<String, ThreadActivity>,
    /// Packets that a port's driver gave back to its qdisc for want of room, by `HOST.WIRE`.
    #[serde(default)]
    pub requeues: BTreeMap<String, u64>,
    /// Bytes that each transmit ring of a port may hold (BQL), as the kernel had settled it
    /// at the end, by `HOST.WIRE`; the highest of its queues.
    #[serde(default)]
    pub byte_limits: BTreeMap<String, u64>,
}

/// Of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuActivity {
    /// Softirqs handled, by kind (`/proc/softirqs`).
    pub softirqs: BTreeMap<String, u64>,
    /// Frames received and looked at (`/proc/net/softnet_stat`, first column).
    pub frames: u64,
    /// Frames that found the backlog full (second column).
    pub dropped: u64,
    /// Times that receiving ended with work left, for the budget or its time was used up
    /// (third column, `time_squeeze`).
    pub squeezed: u64,
}

/// Of one thread, from `/proc/TID/schedstat` and `status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadActivity {
    /// Times it slept and was woken.
    pub wakeups: u64,
    /// Times it was put aside for another thread.
    pub preemptions: u64,
    /// How long it ran.
    #[serde(rename = "ran_ns")]
    pub ran: Span,
    /// How long it was ready and did not run.
    #[serde(rename = "waited_ns")]
    pub waited: Span,
}

impl Activity {
    /// Takes off what was counted before.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        for (number, cpu) in &mut self.cpus {
            let Some(earlier) = before.cpus.get(number) else { continue };
            for (kind, count) in &mut cpu.softirqs {
                *count = count.saturating_sub(earlier.softirqs.get(kind).copied().unwrap_or(0));
            }
            cpu.frames = cpu.frames.saturating_sub(earlier.frames);
            cpu.dropped = cpu.dropped.saturating_sub(earlier.dropped);
            cpu.squeezed = cpu.squeezed.saturating_sub(earlier.squeezed);
        }
        for (name, thread) in &mut self.threads {
            let Some(earlier) = before.threads.get(name) else { continue };
            *thread = thread.combined(*earlier, u64::saturating_sub);
        }
        self
    }
}

impl ThreadActivity {
    /// Both, count by count.
    #[must_use]
    pub fn combined(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        let span = |a: Span, b: Span| {
            let ns = |span: Span| u64::try_from(span.as_ns()).unwrap_or(0);
            Span::from_ns(i64::try_from(with(ns(a), ns(b))).unwrap_or(i64::MAX))
        };
        Self {
            wakeups: with(self.wakeups, other.wakeups),
            preemptions: with(self.preemptions, other.preemptions),
            ran: span(self.ran, other.ran),
            waited: span(self.waited, other.waited),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_is_taken_off() {
        let thread = |wakeups, ran| ThreadActivity {
            wakeups,
            ran: Span::from_ns(ran),
            ..ThreadActivity::default()
        };
        let look = |net_rx, squeezed, thread| Activity {
            cpus: [(
                0,
                CpuActivity {
                    softirqs: [("NET_RX".to_owned(), net_rx)].into(),
                    squeezed,
                    ..CpuActivity::default()
                },
            )]
            .into(),
            threads: [("ksoftirqd/0".to_owned(), thread)].into(),
            ..Activity::default()
        };
        let now = look(360, 7, thread(9, 5_000));
        let since = now.clone().since(&look(300, 5, thread(4, 1_000)));
        assert_eq!(since, look(60, 2, thread(5, 4_000)));
        // What was not there before has all of its counts.
        assert_eq!(now.clone().since(&Activity::default()), now);
    }
}
