//! Clock synchronisation of a profile: `ptp4l` and `phc2sys` as services of systemd.
//!
//! They are transient units (`systemd-run`): they last until they are stopped or the machine is restarted, as
//! everything else that a profile changes. Their settings are a file beside the profile's journal.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teiji_experiment::{PtpRole, PtpServices, PtpTimestamps};
use teiji_sys::{clock, ethtool, process};
use thiserror::Error;

use crate::daemon::{self, Daemon};
use crate::linuxptp::{self, Lines};
use teiji_core::shell::quote;

const PTP4L: &str = "ptp4l";
const PHC2SYS: &str = "phc2sys";
const PTP4L_UNIT: &str = "teiji-ptp4l.service";
/// Keeps the clocks of a boundary clock's NICs together.
const NICS_UNIT: &str = "teiji-phc2sys-nics.service";
/// Has the system's clock follow a NIC's.
const SYSTEM_UNIT: &str = "teiji-phc2sys.service";
/// systemd runs (`sd_booted(3)`).
const SYSTEMD: &str = "/run/systemd/system";
const SETTINGS: &str = "/run/teiji/ptp4l.conf";
const SOCKET: &str = "/run/teiji/ptp4l.socket";
/// A program that cannot start, for example without timestamps of its NIC, ends within milliseconds.
const LASTS: Duration = Duration::from_millis(500);
/// The end of a file in a shell's command.
const END: &str = "END";

/// Why clocks are not synchronised.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServiceError {
    /// Nobody would keep the programs running.
    #[error(
        "`ptp` needs systemd, which keeps ptp4l running, and this machine was not started by it. Leave `ptp` out, and \
         have this machine's init write {SETTINGS} (`teiji diff FILE --commands` prints it) and run: {}", .0.join("; ")
    )]
    NoSystemd(Vec<String>),
    /// Its services would not see the interfaces.
    #[error(
        "systemd starts ptp4l in the machine's own network namespace, and this is another one: apply the profile there, \
         or leave `ptp` out"
    )]
    Elsewhere,
    /// A program is missing.
    #[error(
        "there is no `{0}` here; install linuxptp (`apt install linuxptp`), or leave `ptp` out"
    )]
    NotInstalled(&'static str),
    /// The NIC has no clock.
    #[error(
        "{0} has no clock of its own (PHC, `ethtool -T {0}`) that `ptp` could synchronise: write timestamps = \"software\", \
         here and at all other ends, or leave `ptp` out"
    )]
    NoClock(String),
    /// The NIC does not timestamp what it sends.
    #[error(
        "the driver of {0} timestamps no frames (`ethtool -T {0}`), which PTP needs: leave {0} out of `ptp`"
    )]
    NoTimestamps(String),
    /// A CPU is missing.
    #[error("`ptp` has cpu = {0}, which does not exist here or is offline")]
    NoCpu(u16),
    /// Somebody else steers a clock.
    #[error(
        "{0} {1} already, and two programs would fight over it: stop it ({2}), or leave `{3}` out"
    )]
    Taken(String, String, String, &'static str),
    /// A file or unit could not be made.
    #[error("`{0}` failed: {1}")]
    Failed(String, String),
    /// A program ended.
    #[error("{program} ended as soon as it was started; `journalctl -u {unit}` shows why")]
    Ended {
        /// The program.
        program: &'static str,
        /// Its unit.
        unit: &'static str,
    },
}

/// A program of linuxptp and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Service {
    unit: &'static str,
    program: &'static str,
    arguments: Vec<String>,
}

/// What there was not before: units and files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServicesBefore {
    units: Vec<String>,
    files: Vec<PathBuf>,
}

/// The programs that are needed, in the order in which they start.
fn services(ptp: &PtpServices, tai_offset_s: i64) -> Vec<Service> {
    let PtpServices { settings, interfaces } = ptp;
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let service = |unit, program, arguments| Service { unit, program, arguments };
    let mut arguments = words(&["-f", SETTINGS, "-m"]);
    for interface in interfaces {
        arguments.extend(words(&["-i", interface]));
    }
    let mut all = vec![service(PTP4L_UNIT, PTP4L, arguments)];
    if settings.role == PtpRole::Boundary {
        all.push(service(NICS_UNIT, PHC2SYS, words(&["-a", "-z", SOCKET, "-m"])));
    }
    if let (true, [first, ..]) = (settings.system_clock, &interfaces[..]) {
        all.push(service(SYSTEM_UNIT, PHC2SYS, linuxptp::system_clock(first, tai_offset_s)));
    }
    all
}

impl Service {
    fn line(&self) -> String {
        let words = self.arguments.iter().map(|word| quote(word));
        [self.program.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The arguments of `systemd-run`; `program` is where it is installed.
    fn systemd_run(&self, program: &str, cpu: Option<u16>) -> Vec<String> {
        let mut words = vec![
            format!("--unit={}", self.unit),
            format!("--description={} of a profile of teiji", self.program),
            // One that fails is started again, seldom enough for systemd not to give up.
            "--property=Restart=on-failure".to_owned(),
            "--property=RestartSec=3s".to_owned(),
        ];
        words.extend(cpu.map(|cpu| format!("--property=CPUAffinity={cpu}")));
        words.extend(["--".to_owned(), program.to_owned()]);
        words.extend(self.arguments.iter().cloned());
        words
    }
}

/// The services as this machine has to start them now.
fn now(ptp: &PtpServices) -> Vec<Service> {
    services(ptp, clock::tai_offset().as_ns() / 1_000_000_000)
}

/// The settings file of `ptp4l`; the command lines stand in it, too, so that it differs when one of them does.
fn file(ptp: &PtpServices, services: &[Service]) -> String {
    // An interface that is missing has been refused, or other settings report it.
    let stamps_all = |ifname: &String| {
        ethtool::timestamp_info(ifname).is_ok_and(|info| info.receives_all_in_hardware())
    };
    let all = ptp.interfaces.iter().all(stamps_all);
    let mut text = "# Written by `teiji apply`; `teiji revert` removes it.\n".to_owned();
    for service in services {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {}", service.line());
    }
    let ports = ptp.interfaces.len();
    text + &linuxptp::settings(ptp.settings, ports, all, SOCKET, Lines::PerMinute)
}

/// The equivalent commands of a root shell, in order.
pub(super) fn commands(ptp: &PtpServices) -> Vec<String> {
    let services = now(ptp);
    let mut commands = vec![
        format!("mkdir -p {}", folder().display()),
        format!("cat >{SETTINGS} <<'{END}'\n{}{END}", file(ptp, &services)),
    ];
    commands.extend(services.iter().map(|service| {
        let program = linuxptp::installed(service.program)
            .map_or_else(|| service.program.to_owned(), |path| path.display().to_string());
        let words = service.systemd_run(&program, ptp.settings.cpu);
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        format!("systemd-run {}", words.join(" "))
    }));
    commands
}

fn folder() -> &'static Path {
    Path::new(SETTINGS).parent().unwrap_or(Path::new("/"))
}

/// Looks whether this machine can start them, and remembers what there is not.
pub(super) fn inspect(ptp: &PtpServices) -> Result<ServicesBefore, ServiceError> {
    let services = now(ptp);
    if !Path::new(SYSTEMD).is_dir() {
        return Err(ServiceError::NoSystemd(services.iter().map(Service::line).collect()));
    }
    let namespace = |of: &str| fs::read_link(format!("/proc/{of}/ns/net")).ok();
    if namespace("1").is_some_and(|first| Some(first) != namespace("self")) {
        return Err(ServiceError::Elsewhere);
    }
    for Service { program, .. } in &services {
        if linuxptp::installed(program).is_none() {
            return Err(ServiceError::NotInstalled(program));
        }
    }
    if let Some(cpu) = ptp.settings.cpu.filter(|cpu| {
        let there = crate::cpus::online();
        !there.is_empty() && !there.contains(cpu)
    }) {
        return Err(ServiceError::NoCpu(cpu));
    }
    for ifname in &ptp.interfaces {
        // One that is not there is refused with the other settings of the NIC.
        let Ok(info) = ethtool::timestamp_info(ifname) else { continue };
        match ptp.settings.timestamps {
            PtpTimestamps::Hardware if info.phc_index.is_none() => {
                return Err(ServiceError::NoClock(ifname.clone()));
            }
            PtpTimestamps::Software if !info.transmits_in_software() => {
                return Err(ServiceError::NoTimestamps(ifname.clone()));
            }
            _ => {}
        }
    }
    let running = daemon::running(Path::new("/"));
    if let Some(taken) = running.iter().find_map(|daemon| taken(ptp, daemon)) {
        return Err(taken);
    }
    Ok(ServicesBefore {
        units: services.iter().map(|service| service.unit.to_owned()).collect(),
        files: vec![SETTINGS.into()],
    })
}

/// Why they cannot be started beside a program that runs.
fn taken(ptp: &PtpServices, daemon: &Daemon) -> Option<ServiceError> {
    let steers =
        |what: String, key| ServiceError::Taken(daemon.named(), what, daemon.stop_command(), key);
    let PtpServices { settings, interfaces } = ptp;
    let ours = |name: &str| interfaces.iter().any(|ifname| ifname == name);
    // ptp4l as a slave with software timestamps steers it, too.
    let system = settings.system_clock
        || (settings.timestamps == PtpTimestamps::Software
            && settings.role != PtpRole::Grandmaster);
    let key = if settings.system_clock { "system-clock" } else { "ptp" };
    match daemon.name.as_str() {
        PTP4L if daemon.is_here() => {
            let on = ptp4l_interfaces(daemon).into_iter().find(|name| ours(name))?;
            Some(steers(format!("synchronises {on}"), "ptp"))
        }
        PHC2SYS if daemon.has('a') => {
            Some(steers("synchronises what ptp4l does".to_owned(), "ptp"))
        }
        PHC2SYS => {
            // The default is the system's clock.
            let clock = daemon.value('c').unwrap_or("CLOCK_REALTIME");
            if ours(clock) && daemon.is_here() && settings.role != PtpRole::Grandmaster {
                return Some(steers(format!("steers the clock of {clock}"), "ptp"));
            }
            (system && clock == "CLOCK_REALTIME")
                .then(|| steers("steers the system clock".to_owned(), key))
        }
        _ if system && daemon.is_ntp() => {
            Some(steers("steers the system clock by NTP".to_owned(), key))
        }
        _ => None,
    }
}

/// The interfaces of a `ptp4l`: by its arguments, and by the sections of its settings.
fn ptp4l_interfaces(daemon: &Daemon) -> Vec<String> {
    let mut names: Vec<String> = daemon.values('i').into_iter().map(str::to_owned).collect();
    let text = daemon.value('f').and_then(|file| {
        let folder = PathBuf::from(format!("/proc/{}/cwd", daemon.pid));
        fs::read_to_string(folder.join(file)).ok()
    });
    let text = text.unwrap_or_default();
    let section = |line: &str| {
        let name = line.trim().strip_prefix('[')?.strip_suffix(']')?;
        (name != "global").then(|| name.to_owned())
    };
    names.extend(text.lines().filter_map(section));
    names
}

/// Starts them, and sees that they last.
pub(super) fn start(ptp: &PtpServices) -> Result<(), ServiceError> {
    let services = now(ptp);
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        ServiceError::Failed(what.to_owned(), error.to_string())
    };
    let write = format!("writing {SETTINGS}");
    fs::create_dir_all(folder()).map_err(|error| failed(&write, &error))?;
    fs::write(SETTINGS, file(ptp, &services)).map_err(|error| failed(&write, &error))?;
    let readable = fs::Permissions::from_mode(0o644);
    fs::set_permissions(SETTINGS, readable).map_err(|error| failed(&write, &error))?;
    for service in &services {
        let Some(program) = linuxptp::installed(service.program) else {
            return Err(ServiceError::NotInstalled(service.program));
        };
        // One of this name that failed once would be in the way.
        let _ = run("systemctl", &["reset-failed".to_owned(), service.unit.to_owned()]);
        let words = service.systemd_run(&program.display().to_string(), ptp.settings.cpu);
        succeed("systemd-run", &words)?;
    }
    thread::sleep(LASTS);
    for Service { unit, program, .. } in services {
        let state = State::of(unit)?;
        if state.active != "active" || state.restarts > 0 {
            return Err(ServiceError::Ended { program, unit });
        }
    }
    Ok(())
}

/// Where they are other than the profile says, one sentence each.
pub(super) fn differences(ptp: &PtpServices) -> Vec<String> {
    let services = now(ptp);
    let mut found = Vec::new();
    for service in &services {
        let state = match State::of(service.unit) {
            Ok(state) if state.is_loaded => state.active,
            Ok(_) => "not there".to_owned(),
            Err(error) => error.to_string(),
        };
        if state != "active" {
            found.push(format!("{}: {state}, configured: active", service.unit));
        }
    }
    // Where there is none, the services were never started.
    let is = fs::read_to_string(SETTINGS);
    if found.is_empty() && is.is_ok_and(|is| is != file(ptp, &services)) {
        found.push(format!(
            "ptp4l and phc2sys run with other settings than the profile's now ({SETTINGS})"
        ));
    }
    found
}

/// What systemd has of a unit.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    is_loaded: bool,
    active: String,
    restarts: u32,
}

impl State {
    fn of(unit: &str) -> Result<Self, ServiceError> {
        let words = ["show", "--property=LoadState,ActiveState,NRestarts", unit];
        let output = succeed("systemctl", &words.map(str::to_owned))?;
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    fn parse(text: &str) -> Self {
        let mut state = Self::default();
        for line in text.lines() {
            match line.split_once('=') {
                Some(("LoadState", load)) => state.is_loaded = load != "not-found",
                Some(("ActiveState", active)) => active.trim().clone_into(&mut state.active),
                Some(("NRestarts", count)) => state.restarts = count.trim().parse().unwrap_or(0),
                _ => {}
            }
        }
        state
    }
}

impl ServicesBefore {
    /// Stops and removes what there was not before, the last first. Doing it twice does no harm. Returns what
    /// could not be, as sentences.
    pub(super) fn put_back(&self) -> Vec<String> {
        let stopped = self.units.iter().rev().filter_map(|unit| stop(unit).err());
        let mut not_restored: Vec<String> = stopped.collect();
        for file in &self.files {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    not_restored.push(format!("{} was not removed: {error}", file.display()));
                }
                _ => {}
            }
        }
        not_restored
    }
}

fn stop(unit: &str) -> Result<(), String> {
    let failed = |error: ServiceError| format!("{unit} was not stopped: {error}");
    if !State::of(unit).map_err(failed)?.is_loaded {
        return Ok(());
    }
    succeed("systemctl", &["stop".to_owned(), unit.to_owned()]).map_err(failed)?;
    // A failed one stays known otherwise; one that was stopped is gone.
    let _ = run("systemctl", &["reset-failed".to_owned(), unit.to_owned()]);
    Ok(())
}

/// Runs a program of systemd, which dies with the calling thread: nothing is started after a guard has put back.
fn run(program: &str, words: &[String]) -> io::Result<Output> {
    let mut command = Command::new(program);
    command.args(words).env("PATH", linuxptp::search_path());
    process::die_with_parent(&mut command).output()
}

fn succeed(program: &str, words: &[String]) -> Result<Output, ServiceError> {
    let failed = |why: String| ServiceError::Failed(format!("{program} {}", words.join(" ")), why);
    let output = run(program, words).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use teiji_experiment::Profile;

    use super::*;

    fn ptp(keys: &str) -> PtpServices {
        let text = format!("ptp = {{ {keys} }}\n[ports.eth0]\n[ports.eth1]\n");
        Profile::parse(&text, "p.toml").unwrap().ptp.unwrap()
    }

    #[test]
    fn each_role_has_its_programs() {
        let lines = |keys| services(&ptp(keys), 37).iter().map(Service::line).collect::<Vec<_>>();
        let ptp4l = "ptp4l -f /run/teiji/ptp4l.conf -m -i eth0 -i eth1";
        let system = "phc2sys -s eth0 -c CLOCK_REALTIME -O -37 -R 8 -m";
        assert_eq!(lines("role = \"slave\""), [ptp4l]);
        assert_eq!(lines("role = \"slave\", system-clock = true"), [ptp4l, system]);
        let together = "phc2sys -a -z /run/teiji/ptp4l.socket -m";
        assert_eq!(lines("role = \"boundary\""), [ptp4l, together]);
        assert_eq!(
            lines("role = \"grandmaster\", ports = [\"eth1\"]"),
            ["ptp4l -f /run/teiji/ptp4l.conf -m -i eth1"]
        );
    }

    #[test]
    fn the_commands_make_the_file_and_the_units() {
        let commands = commands(&ptp("role = \"slave\", cpu = 0, ports = [\"eth1\"]"));
        assert_eq!(commands[0], "mkdir -p /run/teiji");
        assert!(
            commands[1].starts_with("cat >/run/teiji/ptp4l.conf <<'END'\n# Written"),
            "{commands:?}"
        );
        assert!(commands[1].contains("\nslaveOnly 1\n") && commands[1].ends_with("\nEND"));
        assert!(commands[2].starts_with("systemd-run --unit=teiji-ptp4l.service "), "{commands:?}");
        assert!(commands[2].contains(" --property=CPUAffinity=0 -- "), "{commands:?}");
        assert!(commands[2].ends_with("ptp4l -f /run/teiji/ptp4l.conf -m -i eth1"), "{commands:?}");
    }

    #[test]
    fn a_program_that_steers_the_same_clock_is_refused_with_the_command_that_stops_it() {
        let of = |keys: &str, line: &str, unit: Option<&str>| {
            let mut words = line.split(' ').map(str::to_owned);
            let name = words.next().unwrap();
            let arguments = words.collect();
            // No process has this number, so its namespace is not known.
            let pid = u32::MAX;
            let daemon = Daemon { name, pid, arguments, unit: unit.map(str::to_owned) };
            taken(&ptp(keys), &daemon).map(|error| error.to_string())
        };
        let slave = "role = \"slave\"";
        let message = of(slave, "ptp4l -i eth7 -i eth1", Some("ptp4l@eth1.service")).unwrap();
        assert_eq!(
            message,
            "ptp4l (pid 4294967295, ptp4l@eth1.service) synchronises eth1 already, and two programs would fight over it: \
             stop it (systemctl disable --now ptp4l@eth1.service), or leave `ptp` out"
        );
        assert_eq!(of(slave, "ptp4l -i eth7", None), None);
        assert_eq!(of("role = \"slave\", ports = [\"eth0\"]", "ptp4l -i eth1", None), None);
        let follows = "phc2sys -s CLOCK_REALTIME -c eth0";
        assert!(of(slave, follows, None).unwrap().contains("steers the clock of eth0"));
        assert_eq!(
            of("role = \"grandmaster\"", follows, None),
            None,
            "its clock may be the system's"
        );
        assert!(of(slave, "phc2sys -a -r", None).is_some());
        let system = "role = \"slave\", system-clock = true";
        for line in ["phc2sys -s eth9", "chronyd -n", "systemd-timesyncd"] {
            let message = of(system, line, None).unwrap();
            assert!(
                message.contains("steers the system clock") && message.contains("`system-clock`"),
                "{message}"
            );
            assert_eq!(of(slave, line, None), None, "{line}");
        }
        assert!(of("role = \"slave\", timestamps = \"software\"", "chronyd", None).is_some());
        assert_eq!(of("role = \"grandmaster\", timestamps = \"software\"", "chronyd", None), None);
    }

    #[test]
    fn interfaces_of_a_settings_file_count() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "[global]\nx 1\n[eth1]\n").unwrap();
        let arguments = vec!["-f".to_owned(), file.path().to_str().unwrap().to_owned()];
        let daemon = Daemon { name: PTP4L.to_owned(), pid: 1, arguments, unit: None };
        assert_eq!(ptp4l_interfaces(&daemon), ["eth1"]);
    }

    #[test]
    fn what_systemctl_shows_is_understood() {
        let running = State::parse("LoadState=loaded\nActiveState=active\nNRestarts=0\n");
        assert_eq!(running, State { is_loaded: true, active: "active".to_owned(), restarts: 0 });
        let none = State::parse("NRestarts=0\nLoadState=not-found\nActiveState=inactive\n");
        assert!(!none.is_loaded);
        let again = State::parse("LoadState=loaded\nActiveState=activating\nNRestarts=3\n");
        assert_eq!((again.active.as_str(), again.restarts), ("activating", 3));
    }
}
