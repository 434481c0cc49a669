//! The administrator's rules of flow control, which protect packets of programs that have not
//! opted in: two sysctls of the network namespace (kernel/prioflow/README.md).

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use serde::Serialize;
use teiji_core::domain::Level;

use crate::flow::FlowError;
use crate::netlink::KernelError;

/// As many as the kernel module takes of each kind.
const MOST: usize = 16;

/// Whose packets are protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOf {
    /// Sockets with a local port in this range, or connected to one.
    Ports(PortRange),
    /// Sockets of this control group (version 2) and those below: its path, as in
    /// `/proc/PID/cgroup`.
    Cgroup(String),
}

/// UDP or TCP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowRule {
    /// Whose packets.
    pub of: RuleOf,
    /// Up to this level.
    pub level: Level,
}

/// ```
/// use teiji_net::flow_rules::PortRange;
/// assert_eq!("7400-7500".parse::<PortRange>().unwrap().to_string(), "7400-7500");
/// assert_eq!("80".parse::<PortRange>().unwrap().to_string(), "80");
/// assert!("9-8".parse::<PortRange>().is_err());
/// ```
impl FromStr for PortRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Self { first, last }),
            _ => Err("write a port or FIRST-LAST, from 1 to 65535"),
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}

impl fmt::Display for RuleOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ports(ports) => write!(f, "ports {ports}"),
            Self::Cgroup(path) => write!(f, "control group {path}"),
        }
    }
}

/// A sysctl below `net.prioflow`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ports,
    Cgroups,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Ports, Self::Cgroups];

    fn sysctl(self) -> &'static str {
        match self {
            Self::Ports => "net.prioflow.protected_ports",
            Self::Cgroups => "net.prioflow.protected_cgroups",
        }
    }

    fn path(self) -> String {
        format!("/proc/sys/{}", self.sysctl().replace('.', "/"))
    }

    fn of(of: &RuleOf) -> Self {
        match of {
            RuleOf::Ports(_) => Self::Ports,
            RuleOf::Cgroup(_) => Self::Cgroups,
        }
    }

    /// The rules of its text.
    fn parse(self, text: &str) -> Option<Vec<FlowRule>> {
        let words = text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty());
        words
            .map(|word| {
                let (what, level) = word.rsplit_once(':')?;
                let of = match self {
                    Self::Ports => RuleOf::Ports(what.parse().ok()?),
                    Self::Cgroups => RuleOf::Cgroup(what.to_owned()),
                };
                Some(FlowRule { of, level: level.parse().ok()? })
            })
            .collect()
    }

    /// Its text with these rules; those of another kind are left out.
    fn text(self, rules: &[FlowRule]) -> String {
        let of = |rule: &&FlowRule| Kind::of(&rule.of) == self;
        let word = |rule: &FlowRule| match &rule.of {
            RuleOf::Ports(ports) => format!("{ports}:{}", rule.level),
            RuleOf::Cgroup(path) => format!("{path}:{}", rule.level),
        };
        rules.iter().filter(of).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The rules of this network namespace.
///
/// # Errors
/// [`FlowError::NoModule`] without the kernel module, [`FlowError::OtherVersion`] if it has no
/// rules.
pub fn rules() -> Result<Vec<FlowRule>, FlowError> {
    let mut found = Vec::new();
    for kind in Kind::ALL {
        let text = fs::read_to_string(kind.path()).map_err(|error| no_file(&error))?;
        found.extend(kind.parse(&text).ok_or(FlowError::OtherVersion)?);
    }
    Ok(found)
}

/// Adds a rule, or changes its level. Returns the setting for sysctl.conf, `NAME=VALUE`.
///
/// # Errors
/// As [`rules`], [`FlowError::Rule`] if the kernel does not take it, or without the rights.
pub fn add(rule: &FlowRule) -> Result<String, FlowError> {
    let mut all = rules()?;
    match all.iter_mut().find(|other| other.of == rule.of) {
        Some(other) => other.level = rule.level,
        None => all.push(rule.clone()),
    }
    set(&all, &rule.of)
}

/// Removes a rule. Returns what [`add`] does.
///
/// # Errors
/// As [`add`]; [`FlowError::Rule`] if there is no such rule.
pub fn remove(of: &RuleOf) -> Result<String, FlowError> {
    let mut all = rules()?;
    let before = all.len();
    all.retain(|rule| rule.of != *of);
    if all.len() == before {
        return Err(FlowError::Rule(format!("there is no rule of {of}")));
    }
    set(&all, of)
}

/// Writes the sysctl that has the rules of this kind.
fn set(all: &[FlowRule], changed: &RuleOf) -> Result<String, FlowError> {
    let kind = Kind::of(changed);
    let text = kind.text(all);
    fs::write(kind.path(), format!("{text}\n")).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => FlowError::Rule(why_not(all, changed)),
        _ => no_file(&error),
    })?;
    Ok(format!("{}={text}", kind.sysctl()))
}

/// Why the kernel refuses a rule.
fn why_not(all: &[FlowRule], changed: &RuleOf) -> String {
    let same = all.iter().filter(|rule| Kind::of(&rule.of) == Kind::of(changed)).count();
    match changed {
        _ if same > MOST => format!("there are {MOST} rules of this kind, which is the most"),
        RuleOf::Cgroup(path) => format!(
            "there is no control group {path} (version 2); /proc/PID/cgroup has the path of a \
             process, behind 0::"
        ),
        RuleOf::Ports(_) => format!("levels are {} to {}", Level::LEAST, Level::MOST),
    }
}

fn no_file(error: &io::Error) -> FlowError {
    match error.kind() {
        io::ErrorKind::NotFound if fs::exists("/proc/sys/net/prioflow").unwrap_or(false) => {
            FlowError::OtherVersion
        }
        io::ErrorKind::NotFound => FlowError::NoModule,
        io::ErrorKind::PermissionDenied => FlowError::NoRights,
        _ => FlowError::of("net.prioflow", KernelError::from_io(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_they_are_read() {
        let text = "5201:2 7400-7409:3";
        let rules = Kind::Ports.parse("5201:2, 7400-7409:3\n").unwrap();
        assert_eq!(Kind::Ports.text(&rules), text);
        assert_eq!(rules[1].level.get(), 3);
        assert_eq!(rules[1].of.to_string(), "ports 7400-7409");
        let groups = Kind::Cgroups.parse("/system.slice/a:b.service:14").unwrap();
        assert_eq!(groups[0].of, RuleOf::Cgroup("/system.slice/a:b.service".to_owned()));
        assert_eq!(Kind::Cgroups.text(&rules), "", "each kind has its own");
        assert_eq!(Kind::Ports.parse("5201"), None);
    }
}
