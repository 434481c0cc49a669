//! What each processor did: which thread, interrupt or softirq; and the instants that a frame passes.

use std::collections::{BTreeMap, HashMap};

use crate::stream::Ps;

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
    /// An interrupt or exception: the index of its name.
    Interrupt(u16),
    /// A softirq, or softirqs: the index of its name.
    Softirq(u16),
    /// It spins for a lock: the index of who waits for it.
    Spin(u32),
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
    /// The address that was interrupted: interrupts were enabled there. `None` if it is not known.
    pub at: Option<u64>,
    /// The interrupted stack's first words.
    pub stack: Vec<u64>,
}

/// A timer has woken a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerWake {
    /// When the task wanted to be woken.
    pub expiry: Ps,
    /// How much later the timer may have expired, to expire together with others (`PR_SET_TIMERSLACK`).
    pub slack: Ps,
    /// When the task began to wait, at the earliest the expiry; `None` if it was not recorded.
    pub armed: Option<Ps>,
    /// When the task was woken.
    pub time: Ps,
    /// On which processor.
    pub cpu: u16,
}

/// The timer of a qdisc's wait was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When it had expired.
    pub expiry: Ps,
    /// When it was served.
    pub time: Ps,
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
    pub cpu: u16,
    /// The thread that was current.
    pub pid: u32,
    /// What had interrupted it.
    pub layer: Option<Layer>,
}

/// The places that a frame has passed between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Into the qdisc.
    pub queue: Option<Passage>,
    /// When the kernel's transmit watchdog last reset the NIC's queue; it may have been before the frame.
    pub watchdog: Option<Ps>,
    /// Into the driver.
    pub driver: Option<Passage>,
    /// Through the MAC.
    pub mac: Option<MacWait>,
    /// Its last bit has come to the peer.
    pub arrival: Option<Ps>,
    /// The peer's driver has given it to the stack; or the stack has woken the thread that it is for,
    /// where the MAC is not seen.
    pub delivered: Option<Passage>,
}

/// A frame's wait in the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacWait {
    /// The MAC had it.
    pub queued: Ps,
    /// The later of that and its launch time.
    pub earliest: Ps,
    /// The later of that and the start of the frame before it in the queue.
    pub head: Ps,
    /// It began to transmit the frame.
    pub start: Ps,
    /// Why later than that: bits as `VTSN_WAIT_…` in `kernel/vtsn/wire.c`.
    pub why: u64,
}

/// A thread waited for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// From then,
    pub start: Ps,
    /// until then.
    pub end: Ps,
    /// Its stack's first words, in which the function is that took it.
    pub stack: Vec<u64>,
    /// Who had it; `None` if it is not known.
    pub owner: Option<u32>,
}

/// A thread slept, for whatever reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// From then,
    pub start: Ps,
    /// until it was woken.
    pub end: Ps,
    /// By whom.
    pub waker: Passage,
}

/// A thread was in a function that may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// From then,
    pub start: Ps,
    /// until then.
    pub end: Ps,
}

/// What happened on all processors.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Of interrupts, softirqs and functions.
    pub names: Vec<String>,
    /// Of each processor, in order, without gaps.
    pub cpus: Vec<Vec<Segment>>,
    /// Of each processor, in order.
    pub interruptions: Vec<Vec<Interruption>>,
    /// By the task that was woken, in order.
    pub timer_wakes: HashMap<u32, Vec<TimerWake>>,
    /// By processor, in order.
    pub releases: HashMap<u16, Vec<Release>>,
    /// When somebody had a qdisc run by the softirq that transmits. By processor, in order.
    pub schedules: HashMap<u16, Vec<Ps>>,
    /// Up to this long an interrupt may take to begin although interrupts are enabled.
    pub interrupt_entry: Ps,
    /// What the MAC does is seen, too.
    pub sees_mac: bool,
    /// By flow and number.
    pub frames: HashMap<FrameKey, Vec<Hop>>,
    /// For locks that sleep: by thread, one after the other.
    pub lock_waits: HashMap<u32, Vec<LockWait>>,
    /// By thread, one after the other.
    pub blocks: HashMap<u32, Vec<Block>>,
    /// By thread and index of the function's name, one after the other.
    pub works: BTreeMap<(u32, u16), Vec<Work>>,
    /// Of each spin for a lock, the first words of its stack.
    pub spins: Vec<Vec<u64>>,
    /// By process number.
    pub tasks: HashMap<u32, Task>,
    /// What the kernel cannot show: it is part of other causes.
    pub unseen: Vec<String>,
    /// Switches of threads that were not traced: known from what the next thread did.
    pub unseen_switches: usize,
}

impl Timeline {
    /// A processor spins for a lock.
    pub(crate) fn spin(&mut self, stack: Vec<u64>) -> Layer {
        self.spins.push(stack);
        Layer::Spin(u32::try_from(self.spins.len() - 1).unwrap_or(u32::MAX))
    }

    /// An interrupt began on this processor.
    pub(crate) fn interrupted(&mut self, cpu: u16, interruption: Interruption) {
        let cpu = usize::from(cpu);
        if self.interruptions.len() <= cpu {
            self.interruptions.resize_with(cpu + 1, Vec::new);
        }
        self.interruptions[cpu].push(interruption);
    }
}
