//! A library that QEMU loads, as a file in memory: it needs no folder that may hold programs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use rustix::fs::{MemfdFlags, memfd_create};

/// To be kept until QEMU has started.
pub(crate) struct Library(File);

impl Library {
    pub(crate) fn new(name: &str, contents: &[u8]) -> io::Result<Self> {
        // Not closed on exec: QEMU reads it by the same number.
        let mut file = File::from(memfd_create(name, MemfdFlags::empty())?);
        file.write_all(contents)?;
        Ok(Self(file))
    }

    /// Its path in QEMU's process.
    pub(crate) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
