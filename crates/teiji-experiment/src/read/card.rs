//! What can be set on a card and its wire; all of it on `vtsn` only.

use std::fmt::Display;

use teiji_core::quantity::{Rate, format_span};
use teiji_core::time::Span;

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Card, Moderation, Nic, Phc, Ring};
use crate::schema;

const DELAY: &str = "\"500ns\"";
const DEFAULT_DELAY: Span = Span::from_ns(500);
/// Light takes longer to the moon: 1.3 s.
const MAX_DELAY: Span = Span::from_secs(1);
/// The rates the driver has.
const RATES: [u64; 5] = [10_000_000, 100_000_000, 1_000_000_000, 2_500_000_000, 10_000_000_000];
/// The driver's limit, ten times worse than the worst quartz.
const MAX_PPB: i64 = 1_000_000;
/// As long as anybody waits for something to happen.
const MAX_LIFE: Span = Span::from_secs(3_600);
/// The driver's limits.
const MAX_MODERATION: Span = Span::from_millis(10);
const MAX_RESOLUTION: Span = Span::from_millis(1);
const RING: [i64; 2] = [4, 4_096];
/// The kernel keeps offsets of the clock in 64 bits of nanoseconds.
const MAX_OFFSET: Span = Span::from_secs(1_000_000_000);

/// Says that a key is `vtsn`'s alone; true if it may be used here.
fn is_vtsn(fields: &Fields<'_>, key: &str, nic: Option<Nic>, log: &Log) -> bool {
    match nic {
        Some(nic) if nic != Nic::Vtsn && fields.has(key) => {
            log.mistake(
                fields.place(key),
                format!("`{key}` is a setting of vtsn, and the wire's card is {nic}"),
                "Write nic = \"vtsn\" in the wire, or leave it out.",
            );
            false
        }
        _ => true,
    }
}

pub(super) fn read_rate(fields: &Fields<'_>, nic: Option<Nic>, log: &Log) -> Option<Rate> {
    let rate = fields.rate("rate", "\"1Gbit/s\"");
    if !is_vtsn(fields, "rate", nic, log) {
        return None;
    }
    let known = |rate: Rate| {
        let good = RATES.contains(&rate.as_bps());
        if !good {
            log.mistake(
                fields.place("rate"),
                format!("vtsn has no rate of {rate}"),
                "There is 10Mbit/s, 100Mbit/s, 1Gbit/s, 2.5Gbit/s and 10Gbit/s.",
            );
        }
        good.then_some(rate)
    };
    rate.and_then(known).or_default(nic?.rate())
}

pub(super) fn read_delay(fields: &Fields<'_>, nic: Option<Nic>, log: &Log) -> Found<Span> {
    let delay = fields.span("delay", DELAY);
    if !is_vtsn(fields, "delay", nic, log) {
        return Found::Wrong;
    }
    match delay {
        Found::Absent if nic == Some(Nic::Vtsn) => Found::Value(DEFAULT_DELAY),
        found => found.and_then(|span| {
            within(fields, "delay", span, Span::ZERO, MAX_DELAY, log).then_some(span)
        }),
    }
}

/// The card's settings of a port.
pub(super) fn read(port: &Fields<'_>, label: &str, nic: Option<Nic>, log: &Log) -> Option<Card> {
    let keys =
        ["ring", "moderation", "pause", "phc", "launch-resolution", "stamp-slots", "dies-after"];
    // All are looked at, so that all mistakes are told.
    let allowed = keys.iter().filter(|key| !is_vtsn(port, key, nic, log)).count() == 0;
    let ring = read_ring(port, label, log);
    let moderation = read_moderation(port, label, log);
    let phc = read_phc(port, label, log);
    let pause = port.flag("pause").settle();
    let most = MAX_RESOLUTION;
    let resolution = port.span("launch-resolution", "\"32ns\"").and_then(|span| {
        within(port, "launch-resolution", span, Span::from_ns(1), most, log).then_some(span)
    });
    let slots = port
        .number("stamp-slots", 0, RING[1], "0 means any number.")
        .and_then(|n| u16::try_from(n).ok());
    let life = port.span("dies-after", "\"500ms\"").and_then(|span| {
        within(port, "dies-after", span, Span::ZERO, MAX_LIFE, log).then_some(span)
    });
    if !allowed {
        return None;
    }
    Some(Card {
        ring: ring.or_default(Ring::default())?,
        moderation: moderation.or_default(Moderation::default())?,
        pause: pause.ok()?,
        phc: phc.or_default(Phc::default())?,
        launch_resolution: resolution.settle().ok()?,
        stamp_slots: slots.settle().ok()?,
        dies_after: life.settle().ok()?,
    })
}

fn read_ring(port: &Fields<'_>, label: &str, log: &Log) -> Found<Ring> {
    port.table("ring", "{ tx = 256, rx = 256 }").and_then(|table| {
        let label = format!("`ring` of {label}");
        let fields = Fields::new(table, port.place("ring"), &schema::RING, label, log);
        let size = |key| {
            fields
                .number(key, RING[0], RING[1], "These are the driver's limits.")
                .and_then(|n| u32::try_from(n).ok())
        };
        let (tx, rx) = (size("tx").settle(), size("rx").settle());
        Some(Ring { tx: tx.ok()?, rx: rx.ok()? })
    })
}

fn read_moderation(port: &Fields<'_>, label: &str, log: &Log) -> Found<Moderation> {
    port.table("moderation", "{ rx = \"20us\", tx = \"20us\" }").and_then(|table| {
        let label = format!("`moderation` of {label}");
        let fields = Fields::new(table, port.place("moderation"), &schema::MODERATION, label, log);
        let wait = |key| {
            fields.span(key, "\"20us\"").and_then(|span| {
                let good = within(&fields, key, span, Span::ZERO, MAX_MODERATION, log)
                    && whole(&fields, key, span, 1_000, "microseconds", log);
                good.then_some(span)
            })
        };
        let (rx, tx) = (wait("rx").settle(), wait("tx").settle());
        Some(Moderation { rx: rx.ok()?, tx: tx.ok()? })
    })
}

fn read_phc(port: &Fields<'_>, label: &str, log: &Log) -> Found<Phc> {
    port.table("phc", "{ offset = \"1ms\", drift = \"20ppm\" }").and_then(|table| {
        let label = format!("`phc` of {label}");
        let fields = Fields::new(table, port.place("phc"), &schema::PHC, label, log);
        let offset = fields.span("offset", "\"1ms\"").and_then(|span| {
            let least = Span::ZERO - MAX_OFFSET;
            within(&fields, "offset", span, least, MAX_OFFSET, log).then_some(span)
        });
        let drift = read_ppb(&fields, "drift", -MAX_PPB, log).settle();
        let wander = read_ppb(&fields, "wander", 0, log).settle();
        let period = fields.span("wander-period", "\"10s\"").and_then(|span| {
            let (least, most) = (Span::from_millis(1), Span::from_secs(86_400));
            let good = within(&fields, "wander-period", span, least, most, log)
                && whole(&fields, "wander-period", span, 1_000_000, "milliseconds", log);
            good.then_some(span)
        });
        Some(Phc {
            offset: offset.settle().ok()?,
            drift_ppb: drift.ok()?,
            wander_ppb: wander.ok()?,
            wander_period: period.settle().ok()?,
        })
    })
}

fn read_ppb(fields: &Fields<'_>, key: &str, least: i64, log: &Log) -> Found<i64> {
    fields.ppb(key, "\"20ppm\"").and_then(|ppb| {
        let good = (least..=MAX_PPB).contains(&ppb);
        if !good {
            let show = |ppb: i64| format!("{} ppm", ppb as f64 / 1_000.0);
            out_of_range(fields, key, &show(ppb), &show(least), &show(MAX_PPB), log);
        }
        good.then_some(ppb)
    })
}

fn within(fields: &Fields<'_>, key: &str, span: Span, least: Span, most: Span, log: &Log) -> bool {
    let good = span >= least && span <= most;
    if !good {
        let [span, least, most] = [span, least, most].map(format_span);
        out_of_range(fields, key, &span, &least, &most, log);
    }
    good
}

fn out_of_range(
    fields: &Fields<'_>,
    key: &str,
    is: &dyn Display,
    least: &dyn Display,
    most: &dyn Display,
    log: &Log,
) {
    log.mistake(
        fields.place(key),
        format!("{key} = {is} is out of range"),
        format!("It is {least} to {most}."),
    );
}

fn whole(fields: &Fields<'_>, key: &str, span: Span, unit: i64, name: &str, log: &Log) -> bool {
    let good = span.as_ns() % unit == 0;
    if !good {
        log.mistake(
            fields.place(key),
            format!("{key} = {} is not a whole number of {name}", format_span(span)),
            "The driver is told in these.",
        );
    }
    good
}
