//! `taprio`: gates that open and close in a cycle. Numbers from `include/uapi/linux/pkt_sched.h`.

use std::fmt::Write;

use teiji_core::time::{ClockId, Span};
use teiji_experiment::scenario::{Gate, Taprio, TaprioMode};

use super::mqprio::{class_words, parse_classes, qopt};
use super::{Kind, NotOffloaded, OPTIONS};
use crate::message::{Request, attribute, attributes, i64_at, u32_at};

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

impl Kind for Taprio {
    fn words(&self) -> String {
        let mut words = class_words(&self.map, &self.queues);
        let _ = write!(words, " base-time {}", self.base_time.as_ns());
        for gate in &self.entries {
            let _ = write!(words, " sched-entry S {:02x} {}", gate.mask(), gate.interval.as_ns());
        }
        let _ = write!(words, " cycle-time {}", self.cycle.as_ns());
        if self.extension != Span::ZERO {
            let _ = write!(words, " cycle-time-extension {}", self.extension.as_ns());
        }
        match self.mode {
            TaprioMode::Software => words.push_str(" clockid CLOCK_TAI"),
            TaprioMode::TxtimeAssist { txtime_delay } => {
                // tc's is in nanoseconds, too.
                let delay = txtime_delay.as_ns();
                let _ = write!(words, " clockid CLOCK_TAI flags 0x1 txtime-delay {delay}");
            }
            TaprioMode::Offload => words.push_str(" flags 0x2"),
        }
        words
    }

    fn encode(&self, request: Request) -> Request {
        request.nested(OPTIONS, |request| options(self, request))
    }

    fn module(&self) -> Option<&'static str> {
        Some("sch_taprio")
    }

    fn not_offloaded(&self) -> Option<NotOffloaded> {
        Some(NotOffloaded {
            lack: "has no gates: `taprio flags 0x2`",
            instead: "mode = \"software\" or \"txtime-assist\",\n  or a NIC with gates (i225/i226, stmmac, …).",
        })
    }
}

fn options(taprio: &Taprio, request: Request) -> Request {
    let ns = |span: Span| span.as_ns().to_ne_bytes();
    let request = request
        .attribute(PRIOMAP, &qopt(&taprio.map, &taprio.queues, false))
        .attribute(BASE_TIME, &ns(taprio.base_time))
        .attribute(CYCLE_TIME, &ns(taprio.cycle))
        .attribute(CYCLE_TIME_EXTENSION, &ns(taprio.extension))
        .nested(ENTRY_LIST, |list| {
            taprio.entries.iter().fold(list, |list, gate| {
                list.nested(ENTRY, |entry| {
                    entry
                        .attribute(ENTRY_CMD, &[CMD_SET_GATES])
                        .u32(ENTRY_GATE_MASK, gate.mask())
                        .u32(ENTRY_INTERVAL, saturated(gate.interval))
                })
            })
        });
    let clock = ClockId::Tai.number().to_ne_bytes();
    match taprio.mode {
        TaprioMode::Software => request.attribute(CLOCKID, &clock),
        TaprioMode::TxtimeAssist { txtime_delay } => request
            .attribute(CLOCKID, &clock)
            .u32(FLAGS, FLAG_TXTIME_ASSIST)
            .u32(TXTIME_DELAY, saturated(txtime_delay)),
        // The NIC's clock is the clock; the kernel refuses another.
        TaprioMode::Offload => request.u32(FLAGS, FLAG_FULL_OFFLOAD),
    }
}

fn saturated(span: Span) -> u32 {
    u32::try_from(span.as_ns()).unwrap_or(u32::MAX)
}

/// Reads what the kernel dumps: the table in force, or the one that waits for its base time.
pub(super) fn decode(options: &[u8]) -> Option<Taprio> {
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
            let interval = Span::from_ns(field(ENTRY_INTERVAL)?.into());
            Some(Gate::from((field(ENTRY_GATE_MASK)?, interval)))
        })
        .collect::<Option<_>>()?;
    Some(Taprio {
        map,
        queues,
        base_time: span(BASE_TIME)?,
        cycle: span(CYCLE_TIME)?,
        extension: span(CYCLE_TIME_EXTENSION).unwrap_or(Span::ZERO),
        entries,
        mode,
    })
}
