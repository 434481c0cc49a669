//! `manifest.json`: what was run, by which versions, on what, and how to run
//! it again. The command line fills it in.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::json::{self, JsonFileError};
use crate::observed::ObservedCases;
use crate::summary::Testbed;

/// Format name and version of the file this crate writes.
pub const SCHEMA: &str = "teiji-run/1";

/// The conditions of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub teiji: String,
    /// Name of the experiment.
    pub experiment: String,
    /// [`sha256_of`] its text, which is in `experiment.toml` beside this file.
    pub experiment_sha256: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Where it ran.
    pub testbed: Testbed,
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// The cases that were to run, in order.
    pub cases: Vec<String>,
    /// When it began: RFC 3339, from the caller's clock.
    pub started: String,
    /// When it ended; `None` while it runs, and for ever if it was killed.
    pub finished: Option<String>,
    /// It was interrupted, and has the members that were measured until then.
    #[serde(default)]
    pub interrupted: bool,
    /// The members that could not be measured. Known at the end.
    #[serde(default)]
    pub missing: Vec<MissingMember>,
    /// The laboratory, if it ran there.
    pub lab: Option<LabManifest>,
    /// What the kernel answered about the machine during each member.
    #[serde(default)]
    pub observed: ObservedCases,
    /// How to run a member again, identically.
    pub replay: Option<Replay>,
}

/// A member without records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingMember {
    /// Name of its case.
    pub case: String,
    /// Its seed.
    pub seed: u64,
    /// Why it has none: the error, with its causes.
    pub why: String,
}

/// The laboratory a run took place in: what must be equal for its records to
/// be equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabManifest {
    /// The guest's kernel.
    pub kernel: KernelManifest,
    /// Version of QEMU.
    pub qemu: String,
    /// SHA-256 of the program, in hexadecimal: another build, of the same version too,
    /// takes other instructions. `None` in runs of an older one.
    #[serde(default)]
    pub program_sha256: Option<String>,
    /// SHA-256 of the guest's first file system, in hexadecimal: the program, the kernel's
    /// modules, what other packages give, and the experiment. `None` in runs of an older one.
    #[serde(default)]
    pub initramfs_sha256: Option<String>,
    /// QEMU's command line, without paths of this machine where they do not
    /// matter.
    pub qemu_command: Vec<String>,
    /// Virtual CPUs.
    pub cpus: u16,
    /// `-icount shift`: an instruction takes 2^shift ns on QEMU's clock.
    pub icount_shift: u8,
    /// How many times slower the guest's clock is than QEMU's. 1 in runs of an older program.
    #[serde(default = "as_fast")]
    pub slowdown: u32,
    /// What the seed changes.
    pub seed_meaning: String,
}

const fn as_fast() -> u32 {
    1
}

/// The guest's kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelManifest {
    /// The package it came in, with its version; `None` for an image given by
    /// path.
    pub package: Option<String>,
    /// `uname -r`.
    pub release: String,
    /// SHA-256 of the image, in hexadecimal.
    pub sha256: String,
}

/// How to run it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// Arguments of `teiji` that repeat this run.
    pub arguments: Vec<String>,
    /// The run folder this run replays, if it is itself a replay.
    pub of: Option<String>,
}

impl Manifest {
    /// Reads the file, if it is of this version.
    ///
    /// # Errors
    /// If the file cannot be read, is not a manifest, or has another version.
    pub fn read(path: &Path) -> Result<Self, JsonFileError> {
        json::read(path, SCHEMA)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), JsonFileError> {
        json::write(path, self)
    }
}

/// SHA-256 of `bytes`, in hexadecimal.
pub fn sha256_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
