//! What each processor did, from the events of its kernel: which thread, interrupt or softirq, and
//! the instants that a frame passes.

use std::collections::HashMap;

use teiji_core::wire::{self, Echo, Probe};

use crate::hooks::{CALLERS, Hook, PACKET, Point, STACK};
use crate::stream::{Event, Ps, What};

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// 0: the idle thread.
    pub pid: u32,
    /// Name.
    pub comm: String,
    /// As the kernel has it: 0 to 98 for SCHED_FIFO 99 to 1, 100 to 139 for nice -20 to 19.
    pub prio: i32,
}

impl Task {
    /// Its policy in words.
    pub fn priority(&self) -> String {
        match self.prio {
            ..=-1 => "deadline".to_owned(),
            0..=98 => format!("FIFO {}", 99 - self.prio),
            prio => format!("nice {}", prio - 120),
        }
    }
}

/// What a processor does on behalf of no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// An interrupt or exception: the index of its hook.
    Interrupt(u16),
    /// A softirq, or softirqs: the index of its hook.
    Softirq(u16),
    /// It spins for a lock.
    Spin,
}

/// A processor did one thing from `start` to `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From then,
    pub start: Ps,
    /// until then.
    pub end: Ps,
    /// The thread that was current.
    pub pid: u32,
    /// What interrupted it.
    pub layer: Option<Layer>,
}

/// An interrupt began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// When.
    pub time: Ps,
    /// The index of its hook.
    pub hook: u16,
    /// The address that was interrupted: interrupts were enabled there.
    pub at: u64,
    /// The interrupted stack's first words.
    pub stack: Vec<u64>,
}

/// A timer has woken a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerWake {
    /// When the timer had expired.
    pub expiry: Ps,
    /// When the task was woken.
    pub time: Ps,
    /// On which processor.
    pub cpu: u8,
    /// The task.
    pub pid: u32,
}

/// The timer of a qdisc's wait was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it had expired.
    pub expiry: Ps,
    /// When it was served.
    pub time: Ps,
    /// On which processor.
    pub cpu: u8,
}

/// What a frame is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A periodic flow.
    Flow,
    /// Round trips: the request.
    Request,
    /// Round trips: the reply.
    Reply,
}

/// Flow and number of a frame.
pub type FrameKey = (Kind, u16, u64);

/// A frame passed a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When.
    pub time: Ps,
    /// On which processor, in which thread.
    pub cpu: u8,
    /// The thread that was current.
    pub pid: u32,
}

/// The places that a frame has passed between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Into the qdisc.
    pub queue: Option<Passage>,
    /// Into the driver.
    pub driver: Option<Passage>,
    /// Through the MAC.
    pub mac: Option<MacWait>,
    /// Its last bit has come to the peer.
    pub arrival: Option<Ps>,
    /// The peer's driver has given it to the stack.
    pub delivered: Option<Passage>,
}

/// A frame's wait in the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacWait {
    /// The MAC had it.
    pub queued: Ps,
    /// The later of that and its launch time.
    pub earliest: Ps,
    /// It began to transmit the frame.
    pub start: Ps,
    /// Why later than the earliest: bits as `VTSN_WAIT_…` in `kernel/vtsn/wire.c`.
    pub why: u64,
}

/// A thread waited for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// Who.
    pub pid: u32,
    /// From then,
    pub start: Ps,
    /// until then.
    pub end: Ps,
    /// Its stack's first words, in which the function is that took it.
    pub stack: Vec<u64>,
    /// Who had it; `None` if it is not known.
    pub owner: Option<u32>,
}

/// What happened on all processors.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Of each processor, in order, without gaps.
    pub cpus: Vec<Vec<Segment>>,
    /// Of each processor, in order.
    pub interruptions: Vec<Vec<Interruption>>,
    /// In order.
    pub timer_wakes: Vec<TimerWake>,
    /// In order.
    pub releases: Vec<Release>,
    /// By flow and number.
    pub frames: HashMap<FrameKey, Vec<Hop>>,
    /// For locks that sleep, in the order of their ends.
    pub lock_waits: Vec<LockWait>,
    /// Where processors spun for a lock, in order: processor, since when, and the stack's first words.
    pub spins: Vec<(u8, Ps, Vec<u64>)>,
    /// By process number; as seen last.
    pub tasks: HashMap<u32, Task>,
}

/// Makes a timeline.
pub struct Builder<'a> {
    hooks: &'a [Hook],
    made: Timeline,
    processors: Vec<Processor>,
    /// What interrupted a thread, which may have been exchanged meanwhile.
    layers: HashMap<Stack, Vec<Layer>>,
    task_at: HashMap<u64, u32>,
    waits: HashMap<u32, LockWait>,
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

/// Whose stack: a thread's, or a processor's idle one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Stack {
    Thread(u32),
    Idle(u8),
}

#[derive(Clone, Default)]
struct Processor {
    pid: u32,
    since: Ps,
    /// `CLOCK_MONOTONIC` in nanoseconds when its timers were served last, and when that was.
    timers: Option<(i64, Ps)>,
}

/// A device's private data begins less than that behind it.
const NET_DEVICE: u64 = 4096;

impl<'a> Builder<'a> {
    /// For events of these hooks.
    pub fn new(hooks: &'a [Hook]) -> Self {
        Self {
            hooks,
            made: Timeline::default(),
            processors: Vec::new(),
            layers: HashMap::new(),
            task_at: HashMap::new(),
            waits: HashMap::new(),
            handed: Vec::new(),
            wire_clock: WireClock::default(),
            departures: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// Takes the next event.
    pub fn add(&mut self, event: &Event) {
        let cpu = usize::from(event.cpu);
        while self.processors.len() <= cpu {
            self.processors.push(Processor { since: event.time, ..Processor::default() });
            self.made.cpus.push(Vec::new());
            self.made.interruptions.push(Vec::new());
        }
        match &event.what {
            What::Entry(id, values) => self.entry(event, *id, &mut Values(values)),
            What::Exit(id, _) => self.exit(event, *id),
            What::Return => {
                self.close(event);
                if let Some(layers) = self.layers.get_mut(&self.stack(event)) {
                    // A return from a system call ends no interrupt.
                    if let Some(at) = layers.iter().rposition(|l| matches!(l, Layer::Interrupt(_)))
                    {
                        layers.truncate(at);
                    }
                }
            }
            What::Halt => self.close(event),
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
        self.made
    }

    /// Ends what the processor did up to now.
    fn close(&mut self, event: &Event) {
        let stack = self.stack(event);
        let processor = &mut self.processors[usize::from(event.cpu)];
        let layer = self.layers.get(&stack).and_then(|layers| layers.last()).copied();
        let segments = &mut self.made.cpus[usize::from(event.cpu)];
        let (pid, start) = (processor.pid, processor.since);
        processor.since = event.time;
        if start >= event.time {
            return;
        }
        match segments.last_mut() {
            Some(last) if (last.pid, last.layer) == (pid, layer) => last.end = event.time,
            _ => segments.push(Segment { start, end: event.time, pid, layer }),
        }
    }

    fn pid(&self, event: &Event) -> u32 {
        self.processors[usize::from(event.cpu)].pid
    }

    fn stack(&self, event: &Event) -> Stack {
        match self.pid(event) {
            0 => Stack::Idle(event.cpu),
            pid => Stack::Thread(pid),
        }
    }

    fn push(&mut self, event: &Event, layer: Layer) {
        self.close(event);
        self.layers.entry(self.stack(event)).or_default().push(layer);
    }

    /// Ends a layer, and all within it.
    fn pop(&mut self, event: &Event, layer: Layer) {
        self.close(event);
        let Some(layers) = self.layers.get_mut(&self.stack(event)) else { return };
        if let Some(at) = layers.iter().rposition(|one| *one == layer) {
            layers.truncate(at);
        }
    }

    fn entry(&mut self, event: &Event, id: u16, values: &mut Values<'_>) {
        let Some(hook) = self.hooks.get(usize::from(id)) else { return };
        match hook.point {
            Point::Switch => self.switch(event, values),
            Point::Wake => {
                let task = values.task();
                self.made.tasks.insert(task.pid, task);
            }
            Point::Interrupt => {
                self.interruption(event, id, hook.name.as_str(), values);
                self.push(event, Layer::Interrupt(id));
            }
            Point::Softirq => self.push(event, Layer::Softirq(id)),
            Point::Timers => {
                let now = values.signed();
                self.processors[usize::from(event.cpu)].timers = Some((now, event.clock_read));
            }
            Point::Sleeper => self.sleeper(event, values),
            Point::Release => {
                let (time, cpu) = (event.time, event.cpu);
                if let Some(expiry) = self.expiry(event, values) {
                    self.made.releases.push(Release { expiry, time, cpu });
                }
            }
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
            Point::Lock => {
                if let Some(wait) = self.waits.remove(&self.pid(event)) {
                    self.made.lock_waits.push(LockWait { end: event.time, ..wait });
                }
            }
            _ => {}
        }
    }

    fn switch(&mut self, event: &Event, values: &mut Values<'_>) {
        self.close(event);
        let (task, address) = (values.task(), values.word());
        self.task_at.insert(address, task.pid);
        self.processors[usize::from(event.cpu)].pid = task.pid;
        self.made.tasks.insert(task.pid, task);
    }

    fn interruption(&mut self, event: &Event, hook: u16, name: &str, values: &mut Values<'_>) {
        let words: Vec<u64> = (0..6).map(|_| values.word()).collect();
        let stacks = [values.words(STACK / 8), values.words(STACK / 8)];
        // What the processor pushes for some exceptions, and a stub for numbered interrupts.
        let pushed = usize::from(name == "asm_common_interrupt" || name.starts_with("asm_exc_"));
        let [none, one] = stacks;
        let stack = if pushed == 0 { none } else { one };
        let interruption = Interruption { time: event.time, hook, at: words[pushed], stack };
        self.made.interruptions[usize::from(event.cpu)].push(interruption);
    }

    fn sleeper(&mut self, event: &Event, values: &mut Values<'_>) {
        let task = values.task();
        let Some(expiry) = self.expiry(event, values) else { return };
        let pid = task.pid;
        self.made.tasks.insert(pid, task);
        let wake = TimerWake { expiry, time: event.time, cpu: event.cpu, pid };
        self.made.timer_wakes.push(wake);
    }

    /// When the timer had expired that is served: by its time, the offset of its clock, and the time
    /// at which the processor began to serve timers.
    fn expiry(&self, event: &Event, values: &mut Values<'_>) -> Option<Ps> {
        let (expires, offset) = (values.signed(), values.signed());
        let (now, read) = self.processors[usize::from(event.cpu)].timers?;
        Some(read - (now - (expires - offset)) * 1000)
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
        Passage { time: event.time, cpu: event.cpu, pid: self.pid(event) }
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
