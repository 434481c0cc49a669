//! `[hosts.NAME.ports.WIRE]`: a host's end of a wire, and its NIC.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use teiji_core::time::Span;
use teiji_core::wire::MacAddr;

use super::list::LongTable;
use super::processing::PROCESSING;
use super::qdisc::QDISC;
use super::time::{Time, time};
use super::value::{Int, from_table, int, table};
use super::{Absent, Kind, PartOf, Section, Value, section};
use crate::fields::{Fields, Found};

/// The driver's limits of a ring.
const RING_SIZES: Int<u32> = int(4, 4_096).why("These are the driver's limits.");
/// The driver's limit of moderation.
const MODERATION_TIMES: Time =
    time("\"20us\"").within(Span::ZERO, Span::from_millis(10)).whole_micros();
/// The driver's limit of drift, ten times worse than the worst quartz.
const MAX_PPB: i64 = 1_000_000;
/// The kernel keeps offsets of the clock in 64 bits of nanoseconds.
const MAX_OFFSET: Span = Span::from_secs(1_000_000_000);
/// Longest useful wait for an event.
const MAX_LIFE: Span = Span::from_secs(3_600);

const fn part(section: &'static Section) -> PartOf {
    PartOf { kind: "", section, as_below: false }
}

/// The keys of a port.
pub static PORT: Section = Section {
    header: "[hosts.NAME.ports.WIRE]",
    own: &[],
    parts: &[part(&END), part(&VTSN), part(&PROCESSING), part(&ROOT)],
};

section! {
    section END of "[hosts.NAME.ports.WIRE]";
    keys {
        /// its MAC address; a real NIC keeps its own
        const MAC: MacAddr = "mac", (), Absent::Means("`02:74:65:6a:WIRE:END`");
        /// its address in a /24. Each wire is a network; wires that bridges join are one network
        /// with the number of the first; wires and ends count from 1; the ports of a bridge have
        /// none
        const IPV4: Ipv4Addr = "ipv4", (), Absent::Means("`10.NETWORK.0.END`");
        /// its address in a /64
        const IPV6: Ipv6Addr = "ipv6", (), Absent::Means("`fd74:656a:NETWORK::END`");
        /// number of transmit queues (`ethtool -L`)
        const QUEUES: u16 = "queues",
            int(1, u16::MAX), Absent::Means("what `qdisc` needs, else the driver's choice");
    }
}

section! {
    section ROOT of "[hosts.NAME.ports.WIRE]";
    keys {
        /// the queueing discipline, `[….qdisc]`
        const ROOT_QDISC: LongTable = "qdisc",
            table(&QDISC, "{ kind = \"etf\", delta = \"150us\" }"),
            Absent::Means("the kernel's default");
    }
}

section! {
    /// Settings of a `vtsn` port. What is `None` keeps the driver's default.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct VtsnSettings, draft VtsnSettingsDraft, section VTSN of "[hosts.NAME.ports.WIRE]";
    keys {
        /// vtsn: sizes of the descriptor rings
        ring: Ring = "ring",
            table(&RING, "{ tx = 256, rx = 256 }"),
            Absent::Described(Ring { tx: None, rx: None }, "the driver's choice");
        /// vtsn: interrupt moderation (coalescing)
        moderation: Moderation = "moderation",
            table(&MODERATION, "{ rx = \"20us\", tx = \"20us\" }"),
            Absent::Described(Moderation { rx: None, tx: None }, "the driver's choice");
        /// vtsn: send and obey 802.3x PAUSE (`ethtool -A`)
        pause: Option<bool> = "pause", (), Absent::Means("the driver's choice");
        /// vtsn: offset, drift and wander of the port's hardware clock
        phc: Phc = "phc",
            table(&PHC, "{ offset = \"1ms\", drift = \"20ppm\" }"),
            Absent::Described(
                Phc { offset: None, drift_ppb: None, wander_ppb: None, wander_period: None },
                "no offset, no drift"
            );
        /// vtsn: resolution of launch times; the i210 has 32 ns
        launch_resolution: Option<Span> = "launch-resolution",
            time("\"32ns\"").within(Span::from_ns(1), Span::from_millis(1)),
            Absent::Means("`\"1ns\"`");
        /// vtsn: transmit timestamps in flight at most; real NICs have 1 to 4
        stamp_slots: Option<u16> = "stamp-slots",
            int(0, 4_096).why("0 means any number."), Absent::Means("`0`, any number");
        /// vtsn: time from the flows' start after which none of its frames arrives, as when its
        /// host dies; frames to it still arrive
        dies_after: Option<Span> = "dies-after",
            time("\"500ms\"").within(Span::ZERO, MAX_LIFE), Absent::Means("never");
    }
}

section! {
    /// Sizes of descriptor rings, in frames.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Ring, draft RingDraft, section RING of "ring = { … } of a port";
    keys {
        /// size of each transmit ring, in frames; the driver rounds up to a power of two
        tx: Option<u32> = "tx", RING_SIZES, Absent::Means("the driver's choice");
        /// size of the receive ring, in frames
        rx: Option<u32> = "rx", RING_SIZES, Absent::Means("the driver's choice");
    }
}

from_table!(Ring, RingDraft);

section! {
    /// Interrupt moderation (coalescing).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Moderation, draft ModerationDraft,
        section MODERATION of "moderation = { … } of a port";
    keys {
        /// delay of the interrupt after reception of a frame
        rx: Option<Span> = "rx", MODERATION_TIMES, Absent::Means("the driver's choice");
        /// delay of the interrupt after transmission of a frame
        tx: Option<Span> = "tx", MODERATION_TIMES, Absent::Means("the driver's choice");
    }
}

from_table!(Moderation, ModerationDraft);

section! {
    /// A port's hardware clock against true time; ratios in 10⁻⁹.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Phc, draft PhcDraft, section PHC of "phc = { … } of a port";
    keys {
        /// lead over `CLOCK_TAI` at the start
        offset: Option<Span> = "offset",
            time("\"1ms\"").within(Span::from_ns(-MAX_OFFSET.as_ns()), MAX_OFFSET),
            Absent::Means("`0`");
        /// rate error; positive: too fast
        drift_ppb: Option<i64> = "drift", Ratio { least: -MAX_PPB }, Absent::Means("`0`");
        /// amplitude of the rate's slow swing
        wander_ppb: Option<i64> = "wander", Ratio { least: 0 }, Absent::Means("`0`");
        /// period of the rate's slow swing
        wander_period: Option<Span> = "wander-period",
            time("\"10s\"").within(Span::from_millis(1), Span::from_secs(86_400)).whole_millis(),
            Absent::Means("the driver's choice");
    }
}

from_table!(Phc, PhcDraft);

/// A ratio close to nothing in 10⁻⁹, from this to [`MAX_PPB`].
pub(crate) struct Ratio {
    least: i64,
}

impl Ratio {
    /// The ends and what lies between.
    fn show(ppb: i64) -> String {
        format!("{} ppm", ppb as f64 / 1_000.0)
    }
}

impl Kind for i64 {
    type Limits = Ratio;

    fn words(limits: &Ratio) -> String {
        let least = if limits.least == 0 { "0".to_owned() } else { short(limits.least) };
        format!("ratio such as `\"20ppm\"`, {least} … {}", short(MAX_PPB))
    }

    fn schema(limits: &Ratio) -> Json {
        let sign = if limits.least < 0 { "[-+]?" } else { "\\+?" };
        let pattern = format!("^ *{sign}[0-9._ ]*[0-9][0-9._ ]*(ppm|ppb) *$");
        json!({ "anyOf": [{ "type": "string", "pattern": pattern }, { "enum": [0, "0"] }] })
    }
}

fn short(ppb: i64) -> String {
    Ratio::show(ppb).replace(' ', "")
}

impl Value for i64 {
    fn read(limits: &Ratio, key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.ppb(key, "\"20ppm\"").and_then(|ppb| {
            let good = (limits.least..=MAX_PPB).contains(&ppb);
            if !good {
                let [is, least, most] = [ppb, limits.least, MAX_PPB].map(Ratio::show);
                let message = format!("{key} = {is} is out of range");
                fields.refuse(key, message, format!("It is {least} to {most}."));
            }
            good.then_some(ppb)
        })
    }
}
