//! `taprio`'s options by netlink. Numbers from `include/uapi/linux/pkt_sched.h`.

use teiji_core::time::{ClockId, Span};
use teiji_experiment::scenario::TaprioMode;

use super::message::{Request, attribute, attributes, i64_at, u32_at};
use super::qdisc::parse_classes;
use crate::qdisc::Settings;

const PRIOMAP: u16 = 1;
const ENTRY_LIST: u16 = 2;
const BASE_TIME: u16 = 3;
const CLOCKID: u16 = 5;
const ADMIN_SCHED: u16 = 7;
const CYCLE_TIME: u16 = 8;
const CYCLE_TIME_EXTENSION: u16 = 9;
const FLAGS: u16 = 10;
const TXTIME_DELAY: u16 = 11;

const ENTRY: u16 = 1;
const ENTRY_CMD: u16 = 2;
const ENTRY_GATE_MASK: u16 = 3;
const ENTRY_INTERVAL: u16 = 4;
const CMD_SET_GATES: u8 = 0;

const FLAG_TXTIME_ASSIST: u32 = 1 << 0;
const FLAG_FULL_OFFLOAD: u32 = 1 << 1;

/// A gate table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    pub(super) base_time: Span,
    pub(super) cycle: Span,
    pub(super) extension: Span,
    /// Gate mask, interval.
    pub(super) entries: &'a [(u32, Span)],
}

/// Appends the options; `classes` is a `struct tc_mqprio_qopt`.
pub(super) fn options(
    request: Request,
    classes: &[u8],
    table: &Table<'_>,
    mode: TaprioMode,
) -> Request {
    let ns = |span: Span| span.as_ns().to_ne_bytes();
    let request = request
        .attribute(PRIOMAP, classes)
        .attribute(BASE_TIME, &ns(table.base_time))
        .attribute(CYCLE_TIME, &ns(table.cycle))
        .attribute(CYCLE_TIME_EXTENSION, &ns(table.extension))
        .nested(ENTRY_LIST, |list| {
            table.entries.iter().fold(list, |list, (mask, interval)| {
                list.nested(ENTRY, |entry| {
                    entry
                        .attribute(ENTRY_CMD, &[CMD_SET_GATES])
                        .u32(ENTRY_GATE_MASK, *mask)
                        .u32(ENTRY_INTERVAL, saturated(*interval))
                })
            })
        });
    let clock = ClockId::Tai.number().to_ne_bytes();
    match mode {
        TaprioMode::Software => request.attribute(CLOCKID, &clock),
        TaprioMode::TxtimeAssist { txtime_delay } => request
            .attribute(CLOCKID, &clock)
            .u32(FLAGS, FLAG_TXTIME_ASSIST)
            .u32(TXTIME_DELAY, saturated(txtime_delay)),
        // The card's clock is the clock; the kernel refuses to be told one.
        TaprioMode::Offload => request.u32(FLAGS, FLAG_FULL_OFFLOAD),
    }
}

fn saturated(span: Span) -> u32 {
    u32::try_from(span.as_ns()).unwrap_or(u32::MAX)
}

/// Reads what the kernel dumps: the table in force, or the one that waits for
/// its base time.
pub(super) fn parse(options: &[u8]) -> Option<Settings> {
    let (map, queues) = parse_classes(attribute(options, PRIOMAP)?)?;
    let number = |kind| attribute(options, kind).and_then(|v| u32_at(v, 0));
    let flags = number(FLAGS).unwrap_or(0);
    let mode = if flags & FLAG_FULL_OFFLOAD != 0 {
        TaprioMode::Offload
    } else if flags & FLAG_TXTIME_ASSIST != 0 {
        let ns = number(TXTIME_DELAY).unwrap_or(0);
        TaprioMode::TxtimeAssist { txtime_delay: Span::from_ns(ns.into()) }
    } else {
        TaprioMode::Software
    };
    let table = attribute(options, ADMIN_SCHED).unwrap_or(options);
    let span = |kind| Some(Span::from_ns(i64_at(attribute(table, kind)?, 0)?));
    let entries = attributes(attribute(table, ENTRY_LIST)?)
        .map(|(_, entry)| {
            let field = |kind| u32_at(attribute(entry, kind)?, 0);
            Some((field(ENTRY_GATE_MASK)?, Span::from_ns(field(ENTRY_INTERVAL)?.into())))
        })
        .collect::<Option<_>>()?;
    Some(Settings::Taprio {
        map,
        queues,
        base_time: span(BASE_TIME)?,
        cycle: span(CYCLE_TIME)?,
        extension: span(CYCLE_TIME_EXTENSION).unwrap_or(Span::ZERO),
        entries,
        mode,
    })
}
