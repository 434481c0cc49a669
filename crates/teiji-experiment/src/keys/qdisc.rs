//! Queueing disciplines: each kind with its keys, and the tables that have one.

use serde::{Deserialize, Serialize};
use teiji_core::quantity::{Rate, format_span};
use teiji_core::time::{ClockId, Span};
use teiji_core::wire::ethernet;

use super::list::{Item, Items, Tables, list};
use super::prioflow::{PACKETS, PRIOFLOW};
use super::time::{Time, out_of_range, time};
use super::value::{Choice, Int, all_of, int, one_of, rate};
use super::{Absent, Key, PartOf, Section, section};
use crate::scenario::{Cbs, Mqprio, Pfifo, Prio, Prioflow, Taprio};

/// The most classes and bands the kernel has (`TC_QOPT_MAX_QUEUE`, `TCQ_PRIO_BANDS`), one per
/// priority.
pub const MAX_CLASSES: u8 = 16;
pub(crate) const DELTAS: Time = time("\"150us\"").within(Span::ZERO, Etf::LONGEST_DELTA).later();
/// The kernel keeps taprio's intervals and launch-time delay in 32 bits of nanoseconds.
const MAX_INTERVAL: Span = Span::from_ns(u32::MAX as i64);
/// The shortest frame, preamble, FCS and gap.
const SHORTEST: u32 = (ethernet::SHORTEST + ethernet::AROUND) as u32;
const ENTRIES_EXAMPLE: &str =
    "[{ open = [0], interval = \"300us\" }, { open = [1, 2], interval = \"700us\" }]";
const MAP_EXAMPLE: &str = "[2, 2, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]";
const QUEUES_EXAMPLE: &str = "[\"1@0\", \"1@1\", \"2@2\"]";

/// Which queueing discipline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QdiscKind {
    Cbs,
    Default,
    Etf,
    Mqprio,
    Pfifo,
    Prio,
    Prioflow,
    Taprio,
}

impl Choice for QdiscKind {}

/// Those that can hang below a class.
const LEAVES: [(&str, QdiscKind); 4] = [
    QdiscKind::Cbs.named(),
    QdiscKind::Etf.named(),
    QdiscKind::Pfifo.named(),
    QdiscKind::Prioflow.named(),
];

impl QdiscKind {
    const ALL: [Self; 8] = [
        Self::Cbs,
        Self::Default,
        Self::Etf,
        Self::Mqprio,
        Self::Pfifo,
        Self::Prio,
        Self::Prioflow,
        Self::Taprio,
    ];

    /// The keys that mean something, besides `kind`.
    pub const fn section(self) -> &'static Section {
        match self {
            Self::Cbs => &CBS,
            Self::Default => &DEFAULT,
            Self::Etf => &ETF,
            Self::Mqprio => &MQPRIO,
            Self::Pfifo => &PFIFO,
            Self::Prio => &PRIO,
            Self::Prioflow => &PRIOFLOW,
            Self::Taprio => &TAPRIO,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cbs => Cbs::KIND,
            Self::Default => "default",
            Self::Etf => Etf::KIND,
            Self::Mqprio => Mqprio::KIND,
            Self::Pfifo => Pfifo::KIND,
            Self::Prio => Prio::KIND,
            Self::Prioflow => Prioflow::KIND,
            Self::Taprio => Taprio::KIND,
        }
    }

    const fn named(self) -> (&'static str, Self) {
        (self.name(), self)
    }
}

const fn part(kind: QdiscKind) -> PartOf {
    PartOf { kind: kind.name(), section: kind.section(), as_below: false }
}

const fn below(kind: QdiscKind) -> PartOf {
    PartOf { as_below: true, ..part(kind) }
}

/// A root queueing discipline.
pub static QDISC: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc]",
    own: &[&ROOT_KIND],
    parts: &[
        part(QdiscKind::Mqprio),
        part(QdiscKind::Prio),
        part(QdiscKind::Taprio),
        below(QdiscKind::Etf),
        below(QdiscKind::Pfifo),
        below(QdiscKind::Prioflow),
        below(QdiscKind::Cbs),
    ],
};

/// A queueing discipline below a class.
pub static CLASS: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc.classes.NUMBER]",
    own: &[&LEAF_KIND],
    parts: &[
        part(QdiscKind::Etf),
        part(QdiscKind::Pfifo),
        part(QdiscKind::Prioflow),
        part(QdiscKind::Cbs),
    ],
};

/// Of the root.
pub(crate) const ROOT_KIND: Key<QdiscKind> = Key::new(
    "kind",
    one_of(all_of!(QdiscKind)),
    Absent::Required("\"etf\""),
    "which one; `default` leaves or restores the kernel's own. A case that changes the kind starts \
     from an empty table",
);
/// Below a class.
pub(crate) const LEAF_KIND: Key<QdiscKind> = Key::new(
    "kind",
    one_of(&LEAVES),
    Absent::Required("\"etf\""),
    "which one; on mqprio and taprio it hangs below each queue of the class",
);

section! {
    section DEFAULT of "kind = \"default\"";
    keys {}
}

section! {
    section MQPRIO of "kind = \"mqprio\"";
    keys {
        /// the class of each priority 0 … 15
        const MAP: Items = "map",
            list(Item::Number(MAX_CLASSES - 1), MAP_EXAMPLE).length(16, 16),
            Absent::Required(MAP_EXAMPLE);
        /// the transmit queues of each class
        const QUEUES: Items = "queues",
            list(Item::Form("`\"COUNT@OFFSET\"`", "^[0-9]+@[0-9]+$"), QUEUES_EXAMPLE)
                .length(1, MAX_CLASSES as usize),
            Absent::Required(QUEUES_EXAMPLE);
        /// hardware offload (`hw 1`)
        const HW: bool = "hw", (), Absent::Default(false);
        /// queueing discipline below a class or band, `[….qdisc.classes.NUMBER]`
        const CLASSES: Tables = "classes", &CLASS, Absent::Means("`{}`");
    }
}

section! {
    section PRIO of "kind = \"prio\"";
    keys {
        /// number of bands; band 0 is served first
        const BANDS: u8 = "bands",
            int(2, MAX_CLASSES), Absent::Means("as many as `map` uses, at least 3");
        /// the band of each priority 0 … 15
        const BAND_MAP: Items = "map",
            list(Item::Number(MAX_CLASSES - 1), MAP_EXAMPLE).length(16, 16),
            Absent::Means("the kernel's");
        same CLASSES;
    }
}

/// Gate control, without its settings.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Opens {
    Software,
    Assist,
    Offload,
}

impl Choice for Opens {}

section! {
    section TAPRIO of "kind = \"taprio\"";
    keys {
        same MAP;
        same QUEUES;
        /// the gate table, one entry after the other
        const ENTRIES: Items = "entries",
            // No switch has longer tables; the kernel's message has 64 KiB.
            list(Item::Table(&GATE), ENTRIES_EXAMPLE).length(1, 1_024),
            Absent::Required(ENTRIES_EXAMPLE);
        /// `software`: a kernel timer opens the gates; `txtime-assist`: launch times and an `etf`
        /// below replace the gates; `offload`: the NIC opens the gates
        const MODE: Opens = "mode",
            one_of(&[
                ("software", Opens::Software),
                ("txtime-assist", Opens::Assist),
                ("offload", Opens::Offload),
            ]),
            Absent::Default(Opens::Software);
        /// a cycle begins at this TAI time, and at whole cycles before and after; the first
        /// departure of the flows is at the beginning of a cycle
        const BASE_TIME: Span = "base-time",
            time("\"0us\"").not_negative().refused(negative), Absent::Default(Span::ZERO);
        /// length of the cycle; a shorter cycle cuts the last entries
        const CYCLE: Span = "cycle", time("\"1ms\""), Absent::Means("the sum of the intervals");
        /// longest extension of the last cycle before a new table takes effect
        const EXTENSION: Span = "extension",
            time("\"10us\"").not_negative().refused(negative), Absent::Default(Span::ZERO);
        /// longest time of a frame from the qdisc to the NIC
        const TXTIME_DELAY: Span = "txtime-delay",
            time("\"200us\"").within(Span::ZERO, MAX_INTERVAL).refused(negative),
            Absent::Means("required for txtime-assist");
        same CLASSES;
    }
}

section! {
    section GATE of "entries = [{ … }] of taprio";
    keys {
        /// traffic classes with open gates; the others wait
        const OPEN: Items =
            "open", list(Item::Number(MAX_CLASSES - 1), "[0]"), Absent::Required("[0]");
        /// duration of the entry
        const INTERVAL: Span = "interval",
            time("\"300us\"").within(Span::from_ns(1), MAX_INTERVAL).refused(no_interval),
            Absent::Required("\"300us\"");
    }
}

impl Choice for ClockId {}

section! {
    /// `etf`, as in `tc-etf(8)`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Etf, draft EtfDraft, section ETF of "kind = \"etf\"";
    keys {
        /// time before the launch time at which a frame goes to the NIC. Without offload the NIC
        /// *transmits* it that early
        delta: Span = "delta", DELTAS, Absent::Required("\"150us\"");
        /// clock of launch times; the kernel accepts TAI only
        clock: ClockId = "clock",
            one_of(&[
                ("tai", ClockId::Tai),
                ("realtime", ClockId::Realtime),
                ("monotonic", ClockId::Monotonic),
            ])
            .possible(1),
            Absent::Default(ClockId::Tai);
        /// the NIC transmits at the launch time
        offload: bool = "offload", (), Absent::Default(false);
        /// launch times are deadlines; must agree with the flow's `deadline`
        deadline_mode: bool = "deadline", (), Absent::Default(false);
        /// do not compare the frame's socket with these settings (`skip_sock_check`)
        skip_sock_check: bool = "skip-sock-check", (), Absent::Default(false);
    }
}

section! {
    section PFIFO of "kind = \"pfifo\"";
    keys {
        /// queue limit in packets
        const LIMIT: u32 = "limit", PACKETS, Absent::Default(1000);
    }
}

section! {
    section CBS of "kind = \"cbs\"";
    keys {
        /// bandwidth of the class; slopes and credits follow from it and the wire's rate, and allow
        /// for one largest frame of other classes
        const BANDWIDTH: Rate = "bandwidth",
            rate("\"20Mbit/s\""), Absent::Means("required for cbs, or the four below");
        /// with bandwidth: size of the largest frame of the class in bytes, with preamble, FCS and
        /// gap
        const MAX_FRAME: u32 = "max-frame",
            int(SHORTEST, 65_535)
                .why("It counts preamble, FCS and gap: 1538 at most without jumbo frames."),
            Absent::Default(Cbs::LARGEST_FRAME);
        /// credit gained while frames wait, in kbit/s
        const IDLESLOPE: i32 = "idleslope", POSITIVE, Absent::Means("from `bandwidth`");
        /// credit spent during transmission, in kbit/s, negative
        const SENDSLOPE: i32 = "sendslope", NEGATIVE, Absent::Means("from `bandwidth`");
        /// highest credit, in bytes
        const HICREDIT: i32 = "hicredit", POSITIVE, Absent::Means("from `bandwidth`");
        /// lowest credit, in bytes, negative
        const LOCREDIT: i32 = "locredit", NEGATIVE, Absent::Means("from `bandwidth`");
        /// the NIC counts the credit; of the laboratory's NICs only vtsn can
        const CBS_OFFLOAD: bool = "offload", (), Absent::Default(false);
    }
}

const POSITIVE: Int<i32> = int(0, i32::MAX);
const NEGATIVE: Int<i32> = int(i32::MIN, 0);

fn negative(time: &Time, key: &str, span: Span) -> [String; 2] {
    let shown = format_span(span);
    if span.is_negative() {
        let help = format!("Write 0 or more: {key} = {}", time.example);
        return [format!("{key} = {shown} is negative"), help];
    }
    out_of_range(time, key, span)
}

fn no_interval(time: &Time, _: &str, span: Span) -> [String; 2] {
    [
        format!("the interval of {} is out of range", format_span(span)),
        format!("The kernel takes 1 ns to {}.", format_span(time.most)),
    ]
}
