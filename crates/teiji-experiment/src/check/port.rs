//! A port's queues and queueing discipline against its nic.

use std::collections::BTreeMap;

use teiji_core::domain::SocketPriority;
use teiji_core::time::{ClockId, Span};

use super::Places;
use crate::draft::{PortDraft, ScenarioDraft};
use crate::fields::Found;
use crate::keys::qdisc::DELTAS;
use crate::log::Log;
use crate::nic_source::NicSource;
use crate::scenario::{Cbs, Etf, Mqprio, Nic, Qdisc, QdiscTree, QueueRange, Taprio, TaprioMode};

pub(super) fn check(
    port: &PortDraft,
    draft: &ScenarioDraft,
    places: &Places<'_>,
    nics: NicSource,
    log: &Log,
) {
    let nic = match nics {
        NicSource::Emulated => draft.wire(&port.wire).and_then(|w| w.nic),
        NicSource::Own => None,
    };
    let port = Context { port, nic, places, log };
    port.queues();
    let Found::Value(tree) = &port.port.qdisc else { return };
    match &tree.root {
        Qdisc::Mqprio(Mqprio { queues, hw, .. }) => port.mqprio(queues, *hw),
        Qdisc::Taprio(taprio) => {
            if port.several_queues("taprio", "Use nic = \"vtsn\" or \"igb\".") {
                port.ranges(&taprio.queues);
            }
        }
        leaf => port.leaf(leaf, &["qdisc"]),
    }
    port.ordinary_traffic(tree);
    if let Qdisc::Taprio(taprio) = &tree.root {
        port.taprio(taprio, &tree.classes);
    }
    for (class, leaf) in &tree.classes {
        port.leaf(leaf, &["qdisc", "classes", &class.to_string()]);
    }
}

struct Context<'a> {
    port: &'a PortDraft,
    /// The emulated nic, unless the experiment runs on one's own.
    nic: Option<Nic>,
    places: &'a Places<'a>,
    log: &'a Log,
}

impl Context<'_> {
    fn at(&self, below: &[&str]) -> crate::tree::Origin {
        self.places.port(&self.port.host, &self.port.wire, below)
    }

    fn queues(&self) {
        let (Found::Value(queues), Some(nic)) = (self.port.queues, self.nic) else { return };
        let most = nic.max_queues();
        if queues > most {
            let queues_of =
                if most == 1 { "one transmit queue" } else { &format!("{most} transmit queues") };
            self.log.mistake(
                self.at(&["queues"]),
                format!("queues = {queues}, but {nic} has at most {queues_of}"),
                if most == 1 { "Leave it out, or use nic = \"igb\" (up to 8)." } else { "" },
            );
        }
    }

    /// False, with a mistake, on a NIC with one queue.
    fn several_queues(&self, kind: &str, help: &str) -> bool {
        let Some(nic) = self.nic.filter(|nic| nic.max_queues() == 1) else { return true };
        self.log.mistake(
            self.at(&["qdisc", "kind"]),
            format!("{kind} needs several transmit queues, and {nic} has one"),
            help,
        );
        false
    }

    /// The NIC, if it cannot do in hardware what is planned.
    fn without_offloads(&self, wanted: bool) -> Option<Nic> {
        self.nic.filter(|nic| wanted && !nic.has_offloads())
    }

    fn mqprio(&self, ranges: &[QueueRange], hw: bool) {
        let help = "Use kind = \"prio\" with the same map and classes, or nic = \"igb\".";
        if !self.several_queues("mqprio", help) {
            return;
        }
        if let Some(nic) = self.without_offloads(hw) {
            self.log.mistake(
                self.at(&["qdisc", "hw"]),
                format!("hw = true, but the emulated {nic} takes no mqprio set-up"),
                "Write hw = false: the kernel then spreads the classes over the queues itself. Or nic = \"vtsn\".",
            );
        }
        self.ranges(ranges);
    }

    fn ranges(&self, ranges: &[QueueRange]) {
        let given = self.port.queues.value();
        let most = given.or(self.nic.map(Nic::max_queues));
        for (class, range) in ranges.iter().enumerate() {
            let at = self.at(&["qdisc", "queues", &class.to_string()]);
            let end = range.offset + range.count;
            if let Some(most) = most.filter(|most| end > *most) {
                let whose = match (given, self.nic) {
                    (None, Some(nic)) => nic.to_string(),
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

    /// Frames whose sender sets no priority have priority 0.
    fn ordinary_traffic(&self, tree: &QdiscTree) {
        if tree.etf_of(SocketPriority::LEAST).is_none() {
            return;
        }
        let Some(class) = tree.class_of(SocketPriority::LEAST) else {
            self.log.warning(
                self.at(&["qdisc", "kind"]),
                "ETF at the root drops every frame without a launch time, ARP and neighbour discovery too",
                "Put it below one class of mqprio (several queues) or prio (one queue).",
            );
            return;
        };
        self.log.warning(
            self.at(&["qdisc", "map", "0"]),
            format!(
                "priority 0 leads to class {class}, whose ETF drops every frame without a \
                 launch time, ARP and neighbour discovery too"
            ),
            "Keep a class of its own for ETF.",
        );
    }

    fn leaf(&self, leaf: &Qdisc, path: &[&str]) {
        match leaf {
            Qdisc::Etf(etf) => self.etf(etf, path),
            Qdisc::Cbs(cbs) => self.cbs(*cbs, path),
            _ => {}
        }
    }

    fn cbs(&self, cbs: Cbs, path: &[&str]) {
        if let Some(nic) = self.without_offloads(cbs.offload) {
            self.log.mistake(
                self.at(&[path, &["offload"]].concat()),
                format!("offload = true, but the emulated {nic} counts no credits"),
                "Write nic = \"vtsn\", which counts them, or offload = false: the kernel does it then.",
            );
        }
    }

    fn taprio(&self, taprio: &Taprio, classes: &BTreeMap<u8, Qdisc>) {
        let offload = taprio.mode == TaprioMode::Offload;
        if let Some(nic) = self.without_offloads(offload) {
            self.log.mistake(
                self.at(&["qdisc", "mode"]),
                format!("mode = \"offload\", but the emulated {nic} has no gates"),
                "Write nic = \"vtsn\", which has gates, or mode = \"software\".",
            );
        }
        let counts = |leaf: &Qdisc| matches!(leaf, Qdisc::Cbs(cbs) if cbs.offload);
        if offload && classes.values().any(counts) {
            self.log.mistake(
                self.at(&["qdisc", "classes"]),
                "the NIC either opens gates or counts credits, not both",
                "Write offload = false for cbs, or mode = \"software\" for taprio.",
            );
        }
        for class in 0..u8::try_from(taprio.queues.len()).unwrap_or(u8::MAX) {
            if !taprio.entries.iter().any(|gate| gate.open.contains(&class)) {
                self.log.warning(
                    self.at(&["qdisc", "entries"]),
                    format!("the gate of class {class} is never open: its frames wait for ever"),
                    "List the class under `open` in some line.",
                );
            }
        }
        if let TaprioMode::TxtimeAssist { .. } = taprio.mode {
            for class in 0..u8::try_from(taprio.queues.len()).unwrap_or(u8::MAX) {
                if !matches!(classes.get(&class), Some(Qdisc::Etf(_))) {
                    self.log.warning(
                        self.at(&["qdisc", "mode"]),
                        format!(
                            "class {class} has no ETF to keep the launch times of txtime-assist"
                        ),
                        "Put an etf with skip-sock-check = true below it.",
                    );
                }
            }
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
        if let Some(nic) = self.without_offloads(etf.offload) {
            self.log.mistake(
                at("offload"),
                format!("offload = true, but the emulated {nic} has no ETF offload"),
                "Write nic = \"vtsn\", which has ETF offload, or offload = false: ETF then works in software,\n\
                 and the frame is transmitted one delta early. On a NIC of your own (--on local) offload = true is possible.",
            );
        }
        if !DELTAS.has(etf.delta) {
            self.log.mistake(
                at("delta"),
                format!("the delta of {} is out of range", etf.delta),
                format!("The kernel takes 0 to {}.", DELTAS.most),
            );
        } else if etf.delta == Span::ZERO && !etf.offload && !etf.deadline_mode {
            self.log.mistake(
                at("delta"),
                "a delta of 0 makes ETF drop every frame",
                "Without offload, frames are transmitted between (launch time − delta) and the launch time; \
                 leave time for the timer: delta = \"150us\"",
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
