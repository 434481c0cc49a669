//! Queueing disciplines and what can be said about one without knowing its
//! port.

use std::collections::BTreeMap;

use teiji_core::quantity::Rate;
use teiji_core::time::ClockId;

use super::{cbs, prioflow, taprio};
use crate::fields::{Fields, Found, show};
use crate::log::Log;
use crate::scenario::{Etf, LeafQdisc, Qdisc, QueueRange};
use crate::schema;
use crate::suggest::list;
use crate::tree::{Node, Value};

/// The most classes and bands the kernel has (`TC_QOPT_MAX_QUEUE`,
/// `TCQ_PRIO_BANDS`), one a priority.
const MAX_CLASSES: u8 = 16;

/// `prio` without a map uses the kernel's (`tc-prio(8)`).
const PRIO_MAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

const DELTA: &str = "\"150us\"";
const MAP: &str = "[2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]";
const QUEUES: &str = "[\"1@0\", \"1@1\", \"2@2\"]";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cbs,
    Default,
    Etf,
    Mqprio,
    Pfifo,
    Prio,
    Prioflow,
    Taprio,
}

impl Kind {
    const ROOT: [(&'static str, Self); 8] = [
        ("cbs", Self::Cbs),
        ("default", Self::Default),
        ("etf", Self::Etf),
        ("mqprio", Self::Mqprio),
        ("pfifo", Self::Pfifo),
        ("prio", Self::Prio),
        ("prioflow", Self::Prioflow),
        ("taprio", Self::Taprio),
    ];
    const LEAF: [(&'static str, Self); 4] = [
        ("cbs", Self::Cbs),
        ("etf", Self::Etf),
        ("pfifo", Self::Pfifo),
        ("prioflow", Self::Prioflow),
    ];

    /// The keys that mean something, besides `kind`.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::Cbs => &cbs::KEYS,
            Self::Etf => &["delta", "clock", "offload", "deadline", "skip-sock-check"],
            Self::Mqprio => &["map", "queues", "hw", "classes"],
            Self::Pfifo => &["limit"],
            Self::Prio => &["bands", "map", "classes"],
            Self::Prioflow => &prioflow::KEYS,
            Self::Taprio => &taprio::KEYS,
        }
    }

    fn name(self) -> &'static str {
        Self::ROOT.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// The port's `qdisc`; absent is the kernel's default.
pub(super) fn read_root(
    port: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Found<Qdisc> {
    let label = format!("{}.qdisc]", label.trim_end_matches(']'));
    let table = match port.table("qdisc", "{ kind = \"etf\", delta = \"150us\" }") {
        Found::Absent => return Found::Absent,
        Found::Wrong => return Found::Wrong,
        Found::Value(table) => table,
    };
    let fields = Fields::new(table, port.place("qdisc"), &schema::QDISC, label.as_str(), log);
    let qdisc = match read_kind(&fields, &Kind::ROOT, log) {
        Some(Kind::Default) => return Found::Absent,
        Some(Kind::Mqprio) => read_mqprio(&fields, &label, rate, log),
        Some(Kind::Prio) => read_prio(&fields, &label, rate, log),
        Some(Kind::Taprio) => taprio::read(&fields, &label, rate, log).map(Qdisc::Taprio),
        Some(kind) => read_leaf(kind, &fields, rate, log).map(Qdisc::Leaf),
        None => None,
    };
    qdisc.map_or(Found::Wrong, Found::Value)
}

fn read_kind(fields: &Fields<'_>, known: &[(&str, Kind)], log: &Log) -> Option<Kind> {
    let kind = fields.required("kind", "\"etf\"", fields.choice("kind", known))?;
    let others = Kind::ROOT.iter().flat_map(|(_, k)| k.keys()).filter(|k| !kind.keys().contains(k));
    let mut foreign: Vec<&str> =
        others.copied().filter(|k| fields.knows(k) && fields.has(k)).collect();
    foreign.sort_unstable();
    foreign.dedup();
    for key in foreign {
        let help = match kind.keys() {
            [] => "The kernel's default takes no settings.".to_owned(),
            keys => format!("It takes {}.", list(keys)),
        };
        log.mistake(fields.place(key), format!("`{key}` means nothing to {}", kind.name()), help);
    }
    Some(kind)
}

fn read_leaf(kind: Kind, fields: &Fields<'_>, rate: Option<Rate>, log: &Log) -> Option<LeafQdisc> {
    if kind == Kind::Cbs {
        return cbs::read(fields, rate, log).map(LeafQdisc::Cbs);
    }
    if kind == Kind::Prioflow {
        return prioflow::read(fields, log).map(LeafQdisc::Prioflow);
    }
    if kind == Kind::Pfifo {
        let limit = fields.number("limit", 1, i64::from(u32::MAX), "").or_default(1000)?;
        return Some(LeafQdisc::Pfifo { limit: u32::try_from(limit).ok()? });
    }
    let clocks =
        [("tai", ClockId::Tai), ("realtime", ClockId::Realtime), ("monotonic", ClockId::Monotonic)];
    let delta = fields.required("delta", DELTA, fields.span("delta", DELTA));
    let clock = fields.choice("clock", &clocks).or_default(ClockId::Tai);
    let offload = fields.flag("offload").or_default(false);
    let deadline_mode = fields.flag("deadline").or_default(false);
    let skip_sock_check = fields.flag("skip-sock-check").or_default(false);
    Some(LeafQdisc::Etf(Etf {
        delta: delta?,
        clock: clock?,
        offload: offload?,
        deadline_mode: deadline_mode?,
        skip_sock_check: skip_sock_check?,
    }))
}

fn read_mqprio(fields: &Fields<'_>, label: &str, rate: Option<Rate>, log: &Log) -> Option<Qdisc> {
    let classes = read_traffic_classes(fields, label, rate, log);
    let hw = fields.flag("hw").or_default(false);
    let TrafficClasses { map, queues, below } = classes?;
    Some(Qdisc::Mqprio { map, queues, hw: hw?, classes: below })
}

/// What mqprio and taprio have in common.
pub(super) struct TrafficClasses {
    pub map: [u8; 16],
    pub queues: Vec<QueueRange>,
    pub below: BTreeMap<u8, LeafQdisc>,
}

pub(super) fn read_traffic_classes(
    fields: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<TrafficClasses> {
    let queues = fields.required("queues", QUEUES, read_queues(fields, log));
    let count = queues.as_ref().and_then(|q| u8::try_from(q.len()).ok());
    let what = ["traffic class", "There are as many classes as entries in `queues`"];
    let map = fields.required("map", MAP, read_map(fields, count, what, log));
    let below = read_classes(fields, label, count, "traffic class", rate, log);
    Some(TrafficClasses { map: map?, queues: queues?, below: below? })
}

fn read_prio(fields: &Fields<'_>, label: &str, rate: Option<Rate>, log: &Log) -> Option<Qdisc> {
    let bands =
        fields.number("bands", 2, i64::from(MAX_CLASSES), "").and_then(|n| u8::try_from(n).ok());
    let limit = bands.or_default(MAX_CLASSES);
    let what = ["band", "There are as many as `bands` says"];
    let map = read_map(fields, limit, what, log);
    if let (Found::Absent, Found::Value(few @ ..3)) = (map, bands) {
        log.mistake(
            fields.place("bands"),
            format!("bands = {few} needs a map: the kernel's own uses three bands"),
            "Write for example map = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
        );
        return None;
    }
    let map = map.or_default(PRIO_MAP);
    let used = map.and_then(|map| map.into_iter().max()).unwrap_or(2) + 1;
    let bands = bands.or_default(used.max(3));
    let classes = read_classes(fields, label, bands, "band", rate, log);
    Some(Qdisc::Prio { bands: bands?, map: map?, classes: classes? })
}

/// The 16 numbers of a priority map, each below `count`.
fn read_map(fields: &Fields<'_>, count: Option<u8>, what: [&str; 2], log: &Log) -> Found<[u8; 16]> {
    fields.array("map", MAP).and_then(|items| {
        let mut good = items.len() == 16;
        if !good {
            log.mistake(
                fields.place("map"),
                format!(
                    "`map` has {} numbers; it needs 16, one for each priority 0 … 15",
                    items.len()
                ),
                format!("Write for example map = {MAP}"),
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
                    report_map_entry(item, priority, count, what, log);
                }
            }
        }
        good.then_some(map)
    })
}

fn report_map_entry(item: &Node, priority: usize, count: Option<u8>, what: [&str; 2], log: &Log) {
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
            log.mistake(item.at, message, format!("Write for example map = {MAP}"));
        }
    }
}

fn read_queues(fields: &Fields<'_>, log: &Log) -> Found<Vec<QueueRange>> {
    fields.array("queues", QUEUES).and_then(|items| {
        if items.is_empty() || items.len() > usize::from(MAX_CLASSES) {
            log.mistake(
                fields.place("queues"),
                format!(
                    "`queues` has {} entries; mqprio has 1 to {MAX_CLASSES} traffic classes",
                    items.len()
                ),
                format!("Write one COUNT@OFFSET a class, for example queues = {QUEUES}"),
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

fn read_classes(
    fields: &Fields<'_>,
    label: &str,
    count: Option<u8>,
    what: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<BTreeMap<u8, LeafQdisc>> {
    let mut good = !matches!(fields.table("classes", "{}"), Found::Wrong);
    let mut classes = BTreeMap::new();
    for class in fields.tables("classes", "a class") {
        let label = format!("{}.classes.{}]", label.trim_end_matches(']'), class.name);
        let below = Fields::new(class.table, class.at, &schema::CLASS, label, log);
        let leaf =
            read_kind(&below, &Kind::LEAF, log).and_then(|kind| read_leaf(kind, &below, rate, log));
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
