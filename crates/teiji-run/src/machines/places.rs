//! Where the hosts of an experiment are: `talker=ssh:root@a/enp1s0,listener=ssh://b:2222/enp1s0`.

use std::collections::BTreeMap;

use teiji_experiment::{Host, PtpRole, PtpTimestamps, Scenario};
use teiji_net::Binding;
use teiji_remote::Destination;

use super::names::{FORM, PortPlace};
use crate::mistake;

/// The interfaces of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `None`: this machine.
    pub machine: Option<Destination>,
    /// Its interfaces, `HOST.WIRE=INTERFACE,…`.
    pub bind: String,
}

impl Place {
    /// The machine's name, for people.
    pub fn name(&self) -> String {
        self.machine.as_ref().map_or_else(|| "this machine".to_owned(), Destination::to_string)
    }
}

/// The machines of an experiment, in the order in which they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places(Vec<Place>);

impl Places {
    /// Reads bindings as the command line has them; `None` if all are of this machine.
    ///
    /// # Errors
    /// [`Mistake`](crate::Mistake) for what is no binding.
    pub fn parse(text: &str) -> anyhow::Result<Option<Self>> {
        // No interface's name has a colon.
        if !text.contains(Destination::PREFIX) {
            return Ok(None);
        }
        let mut places: Vec<Place> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((port, at)) = part.split_once('=') else {
                mistake!("`{part}` is no binding; write HOST=INTERFACE or HOST={FORM}");
            };
            let PortPlace { machine, interface } =
                at.trim().parse::<PortPlace>().map_err(crate::Mistake)?;
            let port = port.trim();
            let bind = format!("{port}={interface}");
            match places.iter_mut().find(|place| place.machine == machine) {
                Some(place) => place.bind = format!("{},{bind}", place.bind),
                None => places.push(Place { machine, bind }),
            }
        }
        Ok(Some(Self(places)))
    }

    /// The machines.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }

    /// Each machine's name and part of a case.
    ///
    /// # Errors
    /// [`Mistake`](crate::Mistake) with what to do, if the places do not fit the case, or it cannot be
    /// measured on several machines.
    pub fn parts(&self, scenario: &Scenario) -> anyhow::Result<Vec<(String, Binding)>> {
        let mut of_host: BTreeMap<String, String> = BTreeMap::new();
        let mut parts = Vec::new();
        for place in &self.0 {
            let binding = Binding::parse_part(&place.bind, scenario)
                .map_err(|error| crate::Mistake(error.to_string()))?;
            for host in binding.hosts() {
                if let Some(other) = of_host.insert(host.to_owned(), place.name()) {
                    mistake!(
                        "host `{host}` is on {other} and on {}: put all its ports on one",
                        place.name()
                    );
                }
            }
            parts.push((place.name(), binding));
        }
        if let Some(host) = scenario.hosts.iter().find(|host| !of_host.contains_key(&host.name)) {
            mistake!("host `{0}` is on no machine: add {0}={FORM}", host.name);
        }
        let machine = |host: &Host| of_host.get(&host.name).map_or("", String::as_str);
        if let Some(sentence) = no_ptp(scenario, machine) {
            mistake!("{sentence}");
        }
        Ok(parts)
    }
}

/// Why the clocks of a case cannot be synchronised, with what to do. `machine`: where a host is.
fn no_ptp<'a>(scenario: &Scenario, machine: impl Fn(&Host) -> &'a str) -> Option<String> {
    let hosts = || scenario.hosts.iter().filter_map(|host| Some((host, host.ptp?)));
    let (master, _) = hosts().find(|(_, ptp)| ptp.role == PtpRole::Grandmaster)?;
    let leads = machine(master);
    for (index, (host, ptp)) in hosts().enumerate() {
        let there = machine(host);
        if ptp.role == PtpRole::Boundary && there != leads {
            return Some(format!(
                "host `{}` is a boundary clock on {there}, and the grandmaster is on {leads}, which is not \
                 done yet: put both on one machine, or leave the boundary clock's `ptp` out",
                host.name
            ));
        }
        let same = hosts().take(index).find(|(other, _)| machine(other) == there);
        if let (Some((other, _)), PtpTimestamps::Software) = (same, ptp.timestamps) {
            return Some(format!(
                "hosts `{}` and `{}` share the system clock of {there}, which PTP with software \
                 timestamps synchronises once: leave the `ptp` of one of them out",
                other.name, host.name
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use teiji_experiment::reader::{NicSource, Reader};

    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        let places = Places::parse(text).unwrap().unwrap();
        places.iter().map(|place| (place.name(), place.bind.clone())).collect()
    }

    fn pair(name: &str, bind: &str) -> (String, String) {
        (name.to_owned(), bind.to_owned())
    }

    #[test]
    fn each_machine_has_its_interfaces() {
        assert_eq!(
            read("talker=ssh://root@a:22/enp1s0, listener=ssh:b/eth0"),
            [pair("root@a:22", "talker=enp1s0"), pair("b", "listener=eth0")]
        );
        assert_eq!(
            read("sw.left=ssh:b/eth0,talker=eth1,sw.right=ssh:b/eth2"),
            [pair("b", "sw.left=eth0,sw.right=eth2"), pair("this machine", "talker=eth1")]
        );
    }

    #[test]
    fn bindings_of_this_machine_alone_are_no_places() {
        assert_eq!(Places::parse("").unwrap(), None);
        assert_eq!(Places::parse("talker=eth0,listener=eth1").unwrap(), None);
    }

    #[test]
    fn clocks_are_synchronised_over_machines_but_not_by_all_means() {
        let refusal = |a: &str, b: &str, c: &str, bind: &str| {
            let text = format!(
                "name = \"x\"\nquestion = \"?\"\nwires.one.between = [\"a\", \"b\"]\n\
                 wires.two.between = [\"b\", \"c\"]\nhosts.a.ptp = {a}\nhosts.b.ptp = {b}\n\
                 hosts.c.ptp = {c}\n\
                 flows.f = {{ from = \"a\", to = \"b\", period = \"1ms\", frames = 1 }}\n"
            );
            let reading = Reader::new("x.toml").nics(NicSource::Own).read(&text);
            let experiment = reading.experiment.unwrap_or_else(|| panic!("{}", reading.findings));
            let places = Places::parse(bind).unwrap().unwrap();
            places.parts(&experiment.cases[0].scenario).err().map(|error| error.to_string())
        };
        let role = |role, more| format!("{{ role = \"{role}\"{more} }}");
        let three = "a=ssh:x/e0,b.one=ssh:y/e0,b.two=ssh:y/e1,c=ssh:z/e0";
        let two = "a=ssh:x/e0,b.one=ssh:x/e1,b.two=ssh:x/e2,c=ssh:z/e0";
        let (master, slave) = (role("grandmaster", ""), role("slave", ""));
        assert_eq!(refusal(&master, &slave, &slave, three), None);
        let boundary = role("boundary", "");
        let far = refusal(&master, &boundary, &slave, three).unwrap();
        assert!(far.contains("`b` is a boundary clock on y, and the grandmaster is on x"), "{far}");
        assert_eq!(refusal(&master, &boundary, &slave, two), None);
        let software = ", timestamps = \"software\"";
        let (master, slave) = (role("grandmaster", software), role("slave", software));
        assert_eq!(refusal(&master, &slave, &slave, three), None);
        let shared = refusal(&master, &slave, &slave, two).unwrap();
        assert!(shared.contains("hosts `a` and `b` share the system clock of x"), "{shared}");
    }

    #[test]
    fn what_names_no_interface_or_host_is_a_mistake() {
        for (text, why) in [
            ("talker=ssh:a", "names no interface"),
            ("talker=ssh://a", "names no interface"),
            ("talker=ssh://a/", "names no interface"),
            ("talker=ssh:a/b/c", "names no interface"),
            ("talker=ssh:/eth0", "no host"),
            ("talker=ssh:-x/eth0", "no host"),
            ("ssh:a/eth0", "no binding"),
        ] {
            let error = Places::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
