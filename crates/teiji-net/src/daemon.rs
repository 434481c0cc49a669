//! Running programs that steer clocks, interrupts or priorities, by their command lines.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The programs that matter, by the names of their processes (15 characters, as the kernel keeps).
const NAMES: [&str; 8] =
    ["ptp4l", "phc2sys", "chronyd", "ntpd", "openntpd", "systemd-timesyn", "irqbalance", "stalld"];
const TIMESYNCD: &str = "systemd-timesyn";
/// Options of these programs that a value follows.
const WITH_VALUE: &str = "cdsEFfilLMnNOPRSStuUz";

/// One that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Its name: `phc2sys`.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
    /// The unit of systemd that it belongs to: its name differs between distributions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl Daemon {
    /// True if it steers `CLOCK_REALTIME` by NTP.
    pub fn is_ntp(&self) -> bool {
        let ntp = ["chronyd", "ntpd", "openntpd", "systemd-timesyncd"];
        // chronyd -x serves time and steers no clock.
        ntp.contains(&self.name.as_str()) && !self.has('x')
    }

    /// The value of a long option, `--domainNumber=24` or `--domainNumber 24`.
    pub fn long_value(&self, option: &str) -> Option<&str> {
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.strip_prefix("--").and_then(|long| long.strip_prefix(option)) {
                Some("") => return arguments.next().map(String::as_str),
                Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
                _ => {}
            }
        }
        None
    }

    /// The value of an option of one letter, `-s eth0` or `-seth0`.
    pub fn value(&self, option: char) -> Option<&str> {
        self.values(option).into_iter().next()
    }

    /// The values of an option of one letter that may be given several times.
    pub fn values(&self, option: char) -> Vec<&str> {
        let flag = format!("-{option}");
        let mut values = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.strip_prefix(&flag) {
                Some("") => values.extend(arguments.next().map(String::as_str)),
                Some(value) if !argument.starts_with("--") => values.push(value),
                _ => {}
            }
        }
        values
    }

    /// For people: `ptp4l (pid 812, ptp4l@eth1.service)`.
    pub fn named(&self) -> String {
        let unit = self.unit.as_ref().map(|unit| format!(", {unit}")).unwrap_or_default();
        format!("{} (pid {}{unit})", self.name, self.pid)
    }

    /// The command that ends it.
    pub fn stop_command(&self) -> String {
        match &self.unit {
            Some(unit) => format!("systemctl disable --now {unit}"),
            None => format!("kill {}", self.pid),
        }
    }

    /// True if it is in the network namespace of the calling process, as far as that can be seen.
    pub fn is_here(&self) -> bool {
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let [its, ours] = [namespace(&self.pid.to_string()), namespace("self")];
        its.is_none() || its == ours
    }

    /// True if it has an option of one letter that takes no value, alone or among others.
    pub fn has(&self, option: char) -> bool {
        self.arguments.iter().filter(|argument| !argument.starts_with("--")).any(|argument| {
            let letters = argument.strip_prefix('-').unwrap_or_default();
            // What follows such a letter is its value.
            letters.chars().take_while(|c| !WITH_VALUE.contains(*c)).any(|c| c == option)
        })
    }
}

/// Those that run, below `root`.
pub fn running(root: &Path) -> Vec<Daemon> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<Daemon> = pids
        .filter_map(|pid| {
            let folder = root.join(format!("proc/{pid}"));
            let name = fs::read_to_string(folder.join("comm")).ok()?;
            let name = name.trim_end();
            if !NAMES.contains(&name) {
                return None;
            }
            let line = fs::read(folder.join("cmdline")).ok()?;
            let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).skip(1);
            let name = if name == TIMESYNCD { "systemd-timesyncd" } else { name };
            Some(Daemon {
                name: name.to_owned(),
                pid,
                arguments: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
                unit: fs::read_to_string(folder.join("cgroup")).ok().and_then(|text| unit(&text)),
            })
        })
        .collect();
    found.sort_unstable_by_key(|daemon| daemon.pid);
    found
}

/// The service of the system that `/proc/PID/cgroup` names: `0::/system.slice/chrony.service`.
fn unit(cgroups: &str) -> Option<String> {
    let services = cgroups.lines().filter_map(|line| {
        let (_, path) = line.split_once(":/system.slice/")?;
        path.rsplit('/').next().filter(|name| name.ends_with(".service"))
    });
    services.map(str::to_owned).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_a_program_is_its_control_group() {
        let chrony = Some("chrony.service".to_owned());
        assert_eq!(unit("0::/system.slice/chrony.service\n"), chrony);
        let both = "12:cpu:/\n1:name=systemd:/system.slice/chrony.service\n0::/\n";
        assert_eq!(unit(both), chrony);
        let instance = unit("0::/system.slice/system-ptp4l.slice/ptp4l@eth1.service\n");
        assert_eq!(instance.as_deref(), Some("ptp4l@eth1.service"));
        assert_eq!(unit("0::/user.slice/user-0.slice/session-1.scope\n"), None);
    }

    #[test]
    fn command_lines_are_read() {
        let root = tempfile::tempdir().unwrap();
        for (pid, comm, line) in [
            ("12", "phc2sys\n", "phc2sys\0-s\0CLOCK_REALTIME\0-cxeth0\0-O0\0-wm\0"),
            ("7", "systemd-timesyn\n", "/lib/systemd/systemd-timesyncd\0"),
            ("3", "bash\n", "bash\0"),
        ] {
            let folder = root.path().join("proc").join(pid);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), comm).unwrap();
            fs::write(folder.join("cmdline"), line).unwrap();
        }
        let found = running(root.path());
        assert_eq!(found.len(), 2);
        assert!(found[0].is_ntp() && found[0].name == "systemd-timesyncd");
        let phc2sys = &found[1];
        assert_eq!(phc2sys.value('s'), Some("CLOCK_REALTIME"));
        assert_eq!((phc2sys.value('c'), phc2sys.value('O')), (Some("xeth0"), Some("0")));
        assert!(phc2sys.has('w') && phc2sys.has('m') && !phc2sys.has('a'));
        assert!(!phc2sys.has('x') && phc2sys.value('x').is_none());
        let long = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
            Daemon { arguments, ..phc2sys.clone() }.long_value("domainNumber").map(str::to_owned)
        };
        assert_eq!(long(&["-m", "--domainNumber=24"]).as_deref(), Some("24"));
        assert_eq!(long(&["--domainNumber", "7"]).as_deref(), Some("7"));
        assert_eq!(long(&["--domainNumbers=3", "-d"]), None);
    }
}
