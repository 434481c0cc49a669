//! Keeps QEMU's main loop out of the turns of several virtual CPUs, by a library that is
//! preloaded into QEMU (`lockstep.c`).

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

/// Compiled by this crate's build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lockstep.so"));

/// The library as a file in memory, which needs no folder that may hold programs.
pub(crate) struct Lockstep {
    library: File,
}

impl Lockstep {
    /// What an error names.
    pub(crate) const NAME: &str = "memfd:teiji-lockstep";

    pub(crate) fn new() -> io::Result<Self> {
        // Not closed on exec: QEMU reads it by the same number.
        let mut library = File::from(memfd_create("teiji-lockstep", MemfdFlags::empty())?);
        library.write_all(LIBRARY)?;
        Ok(Self { library })
    }

    /// To be kept until QEMU has started.
    pub(crate) fn preload_into(&self, qemu: &mut Command) {
        let mut list = OsString::from(format!("/proc/self/fd/{}", self.library.as_raw_fd()));
        if let Some(others) = env::var_os("LD_PRELOAD") {
            list.push(":");
            list.push(others);
        }
        qemu.env("LD_PRELOAD", list);
    }
}
