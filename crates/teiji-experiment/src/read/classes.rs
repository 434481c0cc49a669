//! The classes of a qdisc: which priority and which queues each has, and its own qdisc.

use std::collections::BTreeMap;

use teiji_core::quantity::Rate;

use super::{cbs, prioflow};
use crate::fields::{Fields, Found, show};
use crate::keys::qdisc::{self as keys, CLASS, EtfDraft, MAX_CLASSES, QdiscKind as Kind};
use crate::keys::{Items, Key, Section};
use crate::log::Log;
use crate::scenario::{Pfifo, Qdisc, QueueRange};
use crate::suggest::list;
use crate::tree::{Node, Value};

/// What mqprio and taprio have in common.
pub(super) struct TrafficClasses {
    pub map: [u8; 16],
    pub queues: Vec<QueueRange>,
    pub below: BTreeMap<u8, Qdisc>,
}

pub(super) fn read_traffic_classes(
    fields: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<TrafficClasses> {
    let queues = fields.required("queues", keys::QUEUES.example(), read_queues(fields, log));
    let count = queues.as_ref().and_then(|q| u8::try_from(q.len()).ok());
    let what = ["traffic class", "There are as many classes as entries in `queues`"];
    let map = read_map(&keys::MAP, fields, count, what, log);
    let map = fields.required("map", keys::MAP.example(), map);
    let below = read_classes(fields, label, count, "traffic class", rate, log);
    Some(TrafficClasses { map: map?, queues: queues?, below: below? })
}

/// The 16 numbers of a priority map, each below `count`.
pub(super) fn read_map(
    key: &Key<Items>,
    fields: &Fields<'_>,
    count: Option<u8>,
    what: [&str; 2],
    log: &Log,
) -> Found<[u8; 16]> {
    let example = key.limits.example;
    fields.items(key).and_then(|items| {
        let mut good = key.limits.has(items.len());
        if !good {
            log.mistake(
                fields.place("map"),
                format!(
                    "`map` has {} numbers; it needs 16, one for each priority 0 … 15",
                    items.len()
                ),
                format!("Write for example map = {example}"),
            );
        }
        let mut map = [0; 16];
        for (priority, item) in items.iter().enumerate() {
            let class = match &item.value {
                Value::Integer(n) => u8::try_from(*n).ok().filter(|c| *c < count.unwrap_or(16)),
                _ => None,
            };
            match class {
                Some(class) if priority < 16 => map[priority] = class,
                Some(_) => {}
                None => {
                    good = false;
                    report_map_entry(item, priority, count, what, example, log);
                }
            }
        }
        good.then_some(map)
    })
}

fn report_map_entry(
    item: &Node,
    priority: usize,
    count: Option<u8>,
    what: [&str; 2],
    example: &str,
    log: &Log,
) {
    match &item.value {
        Value::Broken => {}
        Value::Integer(n) => {
            let last = count.unwrap_or(16).saturating_sub(1);
            let [what, why] = what;
            let message = format!("priority {priority} is mapped to {n}, which is no {what}");
            log.mistake(item.at, message, format!("{why}: 0 … {last}."));
        }
        other => {
            let message = format!("`map` holds whole numbers, not {}", other.kind());
            log.mistake(item.at, message, format!("Write for example map = {example}"));
        }
    }
}

fn read_queues(fields: &Fields<'_>, log: &Log) -> Found<Vec<QueueRange>> {
    let (limits, example) = (&keys::QUEUES.limits, keys::QUEUES.limits.example);
    fields.items(&keys::QUEUES).and_then(|items| {
        if !limits.has(items.len()) {
            log.mistake(
                fields.place("queues"),
                format!(
                    "`queues` has {} entries; mqprio has 1 to {} traffic classes",
                    items.len(),
                    limits.most
                ),
                format!("Write one COUNT@OFFSET per class, for example queues = {example}"),
            );
            return None;
        }
        let ranges: Vec<Option<QueueRange>> = items.iter().map(|i| read_range(i, log)).collect();
        ranges.into_iter().collect()
    })
}

/// `count@offset`, as `tc` writes it.
fn read_range(item: &Node, log: &Log) -> Option<QueueRange> {
    if let Value::Broken = item.value {
        return None;
    }
    let range = match &item.value {
        Value::Text(text) => text.split_once('@').and_then(|(count, offset)| {
            let range = QueueRange { count: count.parse().ok()?, offset: offset.parse().ok()? };
            (range.count > 0 && range.offset.checked_add(range.count).is_some()).then_some(range)
        }),
        _ => None,
    };
    if range.is_none() {
        let shown = match &item.value {
            Value::Text(text) => format!("\"{text}\""),
            _ => show("queues", item),
        };
        log.mistake(
            item.at,
            format!("{shown} is no range of queues"),
            "Write COUNT@OFFSET with at least one queue: \"2@2\" is queues 2 and 3.",
        );
    }
    range
}

pub(super) fn read_classes(
    fields: &Fields<'_>,
    label: &str,
    count: Option<u8>,
    what: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<BTreeMap<u8, Qdisc>> {
    let mut good = !matches!(fields.table("classes", "{}"), Found::Wrong);
    let mut classes = BTreeMap::new();
    for class in fields.tables("classes", "a class") {
        let label = format!("{}.classes.{}]", label.trim_end_matches(']'), class.name);
        let below = Fields::new(class.table, class.at, &CLASS, label, log);
        let kind = read_kind(&below, &CLASS, &keys::LEAF_KIND, log);
        let leaf = kind.and_then(|kind| read_leaf(kind, &below, rate, log));
        let number: Option<u8> = class.name.parse().ok();
        let Some(number) = number.filter(|n| *n < count.unwrap_or(MAX_CLASSES)) else {
            good = false;
            let last = count.unwrap_or(MAX_CLASSES).saturating_sub(1);
            log.mistake(
                class.at,
                format!("there is no {what} `{}`", class.name),
                format!("Here they are 0 … {last}."),
            );
            continue;
        };
        match leaf {
            Some(leaf) => drop(classes.insert(number, leaf)),
            None => good = false,
        }
    }
    good.then_some(classes)
}

/// The kind of a table that may have the keys of `section`; those of other kinds are reported.
pub(super) fn read_kind(
    fields: &Fields<'_>,
    section: &Section,
    key: &Key<Kind>,
    log: &Log,
) -> Option<Kind> {
    let kind = fields.settled(key)?;
    let own = kind.section().names();
    let mut foreign = section.names();
    foreign.retain(|name| *name != key.name && !own.contains(name) && fields.has(name));
    foreign.sort_unstable();
    for key in foreign {
        let help = match own.as_slice() {
            [] => "The kernel's default takes no settings.".to_owned(),
            keys => format!("It takes {}.", list(keys)),
        };
        log.mistake(fields.place(key), format!("`{key}` means nothing to {}", kind.name()), help);
    }
    Some(kind)
}

pub(super) fn read_leaf(
    kind: Kind,
    fields: &Fields<'_>,
    rate: Option<Rate>,
    log: &Log,
) -> Option<Qdisc> {
    match kind {
        Kind::Cbs => cbs::read(fields, rate, log).map(Qdisc::Cbs),
        Kind::Prioflow => prioflow::read(fields).map(Qdisc::Prioflow),
        Kind::Pfifo => Some(Qdisc::Pfifo(Pfifo { limit: fields.settled(&keys::LIMIT)? })),
        Kind::Etf => EtfDraft::read(fields).finish().map(Qdisc::Etf),
        Kind::Default | Kind::Mqprio | Kind::Prio | Kind::Taprio => {
            unreachable!("{} has a reader of its own", kind.name())
        }
    }
}
