//! How packets come through the receiving kernel: its tracepoints of interrupts, softirqs and
//! wake-ups, recorded while a case runs, and what they say of a packet.

use std::collections::{BTreeMap, BTreeSet};

use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Tai};
use teiji_sys::tracefs::{self, Instance, Occurrence, TraceError};

/// A minute of a NIC that interrupts a thousand times per second; more loses the oldest.
const KIB_PER_CPU: u32 = 16 * 1024;

const INTERRUPT: &str = "irq/irq_handler_entry";
const SOFTIRQ: &str = "irq/softirq_entry";
const SOFTIRQ_ENDS: &str = "irq/softirq_exit";
const WAKING: &str = "sched/sched_waking";

/// What takes packets from NICs (`include/linux/interrupt.h`).
const NET_RX_SOFTIRQ: i32 = 3;

/// Looks whether packets can be traced here.
///
/// # Errors
/// See [`TraceError`].
pub(crate) fn check() -> Result<(), TraceError> {
    tracefs::check(&[INTERRUPT, SOFTIRQ, SOFTIRQ_ENDS, WAKING])
}

/// What the ring buffers of this process are called.
pub(crate) fn instance_name() -> String {
    format!("teiji-{}", std::process::id())
}

/// A recording under way. Dropping it ends it.
#[derive(Debug)]
pub struct ReceiveTrace(Instance);

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Occurrences that the ring buffers had no room for: the oldest.
    pub lost: u64,
    /// By number.
    interrupts: BTreeMap<u32, Vec<Instant<Tai>>>,
    /// By CPU: when they began, and when they ended.
    softirqs: BTreeMap<u16, Vec<(Instant<Tai>, Edge)>>,
    /// By the thread's name: when it was woken, and from which CPU.
    wakings: BTreeMap<String, Vec<(Instant<Tai>, u16)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Begins,
    Ends,
}

impl ReceiveTrace {
    /// Records these interrupts, the softirqs that receive, and the wakings of threads of
    /// these names, on the whole machine.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn start(irqs: &BTreeSet<u32>, threads: &[String]) -> Result<Self, TraceError> {
        let any = |each: Vec<String>| each.join(" || ");
        let mut instance = Instance::create(&instance_name(), KIB_PER_CPU)?;
        if !irqs.is_empty() {
            let filter = any(irqs.iter().map(|irq| format!("irq == {irq}")).collect());
            instance.enable(INTERRUPT, &filter)?;
        }
        for event in [SOFTIRQ, SOFTIRQ_ENDS] {
            instance.enable(event, &format!("vec == {NET_RX_SOFTIRQ}"))?;
        }
        let filter = any(threads.iter().map(|name| format!("comm == \"{name}\"")).collect());
        instance.enable(WAKING, &filter)?;
        instance.start()?;
        Ok(Self(instance))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn finish(self) -> Result<Traced, TraceError> {
        let mut traced = Traced::default();
        traced.lost = self.0.finish(|occurrence| traced.enter(occurrence))?.values().sum();
        traced.sort();
        Ok(traced)
    }
}

impl Traced {
    fn enter(&mut self, occurrence: &Occurrence<'_>) {
        let (at, cpu) = (Instant::from_ns(occurrence.at_ns), occurrence.cpu);
        match occurrence.event {
            INTERRUPT => {
                let irq = occurrence.number("irq").and_then(|irq| u32::try_from(irq).ok());
                if let Some(irq) = irq {
                    self.interrupts.entry(irq).or_default().push(at);
                }
            }
            SOFTIRQ => self.softirqs.entry(cpu).or_default().push((at, Edge::Begins)),
            SOFTIRQ_ENDS => self.softirqs.entry(cpu).or_default().push((at, Edge::Ends)),
            _ => {
                if let Some(thread) = occurrence.text("comm") {
                    self.wakings.entry(thread.to_owned()).or_default().push((at, cpu));
                }
            }
        }
    }

    /// They came CPU by CPU.
    fn sort(&mut self) {
        self.interrupts.values_mut().for_each(|all| all.sort_unstable());
        self.wakings.values_mut().for_each(|all| all.sort_unstable());
    }

    /// How a packet came that the kernel stamped at `stamped` and `thread` had at `taken`, by
    /// a port with these interrupts.
    ///
    /// Softirqs of all ports look the same: the packet's is the one at work, when it was
    /// stamped, on the CPU that then woke the thread. Without a waking it is known where one
    /// CPU alone was at work.
    pub fn reception(
        &self,
        irqs: &[u32],
        thread: &str,
        stamped: Instant<Tai>,
        taken: Instant<Tai>,
    ) -> Reception {
        let wakings = self.wakings.get(thread).map_or(&[][..], Vec::as_slice);
        let woken = last(wakings, taken, |(at, _)| *at).filter(|(at, _)| *at >= stamped);
        let at_work = |edges: &Vec<(Instant<Tai>, Edge)>| {
            let (at, edge) = last(edges, stamped, |(at, _)| *at)?;
            (edge == Edge::Begins).then_some(at)
        };
        let begun = if let Some((_, cpu)) = woken {
            self.softirqs.get(&cpu).and_then(at_work)
        } else {
            let mut all = self.softirqs.values().filter_map(at_work);
            all.next().filter(|_| all.next().is_none())
        };
        let before = begun.unwrap_or(stamped);
        let interrupts = irqs.iter().filter_map(|irq| self.interrupts.get(irq));
        Reception {
            interrupt: interrupts.filter_map(|all| last(all, before, |at| *at)).max(),
            softirq: begun,
            woken: woken.map(|(at, _)| at),
        }
    }
}

/// The last that was not after `until`.
fn last<T: Copy>(all: &[T], until: Instant<Tai>, at: impl Fn(&T) -> Instant<Tai>) -> Option<T> {
    let after = all.partition_point(|one| at(one) <= until);
    all.get(after.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: i64) -> Instant<Tai> {
        Instant::from_ns(ns)
    }

    /// Interrupt 24 at 100 and 500; CPU 1 receives from 110 to 200 and from 510 on, CPU 0 from
    /// 120 on; the listener is woken by CPU 1 at 150 and 560.
    fn traced() -> Traced {
        Traced {
            lost: 0,
            interrupts: [(24, vec![at(100), at(500)]), (25, vec![at(105)])].into(),
            softirqs: [
                (0, vec![(at(120), Edge::Begins)]),
                (1, vec![(at(110), Edge::Begins), (at(200), Edge::Ends), (at(510), Edge::Begins)]),
            ]
            .into(),
            wakings: [("listener-0".to_owned(), vec![(at(150), 1), (at(560), 1)])].into(),
        }
    }

    fn came(irqs: &[u32], thread: &str, stamped: i64, taken: i64) -> [Option<i64>; 3] {
        let found = traced().reception(irqs, thread, at(stamped), at(taken));
        [found.interrupt, found.softirq, found.woken].map(|at| at.map(Instant::as_ns))
    }

    #[test]
    fn a_packet_s_way_is_of_its_own_port_cpu_and_thread() {
        assert_eq!(came(&[24], "listener-0", 140, 180), [Some(100), Some(110), Some(150)]);
        assert_eq!(came(&[24], "listener-0", 550, 600), [Some(500), Some(510), Some(560)]);
        assert_eq!(came(&[25], "listener-0", 140, 180), [Some(105), Some(110), Some(150)]);
        assert_eq!(came(&[24, 25], "listener-0", 140, 180), [Some(105), Some(110), Some(150)]);
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        // Awake already, nobody's thread, no interrupts, polled by a thread.
        assert_eq!(came(&[24], "listener-0", 155, 180), [Some(100), None, None]);
        assert_eq!(came(&[24], "listener-1", 140, 180), [Some(100), None, None]);
        assert_eq!(came(&[24], "listener-1", 115, 180), [Some(100), Some(110), None], "one CPU");
        assert_eq!(came(&[], "listener-0", 140, 180), [None, Some(110), Some(150)]);
        assert_eq!(came(&[24], "listener-0", 210, 600), [Some(100), None, Some(560)]);
        assert_eq!(came(&[24], "listener-0", 50, 60), [None; 3]);
    }
}
