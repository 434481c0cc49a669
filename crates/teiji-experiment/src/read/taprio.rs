//! `taprio`: classes, gates and who opens them.

use teiji_core::quantity::{Rate, format_span};
use teiji_core::time::Span;

use super::qdisc::{TrafficClasses, read_traffic_classes};
use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Gate, Taprio, TaprioMode};
use crate::schema;
use crate::tree::{Node, Value};

pub(super) const KEYS: [&str; 9] = [
    "map",
    "queues",
    "entries",
    "mode",
    "base-time",
    "cycle",
    "extension",
    "txtime-delay",
    "classes",
];
const ENTRIES: &str =
    "[{ open = [0], interval = \"300us\" }, { open = [1, 2], interval = \"700us\" }]";
const ENTRY: &str = "{ open = [0], interval = \"300us\" }";
/// The kernel keeps an interval in 32 bits of nanoseconds, …
const MAX_INTERVAL: Span = Span::from_ns(u32::MAX as i64);
/// … and the launch-time delay likewise.
const MAX_DELAY: Span = MAX_INTERVAL;
/// No switch has longer tables; the kernel's message has 64 KiB.
const MAX_ENTRIES: usize = 1_024;

pub(super) fn read(
    fields: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<Taprio> {
    let classes = read_traffic_classes(fields, label, rate, log);
    let count = classes.as_ref().map(|c| c.queues.len());
    let entries = fields.required("entries", ENTRIES, read_entries(fields, label, count, log));
    let mode = read_mode(fields, log);
    let base_time = read_time(fields, "base-time", "\"0us\"", log);
    let extension = read_time(fields, "extension", "\"10us\"", log);
    let cycle = fields.span("cycle", "\"1ms\"");
    let entries = entries?;
    let cycle = read_cycle(fields, cycle, &entries, log);
    let TrafficClasses { map, queues, below } = classes?;
    Some(Taprio {
        map,
        queues,
        base_time: base_time.or_default(Span::ZERO)?,
        cycle: cycle?,
        extension: extension.or_default(Span::ZERO)?,
        entries,
        mode: mode?,
        classes: below,
    })
}

fn read_mode(fields: &Fields<'_>, log: &Log) -> Option<TaprioMode> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mode {
        Software,
        Assist,
        Offload,
    }
    let known =
        [("software", Mode::Software), ("txtime-assist", Mode::Assist), ("offload", Mode::Offload)];
    let mode = fields.choice("mode", &known).or_default(Mode::Software);
    let delay = read_time(fields, "txtime-delay", "\"200us\"", log);
    match mode? {
        Mode::Assist => {
            let delay = fields.required("txtime-delay", "\"200us\"", delay)?;
            if delay > MAX_DELAY {
                log.mistake(
                    fields.place("txtime-delay"),
                    format!("txtime-delay = {} is out of range", format_span(delay)),
                    format!("It is 0 to {}.", format_span(MAX_DELAY)),
                );
                return None;
            }
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
            Some(if other == Mode::Offload { TaprioMode::Offload } else { TaprioMode::Software })
        }
    }
}

/// A duration that is not negative.
fn read_time(fields: &Fields<'_>, key: &str, example: &str, log: &Log) -> Found<Span> {
    fields.span(key, example).and_then(|span| {
        if span.is_negative() {
            log.mistake(
                fields.place(key),
                format!("{key} = {} is negative", format_span(span)),
                format!("Write 0 or more: {key} = {example}"),
            );
        }
        (!span.is_negative()).then_some(span)
    })
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
    fields.array("entries", ENTRIES).and_then(|items| {
        if items.is_empty() || items.len() > MAX_ENTRIES {
            log.mistake(
                fields.place("entries"),
                format!("`entries` has {} lines; a table has 1 to {MAX_ENTRIES}", items.len()),
                format!("Write for example entries = {ENTRIES}"),
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
    let fields = Fields::new(table, item.at, &schema::GATE, label, log);
    let interval = fields.required("interval", "\"300us\"", fields.span("interval", "\"300us\""));
    let open = fields.required("open", "[0]", fields.array("open", "[0]"));
    let open: Option<Vec<u8>> = open.and_then(|items| {
        let read: Vec<Option<u8>> = items.iter().map(|i| read_class(i, classes, log)).collect();
        read.into_iter().collect()
    });
    let interval = interval?;
    if interval <= Span::ZERO || interval > MAX_INTERVAL {
        log.mistake(
            fields.place("interval"),
            format!("the interval of {} is out of range", format_span(interval)),
            format!("The kernel takes 1 ns to {}.", format_span(MAX_INTERVAL)),
        );
        return None;
    }
    Some(Gate { open: open?, interval })
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
