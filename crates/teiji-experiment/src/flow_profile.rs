//! Flow-control profiles: which ports of a machine have `prioflow`, and with which settings, as a
//! file. An experiment says the same of its hosts' ports, by the same keys.

use std::fmt;

use crate::fields::Fields;
use crate::interface;
use crate::keys::Written as _;
use crate::keys::prioflow::{PROFILE, PROFILE_PORT};
use crate::log::Log;
use crate::mistake::Mistakes;
use crate::read;
use crate::scenario::{LevelTable, LinkMode, Prioflow};
use crate::syntax;
use crate::tree::{Entry, Origin};

/// The ports of a machine, in the order of the file.
///
/// ```
/// use teiji_experiment::FlowProfile;
/// let text = "[ports.enp3s0]\nlimit = 150\n\n[ports.\"enp4s0.5\"]\nby = \"pcp\"\n";
/// let profile = FlowProfile::parse(text, "flow.toml").unwrap();
/// assert_eq!(profile.ports[0].settings.limit, 150);
/// assert_eq!(FlowProfile::parse(&profile.to_string(), "again.toml").unwrap(), profile);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowProfile {
    /// Never empty in one that was read.
    pub ports: Vec<ProfilePort>,
}

/// A port, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilePort {
    /// Name of the interface.
    pub interface: String,
    /// All of them: what the file does not say is as in a new qdisc, with a link of level frames.
    pub settings: Prioflow,
}

impl FlowProfile {
    /// Reads a profile; `file` is what its findings call it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub fn parse(text: &str, file: &str) -> Result<Self, Mistakes> {
        let log = Log::default();
        let ports = read_ports(text, &log);
        let fatal = log.is_fatal();
        let findings = log.finish(file, text, &[], &[]);
        match ports.filter(|_| !fatal) {
            Some(ports) => Ok(Self { ports }),
            None => Err(findings),
        }
    }
}

fn read_ports(text: &str, log: &Log) -> Option<Vec<ProfilePort>> {
    let root = syntax::parse(text, log)?;
    let top = Origin::File { start: 0, end: 0 };
    let file = Fields::new(&root, top, &PROFILE, "the profile", log);
    let entries = file.table("ports", "{}").value().map_or(&[][..], |table| &table.entries);
    if entries.is_empty() && !log.is_fatal() {
        log.mistake(top, "the profile names no port", "Write for example [ports.eth0]");
    }
    // All of them before one that is wrong ends it, so that all mistakes are told.
    let ports: Vec<Option<ProfilePort>> =
        entries.iter().map(|entry| read_port(entry, log)).collect();
    ports.into_iter().collect()
}

fn read_port(entry: &Entry, log: &Log) -> Option<ProfilePort> {
    let table = interface::table(entry, log)?;
    let label = interface::label(&entry.key);
    let fields = Fields::new(table, entry.node.at, &PROFILE_PORT, label, log);
    let mut settings = read::prioflow::read(&fields)?;
    if !fields.has("link") {
        settings.link = LinkMode::MacControl;
    }
    Some(ProfilePort { interface: entry.key.clone(), settings })
}

/// As it is read: what is as in a new qdisc is left out, but for the link.
impl fmt::Display for FlowProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, port) in self.ports.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            writeln!(f, "{gap}{}", interface::label(&port.interface))?;
            write_settings(f, &port.settings)?;
        }
        Ok(())
    }
}

fn write_settings(f: &mut fmt::Formatter<'_>, settings: &Prioflow) -> fmt::Result {
    let table = settings.table.filter(|table| *table != LevelTable::usual(settings.source));
    let settings = Prioflow { table, ..*settings };
    writeln!(f, "link = \"{}\"", settings.link.name())?;
    for (key, value) in settings.written().iter().filter(|(key, _)| *key != "link") {
        writeln!(f, "{key} = {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use teiji_core::time::Span;

    use super::*;
    use crate::scenario::{LevelSource, PauseScope};

    fn wrong(text: &str) -> String {
        FlowProfile::parse(text, "flow.toml").unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_said_is_as_in_a_new_qdisc_with_a_link() {
        let profile = FlowProfile::parse("[ports.enp3s0]\n", "flow.toml").unwrap();
        let wanted = Prioflow { link: LinkMode::MacControl, ..Prioflow::default() };
        assert_eq!(profile.ports[0].settings, wanted);
        assert_eq!(profile.to_string(), "[ports.enp3s0]\nlink = \"mac-control\"\n");
    }

    #[test]
    fn what_is_written_is_read_again_as_it_was() {
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
            obey: 14,
            propagate: false,
        };
        let port =
            |interface: &str, settings| ProfilePort { interface: interface.into(), settings };
        let off = Prioflow { link: LinkMode::Off, ..Prioflow::default() };
        let profile = FlowProfile { ports: vec![port("enP4p1s0.5", full), port("br_lan", off)] };
        let text = profile.to_string();
        assert!(
            text.starts_with("[ports.\"enP4p1s0.5\"]\nlink = \"pfc\"\nby = \"pcp\"\n"),
            "{text}"
        );
        assert_eq!(FlowProfile::parse(&text, "flow.toml").unwrap(), profile);
    }

    #[test]
    fn all_mistakes_are_told_with_their_places() {
        let said = wrong(
            "[ports.eth0]\nlimt = 4\nlink = \"mac\"\n[ports.\"a/b\"]\n\n[ports]\nlo = 3\n[port.x]\n",
        );
        for part in [
            "flow.toml:2:1",
            "did you mean `limit`?",
            "flow.toml:3:8",
            "There is `off`, `mac-control`",
            "`a/b` cannot be the name of an interface",
            "unknown key `port`",
        ] {
            assert!(said.contains(part), "no {part} in\n{said}");
        }
    }

    #[test]
    fn a_profile_without_ports_or_structure_says_so() {
        assert!(wrong("").contains("names no port"));
        assert!(wrong("[ports]\n").contains("names no port"));
        assert!(wrong("[ports.a]\ntable = [1, 2\n").contains("not closed"));
        assert!(wrong("ports = 4\n").contains("must be a table"));
        let unreadable = wrong("[ports]\nlo = 99999999999999999999\n");
        assert!(unreadable.contains("1 mistake\n"), "{unreadable}");
    }
}
