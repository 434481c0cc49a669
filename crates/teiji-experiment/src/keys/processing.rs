//! `[hosts.NAME.ports.WIRE]`: who processes the frames of a port.

use serde::{Deserialize, Serialize};
use teiji_core::domain::RtPriority;
use teiji_core::time::Span;

use super::host::{Scheduling, THREAD_PRIORITIES};
use super::time::{Time, time};
use super::value::{Table, from_table, int, table};
use super::{Absent, Kind, Value, section};
use crate::fields::{Fields, Found};
use crate::read::processing;
use crate::scenario::Policy;

/// `DQL_MAX_LIMIT` in bytes, rounded down (`include/linux/dynamic_queue_limits.h`).
const MAX_BQL: u32 = 2_000_000_000;
/// A full frame and the room that the kernel takes off for headers, `MAX_TCP_HEADER`
/// (`include/net/tcp.h`): kernels before 6.8 take whatever is given, and count below 0.
const MIN_GSO: u32 = 2_000;
/// `GSO_LEGACY_MAX_SIZE` (`include/linux/netdevice.h`).
const MAX_GSO: u32 = 65_536;

section! {
    /// Threads and CPUs that process a port's frames; limits of its NIC's queues.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Processing, draft ProcessingDraft, section PROCESSING of "[hosts.NAME.ports.WIRE]";
    keys {
        /// interrupts and their threads
        irq: Irq = "irq",
            table(&IRQ, "{ priority = 50 }"),
            Absent::Described(Irq { policy: None, cpus: None }, "as they are");
        /// NAPI polling: in threads or softirqs, with interrupts or without
        napi: Napi = "napi",
            table(&NAPI, "{ threaded = true, priority = 40 }"),
            Absent::Described(
                Napi {
                    threaded: None,
                    policy: None,
                    cpus: None,
                    defer_hard_irqs: None,
                    gro_flush_timeout: None,
                },
                "as it is"
            );
        /// CPUs that process the frames of all receive queues (`rps_cpus`)
        rps: Option<Vec<u16>> = "rps", (), Absent::Means("none");
        /// for each transmit queue from the first on, the CPUs that use it (`xps_cpus`)
        xps: Option<Vec<Vec<u16>>> = "xps", (), Absent::Means("the driver's choice");
        /// BQL limit of each transmit queue (`byte_queue_limits/limit_max`)
        bql: Option<u32> = "bql",
            int(1, MAX_BQL).why("It is a number of bytes, such as 3028 for two full frames."),
            Absent::Means("as it is");
        /// largest segment in bytes that TCP hands over at once, which may occupy the wire until
        /// its end (`ip link set gso_max_size`)
        gso_max_size: Option<u32> [serde(default)] = "gso-max-size",
            int(MIN_GSO, MAX_GSO).why("65536 is what the kernel begins with."),
            Absent::Means("as it is");
    }
}

section! {
    /// A port's interrupts.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Irq, draft IrqDraft, section IRQ of "irq = { … } of a port";
    keys {
        /// scheduling policy of the threads `irq/NUMBER-…`; with PREEMPT_RT every interrupt has one
        policy: Option<Policy> =
            "policy", Scheduling::Beside, Absent::Means("`\"fifo\"` with a priority");
        /// their real-time priority; the kernel's default is 50
        const IRQ_PRIORITY: RtPriority =
            "priority", THREAD_PRIORITIES, Absent::Means("required for fifo and rr");
        /// CPUs that handle them (`/proc/irq/NUMBER/smp_affinity_list`), and run their threads
        cpus: Option<Vec<u16>> =
            "cpus", (), Absent::Means("the CPU of its host in the laboratory");
    }
}

from_table!(Irq, IrqDraft);

section! {
    /// NAPI polling of a port.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Napi, draft NapiDraft, section NAPI of "napi = { … } of a port";
    keys {
        /// poll in threads `napi/PORT-NUMBER` instead of in softirqs
        threaded: Option<bool> =
            "threaded", (), Absent::Means("`true` with one of the next three");
        /// scheduling policy of these threads
        policy: Option<Policy> =
            "policy", Scheduling::Beside, Absent::Means("`\"fifo\"` with a priority");
        /// their real-time priority
        const NAPI_PRIORITY: RtPriority =
            "priority", THREAD_PRIORITIES, Absent::Means("required for fifo and rr");
        /// CPUs of these threads
        cpus: Option<Vec<u16>> = "cpus", (), Absent::Means("any");
        /// number of polls without frames before the kernel enables interrupts again
        /// (`napi_defer_hard_irqs`)
        defer_hard_irqs: Option<u32> =
            "defer-hard-irqs", int(0, i32::MAX.unsigned_abs()), Absent::Means("as it is: 0");
        /// interval of these polls (`gro_flush_timeout`)
        gro_flush_timeout: Option<Span> = "gro-flush-timeout",
            // A frame that waits longer is lost to every protocol.
            time("\"20us\"").within(Span::ZERO, Span::from_secs(1)).refused(no_flush),
            Absent::Means("as it is: `0`");
    }
}

fn no_flush(_: &Time, key: &str, span: Span) -> [String; 2] {
    let message = format!("{key} = {} is out of range", teiji_core::quantity::format_span(span));
    [message, "It is 0 (off) to 1s.".to_owned()]
}

impl Kind for Napi {
    type Limits = Table;

    fn words(limits: &Table) -> String {
        limits.words()
    }

    fn schema(limits: &Table) -> serde_json::Value {
        limits.schema()
    }
}

impl Value for Napi {
    fn read(limits: &Table, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        let napi = fields.below_named(key, limits, fields.label_of(key));
        napi.and_then(|napi| processing::napi(&napi, fields.log()))
    }
}
