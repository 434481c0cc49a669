//! Causes of delay, and how they are called.

use std::fmt;

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
    /// The sender waited for something else; who woke it, if that is known.
    Blocked(Option<String>),
    /// The sender's own way to the qdisc.
    Sender,
    /// From the qdisc to the driver, in the sender's call.
    Qdisc,
    /// In the qdisc, until another context dequeued it.
    Queued(String),
    /// In the qdisc, until the time that it waits for.
    Held,
    /// In the qdisc behind a queue of the NIC that the kernel's watchdog reset then.
    Watchdog,
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
    /// Nothing was recorded of what the processor did.
    Unknown,
    /// The MAC served earlier frames of the same queue.
    Behind,
    /// The MAC waited longer, for these reasons: bits as [`why`](crate::timeline::MacWait::why);
    /// without one its queue was stopped.
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
            Self::Blocked(None) => f.write_str("the sender was blocked"),
            Self::Blocked(Some(waker)) => {
                write!(f, "the sender was blocked, until {waker} woke it")
            }
            Self::Sender => f.write_str("the sender, up to the qdisc"),
            Self::Qdisc => f.write_str("qdisc, up to the driver"),
            Self::Queued(context) => write!(f, "in the qdisc, until {context} dequeued it"),
            Self::Held => f.write_str("in the qdisc, until its timer expired"),
            Self::Watchdog => f.write_str(
                "in the qdisc, until the kernel's watchdog reset the NIC's stopped queue",
            ),
            Self::Release => f.write_str("transmit softirq, up to the driver"),
            Self::Away => f.write_str("NIC, wire and the stack at the other end"),
            Self::Wire => f.write_str("on the wire"),
            Self::Receive => f.write_str("driver, from the MAC to the stack"),
            Self::Bridge => f.write_str("the bridge, up to the qdisc"),
            Self::Responder => f.write_str("the responder, up to the qdisc"),
            Self::Requester => f.write_str("the requester"),
            Self::Idle => f.write_str("interrupt or wake-up, from idle"),
            Self::Unknown => f.write_str("unknown: nothing was recorded"),
            Self::Driver => f.write_str("driver, up to the MAC"),
            Self::Launch => f.write_str("MAC, until the launch time"),
            Self::Behind => f.write_str("MAC: earlier frames of the queue"),
            Self::Mac(0) => f.write_str("MAC: the NIC's queue was stopped"),
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
