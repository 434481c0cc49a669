//! The programs of linuxptp that synchronise a case's clocks, as values: a run starts
//! them, and `teiji plan` prints them.

use std::path::{Path, PathBuf};

use teiji_experiment::{Host, Ptp, PtpRole, Scenario};
use teiji_net::linuxptp::{self, Lines};

/// One program at one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is started.
    pub name: &'static str,
    /// In whose network namespace.
    pub host: String,
    /// With these arguments.
    pub arguments: Vec<String>,
    /// The CPU it runs on; `None`: any.
    pub cpu: Option<u16>,
    /// The file with its settings, and what is in it.
    pub settings: Option<(PathBuf, String)>,
    /// Where its output goes.
    pub log: PathBuf,
    /// Clocks that follow another host's once the program has begun to steer them.
    pub followers: usize,
}

/// `ptp4l` for all ports of a host; at a boundary clock also the `phc2sys` that keeps its
/// NICs' clocks together. None if the host takes no part. `stamps_all`: its NICs can timestamp every
/// frame. Files lie in `folder`.
pub fn of_host(
    host: &Host,
    interfaces: &[String],
    stamps_all: bool,
    folder: &Path,
) -> Vec<Program> {
    let Some(ptp) = host.ptp else { return Vec::new() };
    let name = &host.name;
    let file = folder.join(format!("{name}.cfg"));
    let socket = folder.join(format!("{name}.socket")).display().to_string();
    let mut arguments = vec!["-f".to_owned(), file.display().to_string(), "-m".to_owned()];
    for interface in interfaces {
        arguments.extend(["-i".to_owned(), interface.clone()]);
    }
    let text = linuxptp::settings(ptp, interfaces.len(), stamps_all, &socket, Lines::Each);
    let log = |program: &str| log(folder, name, program);
    let mut programs = vec![Program {
        name: "ptp4l",
        host: name.clone(),
        arguments,
        cpu: ptp.cpu,
        settings: Some((file, text)),
        log: log("ptp4l"),
        followers: usize::from(ptp.role != PtpRole::Grandmaster),
    }];
    if ptp.role == PtpRole::Boundary {
        programs.push(Program {
            name: "phc2sys",
            host: name.clone(),
            arguments: ["-a", "-z", &socket, "-m"].map(str::to_owned).to_vec(),
            cpu: ptp.cpu,
            settings: None,
            log: log("phc2sys"),
            followers: 0,
        });
    }
    programs
}

/// Where the output of a host's program goes.
pub(super) fn log(folder: &Path, host: &str, program: &str) -> PathBuf {
    folder.join(format!("{host}-{program}.log"))
}

/// The host of those of this machine whose NIC the system clock follows, if it follows one. Over
/// `several` machines it does on each as soon as it does on one: the clock of a single machine would
/// be of no use to the others.
pub fn system_clock_host(
    scenario: &Scenario,
    is_here: impl Fn(&str) -> bool,
    several: bool,
) -> Option<&Host> {
    let all = || scenario.hosts.iter().filter(|host| host.ptp.is_some());
    let named = |host: &&Host| host.ptp.is_some_and(|Ptp { system_clock, .. }| system_clock);
    all().find(named)?;
    let mut here = all().filter(|host| is_here(&host.name));
    let first = here.clone().next().filter(|_| several);
    here.find(named).or(first)
}

/// `phc2sys`, which makes the system's clock follow a NIC's; `CLOCK_TAI` is
/// `tai_offset_s` seconds before `CLOCK_REALTIME`.
pub fn system_clock(host: &Host, interface: &str, tai_offset_s: i64, folder: &Path) -> Program {
    Program {
        name: "phc2sys",
        host: host.name.clone(),
        arguments: linuxptp::system_clock(interface, tai_offset_s),
        cpu: host.ptp.and_then(|ptp| ptp.cpu),
        settings: None,
        log: folder.join(format!("{}-system-clock.log", host.name)),
        followers: 0,
    }
}

#[cfg(test)]
mod tests {
    use teiji_experiment::Experiment;

    use super::*;

    #[test]
    fn over_several_machines_each_system_clock_follows_a_nic() {
        let text = "name = \"x\"\nquestion = \"?\"\n\
                    wires.one = { between = [\"a\", \"b\"], nic = \"vtsn\" }\n\
                    wires.two = { between = [\"b\", \"c\"], nic = \"vtsn\" }\n\
                    hosts.b = { ptp = { role = \"boundary\" } }\n\
                    hosts.a = { ptp = { role = \"grandmaster\" } }\n\
                    hosts.c = { ptp = { role = \"slave\", system-clock = true } }\n\
                    flows.f = { from = \"a\", to = \"b\", period = \"1ms\", frames = 1 }\n";
        let with = Experiment::parse(text, "x.toml").unwrap().cases.remove(0).scenario;
        let without = text.replace(", system-clock = true", "");
        let without = Experiment::parse(&without, "x.toml").unwrap().cases.remove(0).scenario;
        let host = |scenario, here: &'static [&str], several| {
            let found = system_clock_host(scenario, |name| here.contains(&name), several);
            found.map(|host| host.name.clone())
        };
        assert_eq!(host(&with, &["a", "b", "c"], false).as_deref(), Some("c"));
        assert_eq!(host(&with, &["b", "c"], true).as_deref(), Some("c"));
        assert_eq!(host(&with, &["a"], true).as_deref(), Some("a"));
        assert_eq!(host(&with, &["a"], false), None);
        assert_eq!(host(&with, &[], true), None);
        assert_eq!(host(&without, &["a", "b", "c"], true), None);
    }
}
