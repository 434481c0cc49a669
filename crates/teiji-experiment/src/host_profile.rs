//! A host of an experiment as a profile: the same settings, for good.

use crate::keys::profile::PROFILE_PORT;
use crate::tree::{Entry, Node, Origin, Table, Value};
use crate::{Mistakes, Profile, Reader, print};

/// Keys of a host that a profile has.
const KERNEL: &str = "system";
const PORTS: &str = "ports";
const PTP: &str = "ptp";
/// What a measurement waits for, and a profile does not.
const WITHIN: &str = "within";

/// A host as a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProfile {
    /// The profile, as a file.
    pub text: String,
    /// Keys of the host that a profile does not have: `cpu`, `ptp.within`, `line.mac`.
    pub left_out: Vec<String>,
}

impl Reader {
    /// What the experiment `text` gives `host` in the case `name`, as a profile for ports that `interface`
    /// names by their wires. `None` if the file cannot be read or has no such case, or the host has no
    /// settings.
    ///
    /// # Errors
    ///
    /// What a profile cannot say, such as the bandwidth of `cbs`.
    pub fn host_profile<'a>(
        &self,
        text: &str,
        name: &str,
        host: &str,
        interface: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Result<HostProfile, Mistakes>> {
        let experiment = self.read(text).experiment?;
        let read = experiment.cases.iter().find(|case| case.name == name)?;
        let read = read.scenario.hosts.iter().find(|one| one.name == host)?;
        let case = self.table_of(text, name)?;
        let host = case.table("hosts")?.table(host)?;
        let mut left_out = Vec::new();
        let mut profile = Table::default();
        for entry in &host.entries {
            match &entry.node.value {
                Value::Table(_) if entry.key == KERNEL => profile.entries.push(entry.clone()),
                Value::Table(keys) if entry.key == PTP => {
                    let within = keys.entries.iter().filter(|entry| entry.key == WITHIN);
                    left_out.extend(within.map(|entry| format!("{PTP}.{}", entry.key)));
                    let keys = keys.entries.iter().filter(|entry| entry.key != WITHIN);
                    let keys = Table { entries: keys.cloned().collect() };
                    profile.entries.push(table(PTP, keys));
                }
                Value::Table(ports) if entry.key == PORTS => {
                    let ports = ports.entries.iter();
                    let ports = ports.filter_map(|port| port_of(port, &interface, &mut left_out));
                    let ports = Table { entries: ports.collect() };
                    profile.entries.push(table(PORTS, ports));
                }
                _ => left_out.push(entry.key.clone()),
            }
        }
        if read.ptp.is_some() {
            // Its NICs are those of the profile, also the ones that are left as they are.
            let bound = read.ports.iter().filter_map(|port| interface(&port.wire));
            add_ports(&mut profile, bound);
        }
        let text = print::file(&profile).trim_start().to_owned();
        Some(Profile::parse(&text, "profile").map(|_| HostProfile { text, left_out }))
    }
}

/// Gives the profile a header for each of these interfaces that has none.
fn add_ports<'a>(profile: &mut Table, interfaces: impl Iterator<Item = &'a str>) {
    let is_ports = |entry: &Entry| entry.key == PORTS;
    if !profile.entries.iter().any(is_ports) {
        profile.entries.push(table(PORTS, Table::default()));
    }
    let entry = profile.entries.iter_mut().find(|entry| is_ports(entry));
    if let Some(Entry { node: Node { value: Value::Table(ports), .. }, .. }) = entry {
        for name in interfaces {
            if ports.get(name).is_none() {
                ports.entries.push(table(name, Table::default()));
            }
        }
    }
}

/// The port as the profile has it; `None` if its wire has no interface here.
fn port_of<'a>(
    port: &Entry,
    interface: impl Fn(&str) -> Option<&'a str>,
    left_out: &mut Vec<String>,
) -> Option<Entry> {
    let Value::Table(settings) = &port.node.value else { return None };
    let Some(name) = interface(&port.key) else {
        left_out.push(format!("{}, which has no interface here", port.key));
        return None;
    };
    let (kept, others): (Vec<&Entry>, Vec<&Entry>) =
        settings.entries.iter().partition(|entry| PROFILE_PORT.key(&entry.key).is_some());
    left_out.extend(others.iter().map(|entry| format!("{}.{}", port.key, entry.key)));
    Some(table(name, Table { entries: kept.into_iter().cloned().collect() }))
}

fn table(key: &str, table: Table) -> Entry {
    let at = Origin::NOWHERE;
    Entry { key: key.to_owned(), key_at: at, node: Node { at, value: Value::Table(table) } }
}

#[cfg(test)]
mod tests {
    use teiji_core::domain::RtPriority;

    use super::*;
    use crate::scenario::{Policy, Qdisc};

    const TEXT: &str = "\
name = \"drive\"
question = \"?\"
wires.line = { between = [\"plc\", \"drive\"] }
flows.cycle = { from = \"plc\", to = \"drive\", period = \"1ms\", frames = 9 }
[hosts.plc]
cpu = 0
system = { ksoftirqd = { priority = 1 } }
[hosts.plc.ports.line]
mac = \"02:00:00:00:00:01\"
queues = 4
[cases.plain]
[cases.timed]
flows.cycle = { mode = \"launch-time\", margin = \"400us\" }
[cases.timed.hosts.plc.ports.line]
irq = { priority = 60 }
qdisc = { kind = \"etf\", delta = \"150us\" }
[cases.shaped.hosts.plc.ports.line]
qdisc = { kind = \"cbs\", bandwidth = \"9Mbit/s\" }
";

    fn profile(text: &str, case: &str) -> Option<Result<HostProfile, Mistakes>> {
        let reader = Reader::new("drive.toml");
        reader.host_profile(text, case, "plc", |wire| (wire == "line").then_some("enp3s0.5"))
    }

    #[test]
    fn a_host_s_settings_are_a_profile_s() {
        let found = profile(TEXT, "timed").unwrap().unwrap();
        assert_eq!(found.left_out, ["cpu", "line.mac"]);
        let read = Profile::parse(&found.text, "p.toml").unwrap();
        assert_eq!(read.system.ksoftirqd, Some(Policy::Fifo(RtPriority::LEAST)));
        let [port] = &read.ports[..] else { panic!("{}", found.text) };
        assert_eq!((port.interface.as_str(), port.nic.queues), ("enp3s0.5", Some(4)));
        assert_eq!(port.processing.irq.policy, RtPriority::new(60).map(Policy::Fifo));
        assert!(matches!(port.qdisc.as_ref().unwrap().root, Qdisc::Etf(_)), "{}", found.text);
        let plain = profile(TEXT, "plain").unwrap().unwrap();
        assert!(!plain.text.contains("etf"), "{}", plain.text);
        assert!(profile(TEXT, "other").is_none());
    }

    #[test]
    fn the_host_s_clocks_are_the_profile_s_without_what_only_a_measurement_has() {
        let text = TEXT.replace(
            "[hosts.plc]\n",
            "[hosts.drive]\nptp = { role = \"grandmaster\", profile = \"gptp\" }\n[hosts.plc]\n\
             ptp = { role = \"slave\", profile = \"gptp\", within = \"2us\" }\n",
        );
        let text = text.replace("\"drive\"] }", "\"drive\"], nic = \"vtsn\" }");
        let found = profile(&text, "plain").unwrap().unwrap();
        assert!(found.left_out.contains(&"ptp.within".to_owned()), "{found:?}");
        let ptp = Profile::parse(&found.text, "p.toml").unwrap().ptp.unwrap();
        assert_eq!(ptp.interfaces, ["enp3s0.5"]);
        assert_eq!(ptp.settings.profile, crate::PtpProfile::Gptp);
        // Also a NIC without other settings.
        let bare =
            text.replace("[hosts.plc.ports.line]\nmac = \"02:00:00:00:00:01\"\nqueues = 4\n", "");
        let found = profile(&bare, "plain").unwrap().unwrap();
        let ptp = Profile::parse(&found.text, "p.toml").unwrap().ptp.unwrap();
        assert_eq!(ptp.interfaces, ["enp3s0.5"], "{}", found.text);
    }

    #[test]
    fn what_a_profile_cannot_say_is_a_mistake() {
        let mistakes = profile(TEXT, "shaped").unwrap().unwrap_err().to_string();
        assert!(mistakes.contains("does not know the rate of the wire"), "{mistakes}");
    }
}
