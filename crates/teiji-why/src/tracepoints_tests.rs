//! What timelines from tracepoints show.

use super::*;
use crate::cause::Cause;
use crate::path::{Finder, Path};

/// In microseconds.
const US: Ps = 1_000_000;
/// Queue 0 of the interface whose name has this index.
const QUEUE: Queue = (9, 0);

const KALLSYMS: &str = "\
ffffffff81000000 T local_irq_enable
ffffffff81000010 T busy_function
ffffffff81000020 T hrtimer_interrupt
ffffffff81000030 T asm_sysvec_apic_timer_interrupt
ffffffff81000040 T rt_spin_lock
ffffffff81000050 T __local_bh_disable_ip
ffffffff81000060 T _etext
";

/// The thread before could run on.
const fn switch(next: u32) -> Seen {
    Seen::Switch { next, sleeps: false }
}

/// A frame that should have been sent at 0, on processor 0 by thread 7, and these events of there.
fn path(events: &[(Ps, u32, Seen)], stacks: &[&[u64]]) -> Option<Path> {
    let events: Vec<(u16, Ps, u32, Seen)> =
        events.iter().map(|(time, pid, seen)| (0, *time, *pid, *seen)).collect();
    path_on(&events, stacks)
}

/// The same, of events of several processors. The parts sum up to the whole.
fn path_on(events: &[(u16, Ps, u32, Seen)], stacks: &[&[u64]]) -> Option<Path> {
    let mut traced = Tracepoints::default();
    traced.task(7, "talker-0", 19, false);
    traced.task(9, "busy", 120, false);
    traced.task(5, "ktimers/0", 98, false);
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
    (-5, 7, switch(0)),
    (1, 0, Seen::Begin(TIMER)),
    (1, 0, Seen::Sleeper { timer: 1 }),
    (2, 0, Seen::Waking(7)),
    (2, 0, Seen::End(TIMER)),
    (3, 0, switch(7)),
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
            (-4, 7, switch(9)),
            (11, 9, Seen::Begin(TIMER)),
            (12, 9, Seen::Sleeper { timer: 1 }),
            (12, 9, Seen::Stack(0)),
            (13, 9, Seen::Waking(7)),
            (14, 9, Seen::End(TIMER)),
            (16, 9, switch(7)),
            (30, 7, Seen::Queue(0xabc)),
            (31, 7, Seen::Contended { spins: false }),
            (31, 7, Seen::Stack(1)),
            (32, 7, switch(9)),
            (40, 9, Seen::Waking(7)),
            (41, 9, switch(7)),
            (42, 7, Seen::Acquired),
            (50, 7, Seen::Driver(0xabc, QUEUE)),
            (60, 7, Seen::Driver(0xabc, QUEUE)),
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
fn a_queue_that_the_watchdog_reset_is_named() {
    let reset_at_40 = |queue| {
        let events = [
            (1, 9, Seen::Begin(TIMER)),
            (2, 9, Seen::Sleeper { timer: 1 }),
            (2, 9, Seen::Waking(7)),
            (3, 9, Seen::End(TIMER)),
            (4, 9, switch(7)),
            // An earlier one.
            (10, 7, Seen::Watchdog(QUEUE)),
            (20, 7, Seen::Queue(0xabc)),
            (22, 7, switch(9)),
            (30, 9, switch(5)),
            (31, 5, Seen::Begin(TIMERS)),
            (40, 5, Seen::Watchdog(queue)),
            (42, 5, Seen::Schedule),
            (43, 5, Seen::End(TIMERS)),
            (44, 5, Seen::Begin(NET_TX)),
            (45, 5, Seen::Driver(0xabc, QUEUE)),
        ];
        parts(path(&events, &[]))
    };
    let expected = [
        ("in the qdisc, until the kernel's watchdog reset the NIC's stopped queue", 20),
        ("in the qdisc, until softirq HRTIMER in ktimers/0 (FIFO 1) dequeued it", 2),
        ("softirq HRTIMER", 1),
        ("ktimers/0 (FIFO 1) ran", 1),
        ("softirq NET_TX", 1),
    ];
    let found = reset_at_40(QUEUE);
    assert_eq!(found[found.len() - 5..], are(&expected));
    let found = reset_at_40((9, 1));
    assert!(!found.iter().any(|(cause, _)| cause.contains("watchdog")), "{found:?}");
}

#[test]
fn a_softirq_that_serves_the_timer_is_no_interrupt_that_was_pending() {
    let found = path(
        &[
            (-5, 7, switch(9)),
            (1, 9, Seen::Begin(TIMER)),
            (2, 9, Seen::End(TIMER)),
            (4, 9, Seen::Begin(NIC)),
            (5, 9, Seen::End(NIC)),
            (6, 9, switch(5)),
            (6, 5, Seen::Begin(TIMERS)),
            (8, 5, Seen::Sleeper { timer: 1 }),
            (8, 5, Seen::Waking(7)),
            (9, 5, Seen::End(TIMERS)),
            (10, 5, switch(7)),
            (30, 7, Seen::Queue(0xabc)),
            (31, 7, Seen::Driver(0xabc, QUEUE)),
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
            (-5, 7, switch(0)),
            (-2, 0, Seen::Begin(NET_RX)),
            (9, 0, Seen::End(NET_RX)),
            (10, 0, Seen::Begin(TIMER)),
            (10, 0, Seen::Sleeper { timer: 1 }),
            (11, 0, Seen::Waking(7)),
            (11, 0, Seen::End(TIMER)),
            (12, 0, switch(7)),
            (30, 7, Seen::Queue(0xabc)),
            (31, 7, Seen::Driver(0xabc, QUEUE)),
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
        (0, 4, 0, switch(9)),
        (1, 10, 0, switch(7)),
        (1, 20, 7, switch(0)),
        (0, 22, 9, switch(7)),
        (0, 30, 7, Seen::Queue(0xabc)),
        (0, 31, 7, Seen::Driver(0xabc, QUEUE)),
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
        (1, 4, 0, switch(9)),
        (1, 6, 9, switch(7)),
        (1, 30, 7, Seen::Queue(0xabc)),
        (1, 31, 7, Seen::Driver(0xabc, QUEUE)),
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
fn a_spinning_thread_waits_for_the_lock() {
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
                (50, 7, Seen::Driver(0xabc, QUEUE)),
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
fn a_lock_is_found_among_several_waiters() {
    let mut events: Vec<(u16, Ps, u32, Seen)> =
        WOKEN.iter().map(|(time, pid, seen)| (0, *time, *pid, *seen)).collect();
    events.extend([
        (0, 30, 7, Seen::Queue(0xabc)),
        (0, 31, 7, Seen::Contended { spins: false }),
        (0, 31, 7, switch(9)),
    ]);
    for other in 100..200 {
        events.push((1, 32, other, Seen::Contended { spins: false }));
        events.push((1, 41, other, Seen::Acquired));
    }
    events.extend([
        (0, 40, 9, Seen::Waking(7)),
        (0, 41, 9, switch(7)),
        (0, 42, 7, Seen::Acquired),
        (0, 50, 7, Seen::Driver(0xabc, QUEUE)),
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
                (45, 7, Seen::Driver(0xabc, QUEUE)),
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
    traced.task(7, "requester-1", 19, false);
    traced.task(8, "responder-1", 19, false);
    traced.task(9, "busy", 120, false);
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
    let request = [(1, 7, Seen::Queue(0xabc)), (3, 7, Seen::Driver(0xabc, QUEUE))];
    let responder = [
        (10, 7, Seen::Waking(8)),
        (11, 7, switch(9)),
        (15, 9, switch(8)),
        (20, 8, Seen::Queue(0xdef)),
        (21, 8, Seen::Driver(0xdef, QUEUE)),
    ];
    let reply = [(40, 8, Seen::Waking(7)), (42, 8, switch(7)), (50, 7, switch(9))];
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
    let elsewhere = [("qdisc, up to the driver", 2), (away, 37), ("responder-1 (FIFO 80) ran", 2)];
    let elsewhere = elsewhere.map(|(cause, time)| (cause.to_owned(), time)).to_vec();
    assert_eq!(round(&[&request[..], &reply].concat()), Some(elsewhere));
    assert_eq!(round(&request), None, "no reply");
}

#[test]
fn a_switch_that_was_not_traced_is_known_from_the_next_event() {
    let found = path(
        &[
            (-5, 7, Seen::Armed { timer: 1, softly: 0, expires: 0 }),
            (-4, 7, switch(0)),
            (1, 0, Seen::Begin(TIMER)),
            (1, 0, Seen::Sleeper { timer: 1 }),
            (2, 0, Seen::Waking(7)),
            (3, 0, Seen::End(TIMER)),
            // The sender noted that it ran at 20.
            (30, 7, Seen::Queue(0xabc)),
            (31, 7, Seen::Driver(0xabc, QUEUE)),
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
            (31, 7, Seen::Driver(0xabc, QUEUE)),
        ],
        &[],
    );
    assert_eq!(found.unwrap().parts[0], (Cause::Earlier, 4 * US));
}

#[test]
fn what_was_not_seen_has_no_path() {
    let wake = [(1, 0, Seen::Sleeper { timer: 1 }), (2, 0, Seen::Waking(7)), (3, 0, switch(7))];
    let queue = (30, 7, Seen::Queue(0xabc));
    assert_eq!(path(&[&wake[..], &[queue]].concat(), &[]), None, "not by the driver");
    let other = (31, 7, Seen::Driver(0xdef, QUEUE));
    assert_eq!(path(&[&wake[..], &[queue, other]].concat(), &[]), None, "another packet");
    let driver = (31, 7, Seen::Driver(0xabc, QUEUE));
    assert_eq!(path(&[queue, driver], &[]), None, "no timer");
    assert!(path(&[&wake[..], &[queue, driver]].concat(), &[]).is_some());
    let late = (130, 7, Seen::Queue(0xabc));
    assert_eq!(path(&[&wake[..], &[late, driver]].concat(), &[]), None, "after its call");
}

#[test]
fn a_sender_that_sleeps_in_its_send_call_names_who_woke_it() {
    let parts = parts(path(
        &[
            (-5, 7, switch(0)),
            (2, 0, Seen::Begin(TIMER)),
            (3, 0, Seen::Sleeper { timer: 1 }),
            (4, 0, Seen::Waking(7)),
            (5, 0, Seen::End(TIMER)),
            (6, 0, switch(7)),
            (21, 7, Seen::Switch { next: 9, sleeps: true }),
            (50, 9, Seen::Begin(NET_RX)),
            (60, 9, Seen::Waking(7)),
            (62, 9, Seen::End(NET_RX)),
            (70, 9, switch(7)),
            (80, 7, Seen::Queue(1)),
            (90, 7, Seen::Driver(1, QUEUE)),
        ],
        &[],
    ));
    let expected = are(&[
        ("interrupt entry, from idle", 2),
        ("timer interrupt, until it woke the sender", 2),
        ("interrupt apic_timer_interrupt", 1),
        ("scheduler, until the sender ran", 1),
        ("the sender, up to the qdisc", 15),
        ("the sender was blocked, until softirq NET_RX in busy (nice 0) woke it", 39),
        ("softirq NET_RX in busy (nice 0)", 2),
        ("busy (nice 0) ran", 8),
        ("the sender, up to the qdisc", 10),
        ("qdisc, up to the driver", 10),
    ]);
    assert_eq!(parts, expected);
}
