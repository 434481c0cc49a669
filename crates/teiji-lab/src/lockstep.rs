//! Keeps QEMU's main loop out of the turns of several virtual CPUs, by a library that is
//! preloaded into QEMU (`lockstep.c`).

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::Command;

use crate::library::Library;

/// Compiled by this crate's build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lockstep.so"));

/// The library.
pub(crate) struct Lockstep(Library);

impl Lockstep {
    /// What an error names.
    pub(crate) const NAME: &str = "memfd:teiji-lockstep";

    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Library::new("teiji-lockstep", LIBRARY)?))
    }

    /// To be kept until QEMU has started.
    pub(crate) fn preload_into(&self, qemu: &mut Command) {
        let mut list = OsString::from(self.0.path());
        if let Some(others) = env::var_os("LD_PRELOAD") {
            list.push(":");
            list.push(others);
        }
        qemu.env("LD_PRELOAD", list);
    }
}
