//! Plug-ins for Debian's iproute2: what lets its `tc` and `ip` speak the options of Teiji's modules.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::arch::Arch;

use super::source::ModuleSource;

/// The programs that load plug-ins, and the start of their plug-ins' names.
const PROGRAMS: [(&str, &str); 2] = [("tc", "q_"), ("ip", "link_")];

/// Why there is no plug-in.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// No source of this program has that name.
    #[error(
        "there is no plug-in `{0}`: name its source below kernel/, as MODULE/tc/q_NAME.c \
         or MODULE/ip/link_NAME.c"
    )]
    Unknown(String),
    /// There is no compiler.
    #[error(
        "building a plug-in needs `{compiler}`, which does not run here ({source}): apt-get install {packages}"
    )]
    NoCompiler {
        /// Its program.
        compiler: String,
        /// What to install.
        packages: String,
        /// Why not.
        source: io::Error,
    },
    /// The compiler refused it.
    #[error("cannot compile the plug-in {name}: {message}")]
    Refused {
        /// Its source.
        name: String,
        /// The compiler's error.
        message: String,
    },
    /// Its files could not be written or read.
    #[error("cannot build the plug-in {name}: {source}")]
    Io {
        /// Its source.
        name: String,
        /// Why.
        source: io::Error,
    },
}

/// A plug-in, compiled.
#[derive(Debug)]
pub struct Plugin {
    /// Its path in a guest, where Debian's iproute2 looks for it; without the first slash.
    pub path: String,
    /// The shared library.
    pub library: Vec<u8>,
}

impl Plugin {
    /// Compiles a plug-in of this program's sources for guests of `arch`, which is as fast as
    /// to look it up would be. `name` is its path below `kernel/`: `prioflow/tc/q_prioflow.c`.
    ///
    /// # Errors
    /// [`PluginError::Unknown`] if the program has no such source; otherwise if it does not
    /// compile, or the temporary folder cannot be used.
    pub fn build(name: &str, arch: Arch) -> Result<Self, PluginError> {
        let (path, source) = path_in_guest(name, arch)
            .zip(source(name))
            .ok_or_else(|| PluginError::Unknown(name.into()))?;
        let io = |source| PluginError::Io { name: name.into(), source };
        let dir = tempfile::Builder::new().prefix("teiji-plugin-").tempdir().map_err(io)?;
        source.write_to(dir.path()).map_err(io)?;
        let library = dir.path().join("plugin.so");
        compile(name, arch, &dir.path().join(name), &library)?;
        Ok(Self { path, library: fs::read(&library).map_err(io)? })
    }
}

fn compile(name: &str, arch: Arch, source: &Path, library: &Path) -> Result<(), PluginError> {
    // iproute2 loads it; its functions are found in the program then. The guest's C library may be
    // older than this machine's: with _GNU_SOURCE, glibc 2.38 makes `strtoul` a function that 2.36
    // does not have.
    let compiler = match arch.tool_prefix() {
        none if none.is_empty() => "cc".to_owned(),
        prefix => format!("{prefix}gcc"),
    };
    let mut cc = Command::new(&compiler);
    cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-D_DEFAULT_SOURCE", "-o"]);
    let done = cc.arg(library).arg(source).output().map_err(|source| PluginError::NoCompiler {
        compiler,
        // Of a cross compiler, the C library's headers are only recommended by its package.
        packages: if arch == Arch::of_this_program() {
            "gcc libc6-dev".to_owned()
        } else {
            format!("{} libc6-dev-{arch}-cross", arch.compiler_package("gcc"))
        },
        source,
    })?;
    if done.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(PluginError::Refused { name: name.into(), message })
}

/// The module that has this file, if it has.
fn source(name: &str) -> Option<ModuleSource> {
    let source = ModuleSource::embedded(name.split_once('/')?.0)?;
    source.contains(name).then_some(source)
}

/// Where Debian's iproute2 looks for plug-ins, in a guest: `tc/q_NAME.so`, `ip/link_NAME.so`.
fn path_in_guest(name: &str, arch: Arch) -> Option<String> {
    let (_, below) = name.split_once('/')?;
    let (program, file) = below.split_once('/')?;
    let stem = file.strip_suffix(".c")?;
    let known = PROGRAMS.iter().any(|(known, start)| *known == program && stem.starts_with(start));
    known.then(|| format!("usr/lib/{}/{program}/{stem}.so", arch.names().triplet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plug_in_lies_where_debians_programs_look() {
        let path = |name| path_in_guest(name, Arch::X86_64).unwrap();
        assert_eq!(path("prioflow/tc/q_prioflow.c"), "usr/lib/x86_64-linux-gnu/tc/q_prioflow.so");
        assert_eq!(path("vtsn/ip/link_vtsn.c"), "usr/lib/x86_64-linux-gnu/ip/link_vtsn.so");
    }

    #[test]
    fn only_a_plug_in_of_a_module_is_built() {
        for name in [
            "",
            "tc",
            "prioflow/qdisc.c",
            "prioflow/tc/q_none.c",
            "none/tc/q_none.c",
            "../x/tc/q_x.c",
        ] {
            let error = Plugin::build(name, Arch::X86_64).unwrap_err();
            assert!(matches!(error, PluginError::Unknown(_)), "{name}: {error}");
        }
    }

    #[test]
    fn a_compiled_plug_in_is_a_library_that_has_what_tc_looks_for() {
        let plugin = match Plugin::build("prioflow/tc/q_prioflow.c", Arch::X86_64) {
            Err(PluginError::NoCompiler { source: why, .. }) => {
                return println!("SKIP: no compiler here: {why}");
            }
            built => built.unwrap(),
        };
        assert!(plugin.library.starts_with(b"\x7fELF"));
        let symbol = b"prioflow_qdisc_util";
        assert!(plugin.library.windows(symbol.len()).any(|part| part == symbol));
    }

    #[test]
    fn a_plug_in_needs_no_function_that_only_a_newer_c_library_has() {
        for name in ["prioflow/tc/q_prioflow.c", "vtsn/ip/link_vtsn.c"] {
            let plugin = match Plugin::build(name, Arch::X86_64) {
                Err(PluginError::NoCompiler { source: why, .. }) => {
                    return println!("SKIP: no compiler here: {why}");
                }
                built => built.unwrap(),
            };
            let c23 = b"__isoc23_";
            assert!(!plugin.library.windows(c23.len()).any(|part| part == c23), "{name}");
        }
    }

    #[test]
    fn messages_of_the_compiler_are_passed_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("bad.c");
        fs::write(&file, "int f(void) { return missing; }\n").unwrap();
        match compile("bad.c", Arch::of_this_program(), &file, &dir.path().join("bad.so")) {
            Err(PluginError::NoCompiler { source: why, .. }) => {
                println!("SKIP: no compiler here: {why}");
            }
            message => assert!(message.unwrap_err().to_string().contains("missing")),
        }
    }
}
