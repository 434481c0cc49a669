//! The places of a kernel that the recorder watches, and what it reads there.

use std::fmt::Write as _;

use crate::btf::{Btf, BtfError};
use crate::symbols::Symbols;

/// What a place means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A processor goes on with another task: which, and the state of the one before.
    Switch,
    /// A task is woken: which.
    Wake,
    /// An interrupt or exception begins.
    Interrupt,
    /// Softirqs, or the function of one of them: entered or left.
    Softirq,
    /// The expired timers of a processor are served: the time.
    Timers,
    /// A timer wakes a sleeping task: which, when it wanted that, expiry, offset of its clock.
    Sleeper,
    /// A timer ends a qdisc's wait: expiry, offset of its clock.
    Release,
    /// Somebody has a qdisc run by the softirq that transmits.
    Schedule,
    /// A packet is sent: its beginning.
    Queue,
    /// The driver is given a packet: the beginning, its device and queue.
    Driver,
    /// The wire of vtsn goes on after a change, as with a frame that its MAC has got: the time, of
    /// `CLOCK_MONOTONIC_RAW`, that the processor has just read.
    WireChanged,
    /// The kernel's transmit watchdog has vtsn reset a queue: its device and number.
    Watchdog,
    /// The MAC of vtsn begins with a frame: port, queue, when it had it, when it might have begun at
    /// the earliest, when it begins, and why it waited longer.
    Wire,
    /// The driver of vtsn gives a frame to the stack: the beginning, and when its last bit came.
    Deliver,
    /// A task waits for a sleeping lock of PREEMPT_RT: its owner, and the stack; or it has it.
    Lock,
    /// A processor spins for a lock: the stack; or it has it.
    Spin,
    /// A function that may take long: entered or left.
    Work,
}

/// A watched place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// What it means.
    pub point: Point,
    /// The function.
    pub name: String,
    /// At its end.
    pub exit: bool,
    pub(crate) line: String,
}

/// Octets of a packet's beginning: Ethernet with VLAN tag, IPv6, UDP and the test header; or IPv4, UDP
/// and the headers of a round trip.
pub const PACKET: usize = 96;
/// Octets of the interrupted program's stack.
pub const STACK: usize = 64;
/// Octets of the stack of who waits for a lock.
pub const CALLERS: usize = 128;

const SPIN: &str = "native_queued_spin_lock_slowpath";

/// Functions of softirqs; not all kernels have all.
const SOFTIRQS: &[&str] = &[
    "handle_softirqs",
    "__do_softirq",
    "net_rx_action",
    "net_tx_action",
    "run_timer_softirq",
    "hrtimer_run_softirq",
    "rcu_core_si",
    "tasklet_action",
    "tasklet_hi_action",
    "sched_balance_softirq",
    "run_rebalance_domains",
];

/// Functions that were seen to take long while others wait; not all kernels have all.
const WORK: &[&str] = &["free_pcppages_bulk", "__rmqueue_pcplist", "rcu_do_batch"];

/// The places of this kernel that are worth watching.
///
/// # Errors
/// If the kernel's structures are others than those that this reads.
pub fn hooks(symbols: &Symbols, btf: &Btf) -> Result<Vec<Hook>, BtfError> {
    let mut list = List { symbols, hooks: Vec::new() };
    let task = |base: &str| -> Result<String, BtfError> {
        let at = |member| btf.offset("task_struct", member);
        let (pid, prio, comm) = (at("pid")?, at("prio")?, at("comm")?);
        Ok(format!("{base}{pid}:4 {base}{prio}:4 {base}{comm}:16"))
    };
    let state = btf.offset("task_struct", "__state")?;
    list.entry(Point::Switch, "__switch_to_asm", &format!("{} rsi rdi+{state}:4", task("rsi+")?));
    list.entry(Point::Wake, "try_to_wake_up", &task("rdi+")?);
    let interrupts = symbols.beginning("asm_sysvec_").chain(symbols.beginning("asm_exc_"));
    for name in interrupts.chain(["asm_common_interrupt"]) {
        // The processor, or a stub, may have pushed a word before.
        list.entry(Point::Interrupt, name, &format!("rsp+0:48 rsp+24>0:{STACK} rsp+32>0:{STACK}"));
    }
    for name in SOFTIRQS {
        list.both(Point::Softirq, name, "");
    }
    list.entry(Point::Timers, "__hrtimer_run_queues", "rsi");
    let (expires, base) = (btf.offset("hrtimer", "node.expires")?, btf.offset("hrtimer", "base")?);
    let offset = btf.offset("hrtimer_clock_base", "offset")?;
    let sleeper = btf.offset("hrtimer_sleeper", "task")?;
    let softly = btf.offset("hrtimer", "_softexpires")?;
    let clock = format!("rdi+{expires}:8 rdi+{base}>{offset}:8");
    list.entry(
        Point::Sleeper,
        "hrtimer_wakeup",
        &format!("{} rdi+{softly}:8 {clock}", task(&format!("rdi+{sleeper}>"))?),
    );
    list.entry(Point::Release, "qdisc_watchdog", &clock);
    list.entry(Point::Schedule, "__netif_schedule", "");
    let data = btf.offset("sk_buff", "data")?;
    let packet = format!("rdi+{data}>0:{PACKET}");
    list.entry(Point::Queue, "__dev_queue_xmit", &packet);
    let queue = btf.offset("sk_buff", "queue_mapping")?;
    list.entry(Point::Driver, "vtsn_xmit", &format!("{packet} rsi rdi+{queue}:2"));
    list.entry(Point::Watchdog, "vtsn_tx_timeout", "rdi rsi");
    let cb = btf.offset("sk_buff", "cb")?;
    list.entry(Point::Deliver, "vtsn_deliver", &format!("rsi+{data}>0:{PACKET} rsi+{cb}:8"));
    list.entry(Point::WireChanged, "vtsn_wire_leave", "rsi");
    list.entry(Point::Wire, "vtsn_count_departure", "rdi rsi rdx rcx r8 r9");
    let owner = btf.offset("rt_mutex_base", "owner").ok();
    for name in ["rtlock_slowlock_locked", "rt_mutex_slowlock_block"] {
        if let Some(owner) = owner {
            list.both(Point::Lock, name, &format!("rdi+{owner}:8 rsp+0:{CALLERS}"));
        }
    }
    list.both(Point::Spin, SPIN, &format!("rsp+0:{CALLERS}"));
    for name in WORK {
        list.both(Point::Work, name, "");
    }
    Ok(list.hooks)
}

/// What is taken for something else where no function of the point is watched.
const SHOWN_BY: &[(Point, &str)] = &[
    (Point::Switch, "switches of threads"),
    (Point::Interrupt, "interrupts"),
    (Point::Softirq, "softirqs"),
    (Point::Timers, "timers"),
    (Point::Sleeper, "timers of senders"),
    (Point::Release, "timers of qdiscs"),
    (Point::Schedule, "who has a qdisc run"),
    (Point::Lock, "waits for locks that sleep"),
    (Point::Spin, "spins for locks"),
];

/// What these hooks do not show of a kernel, because it has no such function. Without PREEMPT_RT it has no
/// locks that sleep.
pub(crate) fn unseen(hooks: &[Hook], symbols: &Symbols) -> Vec<String> {
    let sleeps = symbols.address("rt_spin_lock").is_some();
    let missing = SHOWN_BY.iter().filter(|(point, _)| {
        (*point != Point::Lock || sleeps) && hooks.iter().all(|hook| hook.point != *point)
    });
    missing.map(|(_, what)| (*what).to_owned()).collect()
}

struct List<'a> {
    symbols: &'a Symbols,
    hooks: Vec<Hook>,
}

impl List<'_> {
    /// Watches a function's beginning, if this kernel has it.
    fn entry(&mut self, point: Point, name: &str, values: &str) {
        self.add(point, name, false, values);
    }

    fn both(&mut self, point: Point, name: &str, values: &str) {
        self.add(point, name, false, values);
        self.add(point, name, true, "");
    }

    fn add(&mut self, point: Point, name: &str, exit: bool, values: &str) {
        let Some((start, end)) = self.symbols.range(name) else { return };
        let kind = if exit { "exit" } else { "entry" };
        let mut line = String::new();
        // Writing to a String cannot fail.
        let _ = write!(line, "{} {kind} {start:x} {end:x} {values}", self.hooks.len());
        self.hooks.push(Hook { point, name: name.to_owned(), exit, line });
    }
}

/// The recorder's file of hooks.
pub fn text(hooks: &[Hook], symbols: &Symbols) -> String {
    let bases = symbols.address("__per_cpu_offset");
    let bases = bases.map_or_else(String::new, |address| format!("per-cpu {address:x}\n"));
    let lines = hooks.iter().flat_map(|hook| [hook.line.trim_end(), "\n"]);
    [bases.as_str()].into_iter().chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_the_kernel_lacks_is_reported() {
        let unseen_of = |functions: &str| {
            let symbols = Symbols::parse(functions);
            let mut list = List { symbols: &symbols, hooks: Vec::new() };
            for (point, _) in SHOWN_BY {
                list.entry(*point, &format!("{point:?}"), "");
            }
            unseen(&list.hooks, &symbols)
        };
        let all = SHOWN_BY.iter().map(|(point, _)| format!("ffffffff81000000 T {point:?}\n"));
        let all: String = all.collect();
        assert!(unseen_of(&all).is_empty());
        let less = all.replace("Release", "x").replace("Lock", "y");
        assert_eq!(unseen_of(&less), ["timers of qdiscs"]);
        let sleeping = less.replace('x', "rt_spin_lock");
        assert_eq!(unseen_of(&sleeping), ["timers of qdiscs", "waits for locks that sleep"]);
    }
}
