//! Names of interfaces, and why one could not be asked or changed.

use thiserror::Error;

use crate::error::SysError;

const IFNAMSIZ: usize = 16;

/// A name that no interface can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no interface name: 1 to 15 bytes without `/`, `:` and blanks; `ip link` lists them"
)]
pub struct BadName(pub String);

/// No interface has the name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no interface `{name}` here{}", others(.there))]
pub struct NoInterface {
    /// What was requested.
    pub name: String,
    /// The interfaces that are there.
    pub there: Vec<String>,
}

impl NoInterface {
    /// Beside those of the calling thread's network namespace.
    pub fn here(name: &str) -> Self {
        Self { name: name.to_owned(), there: names() }
    }
}

/// Why an interface could not be asked or changed.
#[derive(Debug, Error)]
pub enum InterfaceError {
    /// Not a possible name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No interface of that name here.
    #[error("{0}")]
    NotFound(#[from] NoInterface),
    /// It is not an Ethernet interface.
    #[error("{name} is not an Ethernet interface (hardware type {kind})")]
    NotEthernet {
        /// Which one.
        name: String,
        /// The kernel's `ARPHRD_*` number.
        kind: u16,
    },
    /// The right is missing.
    #[error(
        "no right to change {name}: CAP_NET_ADMIN is missing ({call}); run as root or with sudo"
    )]
    NoRight {
        /// Which one.
        name: String,
        /// The request.
        call: &'static str,
    },
    /// The driver does not know the request.
    #[error("the driver of {name} does not support {call}")]
    NotSupported {
        /// Which one.
        name: String,
        /// The request.
        call: &'static str,
    },
    /// Anything else.
    #[error("{name}: {error}")]
    Sys {
        /// Which one.
        name: String,
        /// The kernel's error.
        error: SysError,
    },
    /// No socket to ask through.
    #[error(transparent)]
    Socket(#[from] SysError),
}

fn others(there: &[String]) -> String {
    if there.is_empty() { String::new() } else { format!("; there are {}", there.join(", ")) }
}

impl InterfaceError {
    /// The sentence for the kernel's error about a request.
    pub(crate) fn explain(name: InterfaceName, error: SysError) -> Self {
        let name = name.to_string();
        match error.errno() {
            libc::ENODEV => NoInterface::here(&name).into(),
            libc::EPERM | libc::EACCES => Self::NoRight { name, call: error.call() },
            libc::EOPNOTSUPP | libc::ENOTTY => Self::NotSupported { name, call: error.call() },
            _ => Self::Sys { name, error },
        }
    }
}

/// An interface name in the kernel's form: zero-terminated, at most 15 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceName(pub(crate) [u8; IFNAMSIZ]);

impl InterfaceName {
    /// Checks the rules of the kernel's `dev_valid_name`.
    ///
    /// # Errors
    /// [`InterfaceError::Name`] if an interface cannot have this name.
    pub fn new(name: &str) -> Result<Self, InterfaceError> {
        let bad = |b: u8| b == b'/' || b == b':' || b == 0 || b.is_ascii_whitespace();
        let possible = (1..IFNAMSIZ).contains(&name.len())
            && !matches!(name, "." | "..")
            && !name.bytes().any(bad);
        if !possible {
            return Err(BadName(name.to_owned()).into());
        }
        let mut bytes = [0; IFNAMSIZ];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Self(bytes))
    }
}

impl std::fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(IFNAMSIZ);
        f.write_str(&String::from_utf8_lossy(&self.0[..end]))
    }
}

/// The names of all interfaces, in the kernel's order; empty if they cannot be
/// listed.
pub fn names() -> Vec<String> {
    // /proc/thread-self/net shows the calling thread's namespace; sysfs shows
    // the one it was mounted in.
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    table
        .lines()
        .skip(2)
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect()
}
