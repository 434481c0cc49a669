//! What the kernel does while the frames of a case are sent: its tracepoints, recorded, and the causes
//! of the frames' time that follow from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use teiji::{RequesterLog, StopFlag, TalkerLog};
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::{Flow, Scenario};
use teiji_net::{Applied, Binding, NetError};
use teiji_sys::clock;
use teiji_sys::tracefs::{self, Instance, KERNEL_STACK, Occurrence, TraceError};
use teiji_why::Symbols;
use teiji_why::document::{LateFrame, Spans, Tracing};
use teiji_why::path::Finder;
use teiji_why::stream::Ps;
use teiji_why::summary::Shown;
use teiji_why::timeline::{Layer, Timeline};
use teiji_why::tracepoints::{Round, Rounds, Seen, Sender, Sent, Threads, Tracepoints};

use crate::causes::{self, Paths, subjects, waits_for_timer};
use crate::measure::outcome::{Logs, TracedFlow};
use crate::measure::role::thread_name;

/// The share of a case's time before tracing begins, and the most of it: what the frames take then
/// shows what tracing costs.
const UNTRACED_SHARE: i64 = 10;
const UNTRACED_MOST: Span = Span::from_secs(10);

/// All ring buffers together have at most so much memory, and at most this share of what is free.
const MOST_KIB: u64 = 256 * 1024;
const SHARE_OF_MEMORY: u64 = 8;
/// The smallest and the largest buffer of a CPU.
const KIB_PER_CPU: RangeInclusive<u64> = 1024..=16 * 1024;

const SWITCH: &str = "sched/sched_switch";
const WAKING: &str = "sched/sched_waking";
const IRQ: &str = "irq/irq_handler_entry";
const IRQ_ENDS: &str = "irq/irq_handler_exit";
const SOFTIRQ: &str = "irq/softirq_entry";
const SOFTIRQ_ENDS: &str = "irq/softirq_exit";
const SOFTIRQ_RAISED: &str = "irq/softirq_raise";
const TIMER_STARTS: &str = "timer/hrtimer_start";
const TIMER_EXPIRES: &str = "timer/hrtimer_expire_entry";
const QUEUE: &str = "net/net_dev_queue";
const DRIVER: &str = "net/net_dev_start_xmit";
const WATCHDOG: &str = "net/net_dev_xmit_timeout";
const CONTENDED: &str = "lock/contention_begin";
const ACQUIRED: &str = "lock/contention_end";

/// Tracepoints that it is pointless without.
const NEEDED: &[&str] = &[
    SWITCH,
    WAKING,
    IRQ,
    IRQ_ENDS,
    SOFTIRQ,
    SOFTIRQ_ENDS,
    SOFTIRQ_RAISED,
    TIMER_STARTS,
    TIMER_EXPIRES,
    QUEUE,
    DRIVER,
];

/// Interrupts of x86 that have no number: begin, end, name.
const VECTORS: &[(&str, &str, &str)] = &[
    ("irq_vectors/local_timer_entry", "irq_vectors/local_timer_exit", "apic_timer_interrupt"),
    ("irq_vectors/reschedule_entry", "irq_vectors/reschedule_exit", "reschedule_ipi"),
    ("irq_vectors/call_function_entry", "irq_vectors/call_function_exit", "call_function"),
    (
        "irq_vectors/call_function_single_entry",
        "irq_vectors/call_function_single_exit",
        "call_function_single",
    ),
    ("irq_vectors/irq_work_entry", "irq_vectors/irq_work_exit", "irq_work"),
    ("irq_vectors/thermal_apic_entry", "irq_vectors/thermal_apic_exit", "thermal"),
];

/// The softirq that transmits.
const NET_TX: usize = 2;

/// By number (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// States of a thread that sleeps (`TASK_REPORT`, `TASK_REPORT_IDLE`); one that was preempted has the bit above.
const ASLEEP: u64 = 0xff;

/// Who waits for a lock (`include/trace/events/lock.h`): by spinning, or by one of those that sleep.
const SPIN: i32 = 1;
const SLEEPING: i32 = 8 | 16 | 32;

/// Options of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// It ends at the first frame that is handed over later than this after its timer.
    pub limit: Option<Span>,
}

/// What the ring buffers of this process are called.
pub fn instance_name() -> String {
    format!("teiji-why-{}", std::process::id())
}

/// Looks whether the kernel can be traced.
///
/// # Errors
/// See [`TraceError`].
pub fn check() -> Result<(), TraceError> {
    tracefs::check(NEEDED)
}

/// Whether something is sent here whose delay a trace of this machine explains.
pub fn has_senders(scenario: &Scenario, binding: &Binding) -> bool {
    let timed = scenario.flows.iter().filter(|flow| waits_for_timer(flow)).map(|flow| &flow.from);
    let requesters = scenario.round_trips.iter().map(|rounds| &rounds.from);
    timed.chain(requesters).any(|host| !binding.is_elsewhere(host))
}

/// Ring buffers, and how to fill them.
pub struct KernelTrace {
    instance: Instance,
    symbols: Symbols,
    /// The senders' threads and interfaces.
    threads: Vec<String>,
    interfaces: Vec<String>,
    limit: Option<Span>,
    recording: Arc<AtomicBool>,
    /// As [`Timeline::unseen`](teiji_why::timeline::Timeline::unseen).
    unseen: Vec<String>,
}

/// A trace that was recorded.
pub struct Recorded {
    trace: KernelTrace,
    /// The threads of this program.
    own: BTreeSet<u32>,
    /// From when on nothing was as before, and from when on everything was recorded.
    began: Instant<Tai>,
    complete: Instant<Tai>,
}

impl KernelTrace {
    /// Prepares a trace of what delays the flows' frames; nothing is recorded yet.
    ///
    /// # Errors
    /// See [`TraceError`]; or if a flow has no port.
    pub fn prepare(why: Why, scenario: &Scenario, applied: &Applied) -> anyhow::Result<Self> {
        let instance = Instance::create(&instance_name(), kib_per_cpu()).map_err(NetError::from)?;
        let kallsyms = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let timed = (0..).zip(&scenario.flows).filter(|(_, flow)| waits_for_timer(flow));
        let (mut threads, mut interfaces) = (Vec::new(), Vec::new());
        for (id, flow) in timed {
            threads.push(thread_name("talker", id));
            interfaces.extend(applied.port(&flow.from, &flow.wire).map(|port| port.ifname));
        }
        for (id, rounds) in scenario.numbered_round_trips() {
            threads.extend(["requester", "responder"].map(|role| thread_name(role, id)));
            for (host, wire) in
                [(&rounds.from, rounds.wire.as_str()), (&rounds.to, rounds.last_wire())]
            {
                interfaces.extend(applied.port(host, wire).map(|port| port.ifname));
            }
        }
        Ok(Self {
            instance,
            symbols: Symbols::parse(&kallsyms),
            threads,
            interfaces,
            limit: why.limit,
            recording: Arc::default(),
            unseen: Vec::new(),
        })
    }

    /// What the talker of a flow does after a frame that was later than the limit, and the limit; `None`
    /// without one.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn stopper(
        &self,
        flow: &Flow,
    ) -> anyhow::Result<Option<(Span, impl FnMut() + Send + 'static)>> {
        let Some(limit) = self.limit.filter(|_| waits_for_timer(flow)) else { return Ok(None) };
        let mut switch = self.instance.switch().map_err(NetError::from)?;
        let recording = self.recording.clone();
        let stop = move || {
            if recording.swap(false, Ordering::Relaxed) {
                // What was recorded is still of use if it goes on.
                let _ = switch.write_all(b"0");
            }
        };
        Ok(Some((limit, stop)))
    }

    /// Records from a tenth of the case's time on.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn record(
        mut self,
        base: Instant<Tai>,
        duration: Span,
        stop: &StopFlag,
    ) -> anyhow::Result<Recorded> {
        let untraced = Span::from_ns(duration.as_ns() / UNTRACED_SHARE).min(UNTRACED_MOST);
        teiji::stop::sleep_until(base + untraced, clock::now(), stop);
        let began = clock::now();
        self.enable().map_err(NetError::from)?;
        let complete = clock::now();
        self.recording.store(true, Ordering::Relaxed);
        // All roles run by now, and none has ended.
        Ok(Recorded { trace: self, own: own_threads(), began, complete })
    }

    /// Enables the tracepoints, which changes the kernel's code, and then the buffers.
    fn enable(&mut self) -> Result<(), TraceError> {
        let function = |name| self.symbols.address(name).filter(|address| *address != 0);
        let (sleeper, qdisc) = (function("hrtimer_wakeup"), function("qdisc_watchdog"));
        let is = |address: Option<u64>| address.map(|address| format!("function == {address:#x}"));
        let any = |each: &[Option<String>]| {
            let each: Option<Vec<&str>> = each.iter().map(Option::as_deref).collect();
            each.map_or_else(|| "0".to_owned(), |each| each.join(" || "))
        };
        let one_of = |field: &str, values: &[String]| {
            let each = values.iter().map(|value| format!("{field} == \"{value}\""));
            each.collect::<Vec<String>>().join(" || ")
        };
        let wakings = one_of("comm", &self.threads);
        let packets = one_of("name", &self.interfaces);
        let instance = &mut self.instance;
        for event in [SWITCH, IRQ, IRQ_ENDS, SOFTIRQ, SOFTIRQ_ENDS] {
            instance.enable(event, "0")?;
        }
        instance.enable(SOFTIRQ_RAISED, &format!("vec == {NET_TX}"))?;
        instance.enable(WAKING, &wakings)?;
        for event in [QUEUE, DRIVER] {
            instance.enable(event, &packets)?;
        }
        for (begin, end, _) in VECTORS {
            if tracefs::exists(begin)? {
                instance.enable(begin, "0")?;
                instance.enable(end, "0")?;
            }
        }
        if tracefs::exists(WATCHDOG)? {
            instance.enable(WATCHDOG, &packets)?;
        } else {
            self.unseen.push("resets of a NIC's queue by the watchdog".to_owned());
        }
        if tracefs::exists(CONTENDED)? {
            instance.enable(CONTENDED, "0")?;
            instance.enable(ACQUIRED, "0")?;
            // Without stacks, functions have no names.
            let _ = instance.trigger(CONTENDED, "stacktrace");
        } else {
            self.unseen.push("waits and spins for locks".to_owned());
        }
        if qdisc.is_none() {
            self.unseen.push("timers of qdiscs".to_owned());
        }
        for event in [TIMER_STARTS, TIMER_EXPIRES] {
            instance.enable(event, &any(&[is(sleeper), is(qdisc)]))?;
        }
        if let Some(sleeper) = is(sleeper) {
            let _ = instance.trigger(TIMER_EXPIRES, &format!("stacktrace if {sleeper}"));
        }
        instance.start()
    }
}

impl Recorded {
    /// What delayed the frames, and what tracing has cost.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn finish(self, scenario: &Scenario, logs: &mut Logs) -> anyhow::Result<Vec<TracedFlow>> {
        let Self { trace, own, began, complete } = self;
        let KernelTrace { instance, symbols, limit, unseen, .. } = trace;
        // Picoseconds since 1970 are too many.
        let base = logs.base;
        let ps = |time: Instant<Tai>| (time - base).as_ns() * 1000;
        let qdisc = symbols.address("qdisc_watchdog");
        let mut traced = Tracepoints::default();
        let mut first: BTreeMap<u16, Ps> = BTreeMap::new();
        let mut until = Ps::MIN;
        let lost = instance
            .finish(|occurrence| {
                let time = ps(Instant::from_ns(occurrence.at_ns));
                first.entry(occurrence.cpu).or_insert(time);
                until = until.max(time);
                enter(occurrence, time, qdisc, &mut traced);
            })
            .map_err(NetError::from)?;
        // Where the oldest are gone, something is missing of all frames before.
        let overrun = first.iter().filter(|(cpu, _)| lost.get(cpu).is_some_and(|lost| *lost > 0));
        let whole_from = overrun.map(|(_, first)| *first).max();
        let since = ps(complete).max(whole_from.unwrap_or(i64::MIN));
        let senders: Vec<Sender> = (0..)
            .zip(scenario.flows.iter().zip(&logs.talkers))
            .filter(|(_, (flow, _))| waits_for_timer(flow))
            .map(|(id, (flow, log))| sender(id, flow, log, ps))
            .collect();
        let rounds = scenario.numbered_round_trips().zip(&logs.rounds);
        let rounds = rounds.map(|((id, _), (log, _))| round_trips(id, log, ps)).collect();
        let threads = Threads { senders, rounds, own };
        let timeline = Timeline { unseen, ..traced.timeline(&threads, since, &symbols) };
        let finder = Finder { timeline: &timeline, symbols: &symbols };
        let late = limit.and_then(|limit| first_late(&threads.senders, limit, ps(complete)));
        let mut found = Vec::new();
        for subject in subjects(scenario) {
            let times: Vec<Times> = if subject.round_trips {
                let rounds = threads.rounds.iter().find(|rounds| rounds.id == subject.id);
                let rounds = rounds.iter().flat_map(|rounds| &rounds.rounds);
                rounds.map(|round| (round.seq, round.sent, round.received)).collect()
            } else {
                let sender = threads.senders.iter().find(|sender| sender.flow == subject.id);
                let sent = sender.iter().flat_map(|sender| &sender.sent);
                sent.map(|sent| (sent.seq, sent.expiry, sent.handed_over)).collect()
            };
            if times.is_empty() {
                continue;
            }
            let paths = subject.paths(&finder);
            let late = late.filter(|(flow, _)| *flow == subject.id && !subject.round_trips);
            let ended_at = late.map(|(_, late)| late);
            let shown = ended_at.map_or(Shown::Slowest(SHOWN), |late| Shown::Number(late.seq));
            let mut causes = causes::sum_up(&finder, &paths, shown);
            let spans = |is: &dyn Fn(u64, Ps) -> bool| {
                let own = times.iter().filter(|(seq, _, end)| is(*seq, *end));
                Spans::of(own.map(|(_, begin, end)| end - begin).collect())
            };
            let seen = |number, _| paths.binary_search_by_key(&number, |(seq, _)| *seq).is_ok();
            causes.unknown += not_seen(&times, &paths, since..=until);
            let tracing = Tracing {
                untraced: spans(&|_, end| end < ps(began)),
                traced: spans(&seen),
                ended_at,
            };
            found.push(TracedFlow {
                flow: subject.name.to_owned(),
                round_trips: subject.round_trips,
                tracing,
                causes,
            });
        }
        if timeline.unseen_switches > 0 {
            logs.warnings.push(format!(
                "This kernel did not trace {} switches of threads; what ran is known from the next event, \
                 and the time before it is the thread's that was seen last.",
                timeline.unseen_switches
            ));
        }
        if let Some(from) = whole_from {
            let seconds = (from - ps(complete)) as f64 / 1e12;
            logs.warnings.push(format!(
                "The buffers of the kernel's trace do not have its first {seconds:.1} s: \
                 `teiji why` has no causes of the frames before."
            ));
        }
        Ok(found)
    }
}

/// The first frame after `since` that was handed over later than `limit`, and its flow.
fn first_late(senders: &[Sender], limit: Span, since: Ps) -> Option<(u16, LateFrame)> {
    let late = senders.iter().filter_map(|sender| {
        let mut own = sender.sent.iter().filter(|sent| sent.handed_over > since);
        own.find(|sent| sent.handed_over - sent.expiry > limit.as_ns() * 1000)
            .map(|sent| (sender.flow, *sent))
    });
    let (flow, sent) = late.min_by_key(|(_, sent)| sent.handed_over)?;
    Some((flow, LateFrame { seq: sent.seq, handed_over_ps: sent.handed_over - sent.expiry }))
}

/// Number, beginning and end of a frame or round trip, as its sender noted them.
type Times = (u64, Ps, Ps);

/// How many were sent while all was recorded, and are not among those that the recording has seen.
fn not_seen(times: &[Times], seen: &Paths, recorded: RangeInclusive<Ps>) -> usize {
    let within =
        times.iter().filter(|(_, begin, end)| recorded.contains(begin) && recorded.contains(end));
    within
        .filter(|(number, ..)| seen.binary_search_by_key(number, |(seq, _)| *seq).is_err())
        .count()
}

/// Frames that are shown in full.
const SHOWN: usize = 3;

fn round_trips(id: u16, log: &RequesterLog, ps: impl Fn(Instant<Tai>) -> Ps) -> Rounds {
    let with_reply = log.rounds.iter().filter_map(|round| {
        let (sent, received) = (ps(round.sent), ps(round.received?));
        Some(Round { seq: round.seq, sent, received })
    });
    let [requester, responder] = ["requester", "responder"].map(|role| thread_name(role, id));
    Rounds { id, requester, responder, rounds: with_reply.collect() }
}

fn sender(id: u16, flow: &Flow, log: &TalkerLog, ps: impl Fn(Instant<Tai>) -> Ps) -> Sender {
    let sent = log.frames.iter().map(|frame| Sent {
        seq: frame.seq,
        expiry: ps(flow.mode.planned_wake(frame.scheduled)),
        woke: ps(frame.woke),
        handed_over: ps(frame.handed_over),
    });
    Sender { flow: id, thread: thread_name("talker", id), sent: sent.collect() }
}

/// The numbers of this program's threads.
fn own_threads() -> BTreeSet<u32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The size of each CPU's buffer.
fn kib_per_cpu() -> u32 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free = free.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    let all = free.map_or(MOST_KIB, |free| free / SHARE_OF_MEMORY).min(MOST_KIB);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let each = (all / cpus).clamp(*KIB_PER_CPU.start(), *KIB_PER_CPU.end());
    u32::try_from(each).unwrap_or(u32::MAX)
}

/// Adds what an occurrence tells, at a time from the run's base on; `qdisc` is the function of timers for which
/// qdiscs wait.
fn enter(occurrence: &Occurrence<'_>, time: Ps, qdisc: Option<u64>, traced: &mut Tracepoints) {
    let cpu = occurrence.cpu;
    let number = |field| occurrence.number(field).unwrap_or(0);
    let unsigned = |field| u32::try_from(number(field)).unwrap_or(0);
    let short = |field| u16::try_from(number(field)).unwrap_or(u16::MAX);
    let address = |field| occurrence.address(field).unwrap_or(0);
    let text = |field| occurrence.text(field).unwrap_or("?");
    let pid = unsigned("common_pid");
    let is_before = time < 0;
    let seen = match occurrence.event {
        SWITCH => {
            let (prev, next) = (unsigned("prev_pid"), unsigned("next_pid"));
            traced.task(prev, text("prev_comm"), number("prev_prio"), is_before);
            traced.task(next, text("next_comm"), number("next_prio"), is_before);
            // A `long`, as wide as an address.
            let sleeps = address("prev_state") & ASLEEP != 0;
            Seen::Switch { next, sleeps }
        }
        WAKING => {
            traced.task(unsigned("pid"), text("comm"), number("prio"), is_before);
            Seen::Waking(unsigned("pid"))
        }
        IRQ => Seen::Begin(Layer::Interrupt(traced.interrupt(number("irq"), text("name")))),
        IRQ_ENDS => Seen::End(Layer::Interrupt(traced.interrupt(number("irq"), ""))),
        SOFTIRQ | SOFTIRQ_ENDS => {
            let vector = usize::try_from(number("vec")).ok().and_then(|vec| SOFTIRQS.get(vec));
            let layer = Layer::Softirq(traced.name(vector.unwrap_or(&"?")));
            if occurrence.event == SOFTIRQ { Seen::Begin(layer) } else { Seen::End(layer) }
        }
        SOFTIRQ_RAISED => Seen::Schedule,
        TIMER_STARTS => Seen::Armed {
            timer: address("hrtimer"),
            softly: occurrence.long("softexpires").unwrap_or(0),
            expires: occurrence.long("expires").unwrap_or(0),
        },
        TIMER_EXPIRES if Some(address("function")) == qdisc => {
            let now = occurrence.long("now").unwrap_or(0);
            Seen::Release { timer: address("hrtimer"), now }
        }
        TIMER_EXPIRES => Seen::Sleeper { timer: address("hrtimer") },
        QUEUE => Seen::Queue(address("skbaddr")),
        DRIVER => {
            let queue = (traced.name(text("name")), short("queue_mapping"));
            Seen::Driver(address("skbaddr"), queue)
        }
        WATCHDOG => Seen::Watchdog((traced.name(text("name")), short("queue_index"))),
        CONTENDED => {
            let flags = number("flags");
            Seen::Contended { spins: flags & SPIN != 0 && flags & SLEEPING == 0 }
        }
        ACQUIRED => Seen::Acquired,
        KERNEL_STACK => return traced.add_stack(time, cpu, pid, occurrence.callers()),
        event => {
            let vector = VECTORS.iter().find(|(begin, end, _)| [*begin, *end].contains(&event));
            let Some((begin, _, name)) = vector else { return };
            let layer = Layer::Interrupt(traced.name(name));
            if *begin == event { Seen::Begin(layer) } else { Seen::End(layer) }
        }
    };
    traced.add(time, cpu, pid, seen);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_the_trace_has_not_seen_are_counted_while_it_was_complete() {
        let times = [(1, 5, 15), (2, 20, 30), (3, 30, 40), (4, 40, 50), (5, 50, 61)];
        let seen = vec![(3, None)];
        // 1 began before, 5 ended after.
        assert_eq!(not_seen(&times, &seen, 10..=60), 2);
    }
}
