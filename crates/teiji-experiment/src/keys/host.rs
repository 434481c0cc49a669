//! `[hosts.NAME]`: a host, its clocks and its kernel.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use teiji_core::domain::RtPriority;
use teiji_core::time::Span;

use super::flow::CPUS;
use super::list::{LongTable, Tables};
use super::port::PORT;
use super::time::{Time, not_possible, time};
use super::value::{Choice, Int, Table, and, from_table, int, one_of, quoted, table};
use super::{Absent, Kind, Value, section};
use crate::fields::{Fields, Found};
use crate::read::policy;
use crate::scenario::{Policy, Port, PtpProfile, PtpRole, PtpTimestamps, RtRuntime};
use crate::tree;

/// The kernel keeps these in a C `int`.
const MAX_INT: u32 = i32::MAX.unsigned_abs();
/// `MIN_PERCPU_PAGELIST_HIGH_FRACTION` (`mm/page_alloc.c`).
const LEAST_FRACTION: u32 = 8;
/// The kernel's default period of real-time threads, of which the runtime is a part.
const PERIOD: Span = Span::from_secs(1);

const fn micros(example: &'static str) -> Time {
    time(example).within(Span::from_micros(1), PERIOD).whole_micros().refused(not_possible)
}

/// Times to leave an idle state; the deepest take milliseconds.
const IDLE: Time =
    time("\"20us\"").within(Span::ZERO, Span::from_secs(1)).whole_micros().refused(not_possible);

section! {
    /// One host: in the laboratory and on veth a network namespace, with
    /// `--on local --bind` the namespace around a real port.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Host, draft HostDraft, section HOST of "[hosts.NAME]";
    given {
        /// Letters, digits and `-`.
        name: String,
        /// One port per wire the host is on.
        ports: Vec<Port>,
        /// Its role in clock synchronisation; `None`: its clocks run free.
        ptp: Option<Ptp>,
        /// Priorities, budgets and limits of its kernel.
        system: System,
    }
    keys {
        /// an ordinary Linux bridge between its ports, without spanning tree: no flow starts or
        /// ends on it, its ports have no addresses, and bridges join their wires to one network;
        /// forwarded frames have priority 0
        bridge: bool [serde(default)] = "bridge", (), Absent::Default(false);
        /// CPU of its threads, interrupts and timers; the laboratory has as many virtual CPUs as
        /// the file names
        cpu: Option<u16> = "cpu", CPUS, Absent::Means("any");
        /// its end of each wire, `[hosts.NAME.ports.WIRE]`
        const PORTS: Tables = "ports", &PORT, Absent::Means("`{}`");
        /// its role in clock synchronisation
        const PTP_PART: Ptp = "ptp",
            table(&PTP, "{ role = \"slave\" }"), Absent::Means("none: its clocks run free");
        /// threads, budgets and limits of its kernel, `[hosts.NAME.system]`
        const KERNEL: LongTable = "system",
            table(&SYSTEM, "{ ksoftirqd = { priority = 1 } }"),
            Absent::Means("the kernel as it is");
    }
}

impl Choice for PtpRole {}
impl Choice for PtpProfile {}
impl Choice for PtpTimestamps {}

section! {
    /// A host's role in clock synchronisation (IEEE 1588, IEEE 802.1AS).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Ptp, draft PtpDraft, section PTP of "ptp = { … } of a host";
    keys {
        /// `grandmaster`: its clock is the reference; `slave`: follows; `boundary`: follows on one
        /// port and leads on the others
        role: PtpRole = "role",
            one_of(&[
                ("grandmaster", PtpRole::Grandmaster),
                ("slave", PtpRole::Slave),
                ("boundary", PtpRole::Boundary),
            ]),
            Absent::Required("\"slave\"");
        /// IEEE 1588's default profile (end-to-end delay, once per second) or IEEE 802.1AS (peer
        /// delay, eight times per second)
        profile: PtpProfile = "profile",
            one_of(&[("default", PtpProfile::Default), ("gptp", PtpProfile::Gptp)]),
            Absent::Default(PtpProfile::Default);
        /// who timestamps PTP's messages. `hardware`: the NIC, whose clock is synchronised;
        /// `software`: driver and kernel, the system clock is synchronised, between hosts on
        /// different machines
        timestamps: PtpTimestamps [serde(default)] = "timestamps",
            one_of(&[
                ("hardware", PtpTimestamps::Hardware),
                ("software", PtpTimestamps::Software),
            ]),
            Absent::Default(PtpTimestamps::Hardware);
        /// the system clock, which all hosts share, follows this host's NIC (`phc2sys`); over
        /// several machines that of each machine follows one of its NICs
        system_clock: bool = "system-clock", (), Absent::Default(false);
        /// its clocks have settled when they stay within this of their references
        within: Option<Span> [serde(default)] = "within",
            time("\"10us\"").within(Span::from_ns(1), Span::from_secs(1)),
            Absent::Means("1 µs; with software timestamps 100 µs");
        /// CPU of its `ptp4l` and `phc2sys`
        cpu: Option<u16> [serde(default)] = "cpu", CPUS, Absent::Means("any");
    }
}

from_table!(Ptp, PtpDraft);

section! {
    /// What a host's kernel does for all its ports. What is `None` stays as the kernel has it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct System, draft SystemDraft, section SYSTEM of "[hosts.NAME.system]";
    keys {
        /// the threads `ksoftirqd/N`, which take over unfinished softirqs; of the host's CPU, or of
        /// all CPUs
        ksoftirqd: Option<Policy> = "ksoftirqd",
            Scheduling::OfThread(table(&THREAD, "{ priority = 1 }")),
            Absent::Means("as it is: not real-time");
        /// the threads `ktimers/N`, which run timers with PREEMPT_RT; likewise
        ktimers: Option<Policy> = "ktimers",
            Scheduling::OfThread(table(&THREAD, "{ priority = 1 }")),
            Absent::Means("as it is: `fifo`, 1");
        /// frames that one receive softirq processes before `ksoftirqd` continues
        /// (`net.core.netdev_budget`)
        netdev_budget: Option<u32> =
            "netdev-budget", int(1, MAX_INT), Absent::Means("as it is: 300");
        /// time limit of one receive softirq; newer kernels use two ticks at least
        /// (`net.core.netdev_budget_usecs`)
        netdev_budget_time: Option<Span> =
            "netdev-budget-time", micros("\"8ms\""), Absent::Means("as it is: `\"8ms\"`");
        /// frames that the softirq takes from the backlog, and hands to the NIC, in one batch
        /// (`net.core.dev_weight`)
        dev_weight: Option<u32> = "dev-weight", int(1, MAX_INT), Absent::Means("as it is: 64");
        /// time per second that real-time threads may run while ordinary threads are ready: from
        /// 6.12 on the rest of the second goes to the fair server of each CPU; before,
        /// `kernel.sched_rt_runtime_us` limits all real-time threads
        rt_runtime: Option<RtRuntime> = "rt-runtime",
            micros("\"950ms\", or \"unlimited\""), Absent::Means("as it is: `\"950ms\"`");
        /// length of each CPU's list of free pages: at most the zone's pages divided by this (at
        /// least four batches), and the CPU returns no more than that at once; the thread that
        /// frees a frame may have to do it (`vm.percpu_pagelist_high_fraction`). Surplus pages are
        /// returned before the first frame
        pagelist_high_fraction: Option<u32> = "pagelist-high-fraction",
            int(LEAST_FRACTION, MAX_INT), Absent::Means("as it is: by the kernel's own rule");
        /// longest time that its CPU, or each CPU, may take to leave an idle state (C-state): the kernel keeps
        /// it out of deeper ones (`/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us`); `"0us"`:
        /// no idle state that takes time to leave
        idle_latency: Option<Span> [serde(default)] =
            "idle-latency", IDLE, Absent::Means("as it is: no limit");
    }
}

impl Kind for RtRuntime {
    type Limits = Time;

    fn words(limits: &Time) -> String {
        format!("{}, or `\"unlimited\"`", Span::words(limits))
    }

    fn schema(limits: &Time) -> Json {
        json!({ "anyOf": [Span::schema(limits), { "const": "unlimited" }] })
    }
}

impl Value for RtRuntime {
    fn read(limits: &Time, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        match fields.node(key).map(|node| &node.value) {
            Some(tree::Value::Text(text)) if text == "unlimited" => Found::Value(Self::Unlimited),
            _ => Span::read(limits, key, fields).map(Self::Limited),
        }
    }
}

/// Where the policy of a thread stands.
pub(crate) enum Scheduling {
    /// In the key itself, and in `priority` beside it.
    Beside,
    /// In a table of its own.
    OfThread(Table),
}

/// Makes a policy of a priority.
pub(crate) type Make = fn(RtPriority) -> Policy;

/// The names of policies.
pub(crate) const POLICIES: [(&str, Make); 3] =
    [("fifo", Policy::Fifo), ("rr", Policy::Rr), ("other", |_| Policy::Other)];
/// Real-time priorities of threads of the kernel.
pub(crate) const THREAD_PRIORITIES: Int<RtPriority> =
    int(RtPriority::LEAST, RtPriority::MOST).why("1 is the lowest, 99 the highest.");

impl Kind for Policy {
    type Limits = Scheduling;

    fn words(limits: &Scheduling) -> String {
        match limits {
            Scheduling::Beside => and(&quoted(&POLICIES.map(|(name, _)| name)), "or"),
            Scheduling::OfThread(table) => table.words(),
        }
    }

    fn schema(limits: &Scheduling) -> Json {
        match limits {
            Scheduling::Beside => json!({ "enum": POLICIES.map(|(name, _)| name) }),
            Scheduling::OfThread(table) => table.schema(),
        }
    }
}

impl Value for Policy {
    fn read(limits: &Scheduling, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        match limits {
            Scheduling::Beside => policy::read(fields, fields.log()),
            Scheduling::OfThread(table) => {
                let thread = fields.below_named(key, table, fields.label_of(key));
                thread.and_then(|thread| policy::of_thread(&thread, fields.log()))
            }
        }
    }
}

section! {
    section THREAD of "ksoftirqd, ktimers = { … } of a system";
    keys {
        /// scheduling policy; `other` is not real-time. A case that changes it starts from an empty
        /// table
        const POLICY: Policy = "policy", Scheduling::Beside, Absent::Means("`\"fifo\"`");
        /// real-time priority
        const PRIORITY: RtPriority =
            "priority", THREAD_PRIORITIES, Absent::Means("required for fifo and rr");
    }
}
