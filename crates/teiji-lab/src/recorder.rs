//! Records what a guest's kernel does, by a TCG plug-in of QEMU (`recorder.c`), without changing
//! anything of the guest.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::library::Library;

/// Compiled by this crate's build script.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so"));

/// What is recorded, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The places to watch: lines as `recorder.c` describes them.
    pub hooks: PathBuf,
    /// The records, as `recorder.c` describes them.
    pub out: PathBuf,
}

/// The plug-in.
pub(crate) struct Recorder(Library);

impl Recorder {
    /// What an error names.
    pub(crate) const NAME: &str = "memfd:teiji-recorder";

    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Library::new("teiji-recorder", LIBRARY)?))
    }

    /// To be kept until QEMU has started. It is not a part of the machine.
    pub(crate) fn add_to(&self, qemu: &mut Command, recording: &Recording) {
        let mut option = OsString::from(format!("file={}", self.0.path()));
        for (key, path) in [("hooks", &recording.hooks), ("out", &recording.out)] {
            option.push(format!(",{key}="));
            option.push(path);
        }
        qemu.arg("-plugin").arg(option);
    }
}
