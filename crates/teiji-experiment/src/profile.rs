//! Profiles: what a machine is to have permanently, as a file (docs/profiles.md). An experiment says the same
//! of its hosts and ports, by the same keys.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::check::software_conflict;
use crate::fields::{Fields, Found, Settle};
use crate::keys::Written as _;
use crate::keys::host::{PtpDraft, SystemDraft};
use crate::keys::processing::ProcessingDraft;
use crate::keys::profile::{
    KERNEL, NicDraft, NicSettings, PROFILE, PROFILE_PORT, PTP_PORTS, SYNCHRONISATION,
};
use crate::log::Log;
use crate::mistake::Mistakes;
use crate::print::key;
use crate::read::qdisc;
use crate::scenario::{
    LevelTable, Prioflow, Processing, Ptp, PtpRole, PtpTimestamps, QdiscTree, System,
};
use crate::syntax;
use crate::tree::{Entry, Node, Origin, Table, Value};

/// Longest name of an interface (`IFNAMSIZ` less its end).
const LONGEST_NAME: usize = 15;

/// What a machine is to have.
///
/// ```
/// use teiji_experiment::Profile;
/// let text = "[system]\nksoftirqd = { priority = 1 }\n\n[ports.enp3s0]\nirq = { priority = 50 }\n";
/// let profile = Profile::parse(text, "drive.toml").unwrap();
/// assert_eq!(profile.ports[0].interface, "enp3s0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Of its kernel.
    pub system: System,
    /// Of its clocks; `None`: they are left alone.
    pub ptp: Option<PtpServices>,
    /// Of its NICs, in the order of the file.
    pub ports: Vec<PortProfile>,
}

/// Clock synchronisation that a machine is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtpServices {
    /// Its role, as that of an experiment's host.
    pub settings: Ptp,
    /// The interfaces that run PTP, at least one.
    pub interfaces: Vec<String>,
}

/// What a NIC is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortProfile {
    /// Name of the interface.
    pub interface: String,
    /// Driver settings (`ethtool`).
    pub nic: NicSettings,
    /// Who processes its frames.
    pub processing: Processing,
    /// Its qdisc; `None`: as it is.
    pub qdisc: Option<QdiscTree>,
}

impl Profile {
    /// Reads a profile; `file` is what its findings call it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub fn parse(text: &str, file: &str) -> Result<Self, Mistakes> {
        let log = Log::default();
        let read = read(text, &log);
        let fatal = log.is_fatal();
        let findings = log.finish(file, text, &[], &[]);
        read.filter(|_| !fatal).ok_or(findings)
    }
}

fn read(text: &str, log: &Log) -> Option<Profile> {
    let root = syntax::parse(text, log)?;
    let top = Origin::File { start: 0, end: 0 };
    let file = Fields::new(&root, top, &PROFILE, "the profile", log);
    let system = match file.below_named(KERNEL.name, &KERNEL.limits, "[system]") {
        Found::Value(fields) => SystemDraft::read(&fields).finish(),
        found => found.settle().ok().map(|_| System::default()),
    };
    let entries = file.table("ports", "{}").value().map_or(&[][..], |table| &table.entries);
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let ptp = match file.below_named(SYNCHRONISATION.name, &SYNCHRONISATION.limits, "[ptp]") {
        Found::Value(fields) => read_ptp(&fields, &names, log).map(Some),
        found => found.settle().ok().map(|_| None),
    };
    let is_empty = entries.is_empty() && !file.has(KERNEL.name) && !file.has(SYNCHRONISATION.name);
    if is_empty && !log.is_fatal() {
        log.mistake(
            top,
            "the profile sets nothing",
            "Write for example [ports.eth0] with irq = { priority = 50 }",
        );
    }
    // All of them before one that is wrong ends it, so that all mistakes are reported.
    let ports: Vec<Option<PortProfile>> =
        entries.iter().map(|entry| read_port(entry, log)).collect();
    Some(Profile { system: system?, ptp: ptp?, ports: ports.into_iter().collect::<Option<_>>()? })
}

/// Clock synchronisation; `there`: the interfaces of the profile.
fn read_ptp(fields: &Fields<'_>, there: &[&str], log: &Log) -> Option<PtpServices> {
    let settings = PtpDraft::read(fields).finish();
    let interfaces = match fields.items(&PTP_PORTS) {
        Found::Value(items) => items.iter().map(|item| port_name(item, there, log)).collect(),
        Found::Wrong => None,
        Found::Absent => Some(there.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
    };
    let (settings, mut interfaces) = (settings?, interfaces?);
    let mut before = BTreeSet::new();
    interfaces.retain(|name| before.insert(name.clone()));
    let mistake = |key: &str, message: &str, help: &str| {
        log.mistake(fields.place(key), message, help);
        None
    };
    if interfaces.is_empty() {
        return mistake(
            PTP_PORTS.name,
            "`ptp` has no NIC",
            "Write the header of each NIC whose clock is synchronised, for example [ports.enp3s0].",
        );
    }
    if fields.has("within") {
        return mistake(
            "within",
            "`within` is how long a measurement waits for its clocks; a profile waits for none",
            "Leave it out; `teiji top` shows how far the clock is from its master.",
        );
    }
    if settings.timestamps == PtpTimestamps::Software {
        if let Some((key, message, help)) = software_conflict(settings, "this machine") {
            return mistake(key, &message, help);
        }
    }
    if settings.role == PtpRole::Boundary && interfaces.len() == 1 {
        return mistake(
            "role",
            "a boundary clock with one NIC",
            "A boundary clock stands between two networks; write role = \"slave\", or add a NIC.",
        );
    }
    Some(PtpServices { settings, interfaces })
}

/// A NIC that runs PTP.
fn port_name(item: &Node, there: &[&str], log: &Log) -> Option<String> {
    let message = match &item.value {
        Value::Text(name) if there.contains(&name.as_str()) => return Some(name.clone()),
        // Reported already.
        Value::Broken => return None,
        Value::Text(name) => format!("`ptp` names {name}, which the profile does not have"),
        other => format!("an element of `ports` must be text, not {}", other.kind()),
    };
    let names = there.iter().map(|name| key(name)).collect::<Vec<_>>().join(", ");
    let help = if names.is_empty() {
        "Write the NIC's header, too, for example [ports.enp3s0].".to_owned()
    } else {
        format!("It has {names}; write the NIC's header, too.")
    };
    log.mistake(item.at, message, help);
    None
}

fn read_port(entry: &Entry, log: &Log) -> Option<PortProfile> {
    let table = table_of(entry, log)?;
    let label = label(&entry.key);
    let fields = Fields::new(table, entry.node.at, &PROFILE_PORT, label.as_str(), log);
    let nic = NicDraft::read(&fields).finish();
    let processing = ProcessingDraft::read(&fields).finish();
    let fatal = log.is_fatal();
    let qdisc = qdisc::read_root(&fields, &label, None, log).finish();
    if qdisc.is_none() && !fatal && !log.is_fatal() {
        log.mistake(
            fields.place("qdisc"),
            "a profile does not know the rate of the wire, which `bandwidth` is converted with",
            "Write idleslope, sendslope, hicredit and locredit instead.",
        );
    }
    Some(PortProfile {
        interface: entry.key.clone(),
        nic: nic?,
        processing: processing?,
        qdisc: qdisc?,
    })
}

/// The table of an interface; reports what is none, and names that no interface can have.
fn table_of<'a>(entry: &'a Entry, log: &Log) -> Option<&'a Table> {
    let Entry { key: name, key_at, node } = entry;
    let table = match &node.value {
        Value::Table(table) => table,
        // Reported already.
        Value::Broken => return None,
        other => {
            let message = format!("`{name}` in [ports] must be a table, not {}", other.kind());
            log.mistake(node.at, message, format!("Write {} as a header.", label(name)));
            return None;
        }
    };
    let odd = |c: char| c == '/' || c == ':' || c.is_whitespace() || c.is_control();
    if name.is_empty()
        || name.len() > LONGEST_NAME
        || name == "."
        || name == ".."
        || name.contains(odd)
    {
        log.mistake(
            *key_at,
            format!("`{name}` cannot be the name of an interface"),
            "They have 1 to 15 characters, and neither spaces nor `/` nor `:`; `ip link` lists them.",
        );
        return None;
    }
    Some(table)
}

/// Its header.
fn label(name: &str) -> String {
    format!("[ports.{}]", key(name))
}

/// A port of a profile with flow control, as it is read: what is as in a new qdisc is left out.
///
/// ```
/// use teiji_experiment::scenario::Prioflow;
/// use teiji_experiment::profile::flow_control;
/// let settings = Prioflow { limit: 150, ..Prioflow::default() };
/// let text = "[ports.enp3s0.qdisc]\nkind = \"prioflow\"\nlimit = 150\n";
/// assert_eq!(flow_control("enp3s0", &settings), text);
/// ```
pub fn flow_control(interface: &str, settings: &Prioflow) -> String {
    let table = settings.table.filter(|table| *table != LevelTable::default_of(settings.source));
    let settings = Prioflow { table, ..*settings };
    let mut text = format!("[ports.{}.qdisc]\nkind = \"{}\"\n", key(interface), Prioflow::KIND);
    for (key, value) in settings.written() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use teiji_core::time::Span;

    use teiji_core::domain::{Level, RtPriority};

    use super::*;
    use crate::scenario::{LevelSource, LinkMode, PauseScope, Policy, Qdisc};

    #[test]
    fn keys_are_those_of_hosts_and_ports() {
        let text = "[system]\nksoftirqd = { priority = 1 }\n\n[ports.\"enp3s0.5\"]\nqueues = 4\neee = false\n\
                    moderation = { rx = \"0us\" }\nirq = { priority = 50 }\n\n[ports.\"enp3s0.5\".qdisc]\n\
                    kind = \"etf\"\ndelta = \"150us\"\noffload = true\n";
        let profile = Profile::parse(text, "drive.toml").unwrap();
        assert_eq!(profile.system.ksoftirqd, Some(Policy::Fifo(RtPriority::LEAST)));
        let [port] = &profile.ports[..] else { panic!("{profile:?}") };
        assert_eq!((port.nic.queues, port.nic.eee), (Some(4), Some(false)));
        assert_eq!(port.nic.moderation.rx, Some(Span::ZERO));
        assert_eq!(port.processing.irq.policy, RtPriority::new(50).map(Policy::Fifo));
        assert!(matches!(port.qdisc.as_ref().unwrap().root, Qdisc::Etf(_)));
        let default = Profile::parse("[ports.a.qdisc]\nkind = \"default\"\n", "a.toml").unwrap();
        assert_eq!(default.ports[0].qdisc, None);
    }

    #[test]
    fn clocks_are_synchronised_by_the_keys_of_a_host_through_the_profile_s_nics() {
        let read = |ptp: &str| Profile::parse(&format!("{ptp}\n[ports.a]\n[ports.b]\n"), "p.toml");
        let all = read("[ptp]\nrole = \"boundary\"\nprofile = \"gptp\"").unwrap().ptp.unwrap();
        assert_eq!(all.interfaces, ["a", "b"]);
        assert_eq!(all.settings.role, PtpRole::Boundary);
        let one = read("ptp = { role = \"slave\", system-clock = true, ports = [\"b\"] }").unwrap();
        let one = one.ptp.unwrap();
        assert!(one.settings.system_clock && one.interfaces == ["b"], "{one:?}");
        let twice = read("[ptp]\nrole = \"slave\"\nports = [\"b\", \"a\", \"b\"]").unwrap();
        assert_eq!(twice.ptp.unwrap().interfaces, ["b", "a"]);
        assert_eq!(read("").unwrap().ptp, None);
        for (keys, part) in [
            ("", "[ptp] has no `role`"),
            ("role = \"follower\"", "`grandmaster`, `slave`"),
            ("role = \"slave\"\nports = [\"c\"]", "names c, which the profile does not have"),
            ("role = \"slave\"\nports = [1]", "must be text"),
            ("role = \"slave\"\nports = []", "`ptp` has no NIC"),
            ("role = \"slave\"\nwithin = \"1us\"", "a profile waits for none"),
            ("role = \"boundary\"\nports = [\"a\"]", "a boundary clock with one NIC"),
            ("role = \"boundary\"\ntimestamps = \"software\"", "Leave timestamps out"),
            ("role = \"slave\"\ntimestamps = \"software\"\nsystem-clock = true", "ptp4l itself"),
        ] {
            let message = read(&format!("[ptp]\n{keys}")).unwrap_err().to_string();
            assert!(message.contains(part), "{keys}: {message}");
        }
        let alone = Profile::parse("[ptp]\nrole = \"slave\"\n", "p.toml").unwrap_err().to_string();
        assert!(alone.contains("for example [ports.enp3s0]"), "{alone}");
    }

    #[test]
    fn flow_control_that_is_written_is_read_again_as_it_was() {
        let table = LevelTable::new(&[0, 0, 1, 1, 2, 2, 3, 14]).unwrap();
        let full = Prioflow {
            limit: 150,
            bytes: Some(9_000),
            source: LevelSource::Pcp,
            table: Some(table),
            link: LinkMode::Pfc,
            storm: Span::ZERO,
            reaction: Span::from_micros(250),
            ring: 4,
            room: 500,
            scope: PauseScope::Below,
            obey: Level::HIGHEST_PAUSED,
            propagate: false,
        };
        let [off, link] = [LinkMode::Off, LinkMode::MacControl]
            .map(|link| Prioflow { link, ..Prioflow::default() });
        for settings in [full, off, link] {
            let text = flow_control("enP4p1s0.5", &settings);
            assert!(text.starts_with("[ports.\"enP4p1s0.5\".qdisc]\n"), "{text}");
            let profile = Profile::parse(&text, "flow.toml").unwrap();
            assert_eq!(profile.ports[0].qdisc.as_ref().unwrap().root, Qdisc::Prioflow(settings));
        }
    }

    #[test]
    fn all_mistakes_are_reported_with_their_places() {
        let message = Profile::parse(
            "[system]\nksoftirq = 1\n[ports.eth0]\nee = true\nqueues = 0\n[ports.\"a/b\"]\n\n[ports]\nlo = 3\n[port.x]\n",
            "drive.toml",
        );
        let message = message.unwrap_err().to_string();
        for part in [
            "drive.toml:2:1",
            "did you mean `ksoftirqd`?",
            "did you mean `eee`?",
            "drive.toml:5:10",
            "`a/b` cannot be the name of an interface",
            "unknown key `port`",
        ] {
            assert!(message.contains(part), "no {part} in\n{message}");
        }
        let nothing = Profile::parse("", "drive.toml").unwrap_err().to_string();
        assert!(nothing.contains("the profile sets nothing"), "{nothing}");
        let cbs = "[ports.a.qdisc]\nkind = \"cbs\"\nbandwidth = \"20Mbit/s\"\n";
        let cbs = Profile::parse(cbs, "drive.toml").unwrap_err().to_string();
        assert!(cbs.contains("idleslope"), "{cbs}");
    }
}
