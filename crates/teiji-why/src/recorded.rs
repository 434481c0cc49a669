//! A timeline from what the laboratory's recorder has seen.

use std::collections::{BTreeMap, HashMap};

use teiji_core::wire::{self, Echo, Probe};

use crate::Symbols;
use crate::blocks::Blocks;
use crate::hooks::{self, CALLERS, Hook, PACKET, Point, STACK};
use crate::processors::Processors;
use crate::stream::{self, Event, Ps, What};
use crate::tasks::Tasks;
use crate::timeline::{
    FrameKey, Hop, Interruption, Kind, Layer, LockWait, MacWait, Passage, Release, Task, Timeline,
    TimerWake, Work,
};
use crate::wire_clock::WireClock;

/// Makes a timeline.
pub struct Builder<'a> {
    hooks: &'a [Hook],
    made: Timeline,
    processors: Processors,
    blocks: Blocks,
    tasks: Tasks,
    /// Of each processor, `CLOCK_MONOTONIC` in nanoseconds when its timers were served last, and when
    /// that was.
    timers: HashMap<u16, (i64, Ps)>,
    task_at: HashMap<u64, u32>,
    waits: HashMap<u32, LockWait>,
    works: HashMap<(u32, u16), Ps>,
    /// Frames that the driver is being given, by processor and task.
    calls: HashMap<(u16, u32), (Queue, Option<FrameOfHop>)>,
    /// What the MAC has got of them, by device and queue, in order.
    handed: BTreeMap<Queue, Vec<Handed>>,
    /// When the kernel's watchdog had queues reset, in order.
    watchdogs: HashMap<Queue, Vec<Ps>>,
    wire_clock: WireClock,
    /// In the time of the wire.
    departures: Vec<Departure>,
    arrivals: Vec<(FrameOfHop, Ps)>,
}

/// A device, and the number of its queue.
type Queue = (u64, u16);

/// One of Teiji's frames, and the number of its hop.
type FrameOfHop = (FrameKey, usize);

/// A frame that a MAC got.
struct Handed {
    /// In the time of the wire: no other frame of the queue has the same.
    queued: Ps,
    /// `None` for one of somebody else's.
    hop: Option<FrameOfHop>,
}

/// A frame left the queue of a MAC.
struct Departure {
    port: u64,
    queue: u16,
    wait: MacWait,
    /// When it did so, in the time of the trace: the MAC's times may be long past.
    seen: Ps,
}

/// Longest time that the emulated processor takes to the end of a block of instructions.
const BLOCK: Ps = 200_000;

/// A device's private data begins less than that behind it.
const NET_DEVICE: u64 = 4096;

impl<'a> Builder<'a> {
    /// For events of these hooks, of a kernel with these functions.
    pub fn new(hooks: &'a [Hook], symbols: &Symbols) -> Self {
        let prefixes = ["asm_sysvec_", "asm_exc_", "asm_"];
        let name = |hook: &Hook| {
            let short = prefixes.iter().find_map(|prefix| hook.name.strip_prefix(prefix));
            short.unwrap_or(&hook.name).to_owned()
        };
        let made = Timeline {
            names: hooks.iter().map(name).collect(),
            interrupt_entry: BLOCK,
            sees_mac: true,
            unseen: hooks::unseen(hooks, symbols),
            ..Timeline::default()
        };
        Self {
            hooks,
            made,
            processors: Processors::default(),
            blocks: Blocks::default(),
            tasks: Tasks::default(),
            timers: HashMap::new(),
            task_at: HashMap::new(),
            waits: HashMap::new(),
            works: HashMap::new(),
            calls: HashMap::new(),
            handed: BTreeMap::new(),
            watchdogs: HashMap::new(),
            wire_clock: WireClock::default(),
            departures: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// Takes the next event.
    pub fn add(&mut self, event: &Event) {
        self.processors.see(event.cpu, event.time, 0);
        match &event.what {
            What::Entry(id, values) => self.entry(event, *id, &mut Values(values)),
            What::Exit(id, _) => self.exit(event, *id),
            // A return from a system call ends no interrupt.
            What::Return => {
                self.pop(event, |layer| matches!(layer, Layer::Interrupt(_)));
            }
            What::Halt => self.processors.close(event.cpu, event.time),
        }
    }

    /// All that was added.
    pub fn finish(mut self) -> Timeline {
        // Of each queue of a MAC, the start of the frame before.
        let mut before: HashMap<Queue, Ps> = HashMap::new();
        for Departure { port, queue, wait, seen } in std::mem::take(&mut self.departures) {
            let times = [wait.queued, wait.earliest, wait.start];
            let [Some(queued), Some(earliest), Some(start)] =
                times.map(|time| self.wire_clock.trace_time(time))
            else {
                continue;
            };
            let Some((of, hop)) = self.handed(port, queue, wait.queued) else { continue };
            // A frame that is dropped leaves the queue as if it had never waited.
            if start == queued && self.reset(of, queued, seen).is_some() {
                continue;
            }
            let before = before.insert(of, start).unwrap_or(earliest);
            let head = before.clamp(earliest, start.max(earliest));
            if let Some(hop) = hop.and_then(|(key, at)| self.hop(key, at)) {
                hop.mac.get_or_insert(MacWait { queued, earliest, head, start, ..wait });
            }
        }
        for ((key, at), arrival) in self.arrivals {
            let hops = self.made.frames.get_mut(&key);
            if let Some(hop) = hops.and_then(|hops| hops.get_mut(at)) {
                hop.arrival = hop.arrival.or(self.wire_clock.trace_time(arrival));
            }
        }
        self.made.cpus = self.processors.finish();
        self.made.tasks = self.tasks.finish();
        self.made.blocks = self.blocks.finish();
        self.made
    }

    fn pid(&self, event: &Event) -> u32 {
        self.processors.pid(event.cpu)
    }

    fn push(&mut self, event: &Event, layer: Layer) {
        self.processors.push(event.cpu, event.time, layer);
    }

    fn pop(&mut self, event: &Event, ended: impl Fn(&Layer) -> bool) {
        self.processors.pop(event.cpu, event.time, ended);
    }

    fn entry(&mut self, event: &Event, id: u16, values: &mut Values<'_>) {
        let Some(hook) = self.hooks.get(usize::from(id)) else { return };
        match hook.point {
            Point::Switch => self.switch(event, values),
            Point::Wake => {
                let task = values.task();
                self.see(&task);
                let passage = self.passage(event);
                self.blocks.wake(task.pid, passage);
                // Who releases a lock wakes the first that waits for it.
                if let Some(wait) = self.waits.get_mut(&task.pid) {
                    wait.owner.get_or_insert(passage.pid);
                }
            }
            Point::Interrupt => {
                self.interruption(event, hook.name.as_str(), values);
                self.push(event, Layer::Interrupt(id));
            }
            Point::Softirq => self.push(event, Layer::Softirq(id)),
            Point::Timers => {
                let now = values.signed();
                self.timers.insert(event.cpu, (now, event.clock_read));
            }
            Point::Sleeper => self.sleeper(event, values),
            Point::Release => {
                let (time, cpu) = (event.time, event.cpu);
                if let Some((expiry, _)) = self.expiry(event, None, values) {
                    self.made.releases.entry(cpu).or_default().push(Release { expiry, time });
                }
            }
            Point::Schedule => self.made.schedules.entry(event.cpu).or_default().push(event.time),
            Point::Queue => {
                let (key, passage) = (probe(values.bytes(PACKET)), self.passage(event));
                if let Some(key) = key {
                    let hops = self.made.frames.entry(key).or_default();
                    // A device above another, as for VLANs, is of the same hop.
                    if hops.last().is_none_or(|hop| hop.driver.is_some()) {
                        hops.push(Hop { queue: Some(passage), ..Hop::default() });
                    }
                }
            }
            Point::Driver => {
                let (key, passage) = (probe(values.bytes(PACKET)), self.passage(event));
                let queue = (values.word(), values.half());
                let hop = key.and_then(|key| self.last_hop(key));
                self.calls.insert((event.cpu, self.pid(event)), (queue, hop));
                let Some((key, at)) = hop else { return };
                let queued = self.hop(key, at).and_then(|hop| hop.queue);
                let watchdog = queued.and_then(|queued| self.reset(queue, queued.time, event.time));
                if let Some(hop) = self.hop(key, at).filter(|hop| hop.driver.is_none()) {
                    hop.driver = Some(passage);
                    hop.watchdog = watchdog;
                }
            }
            Point::Watchdog => {
                let queue = (values.word(), values.half());
                self.watchdogs.entry(queue).or_default().push(event.time);
            }
            Point::Deliver => {
                let (key, passage) = (probe(values.bytes(PACKET)), self.passage(event));
                let arrival = values.time();
                if let Some((key, at)) = key.and_then(|key| self.last_hop(key)) {
                    self.arrivals.push(((key, at), arrival));
                    if let Some(hop) = self.hop(key, at) {
                        hop.delivered.get_or_insert(passage);
                    }
                }
            }
            Point::WireChanged => {
                let now = values.time();
                self.wire_clock.add(now, event.clock_read);
                if let Some((queue, hop)) = self.calls.remove(&(event.cpu, self.pid(event))) {
                    self.handed.entry(queue).or_default().push(Handed { queued: now, hop });
                }
            }
            Point::Wire => self.wire(event, values),
            Point::Spin => {
                let layer = self.made.spin(values.words(CALLERS / 8));
                self.push(event, layer);
            }
            Point::Work => {
                self.works.insert((self.pid(event), id), event.time);
            }
            Point::Lock => {
                // The lowest bits say whether others wait. Nobody has a lock that was released to a waiter.
                let owner = values.word() & !7;
                let (pid, stack) = (self.pid(event), values.words(CALLERS / 8));
                let owner = self.task_at.get(&owner).copied();
                let wait = LockWait { start: event.time, end: event.time, stack, owner };
                self.waits.entry(pid).or_insert(wait);
            }
        }
    }

    fn exit(&mut self, event: &Event, id: u16) {
        // An exit's hook follows that of the entry, so it is not the first.
        let Some(hook) = self.hooks.get(usize::from(id)) else { return };
        let Some(entry) = id.checked_sub(1) else { return };
        match hook.point {
            Point::Softirq => self.pop(event, |layer| *layer == Layer::Softirq(entry)),
            Point::Spin => self.pop(event, |layer| matches!(layer, Layer::Spin(_))),
            Point::Work => {
                let of = (self.pid(event), entry);
                if let Some(start) = self.works.remove(&of) {
                    self.made.works.entry(of).or_default().push(Work { start, end: event.time });
                }
            }
            Point::Lock => {
                let pid = self.pid(event);
                if let Some(wait) = self.waits.remove(&pid) {
                    let wait = LockWait { end: event.time, ..wait };
                    self.made.lock_waits.entry(pid).or_default().push(wait);
                }
            }
            _ => {}
        }
    }

    fn see(&mut self, task: &Task) {
        self.tasks.see(task.pid, &task.comm, task.prio, self.made.frames.is_empty());
    }

    fn switch(&mut self, event: &Event, values: &mut Values<'_>) {
        let (task, address) = (values.task(), values.word());
        // `TASK_RUNNING` is 0.
        let sleeps = values.int() != 0;
        self.blocks.switch(event.time, self.pid(event), sleeps, task.pid);
        self.task_at.insert(address, task.pid);
        self.processors.switch(event.cpu, event.time, task.pid);
        self.see(&task);
    }

    fn interruption(&mut self, event: &Event, name: &str, values: &mut Values<'_>) {
        let words: Vec<u64> = (0..6).map(|_| values.word()).collect();
        let stacks = [values.words(STACK / 8), values.words(STACK / 8)];
        // What the processor pushes for some exceptions, and a stub for numbered interrupts.
        let pushed = usize::from(name == "asm_common_interrupt" || name.starts_with("asm_exc_"));
        let [none, one] = stacks;
        let stack = if pushed == 0 { none } else { one };
        let at = Some(words[pushed]);
        self.made.interrupted(event.cpu, Interruption { time: event.time, at, stack });
    }

    fn sleeper(&mut self, event: &Event, values: &mut Values<'_>) {
        let task = values.task();
        let softly = Some(values.signed());
        let Some((expiry, slack)) = self.expiry(event, softly, values) else { return };
        let pid = task.pid;
        self.see(&task);
        let wake = TimerWake { expiry, slack, armed: None, time: event.time, cpu: event.cpu };
        self.made.timer_wakes.entry(pid).or_default().push(wake);
    }

    /// When the timer had expired that is served: by its time, the offset of its clock, and the time
    /// at which the processor began to serve timers; and how much later than `softly` that was.
    fn expiry(
        &self,
        event: &Event,
        softly: Option<i64>,
        values: &mut Values<'_>,
    ) -> Option<(Ps, Ps)> {
        let (expires, offset) = (values.signed(), values.signed());
        let (now, read) = *self.timers.get(&event.cpu)?;
        let softly = softly.unwrap_or(expires);
        // In nanoseconds: the offset may be that of 1970.
        let late = now.saturating_sub(softly.saturating_sub(offset));
        let slack = expires.saturating_sub(softly);
        Some((read - stream::picoseconds(late), stream::picoseconds(slack)))
    }

    fn wire(&mut self, event: &Event, values: &mut Values<'_>) {
        let (port, queue) = (values.word(), values.half());
        let _: &[u8] = values.bytes(6);
        let [queued, earliest, start] = [(); 3].map(|()| values.time());
        let why = values.word() & 0xffff_ffff;
        self.departures.push(Departure {
            port,
            queue,
            wait: MacWait { queued, earliest, head: earliest, start, why },
            seen: event.time,
        });
    }

    /// The queue of a port's device, and what the MAC got at that time of the wire.
    fn handed(&self, port: u64, queue: u16, queued: Ps) -> Option<(Queue, Option<FrameOfHop>)> {
        let devices = self.handed.range((port.saturating_sub(NET_DEVICE), 0)..=(port, u16::MAX));
        let (of, frames) = devices.rev().find(|((_, of), _)| *of == queue)?;
        let at = frames.binary_search_by_key(&queued, |frame| frame.queued).ok()?;
        Some((*of, frames[at].hop))
    }

    /// When the kernel's watchdog last had a queue reset between these times.
    fn reset(&self, queue: Queue, from: Ps, to: Ps) -> Option<Ps> {
        let times = self.watchdogs.get(&queue)?;
        let before = times.partition_point(|time| *time <= to);
        times[..before].last().copied().filter(|time| *time > from)
    }

    fn last_hop(&self, key: FrameKey) -> Option<FrameOfHop> {
        Some((key, self.made.frames.get(&key)?.len().checked_sub(1)?))
    }

    fn hop(&mut self, key: FrameKey, at: usize) -> Option<&mut Hop> {
        self.made.frames.get_mut(&key)?.get_mut(at)
    }

    fn passage(&self, event: &Event) -> Passage {
        self.processors.passage(event.cpu, event.time)
    }
}

/// Flow and number of one of Teiji's frames.
fn probe(packet: &[u8]) -> Option<FrameKey> {
    let frame = wire::parse(packet)?;
    let Probe { flow, seq, .. } = frame.probe()?;
    let kind = match Echo::parse(frame.payload) {
        None => Kind::Flow,
        Some(Echo::Request) => Kind::Request,
        Some(Echo::Reply { .. }) => Kind::Reply,
    };
    Some((kind, flow, seq))
}

/// The values of an entry, one after the other; zeros where there are no more.
struct Values<'a>(&'a [u8]);

impl<'a> Values<'a> {
    fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u64 {
        self.bytes(8).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn signed(&mut self) -> i64 {
        self.bytes(8).first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }

    /// Nanoseconds that the kernel has.
    fn time(&mut self) -> Ps {
        stream::picoseconds(self.signed())
    }

    fn int(&mut self) -> i32 {
        self.bytes(4).first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes))
    }

    fn half(&mut self) -> u16 {
        self.bytes(2).first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn words(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.word()).collect()
    }

    fn task(&mut self) -> Task {
        let (pid, prio) = (self.int(), self.int());
        let comm = self.bytes(16);
        let comm = comm.split(|byte| *byte == 0).next().unwrap_or_default();
        Task {
            pid: u32::try_from(pid).unwrap_or(0),
            comm: String::from_utf8_lossy(comm).into_owned(),
            prio,
        }
    }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
