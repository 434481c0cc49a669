//! A timeline from the tracepoints of a running kernel. Frames are known by the thread that sends
//! them, and by the times that it has noted: a tracepoint does not tell what a packet contains.

use std::collections::{BTreeSet, HashMap};

use crate::Symbols;
use crate::blocks::Blocks;
use crate::processors::Processors;
use crate::stream::{Ps, picoseconds};
use crate::tasks::Tasks;
use crate::timeline::{
    FrameKey, Hop, Interruption, Kind, Layer, LockWait, Release, Task, Timeline, TimerWake,
};

/// An interrupt of a real processor takes longer than this only if interrupts were disabled, or if
/// something below the kernel (SMI, hypervisor) has taken the time.
const INTERRUPT_ENTRY: Ps = 5_000_000;

/// Functions at whose beginning an interrupt came in, in a stack that it is part of.
const ENTRIES: &[&str] = &["asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "__irq_svc"];

/// What a tracepoint tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The processor goes on with another thread.
    Switch {
        /// Which.
        next: u32,
        /// The one before could not run on.
        sleeps: bool,
    },
    /// This thread is woken.
    Waking(u32),
    /// An interrupt or softirq begins.
    Begin(Layer),
    /// It ends.
    End(Layer),
    /// A timer is started, for a sleeping thread or a qdisc; times are in ns of its own clock.
    Armed {
        /// Which timer.
        timer: u64,
        /// It may expire from then on,
        softly: i64,
        /// and does so then.
        expires: i64,
    },
    /// A timer has expired that a thread sleeps for: it is woken next.
    Sleeper {
        /// Which timer.
        timer: u64,
    },
    /// A qdisc's timer is served at `now`.
    Release {
        /// Which timer.
        timer: u64,
        /// The time.
        now: i64,
    },
    /// Somebody has a qdisc run by the softirq that transmits.
    Schedule,
    /// The current thread waits for a lock.
    Contended {
        /// Without sleeping.
        spins: bool,
    },
    /// It has the lock.
    Acquired,
    /// A packet comes to the qdisc of a talker's interface.
    Queue(u64),
    /// A packet comes to its driver, for this queue.
    Driver(u64, Queue),
    /// The kernel's watchdog has the driver reset a queue that was stopped for too long.
    Watchdog(Queue),
    /// The stack of who was at the tracepoint before: an index.
    Stack(usize),
}

/// An interface (the index of its name) and the number of its queue.
pub type Queue = (u16, u16);

/// One occurrence.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: Ps,
    cpu: u16,
    /// The current thread.
    pid: u32,
    seen: Seen,
}

/// When a frame was sent, in the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub seq: u64,
    /// The expiry of the timer that the sender slept for.
    pub expiry: Ps,
    /// It ran.
    pub woke: Ps,
    /// Its system call had returned.
    pub handed_over: Ps,
}

/// A thread that sends a flow's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The flow.
    pub flow: u16,
    /// The thread's name.
    pub thread: String,
    /// In order.
    pub sent: Vec<Sent>,
}

/// When a round trip was made, in the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Its number.
    pub seq: u64,
    /// Before the request's send call.
    pub sent: Ps,
    /// The program had the reply.
    pub received: Ps,
}

/// The threads that make round trips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Which.
    pub id: u16,
    /// The requester's name.
    pub requester: String,
    /// The responder's, if it is a thread of this machine.
    pub responder: String,
    /// Those with a reply, one after the other.
    pub rounds: Vec<Round>,
}

/// What is known of the threads whose packets are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Of flows.
    pub senders: Vec<Sender>,
    /// Of round trips.
    pub rounds: Vec<Rounds>,
    /// The numbers of this program's threads. Another one's may have the same names.
    pub own: BTreeSet<u32>,
}

impl Threads {
    fn role(&self, thread: &str) -> Option<Role<'_>> {
        let sender = self.senders.iter().find(|sender| sender.thread == thread);
        let rounds = || {
            self.rounds.iter().find_map(|rounds| match thread {
                _ if thread == rounds.requester => Some(Role::Requester(rounds)),
                _ if thread == rounds.responder => Some(Role::Responder(rounds)),
                _ => None,
            })
        };
        sender.map(Role::Sender).or_else(rounds)
    }
}

/// What a thread is.
#[derive(Clone, Copy)]
enum Role<'a> {
    Sender(&'a Sender),
    Requester(&'a Rounds),
    Responder(&'a Rounds),
}

impl Role<'_> {
    /// The frame that the thread gives to its qdisc at `time`, if it is one of those since `since`.
    fn sends(self, time: Ps, since: Ps) -> Option<FrameKey> {
        match self {
            Self::Sender(sender) => {
                let next = sender.sent.partition_point(|sent| sent.handed_over < time);
                let sent = sender.sent.get(next)?;
                (sent.woke <= time && sent.expiry >= since).then_some((
                    Kind::Flow,
                    sender.flow,
                    sent.seq,
                ))
            }
            Self::Requester(rounds) => Some((Kind::Request, rounds.id, rounds.at(time, since)?)),
            Self::Responder(rounds) => Some((Kind::Reply, rounds.id, rounds.at(time, since)?)),
        }
    }

    /// The last time up to `until` at which the thread itself noted that it ran.
    fn ran(self, until: Ps) -> Option<Ps> {
        match self {
            Self::Sender(sender) => {
                let after = sender.sent.partition_point(|sent| sent.woke <= until);
                sender.sent[..after].last().map(|sent| sent.woke)
            }
            Self::Requester(rounds) => {
                let after = rounds.rounds.partition_point(|round| round.received <= until);
                rounds.rounds[..after].last().map(|round| round.received)
            }
            Self::Responder(_) => None,
        }
    }

    /// The frame that wakes the thread at `time`.
    fn receives(self, time: Ps, since: Ps) -> Option<FrameKey> {
        match self {
            Self::Sender(_) => None,
            Self::Requester(rounds) => Some((Kind::Reply, rounds.id, rounds.at(time, since)?)),
            Self::Responder(rounds) => Some((Kind::Request, rounds.id, rounds.at(time, since)?)),
        }
    }
}

impl Rounds {
    /// The round trip that is made at `time`.
    fn at(&self, time: Ps, since: Ps) -> Option<u64> {
        let next = self.rounds.partition_point(|round| round.received < time);
        let round = self.rounds.get(next)?;
        (round.sent <= time && round.sent >= since).then_some(round.seq)
    }
}

/// Collects occurrences, processor by processor, each in the order of time.
#[derive(Debug, Default)]
pub struct Tracepoints {
    events: Vec<Event>,
    names: HashMap<String, u16>,
    interrupts: HashMap<i32, u16>,
    stacks: Vec<Vec<u64>>,
    tasks: Tasks,
}

impl Tracepoints {
    /// Adds one: when, where, and the thread that was current.
    pub fn add(&mut self, time: Ps, cpu: u16, pid: u32, seen: Seen) {
        self.events.push(Event { time, cpu, pid, seen });
    }

    /// Adds the stack of who was at the tracepoint before.
    pub fn add_stack(&mut self, time: Ps, cpu: u16, pid: u32, callers: Vec<u64>) {
        self.add(time, cpu, pid, Seen::Stack(self.stacks.len()));
        self.stacks.push(callers);
    }

    /// What a thread is called, and its priority: before the first frame, or later.
    pub fn task(&mut self, pid: u32, comm: &str, prio: i32, is_before: bool) {
        self.tasks.see(pid, comm, prio, is_before);
    }

    /// The index of the name of an interrupt or softirq.
    pub fn name(&mut self, name: &str) -> u16 {
        if let Some(index) = self.names.get(name) {
            return *index;
        }
        let index = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        self.names.insert(name.to_owned(), index);
        index
    }

    /// As [`Tracepoints::name`], of an interrupt with a number, whose end does not tell its name.
    pub fn interrupt(&mut self, number: i32, name: &str) -> u16 {
        if let Some(index) = self.interrupts.get(&number) {
            return *index;
        }
        let index = self.name(&format!("{number} ({name})"));
        self.interrupts.insert(number, index);
        index
    }

    /// What the processors did, and the frames of these threads from `since` on: flows' by the timer that
    /// the sender slept for, round trips by the request.
    pub fn timeline(mut self, threads: &Threads, since: Ps, symbols: &Symbols) -> Timeline {
        self.events.sort_by_key(|event| event.time);
        let mut names = vec![String::new(); self.names.len()];
        for (name, index) in self.names {
            if let Some(place) = names.get_mut(usize::from(index)) {
                *place = name;
            }
        }
        let tasks = self.tasks.finish();
        let mut builder = Builder {
            made: Timeline {
                names,
                interrupt_entry: INTERRUPT_ENTRY,
                sees_mac: false,
                ..Timeline::default()
            },
            processors: Processors::default(),
            blocks: Blocks::default(),
            places: HashMap::new(),
            waits: HashMap::new(),
            armed: HashMap::new(),
            packets: HashMap::new(),
            watchdogs: HashMap::new(),
            roles: roles(threads, &tasks),
            stacks: self.stacks,
            since,
            symbols,
        };
        builder.made.tasks = tasks;
        for event in &self.events {
            builder.add(*event);
        }
        builder.made.cpus = builder.processors.finish();
        builder.made.blocks = builder.blocks.finish();
        builder.made
    }
}

/// By name, and where several threads have it, by number: in a container, numbers are others than those
/// of the trace.
fn roles<'a>(threads: &'a Threads, tasks: &HashMap<u32, Task>) -> HashMap<u32, Role<'a>> {
    let is_alone = |name: &str| tasks.values().filter(|task| task.comm == name).count() == 1;
    let own = tasks.values().filter_map(|task| Some((task, threads.role(&task.comm)?)));
    own.filter(|(task, _)| threads.own.contains(&task.pid) || is_alone(&task.comm))
        .map(|(task, role)| (task.pid, role))
        .collect()
}

struct Builder<'a> {
    made: Timeline,
    processors: Processors,
    blocks: Blocks,
    /// What the next event of a processor belongs to.
    places: HashMap<u16, Place>,
    waits: HashMap<u32, LockWait>,
    /// Timers that were started.
    armed: HashMap<u64, Armed>,
    /// By the packet's address.
    packets: HashMap<u64, FrameKey>,
    /// When the kernel's watchdog had queues reset last.
    watchdogs: HashMap<Queue, Ps>,
    roles: HashMap<u32, Role<'a>>,
    stacks: Vec<Vec<u64>>,
    since: Ps,
    symbols: &'a Symbols,
}

/// A timer that was started.
#[derive(Clone, Copy)]
struct Armed {
    at: Ps,
    softly: i64,
    expires: i64,
}

/// The tracepoint that a processor passed last.
#[derive(Clone, Copy)]
enum Place {
    /// A sleeper's timer.
    Sleeper(Option<Armed>),
    /// A lock that sleeps, of this thread.
    Lock(u32),
    /// A spinning lock: its index.
    Spin(usize),
}

impl Builder<'_> {
    fn add(&mut self, event: Event) {
        let Event { time, cpu, pid, seen } = event;
        let seen_before = self.processors.see(cpu, time, pid);
        if self.processors.pid(cpu) != pid {
            // Some kernels do not trace each switch, but each event tells the thread.
            let ran = self.roles.get(&pid).and_then(|role| role.ran(time));
            let since = ran.filter(|ran| *ran > seen_before).unwrap_or(time);
            self.processors.switch(cpu, since, pid);
            self.made.unseen_switches += 1;
        }
        match seen {
            Seen::Switch { next, sleeps } => {
                self.blocks.switch(time, pid, sleeps, next);
                self.processors.switch(cpu, time, next);
            }
            Seen::Waking(woken) => self.waking(event, woken),
            Seen::Begin(layer) => {
                if let Layer::Interrupt(_) = layer {
                    let interruption = Interruption { time, at: None, stack: Vec::new() };
                    self.made.interrupted(cpu, interruption);
                }
                self.processors.push(cpu, time, layer);
            }
            Seen::End(layer) => self.processors.pop(cpu, time, |one| *one == layer),
            Seen::Armed { timer, softly, expires } => {
                self.armed.insert(timer, Armed { at: time, softly, expires });
            }
            Seen::Sleeper { timer } => {
                self.places.insert(cpu, Place::Sleeper(self.armed.remove(&timer)));
            }
            Seen::Release { timer, now } => {
                if let Some(Armed { expires, .. }) = self.armed.remove(&timer) {
                    let expiry = time - picoseconds(now.saturating_sub(expires));
                    self.made.releases.entry(cpu).or_default().push(Release { expiry, time });
                }
            }
            Seen::Schedule => self.made.schedules.entry(cpu).or_default().push(time),
            Seen::Contended { spins: true } => {
                self.places.insert(cpu, Place::Spin(self.made.spins.len()));
                let layer = self.made.spin(Vec::new());
                self.processors.push(cpu, time, layer);
            }
            Seen::Contended { spins: false } => {
                self.places.insert(cpu, Place::Lock(pid));
                let wait = LockWait { start: time, end: time, stack: Vec::new(), owner: None };
                self.waits.entry(pid).or_insert(wait);
            }
            Seen::Acquired => self.acquired(event),
            Seen::Queue(packet) => self.queue(event, packet),
            Seen::Driver(packet, queue) => {
                let Some(key) = self.packets.remove(&packet) else { return };
                let passage = self.processors.passage(cpu, time);
                let watchdog = self.watchdogs.get(&queue).copied();
                let hop = self.made.frames.get_mut(&key).and_then(|hops| hops.last_mut());
                if let Some(hop) = hop.filter(|hop| hop.driver.is_none()) {
                    hop.watchdog = watchdog;
                    hop.driver = Some(passage);
                }
            }
            Seen::Watchdog(queue) => {
                self.watchdogs.insert(queue, time);
            }
            Seen::Stack(index) => self.stack(cpu, index),
        }
    }

    fn waking(&mut self, event: Event, woken: u32) {
        self.blocks.wake(woken, self.processors.passage(event.cpu, event.time));
        // Who releases a lock wakes the first that waits for it.
        if let Some(wait) = self.waits.get_mut(&woken) {
            wait.owner = Some(event.pid);
        }
        let place = self.places.remove(&event.cpu);
        let Some(role) = self.roles.get(&woken) else { return };
        let (time, cpu) = (event.time, event.cpu);
        match (role, place) {
            (Role::Sender(sender), Some(Place::Sleeper(armed))) => {
                let next = sender.sent.partition_point(|sent| sent.woke < time);
                let Some(sent) = sender.sent.get(next).filter(|sent| sent.expiry <= time) else {
                    return;
                };
                let slack = armed
                    .map_or(0, |armed| picoseconds(armed.expires.saturating_sub(armed.softly)));
                let armed = armed.map(|armed| armed.at.max(sent.expiry));
                let wake = TimerWake { expiry: sent.expiry, slack, armed, time, cpu };
                self.made.timer_wakes.entry(woken).or_default().push(wake);
            }
            (role, _) => {
                let Some(key) = role.receives(time, self.since) else { return };
                let passage = self.processors.passage(cpu, time);
                let hops = self.made.frames.entry(key).or_default();
                if hops.is_empty() {
                    hops.push(Hop::default());
                }
                hops[0].delivered = Some(passage);
            }
        }
    }

    fn acquired(&mut self, event: Event) {
        let Event { time, cpu, pid, .. } = event;
        if self.processors.spins(cpu) {
            self.processors.pop(cpu, time, |layer| matches!(layer, Layer::Spin(_)));
        } else if let Some(wait) = self.waits.remove(&pid) {
            let wait = LockWait { end: time, ..wait };
            self.made.lock_waits.entry(pid).or_default().push(wait);
        }
    }

    fn queue(&mut self, event: Event, packet: u64) {
        let Event { time, cpu, pid, .. } = event;
        let Some(role) = self.roles.get(&pid) else { return };
        let Some(key) = role.sends(time, self.since) else { return };
        let passage = self.processors.passage(cpu, time);
        let hops = self.made.frames.entry(key).or_default();
        if hops.is_empty() {
            hops.push(Hop::default());
        }
        if hops[0].queue.is_none() {
            hops[0].queue = Some(passage);
            self.packets.insert(packet, key);
        }
    }

    fn stack(&mut self, cpu: u16, index: usize) {
        let stack = std::mem::take(&mut self.stacks[index]);
        match self.places.get(&cpu) {
            // The thread's waking is still to come.
            Some(Place::Sleeper(_)) => {
                let entered = stack.iter().rposition(|address| {
                    let name = self.symbols.name_of(*address).unwrap_or_default();
                    ENTRIES.iter().any(|entry| name.starts_with(entry))
                });
                let interruptions = self.made.interruptions.get_mut(usize::from(cpu));
                let last = interruptions.and_then(|all| all.last_mut());
                if let (Some(entered), Some(last)) = (entered, last) {
                    // Nothing of the kernel is below it: a program was interrupted.
                    last.at = Some(stack.get(entered + 1).copied().unwrap_or(0));
                    last.stack = stack.get(entered + 2..).unwrap_or_default().to_vec();
                }
            }
            Some(Place::Lock(pid)) => {
                if let Some(wait) = self.waits.get_mut(pid) {
                    wait.stack = stack;
                }
            }
            Some(Place::Spin(index)) => self.made.spins[*index] = stack,
            None => {}
        }
    }
}

#[cfg(test)]
#[path = "tracepoints_tests.rs"]
mod tests;
