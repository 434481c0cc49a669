//! `prioflow`: 16 levels, and flow control of the port's link.

use teiji_core::time::Span;

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{LevelSource, LinkMode, Prioflow};

pub(super) const KEYS: [&str; 7] = ["limit", "by", "link", "storm", "reaction", "ring", "room"];
/// `PRIOFLOW_RING_MAX` and `PRIOFLOW_ROOM_MAX`
const MAX_FRAMES: i64 = 32_000;
/// `PRIOFLOW_REACTION_MAX_US`
const MAX_REACTION: Span = Span::from_millis(32);
const MILLISECOND: Span = Span::from_millis(1);
const MICROSECOND: Span = Span::from_micros(1);

pub(super) fn read(fields: &Fields<'_>, log: &Log) -> Option<Prioflow> {
    let usual = Prioflow::default();
    let number =
        |key, most| fields.number(key, 1, most, "").and_then(|number| u32::try_from(number).ok());
    let limit = number("limit", u32::MAX.into()).or_default(usual.limit);
    let source =
        fields.choice("by", &LevelSource::ALL.map(|s| (s.name(), s))).or_default(usual.source);
    let link = fields.choice("link", &LinkMode::ALL.map(|m| (m.name(), m))).or_default(usual.link);
    let longest = Span::from_millis(u32::MAX.into());
    let storm = whole(fields, "storm", MILLISECOND, Span::ZERO, longest, log);
    let reaction = whole(fields, "reaction", MICROSECOND, MICROSECOND, MAX_REACTION, log);
    let ring = number("ring", MAX_FRAMES).or_default(usual.ring);
    let room = number("room", MAX_FRAMES).or_default(usual.room);
    Some(Prioflow {
        limit: limit?,
        source: source?,
        link: link?,
        storm: storm.or_default(usual.storm)?,
        reaction: reaction.or_default(usual.reaction)?,
        ring: ring?,
        room: room?,
    })
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
