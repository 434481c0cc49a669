//! Versions of QEMU.

use std::fmt;

/// Oldest QEMU that keeps several virtual CPUs deterministic without starving one
/// (measured: 7.2 does not, 10.0 does).
pub const MINIMUM: QemuVersion = QemuVersion { major: 10, minor: 0, micro: 0 };

/// Version of a QEMU program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QemuVersion {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub micro: u16,
}

impl fmt::Display for QemuVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.micro)
    }
}

impl QemuVersion {
    /// The version in what `--version` prints.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers = text.split_once("version ")?.1;
        let mut numbers = numbers
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .next()?
            .split('.')
            .map(|n| n.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { major: next()?, minor: next()?, micro: next().unwrap_or(0) })
    }
}
