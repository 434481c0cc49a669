//! What can be set on a NIC and its wire; all of it on `vtsn` only.

use teiji_core::quantity::Rate;
use teiji_core::time::Span;

use crate::fields::{Fields, Found};
use crate::keys::port::{VTSN, VtsnSettingsDraft};
use crate::keys::wire::{DEFAULT_DELAY, RATE};
use crate::log::Log;
use crate::scenario::{Nic, VtsnSettings};

/// Says that a key is `vtsn`'s alone; true if it may be used here.
fn is_vtsn(fields: &Fields<'_>, key: &str, nic: Option<Nic>, log: &Log) -> bool {
    match nic {
        Some(nic) if nic != Nic::Vtsn && fields.has(key) => {
            log.mistake(
                fields.place(key),
                format!("`{key}` is a setting of vtsn, and the wire's NIC is {nic}"),
                "Write nic = \"vtsn\" in the wire, or leave it out.",
            );
            false
        }
        _ => true,
    }
}

pub(super) fn read_rate(fields: &Fields<'_>, nic: Option<Nic>, log: &Log) -> Option<Rate> {
    let rate = fields.take(&RATE);
    if !is_vtsn(fields, RATE.name, nic, log) {
        return None;
    }
    let known = |rate: Rate| {
        let good = RATE.limits.has(rate);
        if !good {
            log.mistake(
                fields.place(RATE.name),
                format!("vtsn has no rate of {rate}"),
                format!("There is {}.", RATE.limits.list()),
            );
        }
        good.then_some(rate)
    };
    rate.and_then(known).or_default(nic?.rate())
}

/// The delay of a wire, as it was read.
pub(super) fn delay(
    fields: &Fields<'_>,
    delay: Found<Span>,
    nic: Option<Nic>,
    log: &Log,
) -> Found<Span> {
    match delay {
        _ if !is_vtsn(fields, "delay", nic, log) => Found::Wrong,
        Found::Absent if nic == Some(Nic::Vtsn) => Found::Value(DEFAULT_DELAY),
        found => found,
    }
}

/// The `vtsn` settings of a port.
pub(super) fn read(port: &Fields<'_>, nic: Option<Nic>, log: &Log) -> Option<VtsnSettings> {
    // All keys are looked at, so that all mistakes are reported.
    let foreign = VTSN.keys().filter(|key| !is_vtsn(port, key.name(), nic, log)).count();
    let settings = VtsnSettingsDraft::read(port).finish();
    settings.filter(|_| foreign == 0)
}
