//! The SSH connection that this program was started from: the machine may be
//! reachable only through the NIC that carries it.

use std::fs;
use std::net::IpAddr;

/// What sshd puts into the environment: client address and port, own address and port.
const VARIABLE: &str = "SSH_CONNECTION";

/// Processes between the program and the shell of the connection: `sudo`, scripts.
const MOST_ANCESTORS: usize = 32;

/// The two ends of an SSH connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SshConnection {
    /// Where the person is.
    pub client: IpAddr,
    /// This machine's address.
    pub local: IpAddr,
}

impl SshConnection {
    /// The connection that this process, or the nearest ancestor that knows one, was
    /// started from: `sudo` keeps the variable from the program.
    pub fn current() -> Option<Self> {
        let own = std::env::var(VARIABLE).ok();
        own.as_deref().and_then(Self::parse).or_else(Self::of_ancestors)
    }

    fn of_ancestors() -> Option<Self> {
        let mut pid = parent("self")?;
        for _ in 0..MOST_ANCESTORS {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut values = environment.split(|byte| *byte == 0).filter_map(|entry| {
                std::str::from_utf8(entry).ok()?.strip_prefix(VARIABLE)?.strip_prefix('=')
            });
            if let Some(found) = values.find_map(Self::parse) {
                return Some(found);
            }
            pid = parent(&pid)?;
        }
        None
    }

    /// `203.0.113.5 50022 192.0.2.1 22`; IPv6 addresses may name their interface.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let ip = |word: &str| word.split('%').next()?.parse().ok();
        match words[..] {
            [client, _, local, _] => Some(Self { client: ip(client)?, local: ip(local)? }),
            _ => None,
        }
    }
}

/// The parent of a process; `None` of the first one.
fn parent(pid: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim();
    (parent != "0").then(|| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_read_also_with_an_interface() {
        let ends = |text: &str| SshConnection::parse(text).map(|c| (c.client, c.local));
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            ends("203.0.113.5 50022 192.0.2.1 22"),
            Some((ip("203.0.113.5"), ip("192.0.2.1")))
        );
        assert_eq!(ends("fe80::5%eth0 5 fe80::1%eth0 22"), Some((ip("fe80::5"), ip("fe80::1"))));
        for wrong in ["", "203.0.113.5", "a 1 b 2", "203.0.113.5 1 192.0.2.1"] {
            assert_eq!(ends(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_process_but_the_first_has_a_parent() {
        assert!(parent("self").is_some());
        assert_eq!(parent("1"), None);
    }
}
