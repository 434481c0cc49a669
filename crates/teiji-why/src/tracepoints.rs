//! A timeline from the tracepoints of a running kernel. Frames are known by the thread that sends
//! them, and by the times that it has noted: a tracepoint does not tell what a packet contains.

use std::collections::{BTreeSet, HashMap};

use crate::Symbols;
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
    /// The processor goes on with this thread.
    Switch(u32),
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
    /// A packet comes to its driver.
    Driver(u64),
    /// The stack of who was at the tracepoint before: an index.
    Stack(usize),
}

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

    /// What a thread is called, and its priority.
    pub fn task(&mut self, pid: u32, comm: &str, prio: i32) {
        self.tasks.see(pid, comm, prio);
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
            places: HashMap::new(),
            waits: HashMap::new(),
            armed: HashMap::new(),
            packets: HashMap::new(),
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
    /// What the next event of a processor belongs to.
    places: HashMap<u16, Place>,
    waits: HashMap<u32, LockWait>,
    /// Timers that were started.
    armed: HashMap<u64, Armed>,
    /// By the packet's address.
    packets: HashMap<u64, FrameKey>,
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
            Seen::Switch(next) => self.processors.switch(cpu, time, next),
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
            Seen::Driver(packet) => {
                let Some(key) = self.packets.remove(&packet) else { return };
                let passage = self.processors.passage(cpu, time);
                if let Some(hop) = self.made.frames.get_mut(&key).and_then(|hops| hops.last_mut()) {
                    hop.driver.get_or_insert(passage);
                }
            }
            Seen::Stack(index) => self.stack(cpu, index),
        }
    }

    fn waking(&mut self, event: Event, woken: u32) {
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
                let armed = armed.map(|armed| armed.at).filter(|at| *at > sent.expiry);
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
mod tests {
    use super::*;
    use crate::path::{Cause, Finder, Path};

    /// In microseconds.
    const US: Ps = 1_000_000;

    const KALLSYMS: &str = "\
ffffffff81000000 T local_irq_enable
ffffffff81000010 T busy_function
ffffffff81000020 T hrtimer_interrupt
ffffffff81000030 T asm_sysvec_apic_timer_interrupt
ffffffff81000040 T rt_spin_lock
ffffffff81000050 T __local_bh_disable_ip
ffffffff81000060 T _etext
";

    /// A frame that should have been sent at 0, on processor 0 by thread 7, and these events of there.
    fn path(events: &[(Ps, u32, Seen)], stacks: &[&[u64]]) -> Option<Path> {
        let events: Vec<(u16, Ps, u32, Seen)> =
            events.iter().map(|(time, pid, seen)| (0, *time, *pid, *seen)).collect();
        path_on(&events, stacks)
    }

    /// The same, of events of several processors. The parts sum up to the whole.
    fn path_on(events: &[(u16, Ps, u32, Seen)], stacks: &[&[u64]]) -> Option<Path> {
        let mut traced = Tracepoints::default();
        traced.task(7, "talker-0", 19);
        traced.task(9, "busy", 120);
        traced.task(5, "ktimers/0", 98);
        for name in ["apic_timer_interrupt", "nic", "HRTIMER", "NET_TX", "NET_RX"] {
            traced.name(name);
        }
        for (cpu, time, pid, seen) in events {
            match seen {
                Seen::Stack(index) => {
                    traced.add_stack(time * US, *cpu, *pid, stacks[*index].to_vec());
                }
                seen => traced.add(time * US, *cpu, *pid, *seen),
            }
        }
        let sent = Sent { seq: 3, expiry: 0, woke: 20 * US, handed_over: 100 * US };
        let sender = Sender { flow: 0, thread: "talker-0".to_owned(), sent: vec![sent] };
        let symbols = Symbols::parse(KALLSYMS);
        let threads = Threads { senders: vec![sender], ..Threads::default() };
        let timeline = traced.timeline(&threads, 0, &symbols);
        let finder = Finder { timeline: &timeline, symbols: &symbols };
        let path = finder.path(timeline.frames.get(&(Kind::Flow, 0, 3))?)?;
        let sum: Ps = path.parts.iter().map(|(_, time)| time).sum();
        assert_eq!(sum, path.whole(), "{:?}", path.parts);
        Some(path)
    }

    /// Causes, and how many microseconds each.
    fn parts(path: Option<Path>) -> Vec<(String, Ps)> {
        let parts = path.unwrap().parts.into_iter();
        parts.map(|(cause, time)| (cause.to_string(), time / US)).collect()
    }

    fn are(parts: &[(&str, Ps)]) -> Vec<(String, Ps)> {
        parts.iter().map(|(cause, time)| ((*cause).to_owned(), *time)).collect()
    }

    const TIMER: Layer = Layer::Interrupt(0);
    const NIC: Layer = Layer::Interrupt(1);
    const TIMERS: Layer = Layer::Softirq(2);
    const NET_TX: Layer = Layer::Softirq(3);
    const NET_RX: Layer = Layer::Softirq(4);

    /// From an idle processor 0 to thread 7, which runs from 3 on.
    const WOKEN: [(Ps, u32, Seen); 6] = [
        (-5, 7, Seen::Switch(0)),
        (1, 0, Seen::Begin(TIMER)),
        (1, 0, Seen::Sleeper { timer: 1 }),
        (2, 0, Seen::Waking(7)),
        (2, 0, Seen::End(TIMER)),
        (3, 0, Seen::Switch(7)),
    ];
    const WAKING: [(&str, Ps); 3] = [
        ("interrupt entry, from idle", 1),
        ("timer interrupt, until it woke the sender", 1),
        ("scheduler, until the sender ran", 1),
    ];

    #[test]
    fn a_frame_s_time_is_divided_from_its_timer_to_the_driver() {
        let busy = [0xffff_ffff_8100_0024, 0xffff_ffff_8100_0034, 0xffff_ffff_8100_0014];
        let lock = [0xffff_ffff_8100_0044, 0xffff_ffff_8100_0054];
        let found = path(
            &[
                (-5, 7, Seen::Armed { timer: 1, softly: 0, expires: 2_000 }),
                (-4, 7, Seen::Switch(9)),
                (11, 9, Seen::Begin(TIMER)),
                (12, 9, Seen::Sleeper { timer: 1 }),
                (12, 9, Seen::Stack(0)),
                (13, 9, Seen::Waking(7)),
                (14, 9, Seen::End(TIMER)),
                (16, 9, Seen::Switch(7)),
                (30, 7, Seen::Queue(0xabc)),
                (31, 7, Seen::Contended { spins: false }),
                (31, 7, Seen::Stack(1)),
                (32, 7, Seen::Switch(9)),
                (40, 9, Seen::Waking(7)),
                (41, 9, Seen::Switch(7)),
                (42, 7, Seen::Acquired),
                (50, 7, Seen::Driver(0xabc)),
                (60, 7, Seen::Driver(0xabc)),
            ],
            &[&busy, &lock],
        );
        let expected = [
            ("timer slack of the sender", 2),
            ("interrupt pending until busy_function, in busy (nice 0)", 9),
            ("timer interrupt, until it woke the sender", 2),
            ("interrupt apic_timer_interrupt", 1),
            ("busy (nice 0) ran", 2),
            ("the sender, up to the qdisc", 14),
            ("qdisc, up to the driver", 1),
            ("waited for the BH lock, held by busy (nice 0)", 11),
            ("qdisc, up to the driver", 8),
        ];
        assert_eq!(parts(found), are(&expected));
    }

    #[test]
    fn a_softirq_that_serves_the_timer_is_no_interrupt_that_was_pending() {
        let found = path(
            &[
                (-5, 7, Seen::Switch(9)),
                (1, 9, Seen::Begin(TIMER)),
                (2, 9, Seen::End(TIMER)),
                (4, 9, Seen::Begin(NIC)),
                (5, 9, Seen::End(NIC)),
                (6, 9, Seen::Switch(5)),
                (6, 5, Seen::Begin(TIMERS)),
                (8, 5, Seen::Sleeper { timer: 1 }),
                (8, 5, Seen::Waking(7)),
                (9, 5, Seen::End(TIMERS)),
                (10, 5, Seen::Switch(7)),
                (30, 7, Seen::Queue(0xabc)),
                (31, 7, Seen::Driver(0xabc)),
            ],
            &[],
        );
        let expected = [
            ("busy (nice 0) ran", 1),
            ("interrupt apic_timer_interrupt", 1),
            ("busy (nice 0) ran", 2),
            ("interrupt nic", 1),
            ("busy (nice 0) ran", 1),
            ("softirq HRTIMER in ktimers/0 (FIFO 1)", 3),
            ("ktimers/0 (FIFO 1) ran", 1),
            ("the sender, up to the qdisc", 20),
            ("qdisc, up to the driver", 1),
        ];
        assert_eq!(parts(found), are(&expected));
    }

    #[test]
    fn a_softirq_of_an_idle_processor_delays_an_interrupt() {
        let found = path(
            &[
                (-5, 7, Seen::Switch(0)),
                (-2, 0, Seen::Begin(NET_RX)),
                (9, 0, Seen::End(NET_RX)),
                (10, 0, Seen::Begin(TIMER)),
                (10, 0, Seen::Sleeper { timer: 1 }),
                (11, 0, Seen::Waking(7)),
                (11, 0, Seen::End(TIMER)),
                (12, 0, Seen::Switch(7)),
                (30, 7, Seen::Queue(0xabc)),
                (31, 7, Seen::Driver(0xabc)),
            ],
            &[],
        );
        let expected = [
            ("interrupt pending, in softirq NET_RX in the idle thread", 9),
            ("interrupt entry, from idle", 1),
        ];
        assert_eq!(parts(found)[..2], are(&expected));
    }

    #[test]
    fn a_sender_that_changes_processor_is_followed() {
        let woken = WOKEN[..5].iter().map(|(time, pid, seen)| (0, *time, *pid, *seen));
        let events = [
            (1, -6, 0, Seen::Begin(NIC)),
            (1, -5, 0, Seen::End(NIC)),
            (0, 4, 0, Seen::Switch(9)),
            (1, 10, 0, Seen::Switch(7)),
            (1, 20, 7, Seen::Switch(0)),
            (0, 22, 9, Seen::Switch(7)),
            (0, 30, 7, Seen::Queue(0xabc)),
            (0, 31, 7, Seen::Driver(0xabc)),
        ];
        let expected = [
            WAKING[0],
            WAKING[1],
            ("scheduler, until the sender ran", 8),
            ("the sender, up to the qdisc", 10),
            ("busy (nice 0) ran", 2),
            ("the sender, up to the qdisc", 8),
            ("qdisc, up to the driver", 1),
        ];
        assert_eq!(parts(path_on(&woken.chain(events).collect::<Vec<_>>(), &[])), are(&expected));
    }

    #[test]
    fn what_was_not_recorded_is_unknown() {
        let woken = WOKEN[..5].iter().map(|(time, pid, seen)| (0, *time, *pid, *seen));
        let events = [
            (1, 4, 0, Seen::Switch(9)),
            (1, 6, 9, Seen::Switch(7)),
            (1, 30, 7, Seen::Queue(0xabc)),
            (1, 31, 7, Seen::Driver(0xabc)),
        ];
        let expected = [
            WAKING[0],
            WAKING[1],
            ("unknown: nothing was recorded", 2),
            ("busy (nice 0) ran", 2),
            ("the sender, up to the qdisc", 24),
            ("qdisc, up to the driver", 1),
        ];
        assert_eq!(parts(path_on(&woken.chain(events).collect::<Vec<_>>(), &[])), are(&expected));
    }

    #[test]
    fn who_spins_for_a_lock_waits_for_it() {
        let spins = |address: u64| [0xffff_ffff_8100_0044, address];
        let stacks = [spins(0xffff_ffff_8100_0054), spins(0xffff_ffff_8100_0014)];
        let found = path(
            &[
                &WOKEN[..],
                &[
                    (30, 7, Seen::Queue(0xabc)),
                    // A lock that sleeps: its owner runs, on another processor.
                    (31, 7, Seen::Contended { spins: false }),
                    (31, 7, Seen::Stack(0)),
                    (40, 7, Seen::Acquired),
                    (42, 7, Seen::Contended { spins: true }),
                    (42, 7, Seen::Stack(1)),
                    (43, 7, Seen::Begin(TIMER)),
                    (44, 7, Seen::Contended { spins: true }),
                    (44, 7, Seen::Stack(0)),
                    (46, 7, Seen::Acquired),
                    (47, 7, Seen::End(TIMER)),
                    (49, 7, Seen::Acquired),
                    (50, 7, Seen::Driver(0xabc)),
                ],
            ]
            .concat(),
            &[&stacks[0], &stacks[1]],
        );
        let spun = "spun for a lock in busy_function, held by another processor";
        let expected = [
            ("the sender, up to the qdisc", 27),
            ("qdisc, up to the driver", 1),
            ("waited for the BH lock, held by an unknown thread", 9),
            ("qdisc, up to the driver", 2),
            (spun, 1),
            ("interrupt apic_timer_interrupt", 1),
            ("spun for the BH lock, held by another processor", 2),
            ("interrupt apic_timer_interrupt", 1),
            (spun, 2),
            ("qdisc, up to the driver", 1),
        ];
        assert_eq!(parts(found), are(&[&WAKING[..], &expected].concat()));
    }

    #[test]
    fn a_lock_is_found_whoever_else_waits() {
        let mut events: Vec<(u16, Ps, u32, Seen)> =
            WOKEN.iter().map(|(time, pid, seen)| (0, *time, *pid, *seen)).collect();
        events.extend([
            (0, 30, 7, Seen::Queue(0xabc)),
            (0, 31, 7, Seen::Contended { spins: false }),
            (0, 31, 7, Seen::Switch(9)),
        ]);
        for other in 100..200 {
            events.push((1, 32, other, Seen::Contended { spins: false }));
            events.push((1, 41, other, Seen::Acquired));
        }
        events.extend([
            (0, 40, 9, Seen::Waking(7)),
            (0, 41, 9, Seen::Switch(7)),
            (0, 42, 7, Seen::Acquired),
            (0, 50, 7, Seen::Driver(0xabc)),
        ]);
        let expected = ("waited for a lock, held by busy (nice 0)".to_owned(), 11);
        let found = parts(path_on(&events, &[]));
        assert!(found.contains(&expected), "{found:?}");
    }

    #[test]
    fn a_softirq_in_the_senders_thread_is_another_call() {
        let found = path(
            &[
                &WOKEN[..],
                &[
                    (30, 7, Seen::Queue(0xabc)),
                    (30, 7, Seen::Armed { timer: 2, softly: 0, expires: 7_000 }),
                    (41, 7, Seen::Begin(TIMER)),
                    (42, 7, Seen::Release { timer: 2, now: 9_000 }),
                    (42, 7, Seen::Schedule),
                    (43, 7, Seen::End(TIMER)),
                    (43, 7, Seen::Begin(NET_TX)),
                    (45, 7, Seen::Driver(0xabc)),
                    (46, 7, Seen::End(NET_TX)),
                ],
            ]
            .concat(),
            &[],
        );
        let expected = [
            ("the sender, up to the qdisc", 27),
            ("in the qdisc, until its timer expired", 10),
            ("talker-0 (FIFO 80) ran", 1),
            ("interrupt apic_timer_interrupt", 2),
            ("softirq NET_TX", 2),
        ];
        assert_eq!(parts(found), are(&[&WAKING[..], &expected].concat()));
    }

    #[test]
    fn a_thread_of_another_program_is_no_sender() {
        let tasks = [(7, "talker-0"), (8, "talker-0"), (9, "talker-1")];
        let tasks = tasks.map(|(pid, comm)| (pid, Task { pid, comm: comm.to_owned(), prio: 19 }));
        let sender = |flow| Sender { flow, thread: format!("talker-{flow}"), sent: Vec::new() };
        let of = |own: &[u32]| {
            let senders = vec![sender(0), sender(1)];
            let own = own.iter().copied().collect();
            let threads = Threads { senders, own, ..Threads::default() };
            let mut pids: Vec<u32> = roles(&threads, &tasks.clone().into()).into_keys().collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(of(&[7, 9]), [7, 9]);
        assert_eq!(of(&[1_007, 1_009]), [9], "in a container: which of two is not known");
    }

    /// Parts of round trip 5, which lasts from 0 to 100, of these events on processor 0.
    fn round(events: &[(Ps, u32, Seen)]) -> Option<Vec<(String, Ps)>> {
        let mut traced = Tracepoints::default();
        traced.task(7, "requester-1", 19);
        traced.task(8, "responder-1", 19);
        traced.task(9, "busy", 120);
        for (time, pid, seen) in events {
            traced.add(time * US, 0, *pid, *seen);
        }
        let rounds = Rounds {
            id: 1,
            requester: "requester-1".to_owned(),
            responder: "responder-1".to_owned(),
            rounds: vec![Round { seq: 5, sent: 0, received: 100 * US }],
        };
        let threads = Threads { rounds: vec![rounds], ..Threads::default() };
        let symbols = Symbols::default();
        let timeline = traced.timeline(&threads, 0, &symbols);
        let frames = |kind| timeline.frames.get(&(kind, 1, 5)).map_or(&[][..], Vec::as_slice);
        let finder = Finder { timeline: &timeline, symbols: &symbols };
        let path = finder.round(frames(Kind::Request), frames(Kind::Reply))?;
        let parts = path.parts.iter();
        Some(parts.map(|(cause, time)| (cause.to_string(), time / US)).collect())
    }

    #[test]
    fn a_round_trip_s_time_is_divided_also_if_the_responder_is_elsewhere() {
        let request = [(1, 7, Seen::Queue(0xabc)), (3, 7, Seen::Driver(0xabc))];
        let responder = [
            (10, 7, Seen::Waking(8)),
            (11, 7, Seen::Switch(9)),
            (15, 9, Seen::Switch(8)),
            (20, 8, Seen::Queue(0xdef)),
            (21, 8, Seen::Driver(0xdef)),
        ];
        let reply = [(40, 8, Seen::Waking(7)), (42, 8, Seen::Switch(7)), (50, 7, Seen::Switch(9))];
        let away = "NIC, wire and the stack at the other end";
        let expected = [
            ("qdisc, up to the driver", 2),
            (away, 7),
            // Of the processor that woke it: who was current there.
            ("requester-1 (FIFO 80) ran", 1),
            ("busy (nice 0) ran", 4),
            ("the responder, up to the qdisc", 5),
            ("qdisc, up to the driver", 1),
            (away, 19),
            ("responder-1 (FIFO 80) ran", 2),
        ];
        let expected = expected.map(|(cause, time)| (cause.to_owned(), time)).to_vec();
        assert_eq!(round(&[&request[..], &responder, &reply].concat()), Some(expected));
        let elsewhere =
            [("qdisc, up to the driver", 2), (away, 37), ("responder-1 (FIFO 80) ran", 2)];
        let elsewhere = elsewhere.map(|(cause, time)| (cause.to_owned(), time)).to_vec();
        assert_eq!(round(&[&request[..], &reply].concat()), Some(elsewhere));
        assert_eq!(round(&request), None, "no reply");
    }

    #[test]
    fn a_switch_that_was_not_traced_is_known_from_the_next_event() {
        let found = path(
            &[
                (-5, 7, Seen::Armed { timer: 1, softly: 0, expires: 0 }),
                (-4, 7, Seen::Switch(0)),
                (1, 0, Seen::Begin(TIMER)),
                (1, 0, Seen::Sleeper { timer: 1 }),
                (2, 0, Seen::Waking(7)),
                (3, 0, Seen::End(TIMER)),
                // The sender noted that it ran at 20.
                (30, 7, Seen::Queue(0xabc)),
                (31, 7, Seen::Driver(0xabc)),
            ],
            &[],
        );
        let parts = found.unwrap().parts;
        let is = |cause: &Cause| parts.iter().find(|(one, _)| one == cause).map(|(_, time)| *time);
        assert_eq!(is(&Cause::Switch), Some(17 * US), "{parts:?}");
        assert_eq!(is(&Cause::Sender), Some(10 * US), "{parts:?}");
    }

    #[test]
    fn a_sender_that_was_late_itself_was_busy_with_an_earlier_frame() {
        let found = path(
            &[
                (-9, 7, Seen::Waking(7)),
                (4, 7, Seen::Armed { timer: 1, softly: 0, expires: 0 }),
                (5, 7, Seen::Begin(TIMER)),
                (5, 7, Seen::Sleeper { timer: 1 }),
                (6, 7, Seen::Waking(7)),
                (6, 7, Seen::End(TIMER)),
                (30, 7, Seen::Queue(0xabc)),
                (31, 7, Seen::Driver(0xabc)),
            ],
            &[],
        );
        assert_eq!(found.unwrap().parts[0], (Cause::Earlier, 4 * US));
    }

    #[test]
    fn what_was_not_seen_has_no_path() {
        let wake =
            [(1, 0, Seen::Sleeper { timer: 1 }), (2, 0, Seen::Waking(7)), (3, 0, Seen::Switch(7))];
        let queue = (30, 7, Seen::Queue(0xabc));
        assert_eq!(path(&[&wake[..], &[queue]].concat(), &[]), None, "not by the driver");
        let other = (31, 7, Seen::Driver(0xdef));
        assert_eq!(path(&[&wake[..], &[queue, other]].concat(), &[]), None, "another packet");
        let driver = (31, 7, Seen::Driver(0xabc));
        assert_eq!(path(&[queue, driver], &[]), None, "no timer");
        assert!(path(&[&wake[..], &[queue, driver]].concat(), &[]).is_some());
        let late = (130, 7, Seen::Queue(0xabc));
        assert_eq!(path(&[&wake[..], &[late, driver]].concat(), &[]), None, "after its call");
    }
}
