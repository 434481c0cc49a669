//! debugfs, wherever it is mounted, or nowhere: files that drivers have for tests.

use std::fs;
use std::io;

use crate::detached::Detached;
use crate::error::SysError;

/// The debugfs of this machine.
#[derive(Debug)]
pub struct Debugfs(Detached);

impl Debugfs {
    /// Opens it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENODEV` if the kernel has none.
    pub fn open() -> Result<Self, SysError> {
        Detached::open(c"debugfs").map(Self)
    }

    /// Whether there is such a file.
    pub fn has(&self, below: &str) -> bool {
        self.0.path(below).exists()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`fs::read_to_string`].
    pub fn read(&self, below: &str) -> io::Result<String> {
        fs::read_to_string(self.0.path(below))
    }

    /// The names in a folder; none if there is no such folder.
    pub fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path(below)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Writes a file that is there.
    ///
    /// # Errors
    /// As [`fs::write`].
    pub fn write(&self, below: &str, value: &str) -> io::Result<()> {
        fs::write(self.0.path(below), value)
    }
}
