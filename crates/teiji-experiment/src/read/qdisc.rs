//! The qdisc of a port, as far as it can be read without knowing the port.

use teiji_core::quantity::Rate;

use super::classes::{
    TrafficClasses, read_classes, read_kind, read_leaf, read_map, read_traffic_classes,
};
use super::taprio;
use crate::fields::{Fields, Found};
use crate::keys::port::ROOT_QDISC;
use crate::keys::qdisc::{self as keys, MAX_CLASSES, QDISC, QdiscKind as Kind};
use crate::log::Log;
use crate::scenario::{Mqprio, Prio, Qdisc, QdiscTree};

/// `prio` without a map uses the kernel's (`tc-prio(8)`).
const PRIO_MAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// The port's `qdisc`; absent is the kernel's default.
pub(crate) fn read_root(
    port: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Found<QdiscTree> {
    let label = format!("{}.qdisc]", label.trim_end_matches(']'));
    let fields = match port.below_named(ROOT_QDISC.name, &ROOT_QDISC.limits, label.as_str()) {
        Found::Absent => return Found::Absent,
        Found::Wrong => return Found::Wrong,
        Found::Value(fields) => fields,
    };
    let qdisc = match read_kind(&fields, &QDISC, &keys::ROOT_KIND, log) {
        Some(Kind::Default) => return Found::Absent,
        Some(Kind::Mqprio) => read_mqprio(&fields, &label, rate, log),
        Some(Kind::Prio) => read_prio(&fields, &label, rate, log),
        Some(Kind::Taprio) => taprio::read(&fields, &label, rate, log),
        Some(kind) => read_leaf(kind, &fields, rate, log).map(QdiscTree::from),
        None => None,
    };
    qdisc.map_or(Found::Wrong, Found::Value)
}

fn read_mqprio(
    fields: &Fields<'_>,
    label: &str,
    rate: Option<Rate>,
    log: &Log,
) -> Option<QdiscTree> {
    let classes = read_traffic_classes(fields, label, rate, log);
    let hw = fields.settled(&keys::HW);
    let TrafficClasses { map, queues, below } = classes?;
    let root = Qdisc::Mqprio(Mqprio { map, queues, hw: hw? });
    Some(QdiscTree { root, classes: below })
}

fn read_prio(fields: &Fields<'_>, label: &str, rate: Option<Rate>, log: &Log) -> Option<QdiscTree> {
    let bands = fields.take(&keys::BANDS);
    let limit = bands.or_default(MAX_CLASSES);
    let what = ["band", "There are as many as `bands` says"];
    let map = read_map(&keys::BAND_MAP, fields, limit, what, log);
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
    let root = Qdisc::Prio(Prio { bands: bands?, map: map? });
    Some(QdiscTree { root, classes: classes? })
}
