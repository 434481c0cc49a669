//! Where a frame's time went: from the expiry of its sender's timer to its start on the wire, each
//! picosecond has one cause.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::stream::Ps;
use crate::symbols::Symbols;
use crate::timeline::{
    Block, Hop, Interruption, Layer, LockWait, Passage, Segment, Timeline, TimerWake, Work,
};

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

/// Parts of a path, each from the end of the one before.
struct Parts {
    from: Ps,
    /// The end of the last one.
    at: Ps,
    list: Vec<(Cause, Ps)>,
}

impl Parts {
    fn new(from: Ps) -> Self {
        Self { from, at: from, list: Vec::new() }
    }

    /// The time until then has this cause.
    fn until(&mut self, to: Ps, cause: Cause) {
        let time = to - self.at;
        self.at = to;
        match self.list.last_mut() {
            _ if time == 0 => {}
            Some((before, sum)) if time > 0 && *sum > 0 && *before == cause => *sum += time,
            _ => self.list.push((cause, time)),
        }
    }

    /// All of them; `None` if one is negative: a clock was misread.
    fn path(self) -> Option<Path> {
        let Self { from, at, list } = self;
        let forward = list.iter().all(|(_, time)| *time > 0);
        forward.then_some(Path { from, to: at, parts: list })
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
        let runs = self.runs(queue, wake.time)?;
        let mut parts = Parts::new(wake.expiry);
        let armed = wake.armed.unwrap_or_else(|| self.waits_since(wake, queue.pid)).min(wake.time);
        self.between(armed, queue, &Cause::Earlier, &mut parts);
        parts.until((wake.expiry + wake.slack).clamp(armed, wake.time), Cause::Slack);
        self.until_woken(wake, queue.pid, &mut parts);
        self.between(runs.time, runs, &Cause::Switch, &mut parts);
        self.between(queue.time, queue, &Cause::Sender, &mut parts);
        self.sent(first, &mut parts)?;
        parts.path()
    }

    /// The path of a round trip; `None` if the request or the reply was lost, or was not seen
    /// everywhere.
    pub fn round(&self, request: &[Hop], reply: &[Hop]) -> Option<Path> {
        let requested = request.first()?.queue?;
        let mut parts = Parts::new(requested.time);
        let first = reply.first()?;
        if let Some(replied) = first.queue {
            self.received(request, &mut parts)?;
            self.between(replied.time, replied, &Cause::Responder, &mut parts);
            self.received(reply, &mut parts)?;
        } else if self.timeline.sees_mac {
            return None;
        } else {
            // The responder is another machine.
            self.sent(request.first()?, &mut parts)?;
            parts.until(first.delivered?.time, Cause::Away);
        }
        let runs = self.runs(requested, parts.at)?;
        self.between(runs.time, runs, &Cause::Requester, &mut parts);
        parts.path()
    }

    /// From the qdisc to the start on the wire, or to the driver where the MAC is not seen.
    fn sent(&self, hop: &Hop, parts: &mut Parts) -> Option<()> {
        let (mut queue, driver) = (hop.queue?, hop.driver?);
        let watchdog = hop.watchdog.filter(|time| *time > queue.time && *time <= driver.time);
        if let Some(time) = watchdog {
            parts.until(time, Cause::Watchdog);
            queue.time = time;
        }
        if watchdog.is_none() && self.same_call(queue, driver) {
            self.between(driver.time, driver, &Cause::Qdisc, parts);
        } else {
            self.queued(queue, driver, parts);
        }
        if self.timeline.sees_mac {
            let mac = hop.mac?;
            self.between(mac.queued, driver, &Cause::Driver, parts);
            parts.until(mac.earliest, Cause::Launch);
            parts.until(mac.head, Cause::Behind);
            parts.until(mac.start, Cause::Mac(mac.why));
        }
        Some(())
    }

    /// From the first qdisc to the last stack.
    fn received(&self, hops: &[Hop], parts: &mut Parts) -> Option<()> {
        for (at, hop) in hops.iter().enumerate() {
            if let Some(queue) = hop.queue.filter(|_| at > 0) {
                self.between(queue.time, queue, &Cause::Bridge, parts);
            }
            self.sent(hop, parts)?;
            let delivered = hop.delivered?;
            if self.timeline.sees_mac {
                parts.until(hop.arrival?, Cause::Wire);
                self.between(delivered.time, delivered, &Cause::Receive, parts);
            } else {
                parts.until(delivered.time, Cause::Away);
            }
        }
        Some(())
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
            Some(Layer::Spin(_)) => "spins for a lock".to_owned(),
        })
    }

    /// Whether the call that gave a frame to its qdisc gave it to the driver, too. Who waited for a timer
    /// meanwhile has made another call, and a softirq has ended if its thread itself ran.
    fn same_call(&self, queue: Passage, driver: Passage) -> bool {
        let segments = self.segments(queue.cpu);
        let first = segments.partition_point(|segment| segment.end <= queue.time);
        let mut between = segments[first..].iter().take_while(|one| one.start < driver.time);
        (queue.pid, queue.layer) == (driver.pid, driver.layer)
            && self.wake(driver).is_none_or(|wake| wake.time <= queue.time)
            && (queue.layer.is_none()
                || between.all(|segment| segment.pid != queue.pid || segment.layer.is_some()))
    }

    /// From the qdisc to the driver, in another context.
    fn queued(&self, queue: Passage, driver: Passage, parts: &mut Parts) {
        let releases = list(&self.timeline.releases, &driver.cpu);
        let before = releases.partition_point(|release| release.time <= driver.time);
        let release = releases[..before].last().filter(|release| release.time > queue.time);
        let schedules = list(&self.timeline.schedules, &driver.cpu);
        let before = schedules.partition_point(|time| *time <= driver.time);
        let mut schedules =
            schedules[..before].iter().rev().copied().take_while(|time| *time > queue.time);
        let (last, before_last) = (schedules.next(), schedules.next());
        // The timer's own function schedules the qdisc.
        if let Some(release) = release.filter(|one| before_last.is_none_or(|at| at < one.time)) {
            parts.until(release.expiry.max(queue.time), Cause::Held);
            self.between(driver.time, driver, &Cause::Release, parts);
            return;
        }
        let until = last.unwrap_or(driver.time);
        let segment = self.at(driver.cpu, until);
        let mut context = segment.map_or("an unknown thread".to_owned(), |one| self.in_thread(one));
        if let Some(function) = segment.and_then(|one| self.work(one.pid, queue.time, until)) {
            let _ = write!(context, ", in {function} before,");
        }
        parts.until(until, Cause::Queued(context));
        self.between(driver.time, driver, &Cause::Release, parts);
    }

    fn segments(&self, cpu: u16) -> &[Segment] {
        self.timeline.cpus.get(usize::from(cpu)).map_or(&[], Vec::as_slice)
    }

    /// What a processor did just before then; `None` if it was not recorded.
    fn at(&self, cpu: u16, time: Ps) -> Option<&Segment> {
        let segments = self.segments(cpu);
        let at = segments.partition_point(|segment| segment.end < time);
        segments.get(at).filter(|segment| segment.start < time)
    }

    /// Who ended a wait.
    fn waker(&self, block: &Block) -> String {
        let Passage { time, pid, layer, .. } = block.waker;
        self.in_thread(&Segment { start: time, end: time, pid, layer })
    }

    /// What a processor did, in words that also say in which thread.
    fn in_thread(&self, segment: &Segment) -> String {
        match segment.layer {
            Some(Layer::Softirq(id)) => format!("softirq {}", self.softirq_in(id, segment.pid)),
            _ => self.context(segment).unwrap_or_else(|| self.thread(segment.pid)),
        }
    }

    /// The last timer that woke the sender before it sent.
    fn wake(&self, sent: Passage) -> Option<TimerWake> {
        let wakes = list(&self.timeline.timer_wakes, &sent.pid);
        let before = wakes.partition_point(|wake| wake.time <= sent.time);
        wakes[..before].last().copied()
    }

    /// Since when a thread has waited for the timer that has expired: whoever runs does not.
    fn waits_since(&self, wake: TimerWake, pid: u32) -> Ps {
        let last = |segments: &Vec<Segment>| {
            let before = segments.partition_point(|segment| segment.start < wake.time);
            let late = segments[..before].iter().rev().take_while(|one| one.end > wake.expiry);
            let mut own = late.filter(|segment| segment.pid == pid && segment.layer.is_none());
            own.next().map(|segment| segment.end)
        };
        self.timeline.cpus.iter().filter_map(last).max().unwrap_or(wake.expiry)
    }

    /// Where and when a thread ran that was seen before, from then on.
    fn runs(&self, seen: Passage, since: Ps) -> Option<Passage> {
        let mut first: Option<Passage> = None;
        // First where it most likely runs, so that the other processors' segments are bounded.
        let cpus = (0..).take(self.timeline.cpus.len()).filter(|cpu| *cpu != seen.cpu);
        for cpu in [seen.cpu].into_iter().chain(cpus) {
            let segments = self.segments(cpu);
            let from = segments.partition_point(|segment| segment.end <= since);
            let mut rest = segments[from..]
                .iter()
                .take_while(|segment| first.is_none_or(|first| segment.start < first.time));
            let is_own = |segment: &&Segment| segment.pid == seen.pid && segment.layer.is_none();
            if let Some(segment) = rest.find(is_own) {
                let time = segment.start.max(since);
                first = Some(Passage { time, cpu, pid: seen.pid, layer: None });
            }
        }
        first
    }

    /// From the expiry to the wake-up.
    fn until_woken(&self, wake: TimerWake, sender: u32, parts: &mut Parts) {
        let expired = parts.at;
        let interruptions = self.timeline.interruptions.get(usize::from(wake.cpu));
        let interruptions = interruptions.map_or(&[][..], Vec::as_slice);
        let before = interruptions.partition_point(|one| one.time <= wake.time);
        let in_softirq = matches!(
            self.at(wake.cpu, wake.time),
            Some(Segment { layer: Some(Layer::Softirq(_)), .. })
        );
        // The interrupt that serves the timer: the last one before the wake-up, unless a softirq serves
        // it. It may have begun before the timer expired.
        let served = interruptions[..before].last().filter(|_| !in_softirq);
        if let Some(served) = served.filter(|served| served.time > expired) {
            let late = served.time - expired >= self.timeline.interrupt_entry;
            self.on(wake.cpu, served.time, parts, |segment, _| match segment.layer {
                Some(Layer::Interrupt(id)) => Cause::Interrupt(self.name(id).to_owned()),
                None if segment.pid == 0 => Cause::InterruptEntry,
                _ if !late => Cause::InterruptEntryBusy,
                _ => {
                    let thread = self.in_thread(segment);
                    Cause::Pending { function: self.enabled_at(served), thread }
                }
            });
        }
        self.on(wake.cpu, wake.time, parts, |segment, until| match segment.layer {
            Some(Layer::Interrupt(_)) if until == wake.time => Cause::TimerInterrupt,
            None if segment.pid == 0 => Cause::InterruptEntry,
            None if segment.pid == sender => Cause::Earlier,
            _ => self.other(segment),
        });
    }

    /// Divides the time up to `to` by what delayed the thread of a passage; `own` is what it did itself.
    fn between(&self, to: Ps, sent: Passage, own: &Cause, parts: &mut Parts) {
        let waits = list(&self.timeline.lock_waits, &sent.pid);
        let first = waits.partition_point(|wait| wait.end <= parts.at);
        // Who waits for a lock may run meanwhile, and spin.
        for wait in waits[first..].iter().take_while(|wait| wait.start < to) {
            self.unlocked(wait.start.max(parts.at), sent, own, parts);
            let end = wait.end.min(to);
            parts.until(end, Cause::Lock(self.lock(wait, parts.at, end)));
        }
        self.unlocked(to, sent, own, parts);
    }

    /// The same of a time in which the thread waits for no lock that sleeps.
    fn unlocked(&self, to: Ps, sent: Passage, own: &Cause, parts: &mut Parts) {
        // Other causes are of a processor; or the thread waits for its frame, whose way that is.
        if matches!(own, Cause::Earlier | Cause::Sender | Cause::Qdisc) && sent.layer.is_none() {
            let blocks = list(&self.timeline.blocks, &sent.pid);
            let first = blocks.partition_point(|block| block.end <= parts.at);
            for block in blocks[first..].iter().take_while(|block| block.start < to) {
                self.runnable(block.start.max(parts.at), sent, own, parts);
                parts.until(block.end.min(to), Cause::Blocked(Some(self.waker(block))));
            }
        }
        self.runnable(to, sent, own, parts);
    }

    /// The same of a time in which the thread could run, as far as is known.
    fn runnable(&self, to: Ps, sent: Passage, own: &Cause, parts: &mut Parts) {
        let context = (sent.pid, sent.layer);
        let cause = |segment: &Segment, _| match segment.layer {
            layer if *own == Cause::Driver && (segment.pid, layer) == context => own.clone(),
            None if segment.pid == 0 => match own {
                Cause::Switch | Cause::Release => own.clone(),
                Cause::Receive | Cause::Bridge | Cause::Responder | Cause::Requester => Cause::Idle,
                _ => Cause::Blocked(None),
            },
            // Whoever runs while a softirq is pending delays it, also the thread that serves it then.
            None if segment.pid == sent.pid && *own != Cause::Release => own.clone(),
            Some(Layer::Softirq(id)) if segment.pid == sent.pid => {
                Cause::Softirq(self.name(id).to_owned())
            }
            _ => self.other(segment),
        };
        // These are of a processor, and of whichever thread it has.
        if !matches!(own, Cause::Release | Cause::Receive | Cause::Bridge) {
            for (until, cpu) in self.stays(sent.pid, parts.at, to) {
                self.on(cpu, until, parts, cause);
            }
        }
        self.on(sent.cpu, to, parts, cause);
    }

    /// Where a thread ran, and until when. Before, it waited for that processor.
    fn stays(&self, pid: u32, from: Ps, to: Ps) -> Vec<(Ps, u16)> {
        let mut stays: Vec<(Ps, Ps, u16)> = Vec::new();
        // Each processor has an idle thread, with the same number.
        for (cpu, segments) in (0_u16..).zip(&self.timeline.cpus).filter(|_| pid != 0) {
            let first = segments.partition_point(|segment| segment.end <= from);
            let within = segments[first..].iter().take_while(|segment| segment.start < to);
            let own = within.filter(|segment| segment.pid == pid);
            stays.extend(own.map(|segment| (segment.start, segment.end.min(to), cpu)));
        }
        stays.sort_unstable();
        // Where switches are not traced, it may seem to run on two: it has left the one before.
        let next = stays.iter().skip(1).map(|(start, _, _)| *start).chain([to]);
        stays.iter().zip(next).map(|((_, end, cpu), next)| ((*end).min(next), *cpu)).collect()
    }

    /// Divides the time up to `to` by what a processor did; `cause` gets the end of the part of a segment that counts.
    fn on(&self, cpu: u16, to: Ps, parts: &mut Parts, cause: impl Fn(&Segment, Ps) -> Cause) {
        let segments = self.segments(cpu);
        let first = segments.partition_point(|segment| segment.end <= parts.at);
        for segment in segments[first..].iter().take_while(|segment| segment.start < to) {
            parts.until(segment.start.max(parts.at), Cause::Unknown);
            let end = segment.end.min(to).max(parts.at);
            parts.until(end, cause(segment, end));
        }
        parts.until(to, Cause::Unknown);
    }

    /// What a processor did, as a cause of somebody else's delay.
    fn other(&self, segment: &Segment) -> Cause {
        match segment.layer {
            None => Cause::Thread(self.thread(segment.pid)),
            Some(Layer::Interrupt(id)) => Cause::Interrupt(self.name(id).to_owned()),
            Some(Layer::Softirq(id)) => Cause::Softirq(self.softirq_in(id, segment.pid)),
            Some(Layer::Spin(index)) => {
                let stack = self.timeline.spins.get(index as usize);
                Cause::Spin(self.lock_name(stack.map_or(&[], Vec::as_slice)))
            }
        }
    }

    fn lock(&self, wait: &LockWait, start: Ps, end: Ps) -> String {
        let owner = wait.owner.map_or("an unknown thread".to_owned(), |pid| self.thread(pid));
        let work = wait.owner.and_then(|pid| self.work(pid, start, end));
        let work = work.map_or_else(String::new, |function| format!(" in {function}"));
        format!("{}, held by {owner}{work}", self.lock_name(&wait.stack))
    }

    /// The function that a thread was in for at least half of the time.
    fn work(&self, pid: u32, start: Ps, end: Ps) -> Option<&str> {
        let time_in = |works: &[Work]| -> Ps {
            let from = works.partition_point(|work| work.end <= start);
            let within = works[from..].iter().take_while(|work| work.start < end);
            within.map(|work| work.end.min(end) - work.start.max(start)).sum()
        };
        let own = self.timeline.works.range((pid, 0)..=(pid, u16::MAX));
        let times = own.map(|((_, function), works)| (*function, time_in(works)));
        let (function, most) = times.max_by_key(|(_, time)| *time)?;
        (most > 0 && most * 2 >= end - start).then(|| self.name(function))
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

/// What a map has of a key, if anything.
fn list<'a, K: Eq + Hash, V>(map: &'a HashMap<K, Vec<V>>, key: &K) -> &'a [V] {
    map.get(key).map_or(&[], Vec::as_slice)
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

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
