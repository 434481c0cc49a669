//! A port's queues and queueing discipline against its card.

use teiji_core::time::{ClockId, Span};

use super::Places;
use crate::draft::{PortDraft, ScenarioDraft};
use crate::fields::Found;
use crate::log::Log;
use crate::reader::Cards;
use crate::scenario::{Etf, LeafQdisc, Nic, Qdisc, QueueRange};

/// The kernel keeps ETF's delta in 32 signed bits of nanoseconds.
const MAX_DELTA: Span = Span::from_ns(i32::MAX as i64);

pub(super) fn check(
    port: &PortDraft,
    draft: &ScenarioDraft,
    places: &Places<'_>,
    cards: Cards,
    log: &Log,
) {
    let card = match cards {
        Cards::Emulated => draft.wire(&port.wire).and_then(|w| w.nic),
        Cards::Own => None,
    };
    let port = Context { port, card, places, log };
    port.queues();
    match &port.port.qdisc {
        Found::Value(qdisc @ Qdisc::Mqprio { queues, hw, classes, .. }) => {
            port.mqprio(queues, *hw);
            port.ordinary_traffic(qdisc);
            for (class, leaf) in classes {
                port.class(*class, *leaf);
            }
        }
        Found::Value(qdisc @ Qdisc::Prio { classes, .. }) => {
            port.ordinary_traffic(qdisc);
            for (class, leaf) in classes {
                port.class(*class, *leaf);
            }
        }
        Found::Value(Qdisc::Leaf(LeafQdisc::Etf(etf))) => {
            port.etf(etf, &["qdisc"]);
            port.log.warning(
                port.at(&["qdisc", "kind"]),
                "ETF at the root drops every frame without a launch time, ARP and neighbour discovery too",
                "Put it below one class of mqprio (several queues) or prio (one queue).",
            );
        }
        _ => {}
    }
}

struct Context<'a> {
    port: &'a PortDraft,
    /// The emulated card, unless the experiment runs on one's own.
    card: Option<Nic>,
    places: &'a Places<'a>,
    log: &'a Log,
}

impl Context<'_> {
    fn at(&self, below: &[&str]) -> crate::tree::Origin {
        self.places.port(&self.port.host, &self.port.wire, below)
    }

    fn queues(&self) {
        let (Found::Value(queues), Some(card)) = (self.port.queues, self.card) else { return };
        let most = card.max_queues();
        if queues > most {
            let queues_of = if most == 1 { "one transmit queue" } else { "8 transmit queues" };
            self.log.mistake(
                self.at(&["queues"]),
                format!("queues = {queues}, but {card} has at most {queues_of}"),
                if most == 1 { "Leave it out, or use nic = \"igb\" (up to 8)." } else { "" },
            );
        }
    }

    fn mqprio(&self, ranges: &[QueueRange], hw: bool) {
        if let Some(card) = self.card.filter(|card| card.max_queues() == 1) {
            self.log.mistake(
                self.at(&["qdisc", "kind"]),
                format!("mqprio needs several transmit queues, and {card} has one"),
                "Use kind = \"prio\" with the same map and classes, or nic = \"igb\".",
            );
            return;
        }
        if let Some(card) = self.card.filter(|_| hw) {
            self.log.mistake(
                self.at(&["qdisc", "hw"]),
                format!("hw = true, but the emulated {card} takes no mqprio set-up"),
                "Write hw = false: the kernel then spreads the classes over the queues itself.",
            );
        }
        self.ranges(ranges);
    }

    fn ranges(&self, ranges: &[QueueRange]) {
        let given = self.port.queues.value();
        let most = given.or(self.card.map(Nic::max_queues));
        for (class, range) in ranges.iter().enumerate() {
            let at = self.at(&["qdisc", "queues", &class.to_string()]);
            let end = range.offset + range.count;
            if let Some(most) = most.filter(|most| end > *most) {
                let whose = match (given, self.card) {
                    (None, Some(card)) => card.to_string(),
                    _ => "the port".to_owned(),
                };
                self.log.mistake(
                    at,
                    format!(
                        "class {class} has {}, but {whose} has {most} queues, 0 … {}",
                        queues_of(*range),
                        most.saturating_sub(1)
                    ),
                    if given.is_some() {
                        "Raise the port's `queues`, or lower the range."
                    } else {
                        ""
                    },
                );
            }
            let overlaps = |other: &&QueueRange| {
                range.offset < other.offset + other.count && other.offset < end
            };
            if let Some(other) = ranges[..class].iter().position(|o| overlaps(&o)) {
                self.log.mistake(
                    at,
                    format!(
                        "class {class} has {}, but class {other} has {}",
                        queues_of(*range),
                        queues_of(ranges[other])
                    ),
                    "A queue belongs to one class.",
                );
            }
        }
        self.gaps(ranges);
    }

    fn gaps(&self, ranges: &[QueueRange]) {
        let end = ranges.iter().map(|r| r.offset + r.count).max().unwrap_or(0);
        let owned =
            |queue: u16| ranges.iter().any(|r| (r.offset..r.offset + r.count).contains(&queue));
        if let Some(queue) = (0..end).find(|queue| !owned(*queue)) {
            self.log.warning(
                self.at(&["qdisc", "queues"]),
                format!("queue {queue} belongs to no class: nothing is ever sent there"),
                "Begin each range where the one before ends.",
            );
        }
    }

    /// Whatever did not ask for a priority has priority 0.
    fn ordinary_traffic(&self, qdisc: &Qdisc) {
        if let (Some(LeafQdisc::Etf(_)), Some(class)) = (qdisc.leaf_of(0), qdisc.class_of(0)) {
            self.log.warning(
                self.at(&["qdisc", "map", "0"]),
                format!(
                    "priority 0 leads to class {class}, whose ETF drops every frame without a \
                     launch time, ARP and neighbour discovery too"
                ),
                "Keep a class of its own for ETF.",
            );
        }
    }

    fn class(&self, class: u8, leaf: LeafQdisc) {
        if let LeafQdisc::Etf(etf) = leaf {
            self.etf(&etf, &["qdisc", "classes", &class.to_string()]);
        }
    }

    fn etf(&self, etf: &Etf, path: &[&str]) {
        let at = |key| self.at(&[path, &[key]].concat());
        if etf.clock != ClockId::Tai {
            self.log.mistake(
                at("clock"),
                "the kernel's ETF accepts no clock but TAI",
                "Write clock = \"tai\", or leave it out.",
            );
        }
        if let Some(card) = self.card.filter(|_| etf.offload) {
            self.log.mistake(
                at("offload"),
                format!("offload = true, but the emulated {card} has no launch time"),
                "Write offload = false: ETF then works in software, and the frame leaves one delta early.\n\
                 On your own card (--on local) offload = true is possible.",
            );
        }
        if etf.delta.is_negative() || etf.delta > MAX_DELTA {
            self.log.mistake(
                at("delta"),
                format!("the delta of {} is out of range", etf.delta),
                format!("The kernel takes 0 to {MAX_DELTA}."),
            );
        } else if etf.delta == Span::ZERO && !etf.offload && !etf.deadline_mode {
            self.log.mistake(
                at("delta"),
                "a delta of 0 makes ETF drop every frame",
                "Without offload, frames leave between (launch time − delta) and the launch time; \
                 leave room for the timer: delta = \"150us\"",
            );
        }
    }
}

fn queues_of(range: QueueRange) -> String {
    match range.count {
        1 => format!("queue {}", range.offset),
        _ => format!("queues {} … {}", range.offset, range.offset + range.count - 1),
    }
}
