//! `prioflow`: 16 levels, and flow control of the port's link.

use teiji_core::time::Span;

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{LevelSource, LevelTable, LinkMode, Prioflow};
use crate::tree::{Node, Value};

pub(super) const KEYS: [&str; 9] =
    ["limit", "bytes", "by", "table", "link", "storm", "reaction", "ring", "room"];
const TABLE: &str = "[0, 0, 1, 1, 2, 2, 3, 3] with by = \"pcp\"";
const MILLISECOND: Span = Span::from_millis(1);
const MICROSECOND: Span = Span::from_micros(1);

pub(super) fn read(fields: &Fields<'_>, log: &Log) -> Option<Prioflow> {
    let usual = Prioflow::default();
    let from = |least, key, most| {
        fields.number(key, least, most, "").and_then(|number| u32::try_from(number).ok())
    };
    let number = |key, most| from(1, key, most);
    let limit = number("limit", u32::MAX.into()).or_default(usual.limit);
    let bytes = from(Prioflow::LEAST_BYTES.into(), "bytes", i64::from(u32::MAX) - 1)
        .map(Some)
        .or_default(usual.bytes);
    let source =
        fields.choice("by", &LevelSource::ALL.map(|s| (s.name(), s))).or_default(usual.source);
    let table = read_table(fields, source, log).map(Some).or_default(usual.table);
    let link = fields.choice("link", &LinkMode::ALL.map(|m| (m.name(), m))).or_default(usual.link);
    let storm = whole(fields, "storm", MILLISECOND, Span::ZERO, Prioflow::LONGEST_STORM, log);
    let longest = Prioflow::LONGEST_REACTION;
    let reaction = whole(fields, "reaction", MICROSECOND, MICROSECOND, longest, log);
    let ring = number("ring", Prioflow::MOST_FRAMES.into()).or_default(usual.ring);
    let room = number("room", Prioflow::MOST_FRAMES.into()).or_default(usual.room);
    Some(Prioflow {
        limit: limit?,
        bytes: bytes?,
        source: source?,
        table: table?,
        link: link?,
        storm: storm.or_default(usual.storm)?,
        reaction: reaction.or_default(usual.reaction)?,
        ring: ring?,
        room: room?,
    })
}

/// The level of each value of the source.
fn read_table(fields: &Fields<'_>, source: Option<LevelSource>, log: &Log) -> Found<LevelTable> {
    fields.array("table", TABLE).and_then(|items| match table_of(items, source) {
        Ok(table) => Some(table),
        Err(why) => {
            log.mistake(fields.place("table"), why, format!("Write for example table = {TABLE}"));
            None
        }
    })
}

fn table_of(items: &[Node], source: Option<LevelSource>) -> Result<LevelTable, String> {
    let level = |item: &Node| match item.value {
        // What fits into no byte is no level either.
        Value::Integer(level) => Ok(u8::try_from(level).unwrap_or(u8::MAX)),
        _ => Err("`table` holds whole numbers only"),
    };
    let levels: Result<Vec<u8>, _> = items.iter().map(level).collect();
    let table = LevelTable::new(&levels?)?;
    let entries = table.levels().len();
    match source {
        Some(source) if entries != source.values() => Err(format!(
            "`table` has {entries} levels, and {} has {} values",
            source.name(),
            source.values()
        )),
        _ => Ok(table),
    }
}

/// A time of whole `unit`s.
fn whole(
    fields: &Fields<'_>,
    key: &str,
    unit: Span,
    least: Span,
    most: Span,
    log: &Log,
) -> Found<Span> {
    fields.span(key, "\"2ms\"").and_then(|span| {
        let good = (least..=most).contains(&span) && span.as_ns() % unit.as_ns() == 0;
        if !good {
            log.mistake(
                fields.place(key),
                format!("`{key}` is {span}"),
                format!("Write whole multiples of {unit}, from {least} to {most}."),
            );
        }
        good.then_some(span)
    })
}
