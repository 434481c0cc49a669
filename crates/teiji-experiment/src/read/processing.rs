//! Who processes the frames of a port: interrupts, polling, steering, limits.

use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::policy;
use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Irq, Napi, Processing};
use crate::schema;
use crate::tree::{Node, Value};

const XPS: &str = "[[0], [1]]";
/// A frame that waits longer is lost to every protocol.
const MAX_FLUSH: Span = Span::from_secs(1);
/// `DQL_MAX_LIMIT` in bytes, rounded down (`include/linux/dynamic_queue_limits.h`).
const MAX_BQL: i64 = 2_000_000_000;
/// A full frame and the room that the kernel takes off for headers, `MAX_TCP_HEADER`
/// (`include/net/tcp.h`): kernels before 6.8 take whatever is given, and count below 0.
const MIN_GSO: i64 = 2_000;
/// `GSO_LEGACY_MAX_SIZE` (`include/linux/netdevice.h`).
const MAX_GSO: i64 = 65_536;

pub(super) fn read(port: &Fields<'_>, label: &str, log: &Log) -> Option<Processing> {
    // All are looked at, so that all mistakes are told.
    let irq = port.table("irq", "{ priority = 50 }").and_then(|table| {
        let label = format!("`irq` of {label}");
        let fields = Fields::new(table, port.place("irq"), &schema::IRQ, label, log);
        let policy = policy::read(&fields, log).settle();
        let cpus = policy::cpus(&fields, "cpus", log).settle();
        Some(Irq { policy: policy.ok()?, cpus: cpus.ok()? })
    });
    let napi = read_napi(port, label, log);
    let rps = policy::cpus(port, "rps", log).settle();
    let xps = read_xps(port, log).settle();
    let bql = port
        .number("bql", 1, MAX_BQL, "It is a number of bytes, such as 3028 for two full frames.")
        .and_then(|bytes| u32::try_from(bytes).ok())
        .settle();
    let gso_max_size = port
        .number("gso-max-size", MIN_GSO, MAX_GSO, "65536 is what the kernel begins with.")
        .and_then(|bytes| u32::try_from(bytes).ok())
        .settle();
    Some(Processing {
        irq: irq.or_default(Irq::default())?,
        napi: napi.or_default(Napi::default())?,
        rps: rps.ok()?,
        xps: xps.ok()?,
        bql: bql.ok()?,
        gso_max_size: gso_max_size.ok()?,
    })
}

fn read_napi(port: &Fields<'_>, label: &str, log: &Log) -> Found<Napi> {
    port.table("napi", "{ threaded = true, priority = 40 }").and_then(|table| {
        let label = format!("`napi` of {label}");
        let fields = Fields::new(table, port.place("napi"), &schema::NAPI, label, log);
        let threaded = fields.flag("threaded").settle();
        let policy = policy::read(&fields, log).settle();
        let cpus = policy::cpus(&fields, "cpus", log).settle();
        let defer = fields
            .number("defer-hard-irqs", 0, i64::from(i32::MAX), "")
            .and_then(|n| u32::try_from(n).ok())
            .settle();
        let flush = fields.span("gro-flush-timeout", "\"20us\"").and_then(|span| {
            let good = span >= Span::ZERO && span <= MAX_FLUSH;
            if !good {
                log.mistake(
                    fields.place("gro-flush-timeout"),
                    format!("gro-flush-timeout = {} is out of range", format_span(span)),
                    "It is 0 (off) to 1s.",
                );
            }
            good.then_some(span)
        });
        let (threaded, policy, cpus) = (threaded.ok()?, policy.ok()?, cpus.ok()?);
        let scheduled = policy.is_some() || cpus.is_some();
        if threaded == Some(false) && scheduled {
            log.mistake(
                fields.place("threaded"),
                "threaded = false leaves no thread that could have a priority or CPUs",
                "Write threaded = true, or leave the others out.",
            );
            return None;
        }
        Some(Napi {
            threaded: threaded.or(scheduled.then_some(true)),
            policy,
            cpus,
            defer_hard_irqs: defer.ok()?,
            gro_flush_timeout: flush.settle().ok()?,
        })
    })
}

fn read_xps(port: &Fields<'_>, log: &Log) -> Found<Vec<Vec<u16>>> {
    port.array("xps", XPS).and_then(|queues| {
        let queue = |node: &Node| match &node.value {
            Value::Array(items) => policy::list(items, "xps", log),
            Value::Broken => None,
            other => {
                log.mistake(
                    node.at,
                    format!(
                        "`xps` has a list of CPUs for each transmit queue, not {}",
                        other.kind()
                    ),
                    format!("Write for example xps = {XPS}"),
                );
                None
            }
        };
        let read: Vec<Option<Vec<u16>>> = queues.iter().map(queue).collect();
        read.into_iter().collect()
    })
}
