//! The network interfaces' files in sysfs, as another network namespace has
//! them.
//!
//! A mounted sysfs shows the namespace of whoever mounted it; `/sys` usually
//! shows the initial one. So each namespace gets a sysfs of its own here, which
//! is mounted nowhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::detached::Detached;
use crate::error::SysError;

/// Where it is mounted for everybody.
const MOUNTED: &str = "/sys";

/// A sysfs of one network namespace.
#[derive(Debug)]
pub struct Sysfs(Option<Detached>);

impl Sysfs {
    /// Opens a sysfs of the calling thread's network namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`.
    pub fn open() -> Result<Self, SysError> {
        Detached::open(c"sysfs").map(|own| Self(Some(own)))
    }

    /// As [`Self::open`]; without the right, `/sys` as it is mounted, which shows the namespace of
    /// whoever mounted it.
    pub fn open_or_mounted() -> Self {
        Self::open().unwrap_or(Self(None))
    }

    /// A path below it, usable while it lives.
    pub fn path(&self, below: &str) -> PathBuf {
        self.0.as_ref().map_or_else(|| Path::new(MOUNTED).join(below), |own| own.path(below))
    }

    /// Reads a file, without the blanks around its text.
    ///
    /// # Errors
    /// As [`fs::read_to_string`].
    pub fn read(&self, below: &str) -> io::Result<String> {
        fs::read_to_string(self.path(below)).map(|text| text.trim().to_owned())
    }

    /// Writes a file that exists.
    ///
    /// # Errors
    /// `NotFound` if it does not, or what the driver says.
    pub fn write(&self, below: &str, text: &str) -> io::Result<()> {
        use io::Write as _;
        // Not `fs::write`: that would try to create the file.
        let mut file = fs::OpenOptions::new().write(true).open(self.path(below))?;
        file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns;
    use std::os::fd::AsFd;

    #[test]
    fn each_namespace_sees_its_own_interfaces() {
        let namespace = match netns::create() {
            Ok(namespace) => namespace,
            Err(netns::NetnsError::NoRight { .. }) => {
                println!("SKIP: making a network namespace needs root");
                return;
            }
            Err(other) => panic!("{other}"),
        };
        let inside = netns::in_namespace(namespace.as_fd(), Sysfs::open).unwrap().unwrap();
        let names: Vec<_> = fs::read_dir(inside.path("class/net"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(names.contains(&"lo".to_owned()), "{names:?}");
        // A fresh namespace's loopback is down; only that one's is asked.
        assert_eq!(inside.read("class/net/lo/operstate").unwrap(), "down");
        let missing = inside.write("class/net/lo/no-such-file", "1").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
