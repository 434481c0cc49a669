//! Each host's part in clock synchronisation.

use std::collections::BTreeMap;

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Ptp, PtpProfile, PtpRole};
use crate::schema;

const ROLES: [(&str, PtpRole); 3] = [
    ("grandmaster", PtpRole::Grandmaster),
    ("slave", PtpRole::Slave),
    ("boundary", PtpRole::Boundary),
];
const PROFILES: [(&str, PtpProfile); 2] =
    [("default", PtpProfile::Default), ("gptp", PtpProfile::Gptp)];

pub(super) fn read(file: &Fields<'_>, log: &Log) -> BTreeMap<String, Found<Ptp>> {
    let hosts = file.tables("hosts", "a host");
    let read = |host: &crate::fields::Named<'_>| {
        let label = format!("[hosts.{}]", host.name);
        let fields = Fields::again(host.table, host.at, &schema::HOST, label.as_str(), log);
        let ptp = fields.table("ptp", "{ role = \"slave\" }").and_then(|table| {
            let label = format!("`ptp` of {label}");
            let fields = Fields::new(table, fields.place("ptp"), &schema::PTP, label, log);
            let role = fields.required("role", "\"slave\"", fields.choice("role", &ROLES));
            let profile = fields.choice("profile", &PROFILES).or_default(PtpProfile::Default);
            let system_clock = fields.flag("system-clock").or_default(false);
            let cpu = fields
                .number("cpu", 0, i64::from(u16::MAX), "CPUs count from 0.")
                .and_then(|cpu| u16::try_from(cpu).ok())
                .settle();
            Some(Ptp {
                role: role?,
                profile: profile?,
                system_clock: system_clock?,
                cpu: cpu.ok()?,
            })
        });
        (host.name.to_owned(), ptp)
    };
    hosts.iter().map(read).collect()
}
