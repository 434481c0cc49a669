//! How a thread is scheduled, and where: keys that several tables have.

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::Policy;
use crate::tree::{Node, Value};

/// Makes a policy of a priority.
type Make = fn(u8) -> Policy;

const KINDS: [(&str, Make); 3] =
    [("fifo", Policy::Fifo), ("rr", Policy::Rr), ("other", |_| Policy::Other)];

/// The keys `policy` and `priority` of a table; absent if neither is there.
pub(super) fn read(fields: &Fields<'_>, log: &Log) -> Found<Policy> {
    let kind = fields.choice("policy", &KINDS);
    let priority = fields
        .number("priority", 1, 99, "1 is the lowest, 99 the highest.")
        .and_then(|n| u8::try_from(n).ok());
    let other = |make: Make| make(1) == Policy::Other;
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

/// A list of CPUs under `key`, in ascending order.
pub(super) fn cpus(fields: &Fields<'_>, key: &str, log: &Log) -> Found<Vec<u16>> {
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

/// The CPUs in `items`, in ascending order, each once.
pub(super) fn list(items: &[Node], key: &str, log: &Log) -> Option<Vec<u16>> {
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
    // All are looked at, so that all mistakes are told.
    let read: Vec<Option<u16>> = items.iter().map(number).collect();
    let mut cpus = read.into_iter().collect::<Option<Vec<u16>>>()?;
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}
