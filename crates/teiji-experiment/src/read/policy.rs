//! How a thread is scheduled, and where: keys that several tables have.

use teiji_core::domain::RtPriority;

use crate::fields::{Fields, Found};
use crate::keys::Value as _;
use crate::keys::host::{Make, POLICIES, THREAD_PRIORITIES};
use crate::log::Log;
use crate::scenario::Policy;
use crate::tree::{Node, Value};

/// The keys `policy` and `priority` of a table; absent if neither is there.
pub(crate) fn read(fields: &Fields<'_>, log: &Log) -> Found<Policy> {
    let kind = fields.choice("policy", &POLICIES);
    let priority = RtPriority::read(&THREAD_PRIORITIES, "priority", fields);
    let other = |make: Make| make(RtPriority::LEAST) == Policy::Other;
    match (kind, priority) {
        (Found::Wrong, _) | (_, Found::Wrong) => Found::Wrong,
        (Found::Absent, Found::Absent) => Found::Absent,
        (Found::Absent, Found::Value(priority)) => Found::Value(Policy::Fifo(priority)),
        (Found::Value(make), Found::Absent) if other(make) => Found::Value(Policy::Other),
        (Found::Value(make), Found::Value(_)) if other(make) => {
            log.mistake(
                fields.place("priority"),
                "policy = \"other\" is not real-time and has no priority",
                "Leave the priority out, or write policy = \"fifo\".",
            );
            Found::Wrong
        }
        (Found::Value(_), Found::Absent) => {
            fields.missing("priority", "50");
            Found::Wrong
        }
        (Found::Value(make), Found::Value(priority)) => Found::Value(make(priority)),
    }
}

/// The same in a table that is there for nothing else.
pub(crate) fn of_thread(fields: &Fields<'_>, log: &Log) -> Option<Policy> {
    let policy = read(fields, log);
    if matches!(policy, Found::Absent) {
        fields.missing("priority", "1");
    }
    policy.value()
}

/// A list of CPUs under `key`, in ascending order.
pub(crate) fn cpus(fields: &Fields<'_>, key: &str, log: &Log) -> Found<Vec<u16>> {
    fields.array(key, "[0]").and_then(|items| {
        if items.is_empty() {
            log.mistake(
                fields.place(key),
                format!("`{key}` names no CPU"),
                format!("Write for example {key} = [0], or leave it out."),
            );
            return None;
        }
        list(items, key, log)
    })
}

/// For each transmit queue a list of CPUs.
pub(crate) fn cpus_of_queues(fields: &Fields<'_>, key: &str, log: &Log) -> Found<Vec<Vec<u16>>> {
    const EXAMPLE: &str = "[[0], [1]]";
    fields.array(key, EXAMPLE).and_then(|queues| {
        let queue = |node: &Node| match &node.value {
            Value::Array(items) => list(items, key, log),
            Value::Broken => None,
            other => {
                let kind = other.kind();
                log.mistake(
                    node.at,
                    format!("`{key}` has a list of CPUs for each transmit queue, not {kind}"),
                    format!("Write for example {key} = {EXAMPLE}"),
                );
                None
            }
        };
        let read: Vec<Option<Vec<u16>>> = queues.iter().map(queue).collect();
        read.into_iter().collect()
    })
}

/// The CPUs in `items`, in ascending order, each once.
fn list(items: &[Node], key: &str, log: &Log) -> Option<Vec<u16>> {
    let number = |item: &Node| {
        let cpu = match &item.value {
            Value::Broken => return None,
            Value::Integer(n) => u16::try_from(*n).ok(),
            _ => None,
        };
        if cpu.is_none() {
            log.mistake(
                item.at,
                format!("`{key}` lists CPUs, and this is none"),
                format!("CPUs count from 0: write for example {key} = [0]"),
            );
        }
        cpu
    };
    // All are looked at, so that all mistakes are reported.
    let read: Vec<Option<u16>> = items.iter().map(number).collect();
    let mut cpus = read.into_iter().collect::<Option<Vec<u16>>>()?;
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}
