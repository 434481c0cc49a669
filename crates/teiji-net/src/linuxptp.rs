//! linuxptp's programs: the settings of `ptp4l` (`ptp4l(8)`, linuxptp 3 and 4), the arguments of `phc2sys`, and where
//! they are installed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use teiji_experiment::{Ptp, PtpProfile, PtpRole, PtpTimestamps};

/// Where programs are looked for. Those of linuxptp lie in sbin, which is not on everybody's
/// path; init has none at all.
pub fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// Where a program is installed.
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = search_path();
    let mut folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders.find_map(|folder| Some(Path::new(folder).join(program)).filter(|path| path.is_file()))
}

/// The arguments of the `phc2sys` with which the system's clock follows that of `interface`; `CLOCK_TAI` is
/// `tai_offset_s` seconds before `CLOCK_REALTIME`.
pub fn system_clock(interface: &str, tai_offset_s: i64) -> Vec<String> {
    // No offset between the two: CLOCK_TAI − CLOCK_REALTIME is the kernel's, and
    // it is TAI that must show the NIC's time.
    let offset = (-tai_offset_s).to_string();
    let arguments = ["-s", interface, "-c", "CLOCK_REALTIME", "-O", &offset, "-R", "8", "-m"];
    arguments.map(str::to_owned).to_vec()
}

/// How often `ptp4l` prints a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// For each Sync message, so that each estimate can be read.
    Each,
    /// Once per minute, for a log that grows for months.
    PerMinute,
}

/// The settings file of a host with so many ports, all of whose NICs can timestamp every frame, or not;
/// `socket` is where its `phc2sys` finds it.
pub fn settings(ptp: Ptp, ports: usize, stamps_all: bool, socket: &str, lines: Lines) -> String {
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
         tx_timestamp_timeout 100\n",
    );
    text.push_str(match lines {
        Lines::Each => {
            "# A line for each Sync message, not for many of them.\n\
             summary_interval -7\n"
        }
        Lines::PerMinute => "# A line each 64 s.\nsummary_interval 6\n",
    });
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
        let text = |ptp| settings(ptp, 1, true, "/run/x", Lines::PerMinute);
        let default = text(slave(PtpProfile::Default));
        assert!(default.contains("slaveOnly 1") && !default.contains("gmCapable"), "{default}");
        let gptp = text(slave(PtpProfile::Gptp));
        assert!(gptp.contains("gmCapable 0") && !gptp.contains("slaveOnly"), "{gptp}");
        assert!(gptp.contains("\nsummary_interval 6\n"), "{gptp}");
    }

    #[test]
    fn a_filter_is_only_set_where_the_nic_has_it() {
        let text = |timestamps, ports, stamps_all| {
            let slave = slave(PtpProfile::Default, timestamps);
            settings(slave, ports, stamps_all, "/run/x", Lines::Each)
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
