//! Where a frame's time went: from the expiry of its sender's timer to its start on the wire, each
//! picosecond has one cause.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

use crate::stream::Ps;
use crate::symbols::Symbols;
use crate::timeline::{Hop, Interruption, Layer, LockWait, Passage, Segment, Timeline, TimerWake};

/// Why time passed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The sender was not done with an earlier frame.
    Earlier,
    /// The timer was allowed to expire later.
    Slack,
    /// The timer had expired, and the processor was busy: it takes interrupts between blocks of
    /// instructions.
    InterruptEntryBusy,
    /// The same for longer: interrupts were disabled. Where it took it, and in which thread.
    Pending {
        /// The function, and who called it; `None` if it is not known.
        function: Option<String>,
        /// The thread.
        thread: String,
    },
    /// The timer had expired, and the processor was idle.
    InterruptEntry,
    /// The timer's interrupt, until it woke the sender.
    TimerInterrupt,
    /// The scheduler, from the wake-up to the sender.
    Switch,
    /// Another thread ran while the sender could have run.
    Thread(String),
    /// An interrupt or exception was served.
    Interrupt(String),
    /// A softirq was served, by a thread or after an interrupt.
    Softirq(String),
    /// The sender waited for a lock.
    Lock(String),
    /// The processor spun for a lock that another one had.
    Spin(String),
    /// The sender waited for something else.
    Blocked,
    /// The sender's own way to the qdisc.
    Sender,
    /// From the qdisc to the driver, in the sender's call.
    Qdisc,
    /// In the qdisc, until somebody else went on with it.
    Queued(String),
    /// In the qdisc, until the time that it waits for.
    Held,
    /// The way from there to the driver, in the softirq that transmits.
    Release,
    /// The driver, until the MAC had the frame.
    Driver,
    /// The MAC waited for the frame's launch time.
    Launch,
    /// From the driver to the waking of the thread at the other end, where the NIC is not seen; with
    /// the responder in between if that is another machine.
    Away,
    /// On the wire, to the last bit.
    Wire,
    /// From the last bit to the stack: the thread or softirq that polls the NIC.
    Receive,
    /// A bridge, from the stack to the next qdisc.
    Bridge,
    /// The responder, from the stack to the qdisc.
    Responder,
    /// From the stack to the requester.
    Requester,
    /// A processor was idle, and something woke it.
    Idle,
    /// It waited longer, for these reasons: bits as [`why`](crate::timeline::MacWait::why).
    Mac(u64),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending { function: Some(function), thread } => {
                write!(f, "interrupt pending until {function}, in {thread}")
            }
            Self::Pending { function: None, thread } => write!(f, "interrupt pending, in {thread}"),
            Self::Earlier => f.write_str("the sender, with an earlier frame"),
            Self::Slack => f.write_str("timer slack of the sender"),
            Self::InterruptEntry => f.write_str("interrupt entry, from idle"),
            Self::InterruptEntryBusy => f.write_str("interrupt entry, from a busy processor"),
            Self::TimerInterrupt => f.write_str("timer interrupt, until it woke the sender"),
            Self::Switch => f.write_str("scheduler, until the sender ran"),
            Self::Thread(thread) => write!(f, "{thread} ran"),
            Self::Interrupt(name) => write!(f, "interrupt {name}"),
            Self::Softirq(name) => write!(f, "softirq {name}"),
            Self::Lock(lock) => write!(f, "waited for {lock}"),
            Self::Spin(lock) => write!(f, "spun for {lock}, held by another processor"),
            Self::Blocked => f.write_str("the sender was blocked"),
            Self::Sender => f.write_str("the sender, up to the qdisc"),
            Self::Qdisc => f.write_str("qdisc, up to the driver"),
            Self::Queued(context) => write!(f, "in the qdisc, until {context} went on with it"),
            Self::Held => f.write_str("in the qdisc, until its timer expired"),
            Self::Release => f.write_str("transmit softirq, up to the driver"),
            Self::Away => f.write_str("NIC, wire and the stack at the other end"),
            Self::Wire => f.write_str("on the wire"),
            Self::Receive => f.write_str("driver, from the MAC to the stack"),
            Self::Bridge => f.write_str("the bridge, up to the qdisc"),
            Self::Responder => f.write_str("the responder, up to the qdisc"),
            Self::Requester => f.write_str("the requester"),
            Self::Idle => f.write_str("interrupt or wake-up, from idle"),
            Self::Driver => f.write_str("driver, up to the MAC"),
            Self::Launch => f.write_str("MAC, until the launch time"),
            Self::Mac(0) => f.write_str("MAC: earlier frames of the queue"),
            Self::Mac(why) => {
                let set = MAC_REASONS.iter().filter(|(bit, _)| why & bit != 0);
                let reasons: Vec<&str> = set.map(|(_, reason)| *reason).collect();
                write!(f, "MAC: {}", reasons.join(", "))
            }
        }
    }
}

/// `VTSN_WAIT_…` of `kernel/vtsn/wire.c`.
const MAC_REASONS: &[(u64, &str)] =
    &[(1, "another frame on the wire"), (2, "pause"), (4, "credit"), (8, "gate")];

/// A frame's time, in order: causes and how long each was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Of a frame: when the timer of its sender had expired. Of a round trip: when the request came
    /// to the qdisc.
    pub from: Ps,
    /// Of a frame: when it began on the wire. Of a round trip: when the requester ran again.
    pub to: Ps,
    /// Their times sum up to the whole.
    pub parts: Vec<(Cause, Ps)>,
}

impl Path {
    /// All of it.
    pub fn whole(&self) -> Ps {
        self.to - self.from
    }

    /// Of these parts; `None` if one is negative: a clock was misread.
    fn of(from: Ps, to: Ps, mut parts: Vec<(Cause, Ps)>) -> Option<Self> {
        parts.retain(|(_, time)| *time != 0);
        parts.dedup_by(|(cause, time), (before, sum)| {
            let same = cause == before;
            if same {
                *sum += *time;
            }
            same
        });
        parts.iter().all(|(_, time)| *time > 0).then_some(Self { from, to, parts })
    }

    /// The time of each cause, longest first.
    pub fn by_cause(&self) -> Vec<(Cause, Ps)> {
        let mut sums: Vec<(Cause, Ps)> = Vec::new();
        for (cause, time) in &self.parts {
            match sums.iter_mut().find(|(known, _)| known == cause) {
                Some((_, sum)) => *sum += time,
                None => sums.push((cause.clone(), *time)),
            }
        }
        sums.sort_by_key(|(_, time)| -time);
        sums
    }
}

/// A processor did one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The processor.
    pub cpu: u16,
    /// A thread, an interrupt, a softirq.
    pub context: String,
    /// From then, after the beginning of the path,
    pub from_ps: Ps,
    /// until then.
    pub to_ps: Ps,
}

/// Finds paths.
pub struct Finder<'a> {
    /// What happened.
    pub timeline: &'a Timeline,
    /// The functions.
    pub symbols: &'a Symbols,
}

impl Finder<'_> {
    /// The path of a frame to its first wire; `None` if no timer woke its sender, it did not reach the
    /// wire, or its times contradict each other.
    pub fn path(&self, hops: &[Hop]) -> Option<Path> {
        let first = hops.first()?;
        let queue = first.queue?;
        let wake = self.wake(queue)?;
        let runs = self.runs(wake.pid, wake.time)?;
        let mut parts = Vec::new();
        let armed = wake.armed.unwrap_or(wake.expiry).min(wake.time);
        self.between(wake.expiry, armed, queue, &Cause::Earlier, &mut parts);
        let expired = (wake.expiry + wake.slack).clamp(armed, wake.time);
        parts.push((Cause::Slack, expired - armed));
        self.until_interrupt(wake, expired, &mut parts);
        self.between(wake.time, runs, queue, &Cause::Switch, &mut parts);
        self.between(runs, queue.time, queue, &Cause::Sender, &mut parts);
        let wire = self.sent(first, &mut parts)?;
        Path::of(wake.expiry, wire, parts)
    }

    /// The path of a round trip; `None` if the request or the reply was lost, or was not seen
    /// everywhere.
    pub fn round(&self, request: &[Hop], reply: &[Hop]) -> Option<Path> {
        let requested = request.first()?.queue?;
        let mut parts = Vec::new();
        let first = reply.first()?;
        let at_requester = if let Some(replied) = first.queue {
            let at_responder = self.received(request, &mut parts)?;
            self.between(at_responder, replied.time, replied, &Cause::Responder, &mut parts);
            self.received(reply, &mut parts)?
        } else if self.timeline.sees_mac {
            return None;
        } else {
            // The responder is another machine.
            let left = self.sent(request.first()?, &mut parts)?;
            let delivered = first.delivered?;
            parts.push((Cause::Away, delivered.time - left));
            delivered.time
        };
        let runs = self.runs(requested.pid, at_requester)?;
        self.between(at_requester, runs, requested, &Cause::Requester, &mut parts);
        Path::of(requested.time, runs, parts)
    }

    /// From the qdisc to the start on the wire, or to the driver where the MAC is not seen; returns when
    /// that was.
    fn sent(&self, hop: &Hop, parts: &mut Vec<(Cause, Ps)>) -> Option<Ps> {
        let (queue, driver) = (hop.queue?, hop.driver?);
        if driver.pid == queue.pid {
            self.between(queue.time, driver.time, queue, &Cause::Qdisc, parts);
        } else {
            self.queued(queue, driver, parts);
        }
        if !self.timeline.sees_mac {
            return Some(driver.time);
        }
        let mac = hop.mac?;
        parts.push((Cause::Driver, mac.queued - driver.time));
        parts.push((Cause::Launch, mac.earliest - mac.queued));
        parts.push((Cause::Mac(mac.why), mac.start - mac.earliest));
        Some(mac.start)
    }

    /// From the first qdisc to the last stack; returns when that has it.
    fn received(&self, hops: &[Hop], parts: &mut Vec<(Cause, Ps)>) -> Option<Ps> {
        let mut before: Option<Ps> = None;
        for hop in hops {
            if let (Some(before), Some(queue)) = (before, hop.queue) {
                self.between(before, queue.time, queue, &Cause::Bridge, parts);
            }
            let start = self.sent(hop, parts)?;
            let delivered = hop.delivered?;
            before = Some(delivered.time);
            if !self.timeline.sees_mac {
                parts.push((Cause::Away, delivered.time - start));
                continue;
            }
            let arrival = hop.arrival?;
            parts.push((Cause::Wire, arrival - start));
            self.between(arrival, delivered.time, delivered, &Cause::Receive, parts);
        }
        before
    }

    /// What the processors did during a path, a quarter of it before, and a tenth of it after. Idle
    /// time is left out.
    pub fn activity(&self, path: &Path) -> Vec<Activity> {
        let (from, to) = (path.from - path.whole() / 4, path.to + path.whole() / 10);
        let mut all: Vec<Activity> = Vec::new();
        for (cpu, segments) in (0_u16..).zip(&self.timeline.cpus) {
            let first = segments.partition_point(|segment| segment.end <= from);
            for segment in segments[first..].iter().take_while(|segment| segment.start < to) {
                let Some(context) = self.context(segment) else { continue };
                let [from_ps, to_ps] =
                    [segment.start.max(from), segment.end.min(to)].map(|time| time - path.from);
                all.push(Activity { cpu, context, from_ps, to_ps });
            }
        }
        all
    }

    /// What a processor did, in words; `None` if it was idle.
    pub fn context(&self, segment: &Segment) -> Option<String> {
        Some(match segment.layer {
            None if segment.pid == 0 => return None,
            None => self.thread(segment.pid),
            Some(Layer::Interrupt(id)) => format!("interrupt {}", self.name(id)),
            Some(Layer::Softirq(id)) => format!("softirq {}", self.name(id)),
            Some(Layer::Spin) => "spins for a lock".to_owned(),
        })
    }

    /// From the qdisc to the driver, in another context.
    fn queued(&self, queue: Passage, driver: Passage, parts: &mut Vec<(Cause, Ps)>) {
        let releases = &self.timeline.releases;
        let before = releases.partition_point(|release| release.time <= driver.time);
        let last = releases[..before].iter().rev().find(|release| release.cpu == driver.cpu);
        let release = last.filter(|release| release.time > queue.time);
        let schedules = &self.timeline.schedules;
        let before = schedules.partition_point(|(time, _)| *time <= driver.time);
        let mut schedules = schedules[..before]
            .iter()
            .rev()
            .filter(|(_, cpu)| *cpu == driver.cpu)
            .map(|(time, _)| *time)
            .take_while(|time| *time > queue.time);
        let (last, before_last) = (schedules.next(), schedules.next());
        // The timer's own function schedules the qdisc.
        if let Some(release) = release.filter(|one| before_last.is_none_or(|at| at < one.time)) {
            let expiry = release.expiry.max(queue.time);
            parts.push((Cause::Held, expiry - queue.time));
            self.between(expiry, driver.time, driver, &Cause::Release, parts);
            return;
        }
        let until = last.unwrap_or(driver.time);
        let pid = self.current(driver.cpu, until);
        let mut context = self.context_at(driver.cpu, until);
        if let Some(function) = self.work(pid, queue.time, until) {
            let _ = write!(context, ", in {function} before,");
        }
        parts.push((Cause::Queued(context), until - queue.time));
        self.between(until, driver.time, driver, &Cause::Release, parts);
    }

    /// What a processor did then, in words.
    fn context_at(&self, cpu: u16, time: Ps) -> String {
        let segments = &self.timeline.cpus[usize::from(cpu)];
        let at = segments.partition_point(|segment| segment.end < time);
        let context = segments.get(at).and_then(|segment| match segment.layer {
            Some(Layer::Softirq(id)) if segment.pid != 0 => {
                Some(format!("softirq {}", self.softirq_in(id, segment.pid)))
            }
            _ => self.context(segment),
        });
        context.unwrap_or_else(|| "the idle thread".to_owned())
    }

    /// The last timer that woke the sender before it sent.
    fn wake(&self, sent: Passage) -> Option<TimerWake> {
        let wakes = &self.timeline.timer_wakes;
        let before = wakes.partition_point(|wake| wake.time <= sent.time);
        wakes[..before].iter().rev().find(|wake| wake.pid == sent.pid).copied()
    }

    /// When a thread ran, from then on.
    fn runs(&self, pid: u32, since: Ps) -> Option<Ps> {
        let first = |segments: &Vec<Segment>| {
            let from = segments.partition_point(|segment| segment.end <= since);
            let mut rest = segments[from..].iter();
            rest.find(|segment| segment.pid == pid && segment.layer.is_none())
                .map(|segment| segment.start.max(since))
        };
        self.timeline.cpus.iter().filter_map(first).min()
    }

    /// From the expiry to the wake-up.
    fn until_interrupt(&self, wake: TimerWake, expired: Ps, parts: &mut Vec<(Cause, Ps)>) {
        let interruptions = self.timeline.interruptions.get(usize::from(wake.cpu));
        let interruptions = interruptions.map_or(&[][..], Vec::as_slice);
        let before = interruptions.partition_point(|one| one.time <= wake.time);
        // The interrupt that serves the timer: the last one before the wake-up.
        let Some(served) = interruptions[..before].last() else {
            parts.push((Cause::TimerInterrupt, wake.time - expired));
            return;
        };
        if served.time <= expired {
            // It was being served already when the timer expired.
            parts.push((Cause::TimerInterrupt, wake.time - expired));
            return;
        }
        let thread = self.current(wake.cpu, served.time);
        let cause = if thread == 0 {
            Cause::InterruptEntry
        } else if served.time - expired < self.timeline.interrupt_entry {
            Cause::InterruptEntryBusy
        } else {
            let function = self.enabled_at(served);
            Cause::Pending { function, thread: self.thread(thread) }
        };
        parts.push((cause, served.time - expired));
        parts.push((Cause::TimerInterrupt, wake.time - served.time));
    }

    /// Divides a time of the sender's by what the processor did that it sent on; `own` is what it did
    /// itself.
    fn between(&self, from: Ps, to: Ps, sent: Passage, own: &Cause, parts: &mut Vec<(Cause, Ps)>) {
        let segments = &self.timeline.cpus[usize::from(sent.cpu)];
        let mut at = from;
        let first = segments.partition_point(|segment| segment.end <= from);
        for segment in segments[first..].iter().take_while(|segment| segment.start < to) {
            let (start, end) = (segment.start.max(at), segment.end.min(to));
            if end <= start {
                continue;
            }
            let cause = match (segment.layer, self.waiting(sent.pid, start, end)) {
                // Whoever runs while a softirq is pending delays it, also the thread that serves it then.
                _ if segment.pid == sent.pid
                    && segment.layer.is_none()
                    && *own != Cause::Release =>
                {
                    own.clone()
                }
                (_, Some(wait)) => Cause::Lock(self.lock(wait, start, end)),
                (Some(Layer::Spin), _) => Cause::Spin(self.spin(sent.cpu, segment.start)),
                (Some(Layer::Interrupt(id)), _) => Cause::Interrupt(self.name(id).to_owned()),
                (Some(Layer::Softirq(id)), _) if segment.pid == sent.pid => {
                    Cause::Softirq(self.name(id).to_owned())
                }
                (Some(Layer::Softirq(id)), _) => Cause::Softirq(self.softirq_in(id, segment.pid)),
                (None, _) if segment.pid == 0 => match own {
                    Cause::Switch | Cause::Release => own.clone(),
                    Cause::Receive | Cause::Bridge | Cause::Responder | Cause::Requester => {
                        Cause::Idle
                    }
                    _ => Cause::Blocked,
                },
                (None, _) => Cause::Thread(self.thread(segment.pid)),
            };
            parts.push((cause, end - start));
            at = end;
        }
        // Nothing was recorded of the rest.
        if at < to {
            parts.push((own.clone(), to - at));
        }
    }

    /// The lock that a thread waited for all of the time.
    fn waiting(&self, pid: u32, start: Ps, end: Ps) -> Option<&LockWait> {
        let waits = &self.timeline.lock_waits;
        let from = waits.partition_point(|wait| wait.end < end);
        waits[from..].iter().take(64).find(|wait| wait.pid == pid && wait.start <= start)
    }

    fn lock(&self, wait: &LockWait, start: Ps, end: Ps) -> String {
        let owner = wait.owner.map_or("an unknown thread".to_owned(), |pid| self.thread(pid));
        let work = wait.owner.and_then(|pid| self.work(pid, start, end));
        let work = work.map_or_else(String::new, |function| format!(" in {function}"));
        format!("{}, held by {owner}{work}", self.lock_name(&wait.stack))
    }

    /// The function that a thread was in for at least half of the time.
    fn work(&self, pid: u32, start: Ps, end: Ps) -> Option<&str> {
        let works = &self.timeline.works;
        let from = works.partition_point(|work| work.end <= start);
        let mut sums: HashMap<u16, Ps> = HashMap::new();
        // One that covers all of it may come after shorter ones of other threads.
        for work in works[from..].iter().take(64).filter(|work| work.pid == pid) {
            let overlap = work.end.min(end) - work.start.max(start);
            *sums.entry(work.function).or_default() += overlap.max(0);
        }
        let most = sums.into_iter().max_by_key(|(_, sum)| *sum)?;
        (most.1 * 2 >= end - start).then(|| self.name(most.0))
    }

    fn spin(&self, cpu: u16, time: Ps) -> String {
        let spins = &self.timeline.spins;
        let before = spins.partition_point(|(_, start, _)| *start <= time);
        let last = spins[..before].iter().rev().find(|(of, _, _)| *of == cpu);
        last.map_or("a lock".to_owned(), |(_, _, stack)| self.lock_name(stack))
    }

    /// A lock by the function that takes it.
    fn lock_name(&self, stack: &[u64]) -> String {
        let functions = stack.iter().filter(|word| self.symbols.is_code(**word));
        let mut functions = functions.filter_map(|word| self.symbols.name_of(*word));
        let internal = |name: &str| LOCK_FUNCTIONS.iter().any(|of| name.contains(of));
        match functions.find(|name| !internal(name)) {
            Some("__local_bh_disable_ip") => "the BH lock".to_owned(),
            Some("__dev_queue_xmit") => "the qdisc's lock".to_owned(),
            Some("sch_direct_xmit") => {
                "a lock in sch_direct_xmit (of the qdisc or the transmit queue)".to_owned()
            }
            Some(function) => format!("a lock in {function}"),
            None => "a lock".to_owned(),
        }
    }

    fn current(&self, cpu: u16, time: Ps) -> u32 {
        let segments = &self.timeline.cpus[usize::from(cpu)];
        let at = segments.partition_point(|segment| segment.end < time);
        segments.get(at).map_or(0, |segment| segment.pid)
    }

    /// The function in which interrupts were enabled again, and its caller.
    fn enabled_at(&self, interruption: &Interruption) -> Option<String> {
        let name =
            |address| self.symbols.name_of(address).filter(|_| self.symbols.is_code(address));
        let Some(function) = name(interruption.at?) else {
            return Some("the return to the program".to_owned());
        };
        let caller = interruption.stack.iter().find_map(|word| name(*word));
        Some(match caller {
            Some(caller) if caller != function => format!("{function} (called by {caller})"),
            _ => function.to_owned(),
        })
    }

    fn thread(&self, pid: u32) -> String {
        match self.timeline.tasks.get(&pid) {
            _ if pid == 0 => "the idle thread".to_owned(),
            Some(task) => format!("{} ({})", task.comm, task.priority()),
            None => format!("thread {pid}"),
        }
    }

    fn softirq_in(&self, id: u16, pid: u32) -> String {
        format!("{} in {}", self.name(id), self.thread(pid))
    }

    fn name(&self, id: u16) -> &str {
        self.timeline.names.get(usize::from(id)).map_or("?", String::as_str)
    }
}

/// Parts of the names of functions that locks are made of, and of those that trace them.
const LOCK_FUNCTIONS: &[&str] = &[
    "slowlock",
    "slowpath",
    "rt_mutex",
    "raw_spin",
    "rtlock",
    "spin_lock",
    "trace_",
    "__traceiter_",
    "mutex_lock",
];
