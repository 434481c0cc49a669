//! Each host's clocks and kernel.

use std::collections::BTreeMap;

use crate::fields::{Fields, Found, Named};
use crate::keys::host::{HOST, KERNEL, PTP_PART, SystemDraft};
use crate::log::Log;
use crate::scenario::{Ptp, System};

/// What the host's table says, which was looked at before.
fn fields<'a>(host: &Named<'a>, log: &'a Log) -> Fields<'a> {
    Fields::again(host.table, host.at, &HOST, format!("[hosts.{}]", host.name), log)
}

/// Each host's part in clock synchronisation.
pub(super) fn ptp(file: &Fields<'_>, log: &Log) -> BTreeMap<String, Found<Ptp>> {
    let hosts = file.tables("hosts", "a host");
    hosts.iter().map(|host| (host.name.to_owned(), fields(host, log).take(&PTP_PART))).collect()
}

/// What each host's kernel does for all its ports.
pub(super) fn systems(file: &Fields<'_>, log: &Log) -> BTreeMap<String, Found<System>> {
    let system = |host: &Named<'_>| {
        let label = format!("[hosts.{}.system]", host.name);
        let system = fields(host, log).below_named(KERNEL.name, &KERNEL.limits, label);
        system.and_then(|fields| SystemDraft::read(&fields).finish())
    };
    let hosts = file.tables("hosts", "a host");
    hosts.iter().map(|host| (host.name.to_owned(), system(host))).collect()
}
