//! A timeline from what the laboratory's recorder has seen.

use std::collections::HashMap;

use teiji_core::wire::{self, Echo, Probe};

use crate::hooks::{CALLERS, Hook, PACKET, Point, STACK};
use crate::processors::Processors;
use crate::stream::{Event, Ps, What};
use crate::tasks::Tasks;
use crate::timeline::{
    FrameKey, Hop, Interruption, Kind, Layer, LockWait, MacWait, Passage, Release, Task, Timeline,
    TimerWake, Work,
};

/// Makes a timeline.
pub struct Builder<'a> {
    hooks: &'a [Hook],
    made: Timeline,
    processors: Processors,
    tasks: Tasks,
    /// Of each processor, `CLOCK_MONOTONIC` in nanoseconds when its timers were served last, and when
    /// that was.
    timers: HashMap<u16, (i64, Ps)>,
    task_at: HashMap<u64, u32>,
    waits: HashMap<u32, LockWait>,
    works: HashMap<(u32, u16), Ps>,
    /// Frames in the queues of ports, by device and queue.
    handed: Vec<Handed>,
    wire_clock: WireClock,
    /// In the time of the wire.
    departures: Vec<(FrameKey, usize, MacWait)>,
    arrivals: Vec<(FrameKey, usize, Ps)>,
}

/// A frame that a driver was given.
struct Handed {
    device: u64,
    queue: u16,
    /// `None` for one of somebody else's.
    hop: Option<(FrameKey, usize)>,
}

/// The clock of the wire, `CLOCK_MONOTONIC_RAW`. The kernel has measured the TSC's frequency, some
/// ppm off: the clocks drift apart, evenly.
#[derive(Default)]
struct WireClock {
    /// Time of the wire and of the trace, at the first reading and at the last.
    ends: Option<[(Ps, Ps); 2]>,
}

impl WireClock {
    fn add(&mut self, wire: Ps, trace: Ps) {
        let [first, _] = self.ends.unwrap_or([(wire, trace); 2]);
        self.ends = Some([first, (wire, trace)]);
    }

    /// `None` if it was never read.
    fn trace_time(&self, wire: Ps) -> Option<Ps> {
        let [(wire0, trace0), (wire1, trace1)] = self.ends?;
        if wire0 == wire1 {
            return Some(trace0 + wire - wire0);
        }
        let passed = i128::from(wire - wire0) * i128::from(trace1 - trace0);
        Some(trace0 + i64::try_from(passed / i128::from(wire1 - wire0)).ok()?)
    }
}

/// Longest time that the emulated processor takes to the end of a block of instructions.
const BLOCK: Ps = 200_000;

/// A device's private data begins less than that behind it.
const NET_DEVICE: u64 = 4096;

impl<'a> Builder<'a> {
    /// For events of these hooks.
    pub fn new(hooks: &'a [Hook]) -> Self {
        let prefixes = ["asm_sysvec_", "asm_exc_", "asm_"];
        let name = |hook: &Hook| {
            let short = prefixes.iter().find_map(|prefix| hook.name.strip_prefix(prefix));
            short.unwrap_or(&hook.name).to_owned()
        };
        let names = hooks.iter().map(name).collect();
        Self {
            hooks,
            made: Timeline { names, interrupt_entry: BLOCK, sees_mac: true, ..Timeline::default() },
            processors: Processors::default(),
            tasks: Tasks::default(),
            timers: HashMap::new(),
            task_at: HashMap::new(),
            waits: HashMap::new(),
            works: HashMap::new(),
            handed: Vec::new(),
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
                let interrupt = |layer: &Layer| matches!(layer, Layer::Interrupt(_));
                self.processors.pop(event.cpu, event.time, interrupt);
            }
            What::Halt => self.processors.close(event.cpu, event.time),
        }
    }

    /// All that was added.
    pub fn finish(mut self) -> Timeline {
        for (key, index, wait) in self.departures {
            let Some(hop) = self.made.frames.get_mut(&key).and_then(|hops| hops.get_mut(index))
            else {
                continue;
            };
            let times = [wait.queued, wait.earliest, wait.start];
            if let [Some(queued), Some(earliest), Some(start)] =
                times.map(|time| self.wire_clock.trace_time(time))
            {
                hop.mac.get_or_insert(MacWait { queued, earliest, start, ..wait });
            }
        }
        for (key, index, arrival) in self.arrivals {
            let hops = self.made.frames.get_mut(&key);
            if let Some(hop) = hops.and_then(|hops| hops.get_mut(index)) {
                hop.arrival = hop.arrival.or(self.wire_clock.trace_time(arrival));
            }
        }
        self.made.cpus = self.processors.finish();
        self.made.tasks = self.tasks.finish();
        self.made
    }

    fn pid(&self, event: &Event) -> u32 {
        self.processors.pid(event.cpu)
    }

    fn push(&mut self, event: &Event, layer: Layer) {
        self.processors.push(event.cpu, event.time, layer);
    }

    fn pop(&mut self, event: &Event, layer: Layer) {
        self.processors.pop(event.cpu, event.time, |one| *one == layer);
    }

    fn entry(&mut self, event: &Event, id: u16, values: &mut Values<'_>) {
        let Some(hook) = self.hooks.get(usize::from(id)) else { return };
        match hook.point {
            Point::Switch => self.switch(event, values),
            Point::Wake => {
                let task = values.task();
                self.tasks.see(task.pid, &task.comm, task.prio);
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
                    self.made.releases.push(Release { expiry, time, cpu });
                }
            }
            Point::Schedule => self.made.schedules.push((event.time, event.cpu)),
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
                let (device, queue) = (values.word(), values.half());
                let hop = key.and_then(|key| self.last_hop(key));
                self.handed.push(Handed { device, queue, hop });
                if let Some(hop) = hop.and_then(|(key, at)| self.hop(key, at)) {
                    hop.driver.get_or_insert(passage);
                }
            }
            Point::Deliver => {
                let (key, passage) = (probe(values.bytes(PACKET)), self.passage(event));
                let arrival = values.signed() * 1000;
                if let Some((key, at)) = key.and_then(|key| self.last_hop(key)) {
                    self.arrivals.push((key, at, arrival));
                    if let Some(hop) = self.hop(key, at) {
                        hop.delivered.get_or_insert(passage);
                    }
                }
            }
            Point::WireClock => self.wire_clock.add(values.signed() * 1000, event.clock_read),
            Point::Wire => self.wire(values),
            Point::Spin => {
                let stack = values.words(CALLERS / 8);
                self.made.spins.push((event.cpu, event.time, stack));
                self.push(event, Layer::Spin);
            }
            Point::Work => {
                self.works.insert((self.pid(event), id), event.time);
            }
            Point::Lock => {
                // The lowest bits say whether others wait.
                let owner = values.word() & !7;
                let (pid, stack) = (self.pid(event), values.words(CALLERS / 8));
                let owner = self.task_at.get(&owner).copied();
                let wait = LockWait { pid, start: event.time, end: event.time, stack, owner };
                self.waits.entry(pid).or_insert(wait);
            }
        }
    }

    fn exit(&mut self, event: &Event, id: u16) {
        // An exit's hook follows that of the entry.
        let Some(hook) = self.hooks.get(usize::from(id)) else { return };
        match hook.point {
            Point::Softirq => self.pop(event, Layer::Softirq(id - 1)),
            Point::Spin => self.pop(event, Layer::Spin),
            Point::Work => {
                let (pid, function) = (self.pid(event), id - 1);
                if let Some(start) = self.works.remove(&(pid, function)) {
                    self.made.works.push(Work { pid, function, start, end: event.time });
                }
            }
            Point::Lock => {
                if let Some(wait) = self.waits.remove(&self.pid(event)) {
                    self.made.lock_waits.push(LockWait { end: event.time, ..wait });
                }
            }
            _ => {}
        }
    }

    fn switch(&mut self, event: &Event, values: &mut Values<'_>) {
        let (task, address) = (values.task(), values.word());
        self.task_at.insert(address, task.pid);
        self.processors.switch(event.cpu, event.time, task.pid);
        self.tasks.see(task.pid, &task.comm, task.prio);
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
        self.tasks.see(pid, &task.comm, task.prio);
        let wake = TimerWake { expiry, slack, armed: None, time: event.time, cpu: event.cpu, pid };
        self.made.timer_wakes.push(wake);
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
        let slack = softly.map_or(0, |softly| expires - softly);
        Some((read - (now - (expires - slack - offset)) * 1000, slack * 1000))
    }

    fn wire(&mut self, values: &mut Values<'_>) {
        let (port, queue) = (values.word(), values.word() & 0xffff);
        let [queued, earliest, start] = [(); 3].map(|()| values.signed() * 1000);
        let why = values.word() & 0xffff_ffff;
        let mine = |one: &Handed| {
            (one.device..one.device + NET_DEVICE).contains(&port) && u64::from(one.queue) == queue
        };
        let Some(at) = self.handed.iter().position(mine) else { return };
        let Handed { hop, .. } = self.handed.remove(at);
        if let Some((key, at)) = hop {
            self.departures.push((key, at, MacWait { queued, earliest, start, why }));
        }
    }

    fn last_hop(&self, key: FrameKey) -> Option<(FrameKey, usize)> {
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

    fn half(&mut self) -> u16 {
        self.bytes(2).first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    fn words(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.word()).collect()
    }

    fn task(&mut self) -> Task {
        let mut number = || self.bytes(4).first_chunk().map_or(0, |b| i32::from_le_bytes(*b));
        let (pid, prio) = (number(), number());
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
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_the_wire_drifts_evenly() {
        let mut clock = WireClock::default();
        assert_eq!(clock.trace_time(5_000), None);
        clock.add(1_000, 3_000);
        assert_eq!(clock.trace_time(5_000), Some(7_000));
        clock.add(500_000, 503_000);
        // 2 ppm.
        clock.add(1_000_001_000, 1_000_005_000);
        assert_eq!(clock.trace_time(500_001_000), Some(500_004_000));
        assert_eq!(clock.trace_time(2_000_001_000), Some(2_000_007_000));
    }
}
