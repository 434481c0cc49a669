//! A host and who runs when on it.

use super::{Section, key};

/// A host.
pub const HOST: Section = Section {
    header: "[hosts.NAME]",
    keys: &[
        &key(
            "bridge",
            "true or false",
            "`false`",
            "an ordinary Linux bridge between its ports, without spanning tree: nobody sends or receives on it, its ports have no addresses, and all that bridges join is one network; forwarded frames have priority 0",
        ),
        &key(
            "cpu",
            "whole number",
            "any",
            "the CPU of its threads, interrupts and timers; the laboratory has as many as are named (virtual ones)",
        ),
        &key("ports", "tables", "`{}`", "its end of each wire, `[hosts.NAME.ports.WIRE]`"),
        &key(
            "ptp",
            "table `{ role, profile, system-clock, cpu }`",
            "none: its clocks run free",
            "its part in clock synchronisation",
        ),
        &key(
            "system",
            "table",
            "the kernel as it is",
            "threads, budgets and limits of its kernel, `[hosts.NAME.system]`",
        ),
    ],
};

/// What a host's kernel does for all its ports.
pub const SYSTEM: Section = Section {
    header: "[hosts.NAME.system]",
    keys: &[
        &key(
            "ksoftirqd",
            "table `{ policy, priority }`",
            "as it is: not real-time",
            "the threads `ksoftirqd/N`, which take over softirqs that nobody finishes; of the host's CPU, or of all",
        ),
        &key(
            "ktimers",
            "table `{ policy, priority }`",
            "as it is: `fifo`, 1",
            "the threads `ktimers/N`, which run timers with PREEMPT_RT; likewise",
        ),
        &key(
            "netdev-budget",
            "whole number, 1 …",
            "as it is: 300",
            "frames that one receive softirq takes before `ksoftirqd` goes on (`net.core.netdev_budget`)",
        ),
        &key(
            "netdev-budget-time",
            "duration",
            "as it is: `\"8ms\"`",
            "for how long it does, whole microseconds; newer kernels take two ticks at least (`net.core.netdev_budget_usecs`)",
        ),
        &key(
            "dev-weight",
            "whole number, 1 …",
            "as it is: 64",
            "frames that it takes from the backlog, and hands to the card, in one go (`net.core.dev_weight`)",
        ),
        &key(
            "rt-runtime",
            "duration or `\"unlimited\"`",
            "as it is: `\"950ms\"`",
            "how long real-time threads may run of each second while ordinary ones want the CPU, whole microseconds: what is left of the second goes to the fair server of each CPU (6.12 and newer), or limits all real-time threads (`kernel.sched_rt_runtime_us`, before)",
        ),
        &key(
            "pagelist-high-fraction",
            "whole number, 8 …",
            "as it is: by the kernel's own rule",
            "a CPU keeps at most a zone's pages divided by this to itself (but four batches), and gives back no more at once; whoever frees a frame may be the one who does that (`vm.percpu_pagelist_high_fraction`). What it keeps too many is given back before the first frame",
        ),
    ],
};

/// How a thread of the kernel is scheduled.
pub const THREAD: Section = Section {
    header: "ksoftirqd, ktimers = { … } of a system",
    keys: &[
        &key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"`",
            "its scheduling policy; `other` is not real-time. A case that changes it starts from an empty table",
        ),
        &key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "its real-time priority",
        ),
    ],
};

/// A host's part in clock synchronisation.
pub const PTP: Section = Section {
    header: "ptp = { … } of a host",
    keys: &[
        &key(
            "role",
            "`\"grandmaster\"`, `\"slave\"` or `\"boundary\"`",
            "required",
            "its clock is the time of all, follows, or follows on one port and leads on the others",
        ),
        &key(
            "profile",
            "`\"default\"` or `\"gptp\"`",
            "`\"default\"`",
            "IEEE 1588's default profile (end-to-end delay, once a second) or IEEE 802.1AS (peer delay, eight times a second)",
        ),
        &key(
            "system-clock",
            "true or false",
            "`false`",
            "the system's clock, which all hosts share, follows this host's card (`phc2sys`)",
        ),
        &key("cpu", "whole number", "any", "the CPU of its `ptp4l` and `phc2sys`"),
    ],
};
