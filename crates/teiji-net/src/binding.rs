//! Where each host's ports are: veth pairs made for the purpose, interfaces
//! that exist, or another machine's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use teiji_experiment::scenario::Scenario;
use teiji_sys::interface::{BadName, InterfaceName};
use thiserror::Error;

/// Which of an experiment's ports are existing interfaces. A wire with neither
/// end bound becomes a veth pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// (host, wire) → interface of this machine.
    interfaces: BTreeMap<(String, String), String>,
    /// Hosts that are other machines', which set up their own.
    #[serde(default)]
    elsewhere: BTreeSet<String>,
}

/// Why a binding cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BindingError {
    /// The text has no `=`.
    #[error(
        "`{0}` is no binding; write HOST=INTERFACE, or HOST.WIRE=INTERFACE, for example talker=enp3s0"
    )]
    Syntax(String),
    /// The experiment has no such host.
    #[error("the experiment has no host `{host}`; it has {}", .there.join(", "))]
    Host {
        /// What was requested.
        host: String,
        /// The experiment's hosts.
        there: Vec<String>,
    },
    /// The host is not on that wire.
    #[error("host `{host}` has no port on a wire `{wire}`; it is on {}", .there.join(", "))]
    Wire {
        /// The host.
        host: String,
        /// What was requested.
        wire: String,
        /// The wires it is on.
        there: Vec<String>,
    },
    /// The host has several ports.
    #[error(
        "host `{host}` has ports on {}; say which one: {host}.{}=INTERFACE",
        .wires.join(" and "), .wires[0]
    )]
    Ambiguous {
        /// The host.
        host: String,
        /// Its wires, at least two.
        wires: Vec<String>,
    },
    /// The host has no port at all.
    #[error("host `{0}` is on no wire, so there is nothing to bind")]
    NoPort(String),
    /// Bound twice.
    #[error("{0}")]
    Twice(String),
    /// Only one end of a wire is an interface.
    #[error(
        "wire `{wire}` has an interface at {bound} but none at {loose}; a cable has two ends: add {loose}=INTERFACE"
    )]
    OneEnd {
        /// The wire.
        wire: String,
        /// The host that is bound.
        bound: String,
        /// The host that is not.
        loose: String,
    },
    /// A wire to another machine begins nowhere.
    #[error(
        "wire `{wire}` goes to another machine, so its end at {host} is an interface: add {host}.{wire}=INTERFACE"
    )]
    Loose {
        /// The wire.
        wire: String,
        /// The host that is here.
        host: String,
    },
    /// Not a possible interface name.
    #[error(transparent)]
    Name(#[from] BadName),
}

impl Binding {
    /// Every wire a veth pair of its own.
    pub fn veth() -> Self {
        Self::default()
    }

    /// True if some wire is a cable between interfaces.
    pub fn has_nics(&self) -> bool {
        !self.interfaces.is_empty()
    }

    /// The interfaces of this machine that it names.
    pub fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.interfaces.values().map(String::as_str)
    }

    /// Reads bindings as the command line has them, comma-separated:
    /// `talker=enp3s0,listener=enp4s0`, or `bridge.left=enp3s0` for a host
    /// with several ports.
    ///
    /// # Errors
    /// See [`BindingError`]; a wire bound at one end only is refused, too.
    pub fn parse(text: &str, scenario: &Scenario) -> Result<Self, BindingError> {
        let binding = Self::parse_ends(text, scenario)?;
        binding.check(scenario)?;
        Ok(binding)
    }

    /// As [`Binding::parse`] for single ends of wires, whose other ends are other machines'.
    ///
    /// # Errors
    /// See [`BindingError`].
    pub fn parse_ends(text: &str, scenario: &Scenario) -> Result<Self, BindingError> {
        let mut binding = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let syntax = || BindingError::Syntax(part.to_owned());
            let (port, interface) = part.split_once('=').ok_or_else(syntax)?;
            let (host, wire) = match port.trim().split_once('.') {
                Some((host, wire)) => (host, Some(wire)),
                None => (port.trim(), None),
            };
            binding.bind(scenario, host, wire, interface.trim())?;
        }
        Ok(binding)
    }

    /// As [`Binding::parse`] for this machine's part of an experiment: hosts without an interface here
    /// are elsewhere.
    ///
    /// # Errors
    /// See [`BindingError`]; a port of a host here whose wire goes elsewhere needs an interface.
    pub fn parse_part(text: &str, scenario: &Scenario) -> Result<Self, BindingError> {
        let mut binding = Self::parse_ends(text, scenario)?;
        let elsewhere = {
            let here = binding.hosts();
            let hosts = scenario.hosts.iter().map(|host| &host.name);
            hosts.filter(|host| !here.contains(host.as_str())).cloned().collect()
        };
        binding.elsewhere = elsewhere;
        binding.check(scenario)?;
        Ok(binding)
    }

    /// True for a host that another machine sets up.
    pub fn is_elsewhere(&self, host: &str) -> bool {
        self.elsewhere.contains(host)
    }

    /// The hosts that have an interface, each once.
    pub fn hosts(&self) -> BTreeSet<&str> {
        self.interfaces.keys().map(|(host, _)| host.as_str()).collect()
    }

    /// Says that `host`'s port on `wire` is `interface`. The wire may be left
    /// out for a host with one port.
    ///
    /// # Errors
    /// [`BindingError`] if there is no such host, wire or port, the name is not an interface's, or
    /// port or interface is bound already.
    pub fn bind(
        &mut self,
        scenario: &Scenario,
        host: &str,
        wire: Option<&str>,
        interface: &str,
    ) -> Result<(), BindingError> {
        let known = scenario.host(host).ok_or_else(|| BindingError::Host {
            host: host.to_owned(),
            there: scenario.hosts.iter().map(|h| h.name.clone()).collect(),
        })?;
        let wires: Vec<String> = known.ports.iter().map(|p| p.wire.clone()).collect();
        let wire = match (wire, wires.as_slice()) {
            (_, []) => return Err(BindingError::NoPort(host.to_owned())),
            (None, [only]) => only.clone(),
            (None, _) => return Err(BindingError::Ambiguous { host: host.to_owned(), wires }),
            (Some(wire), _) if wires.iter().any(|w| w == wire) => wire.to_owned(),
            (Some(wire), _) => {
                let (host, wire) = (host.to_owned(), wire.to_owned());
                return Err(BindingError::Wire { host, wire, there: wires });
            }
        };
        if InterfaceName::new(interface).is_err() {
            return Err(BadName(interface.to_owned()).into());
        }
        if let Some((other, _)) = self.interfaces.iter().find(|(_, name)| *name == interface) {
            return Err(BindingError::Twice(format!(
                "`{interface}` cannot be both {}.{} and {host}.{wire}; give each its own interface",
                other.0, other.1
            )));
        }
        let port = (host.to_owned(), wire);
        if let Some(first) = self.interfaces.get(&port) {
            return Err(BindingError::Twice(format!(
                "{}.{} is bound twice, to `{first}` and to `{interface}`; drop one of the two",
                port.0, port.1
            )));
        }
        self.interfaces.insert(port, interface.to_owned());
        Ok(())
    }

    /// The interface of `host` on `wire`; `None`: the end of a veth pair.
    pub fn interface(&self, host: &str, wire: &str) -> Option<&str> {
        // A tuple of references does not borrow from a tuple of strings.
        self.interfaces
            .iter()
            .find(|((h, w), _)| h == host && w == wire)
            .map(|(_, name)| name.as_str())
    }

    /// Refuses wires with an interface at one end only.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), BindingError> {
        for wire in &scenario.wires {
            let [a, b] = &wire.between;
            let one_end = |bound: &String, loose: &String| BindingError::OneEnd {
                wire: wire.name.clone(),
                bound: bound.clone(),
                loose: loose.clone(),
            };
            let loose =
                |host: &String| BindingError::Loose { wire: wire.name.clone(), host: host.clone() };
            let far = [self.is_elsewhere(a), self.is_elsewhere(b)];
            match (self.interface(a, &wire.name), self.interface(b, &wire.name), far) {
                (Some(_), None, [_, false]) => return Err(one_end(a, b)),
                (None, Some(_), [false, _]) => return Err(one_end(b, a)),
                (None, None, [false, true]) => return Err(loose(a)),
                (None, None, [true, false]) => return Err(loose(b)),
                _ => {}
            }
        }
        Ok(())
    }
}
