//! The programs of linuxptp that synchronise a case's clocks, as values: a run starts
//! them, and `teiji plan` prints them.

use std::path::{Path, PathBuf};

use teiji_experiment::{Host, PtpRole};

use super::config;

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
/// cards' clocks together. None if the host takes no part. Files lie in `folder`.
pub fn of_host(host: &Host, interfaces: &[String], folder: &Path) -> Vec<Program> {
    let Some(ptp) = host.ptp else { return Vec::new() };
    let name = &host.name;
    let file = folder.join(format!("{name}.cfg"));
    let socket = folder.join(format!("{name}.socket")).display().to_string();
    let mut arguments = vec!["-f".to_owned(), file.display().to_string(), "-m".to_owned()];
    for interface in interfaces {
        arguments.extend(["-i".to_owned(), interface.clone()]);
    }
    let text = config::text(ptp, interfaces.len(), &socket);
    let log = |program: &str| folder.join(format!("{name}-{program}.log"));
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

/// `phc2sys`, which makes the system's clock follow a card's; `CLOCK_TAI` is
/// `tai_offset_s` seconds before `CLOCK_REALTIME`.
pub fn system_clock(host: &Host, interface: &str, tai_offset_s: i64, folder: &Path) -> Program {
    // No offset between the two: CLOCK_TAI − CLOCK_REALTIME is the kernel's, and
    // it is TAI that must show the card's time.
    let offset = (-tai_offset_s).to_string();
    let arguments = ["-s", interface, "-c", "CLOCK_REALTIME", "-O", &offset, "-R", "8", "-m"];
    Program {
        name: "phc2sys",
        host: host.name.clone(),
        arguments: arguments.map(str::to_owned).to_vec(),
        cpu: host.ptp.and_then(|ptp| ptp.cpu),
        settings: None,
        log: folder.join(format!("{}-system-clock.log", host.name)),
        followers: 0,
    }
}
