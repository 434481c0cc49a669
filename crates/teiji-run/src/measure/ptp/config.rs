//! `ptp4l`'s settings for a host (`ptp4l(8)`, linuxptp 3 and 4).

use std::fmt::Write as _;

use teiji_experiment::{Ptp, PtpProfile, PtpRole, PtpTimestamps};

/// The settings file of a host with so many ports, all of whose NICs can timestamp every frame, or not;
/// `socket` is where its `phc2sys` finds it.
pub(super) fn text(ptp: Ptp, ports: usize, stamps_all: bool, socket: &str) -> String {
    let Ptp { role, profile, timestamps, .. } = ptp;
    let mut text = format!("[global]\nuds_address {socket}\nnetwork_transport L2\n");
    text.push_str(match timestamps {
        PtpTimestamps::Software => "time_stamping software\n",
        PtpTimestamps::Hardware if stamps_all => {
            "# Other listeners of this machine's NICs want all frames stamped.\n\
             hwts_filter full\n"
        }
        PtpTimestamps::Hardware => "",
    });
    text.push_str(
        "# One processor may serve several hosts: stamps take their time.\n\
         tx_timestamp_timeout 100\n\
         # A line for each Sync message, not for many of them.\n\
         summary_interval -7\n",
    );
    let mut set = |key: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{key} {value}");
    };
    match role {
        PtpRole::Grandmaster => set("priority1", &100),
        PtpRole::Boundary => set("priority1", &200),
        // 802.1AS says it otherwise, below.
        PtpRole::Slave if profile == PtpProfile::Default => set("slaveOnly", &1),
        PtpRole::Slave => {}
    }
    if ports > 1 && timestamps == PtpTimestamps::Hardware {
        // Each port has a clock of its own; phc2sys keeps them together.
        set("boundary_clock_jbod", &1);
    }
    if profile == PtpProfile::Gptp {
        // linuxptp's own configs/gPTP.cfg
        for (key, value) in [
            ("gmCapable", if role == PtpRole::Slave { "0" } else { "1" }),
            ("logAnnounceInterval", "0"),
            ("logSyncInterval", "-3"),
            ("syncReceiptTimeout", "3"),
            ("neighborPropDelayThresh", "800"),
            ("min_neighbor_prop_delay", "-20000000"),
            ("assume_two_step", "1"),
            ("path_trace_enabled", "1"),
            ("follow_up_info", "1"),
            ("transportSpecific", "0x1"),
            ("ptp_dst_mac", "01:80:C2:00:00:0E"),
            ("delay_mechanism", "P2P"),
        ] {
            set(key, &value);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slave(profile: PtpProfile, timestamps: PtpTimestamps) -> Ptp {
        let role = PtpRole::Slave;
        Ptp { role, profile, timestamps, system_clock: false, within: None, cpu: None }
    }

    #[test]
    fn a_slave_never_leads_in_either_profile() {
        let slave = |profile| slave(profile, PtpTimestamps::Hardware);
        let default = text(slave(PtpProfile::Default), 1, true, "/run/x");
        assert!(default.contains("slaveOnly 1") && !default.contains("gmCapable"), "{default}");
        let gptp = text(slave(PtpProfile::Gptp), 1, true, "/run/x");
        assert!(gptp.contains("gmCapable 0") && !gptp.contains("slaveOnly"), "{gptp}");
    }

    #[test]
    fn a_filter_is_only_set_where_the_nic_has_it() {
        let text = |timestamps, ports, stamps_all| {
            text(slave(PtpProfile::Default, timestamps), ports, stamps_all, "/run/x")
        };
        let full = text(PtpTimestamps::Hardware, 1, true);
        assert!(full.contains("hwts_filter full") && !full.contains("time_stamping"), "{full}");
        let few = text(PtpTimestamps::Hardware, 2, false);
        assert!(!few.contains("hwts_filter") && few.contains("boundary_clock_jbod 1"), "{few}");
        let software = text(PtpTimestamps::Software, 2, true);
        assert!(software.contains("time_stamping software\n"), "{software}");
        assert!(!software.contains("hwts_filter") && !software.contains("jbod"), "{software}");
        for text in [full, few, software] {
            assert!(text.contains("\nsummary_interval -7\n"), "{text}");
        }
    }
}
