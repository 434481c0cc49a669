//! Where the hosts of an experiment are: `talker=ssh:root@a/enp1s0,listener=ssh://b:2222/enp1s0`.

use std::collections::BTreeMap;

use teiji_experiment::Scenario;
use teiji_net::Binding;
use teiji_remote::Destination;

use crate::mistake;

/// What a place by SSH begins with.
const SSH: &str = "ssh:";
/// How one is written.
const FORM: &str = "HOST=ssh:root@board/INTERFACE";

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
        if !text.contains(SSH) {
            return Ok(None);
        }
        let mut places: Vec<Place> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((port, at)) = part.split_once('=') else {
                mistake!("`{part}` is no binding; write HOST=INTERFACE or {FORM}");
            };
            let (port, at) = (port.trim(), at.trim());
            let (machine, interface) = match at.strip_prefix(SSH) {
                Some(rest) => {
                    let (machine, interface) = by_ssh(rest).ok_or_else(|| {
                        crate::Mistake(format!("`{part}` names no interface; write {FORM}"))
                    })?;
                    let machine = machine.parse::<Destination>().map_err(crate::Mistake)?;
                    (Some(machine), interface)
                }
                None => (None, at),
            };
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
            mistake!("host `{0}` is on no machine: add {0}=ssh:root@board/INTERFACE", host.name);
        }
        if let Some(host) = scenario.hosts.iter().find(|host| host.ptp.is_some()) {
            mistake!(
                "host `{0}` synchronises its clock by `ptp`, which is not done over several machines yet: leave \
                 it out (--set hosts.{0}.ptp=…), or run the experiment in the laboratory",
                host.name
            );
        }
        if let Some(load) = scenario.loads.iter().find(|load| load.needs_a_wire()) {
            mistake!(
                "the load `{load}` goes from one host to another, which is not done over several machines yet"
            );
        }
        Ok(parts)
    }
}

/// Host and interface of what follows `ssh:`.
fn by_ssh(rest: &str) -> Option<(String, &str)> {
    let (slashes, rest) = match rest.strip_prefix("//") {
        Some(rest) => ("//", rest),
        None => ("", rest),
    };
    let (host, interface) = rest.split_once('/')?;
    let named = !interface.is_empty() && !interface.contains('/');
    named.then(|| (format!("{SSH}{slashes}{host}"), interface))
}

#[cfg(test)]
mod tests {
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
