//! What each host's kernel does for all its ports.

use std::collections::BTreeMap;

use teiji_core::quantity::format_span;
use teiji_core::time::Span;

use super::policy;
use crate::fields::{Fields, Found, Named};
use crate::log::Log;
use crate::scenario::{Policy, RtRuntime, System};
use crate::schema::{self, Section};
use crate::tree::Value;

/// The kernel keeps these in a C `int`.
const MAX_INT: i64 = i32::MAX as i64;
/// `MIN_PERCPU_PAGELIST_HIGH_FRACTION` (`mm/page_alloc.c`).
const LEAST_FRACTION: i64 = 8;
/// The kernel's default period, of which the runtime is a part.
const PERIOD: Span = Span::from_secs(1);
const MICROSECOND: Span = Span::from_micros(1);

pub(super) fn read(file: &Fields<'_>, log: &Log) -> BTreeMap<String, Found<System>> {
    let hosts = file.tables("hosts", "a host");
    hosts.iter().map(|host| (host.name.to_owned(), read_host(host, log))).collect()
}

fn read_host(host: &Named<'_>, log: &Log) -> Found<System> {
    let label = format!("[hosts.{}]", host.name);
    let fields = Fields::again(host.table, host.at, &schema::HOST, label, log);
    fields.table("system", "{ ksoftirqd = { priority = 1 } }").and_then(|table| {
        let label = format!("[hosts.{}.system]", host.name);
        let fields = Fields::new(table, fields.place("system"), &schema::SYSTEM, &label, log);
        let count =
            |key| fields.number(key, 1, MAX_INT, "").and_then(|n| u32::try_from(n).ok()).settle();
        let ksoftirqd = thread(&fields, "ksoftirqd", &label, log).settle();
        let ktimers = thread(&fields, "ktimers", &label, log).settle();
        let budget = count("netdev-budget");
        let time = micros(&fields, "netdev-budget-time", "\"8ms\"", MICROSECOND, PERIOD, log);
        let weight = count("dev-weight");
        let runtime = rt_runtime(&fields, log).settle();
        let fraction = fields
            .number("pagelist-high-fraction", LEAST_FRACTION, MAX_INT, "")
            .and_then(|n| u32::try_from(n).ok())
            .settle();
        Some(System {
            ksoftirqd: ksoftirqd.ok()?,
            ktimers: ktimers.ok()?,
            netdev_budget: budget.ok()?,
            netdev_budget_time: time.settle().ok()?,
            dev_weight: weight.ok()?,
            rt_runtime: runtime.ok()?,
            pagelist_high_fraction: fraction.ok()?,
        })
    })
}

fn thread(fields: &Fields<'_>, key: &str, label: &str, log: &Log) -> Found<Policy> {
    const SECTION: &Section = &schema::THREAD;
    fields.table(key, "{ priority = 1 }").and_then(|table| {
        let label = format!("`{key}` of {label}");
        let thread = Fields::new(table, fields.place(key), SECTION, label, log);
        let policy = policy::read(&thread, log);
        if matches!(policy, Found::Absent) {
            thread.missing("priority", "1");
        }
        policy.value()
    })
}

fn rt_runtime(fields: &Fields<'_>, log: &Log) -> Found<RtRuntime> {
    const KEY: &str = "rt-runtime";
    if let Some(Value::Text(text)) = fields.node(KEY).map(|node| &node.value) {
        if text == "unlimited" {
            return Found::Value(RtRuntime::Unlimited);
        }
    }
    micros(fields, KEY, "\"950ms\", or \"unlimited\"", MICROSECOND, PERIOD, log)
        .map(RtRuntime::Limited)
}

/// A duration of whole microseconds within bounds.
pub(super) fn micros(
    fields: &Fields<'_>,
    key: &str,
    example: &str,
    least: Span,
    most: Span,
    log: &Log,
) -> Found<Span> {
    fields.span(key, example).and_then(|span| {
        let problem = if span < least || span > most {
            format!("It is {} to {}.", format_span(least), format_span(most))
        } else if span.as_ns() % MICROSECOND.as_ns() != 0 {
            "The kernel counts it in whole microseconds.".to_owned()
        } else {
            return Some(span);
        };
        let message = format!("{key} = {} is not possible", format_span(span));
        log.mistake(fields.place(key), message, problem);
        None
    })
}
