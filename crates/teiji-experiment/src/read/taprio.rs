//! `taprio`: classes, gates and who opens them.

use teiji_core::quantity::{Rate, format_span};
use teiji_core::time::Span;

use super::classes::{TrafficClasses, read_traffic_classes};
use crate::fields::{Fields, Found};
use crate::keys::qdisc::{self as keys, Opens};
use crate::log::Log;
use crate::scenario::{Gate, Qdisc, QdiscTree, Taprio, TaprioMode};
use crate::tree::{Node, Value};

const ENTRY: &str = "{ open = [0], interval = \"300us\" }";
pub(super) fn read(
    fields: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<QdiscTree> {
    let classes = read_traffic_classes(fields, label, rate, log);
    let count = classes.as_ref().map(|c| c.queues.len());
    let entries = read_entries(fields, label, count, log);
    let entries = fields.required("entries", keys::ENTRIES.example(), entries);
    let mode = read_mode(fields, log);
    let base_time = fields.settled(&keys::BASE_TIME);
    let extension = fields.settled(&keys::EXTENSION);
    let cycle = fields.take(&keys::CYCLE);
    let entries = entries?;
    let cycle = read_cycle(fields, cycle, &entries, log);
    let TrafficClasses { map, queues, below } = classes?;
    let root = Qdisc::Taprio(Taprio {
        map,
        queues,
        base_time: base_time?,
        cycle: cycle?,
        extension: extension?,
        entries,
        mode: mode?,
    });
    Some(QdiscTree { root, classes: below })
}

fn read_mode(fields: &Fields<'_>, log: &Log) -> Option<TaprioMode> {
    let mode = fields.settled(&keys::MODE);
    let delay = fields.take(&keys::TXTIME_DELAY);
    match mode? {
        Opens::Assist => {
            let delay = fields.required("txtime-delay", "\"200us\"", delay)?;
            Some(TaprioMode::TxtimeAssist { txtime_delay: delay })
        }
        other => {
            if fields.has("txtime-delay") {
                log.mistake(
                    fields.place("txtime-delay"),
                    "`txtime-delay` means nothing without launch times",
                    "Write mode = \"txtime-assist\", or leave it out.",
                );
            }
            Some(if other == Opens::Offload { TaprioMode::Offload } else { TaprioMode::Software })
        }
    }
}

fn read_cycle(
    fields: &Fields<'_>,
    cycle: Found<Span>,
    entries: &[Gate],
    log: &Log,
) -> Option<Span> {
    let sum = entries.iter().fold(Span::ZERO, |sum, gate| sum + gate.interval);
    let cycle = cycle.or_default(sum)?;
    let good = cycle > Span::ZERO && cycle <= sum;
    if !good {
        log.mistake(
            fields.place("cycle"),
            format!(
                "the cycle of {} does not fit entries of {} together",
                format_span(cycle),
                format_span(sum)
            ),
            "Leave it out, or write a shorter one to cut the last entries; \
             for a longer cycle add an entry for the rest.",
        );
    }
    good.then_some(cycle)
}

fn read_entries(
    fields: &Fields<'_>,
    label: &str,
    classes: Option<usize>,
    log: &Log,
) -> Found<Vec<Gate>> {
    let limits = &keys::ENTRIES.limits;
    fields.items(&keys::ENTRIES).and_then(|items| {
        if !limits.has(items.len()) {
            log.mistake(
                fields.place("entries"),
                format!("`entries` has {} lines; a table has 1 to {}", items.len(), limits.most),
                format!("Write for example entries = {}", limits.example),
            );
            return None;
        }
        let gates: Vec<Option<Gate>> =
            items.iter().map(|item| read_gate(item, label, classes, log)).collect();
        gates.into_iter().collect()
    })
}

fn read_gate(item: &Node, label: &str, classes: Option<usize>, log: &Log) -> Option<Gate> {
    let table = match &item.value {
        Value::Table(table) => table,
        Value::Broken => return None,
        other => {
            let message = format!("a line of `entries` is a table, not {}", other.kind());
            log.mistake(item.at, message, format!("Write for example {ENTRY}"));
            return None;
        }
    };
    let label = format!("a line of `entries` in {label}");
    let fields = Fields::new(table, item.at, &keys::GATE, label, log);
    let interval = fields.settled(&keys::INTERVAL);
    let open = fields.required("open", keys::OPEN.example(), fields.items(&keys::OPEN));
    let open: Option<Vec<u8>> = open.and_then(|items| {
        let read: Vec<Option<u8>> = items.iter().map(|i| read_class(i, classes, log)).collect();
        read.into_iter().collect()
    });
    Some(Gate { open: open?, interval: interval? })
}

fn read_class(item: &Node, classes: Option<usize>, log: &Log) -> Option<u8> {
    let count = classes.unwrap_or(16);
    let class = match &item.value {
        Value::Broken => return None,
        Value::Integer(n) => u8::try_from(*n).ok().filter(|n| usize::from(*n) < count),
        _ => None,
    };
    if class.is_none() {
        log.mistake(
            item.at,
            "`open` lists the traffic classes that may send, and this is none",
            format!(
                "There are as many classes as entries in `queues`: 0 … {}.",
                count.saturating_sub(1)
            ),
        );
    }
    class
}
