//! Names of ports, which a file gives them: with `left = "ssh:root@a/enp1s0"`, `--bind talker=left` is enough.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use teiji_remote::Destination;
use teiji_sys::interface::InterfaceName;

use crate::Mistake;

/// How one is written.
pub(super) const FORM: &str = "ssh:root@board/INTERFACE";

/// An interface of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlace {
    /// `None`: this machine.
    pub machine: Option<Destination>,
    /// Its name there.
    pub interface: String,
}

impl fmt::Display for PortPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.machine {
            Some(machine) => write!(f, "{machine}/{}", self.interface),
            None => f.write_str(&self.interface),
        }
    }
}

impl FromStr for PortPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (machine, interface) = match text.strip_prefix(Destination::PREFIX) {
            Some(rest) => {
                let split = by_ssh(rest);
                let (machine, interface) =
                    split.ok_or_else(|| format!("`{text}` names no interface; write {FORM}"))?;
                (Some(machine.parse::<Destination>()?), interface)
            }
            None => (None, text),
        };
        InterfaceName::new(interface).map_err(|error| error.to_string())?;
        Ok(Self { machine, interface: interface.to_owned() })
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
    named.then(|| (format!("{}{slashes}{host}", Destination::PREFIX), interface))
}

/// The ports that have names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, PortPlace>);

impl Names {
    /// Reads `file`; without one the user's (see [`Names::of_user`]), which need not exist.
    ///
    /// # Errors
    /// [`Mistake`] with the file and what is wrong in it, or that it cannot be read.
    pub fn read(file: Option<&Path>) -> Result<Self, Mistake> {
        let (path, required) = match (file, Self::of_user()) {
            (Some(file), _) => (file.to_owned(), true),
            (None, Some(file)) => (file, false),
            (None, None) => return Ok(Self::default()),
        };
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !required => {
                return Ok(Self::default());
            }
            read => read.map_err(|error| {
                Mistake(format!("cannot read the names of ports in {}: {error}", path.display()))
            })?,
        };
        Self::parse(&text).map_err(|wrong| Mistake(format!("{}: {wrong}", path.display())))
    }

    /// `$XDG_CONFIG_HOME/teiji/hosts.toml`, else `~/.config/teiji/hosts.toml`.
    pub fn of_user() -> Option<PathBuf> {
        let folder =
            |variable| env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
        let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
        Some(config.join("teiji/hosts.toml"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let read: BTreeMap<String, String> = toml::from_str(text).map_err(|error| {
            format!(
                "{}; each line is NAME = \"INTERFACE\" or NAME = \"{FORM}\"",
                error.to_string().trim_end()
            )
        })?;
        let mut ports = BTreeMap::new();
        for (name, place) in read {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            if name.is_empty() || !name.chars().all(plain) {
                return Err(format!("`{name}` is no name: letters, digits, `-` and `_`"));
            }
            let place = place.parse().map_err(|why| format!("{name}: {why}"))?;
            ports.insert(name, place);
        }
        Ok(Self(ports))
    }

    /// The ports in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PortPlace)> {
        self.0.iter().map(|(name, place)| (name.as_str(), place))
    }

    /// The bindings `HOST=NAME,…` with each name replaced by its port. What is no name stays.
    pub fn resolve(&self, bindings: &str) -> String {
        let resolve = |part: &str| match part.split_once('=') {
            Some((host, name)) => match self.0.get(name.trim()) {
                Some(PortPlace { machine: Some(machine), interface }) => {
                    format!("{host}={}/{interface}", machine.as_option())
                }
                Some(PortPlace { machine: None, interface }) => format!("{host}={interface}"),
                None => part.to_owned(),
            },
            None => part.to_owned(),
        };
        bindings.split(',').map(resolve).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_ports() {
        let text =
            "left = \"ssh:root@a/enp1s0\"\nright = \"ssh://root@b:2222/eth1\"\ndesk = \"enp3s0\"\n";
        let names = Names::parse(text).unwrap();
        assert_eq!(
            names.resolve("talker=left, listener=right,c=desk,d.x=eth9,"),
            "talker=ssh:root@a/enp1s0, listener=ssh://root@b:2222/eth1,c=enp3s0,d.x=eth9,"
        );
        assert_eq!(names.resolve(""), "");
        assert_eq!(names.resolve("left"), "left");
        let shown: Vec<String> = names.iter().map(|(name, at)| format!("{name} {at}")).collect();
        assert_eq!(shown, ["desk enp3s0", "left root@a/enp1s0", "right root@b:2222/eth1"]);
    }

    #[test]
    fn what_is_no_file_of_names_is_refused_in_a_sentence() {
        for (text, why) in [
            ("left = 3", "expected a string"),
            ("left = \"ssh:a\"", "left: `ssh:a` names no interface"),
            ("left = \"ssh:a/b/c\"", "names no interface"),
            ("left = \"ssh:-x/eth0\"", "does not begin with -"),
            ("left = \"a name\"", "left: `a name`"),
            ("\"a=b\" = \"eth0\"", "`a=b` is no name"),
            ("left = \"eth0\"\nleft = \"eth1\"", "duplicate key"),
            ("[left]\nport = \"eth0\"", "expected a string"),
        ] {
            let error = Names::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let missing = Names::read(Some(Path::new("/nowhere/hosts.toml"))).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/hosts.toml"), "{missing}");
    }
}
