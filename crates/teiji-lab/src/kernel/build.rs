//! Builds a module for a kernel: `make -C HEADERS M=FOLDER`, its output turned into progress or an error.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::arch::Arch;
use crate::store::{Progress, Step};

use super::headers::Headers;
use super::source::ModuleSource;
use super::toolchain::Toolchain;

/// How many lines of a failed build an error quotes.
const QUOTED_LINES: usize = 8;
/// Steps of a build beside the compiling of its files: modpost, link and the like.
const OTHER_STEPS: usize = 3;

/// Why a module could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A program is not there.
    #[error("building kernel modules needs `{tool}`, which is not here: apt-get install {package}")]
    NoTool {
        /// The program.
        tool: String,
        /// The package that has it.
        package: String,
    },
    /// A private compiler does not run.
    #[error("the compiler fetched for this kernel, {}, does not run here: install gcc", .program.display())]
    Toolchain {
        /// The program.
        program: PathBuf,
    },
    /// The kernel has nothing to build modules with.
    #[error(
        "cannot build modules for kernel {release}: {why}; give a kernel of Debian (--kernel \
         debian:6.12-rt), or one whose modules folder has its `build` folder"
    )]
    NoHeaders {
        /// The kernel.
        release: String,
        /// What is missing.
        why: String,
    },
    /// make would misread the path.
    #[error(
        "the kernel's build cannot work below {}: make gives spaces, colons and the like in a path \
         a meaning; set XDG_CACHE_HOME=DIR to a plainer path", .path.display()
    )]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// make could not be started, or its files not be written.
    #[error("cannot build {module}: {action} {}: {source}", .path.display())]
    Io {
        /// The module.
        module: String,
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The compiler or kbuild refused the module.
    #[error(
        "{module} cannot be built for kernel {release} with {compiler}:\n    {}\n  all of it is in {}; \
         report it with that file", .lines.join("\n    "), .log.display()
    )]
    Refused {
        /// The module.
        module: String,
        /// The kernel.
        release: String,
        /// What compiled.
        compiler: String,
        /// The most telling lines.
        lines: Vec<String>,
        /// The file with all lines.
        log: PathBuf,
    },
    /// Programs and headers for building a kernel are missing.
    #[error("building a kernel needs packages that are not here: apt-get install {packages}")]
    KernelTools {
        /// The packages.
        packages: String,
    },
    /// The kernel's source and the wanted configuration do not fit.
    #[error(
        "the source of kernel {kernel} did not take over {}: Debian's package has changed; report this",
        .lost.join(", ")
    )]
    Configuration {
        /// The kernel.
        kernel: &'static str,
        /// The lines that vanished.
        lost: Vec<String>,
    },
    /// A step of a kernel's build failed.
    #[error(
        "kernel {kernel} cannot be built:\n    {}\n  all of it is in {}",
        .lines.join("\n    "), .log.display()
    )]
    KernelFailed {
        /// The kernel.
        kernel: &'static str,
        /// The most telling lines.
        lines: Vec<String>,
        /// The file with all lines.
        log: PathBuf,
    },
}

/// How strictly a module is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strictness {
    /// All warnings of `W=1`, as errors.
    pub warnings: bool,
    /// sparse looks at every file (`C=1`), and what it says about ours is an error.
    pub sparse: bool,
}

/// The compiler that modules are built with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiler {
    /// Name or path, as make's `CC`.
    pub program: String,
    /// First line of its `--version`.
    pub version: String,
    /// Where it comes from, if it is not the system's.
    pub toolchain: Option<Toolchain>,
}

impl Compiler {
    /// The system's compiler for these headers: the one they request, or a newer `gcc`,
    /// because an older one does not know all options. Else the `gcc` that is too old.
    pub(crate) fn of_system(headers: &Headers) -> Result<Self, Option<Self>> {
        let found = |program: &str| {
            let version = run(Command::new(program).arg("--version"))?.lines().next()?.to_owned();
            Some(Self { program: program.to_owned(), version, toolchain: None })
        };
        let prefix = headers.arch.tool_prefix();
        let any = || found(&format!("{prefix}gcc")).ok_or(None);
        let Some(wanted) = headers.compiler.as_deref() else { return any() };
        if let Some(exact) = found(&format!("{prefix}{wanted}")) {
            return Ok(exact);
        }
        let gcc = any()?;
        if gcc.major() >= major(wanted.trim_start_matches("gcc-")) {
            Ok(gcc)
        } else {
            Err(Some(gcc))
        }
    }

    /// The compiler `name` (`gcc-14`) for `arch` of a private toolchain.
    pub(crate) fn of_toolchain(
        toolchain: Toolchain,
        arch: Arch,
        name: &str,
    ) -> Result<Self, BuildError> {
        let program = toolchain.compiler(arch, name);
        let mut command = Command::new(&program);
        command.arg("--version");
        let text =
            run(&mut command).ok_or_else(|| BuildError::Toolchain { program: program.clone() })?;
        let version = text.lines().next().unwrap_or_default().to_owned();
        Ok(Self { program: program.display().to_string(), version, toolchain: Some(toolchain) })
    }

    /// `gcc (Debian 12.2.0-14) 12.2.0` is 12.
    fn major(&self) -> Option<u32> {
        major(self.version.rsplit(' ').next()?)
    }
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// What a program prints, if it runs and succeeds: one that is there may not work.
fn run(command: &mut Command) -> Option<String> {
    command.env("LC_ALL", "C").stdin(Stdio::null());
    let output = teiji_sys::process::die_with_parent(command).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Refuses where there is no make.
pub(crate) fn require_make() -> Result<(), BuildError> {
    let make = run(Command::new("make").arg("--version"));
    make.map(drop).ok_or(BuildError::NoTool { tool: "make".into(), package: "make".into() })
}

/// What a build has made.
#[derive(Debug)]
pub(crate) struct Built {
    /// The module's file.
    pub module: PathBuf,
    /// Whether sparse has looked at it: newer headers of Debian lack a script for that.
    pub sparse: bool,
}

/// kbuild's words when it does without.
const NO_SPARSE: &str = "C=1 specified, but";

/// A build that can be run.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    pub source: &'a ModuleSource,
    pub headers: &'a Headers,
    pub compiler: &'a Compiler,
    /// `uname -r` of the kernel.
    pub release: &'a str,
    pub strictness: Strictness,
}

impl Build<'_> {
    /// Builds in the empty folder `dir`. `log` gets the whole output if it fails.
    pub(crate) fn run(
        &self,
        dir: &Path,
        log: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Built, BuildError> {
        for path in [dir, &self.headers.dir] {
            if !make_can_use(path) {
                return Err(BuildError::Path { path: path.to_owned() });
            }
        }
        let name = self.source.name();
        self.source.write_to(dir).map_err(|e| self.io("write", dir, e))?;
        let what = format!("build {name} for {}", self.release);
        let show = |fraction: f64, progress: &mut dyn Progress| {
            progress.step(&Step { what: &what, fraction, total_bytes: None });
        };
        show(0.0, progress);
        let mut make = self.command(&dir.join(name));
        let mut child = make.spawn().map_err(|e| self.io("run", Path::new("make"), e))?;
        let mut output = Vec::new();
        let steps = (self.source.units() + OTHER_STEPS) as f64;
        let mut done = 0.0;
        for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            let line = line.map_err(|e| self.io("read from", Path::new("make"), e))?;
            // kbuild prints two spaces and what it does: "  CC [M]  vtsn/gate.o".
            if line.starts_with("  ")
                && line.trim_start().starts_with(|c: char| c.is_ascii_uppercase())
            {
                done += 1.0;
                show((done / steps).min(0.99), progress);
            }
            output.push(line);
        }
        let status = child.wait().map_err(|e| self.io("wait for", Path::new("make"), e))?;
        let module = dir.join(name).join(format!("{name}.ko"));
        let complaints = self.complaints(&output);
        if !status.success() || !module.exists() || !complaints.is_empty() {
            // The error below says enough if even the log cannot be kept.
            let _ = fs::write(log, output.join("\n") + "\n");
            return Err(BuildError::Refused {
                module: name.to_owned(),
                release: self.release.to_owned(),
                compiler: self.compiler.version.clone(),
                lines: if complaints.is_empty() { telling(&output) } else { complaints },
                log: log.to_owned(),
            });
        }
        show(1.0, progress);
        let refused = output.iter().any(|line| line.contains(NO_SPARSE));
        Ok(Built { module, sparse: self.strictness.sparse && !refused })
    }

    fn command(&self, folder: &Path) -> Command {
        // One stream, so that messages stay beside the step they belong to.
        let mut make = Command::new("sh");
        make.args(["-c", "exec make \"$@\" 2>&1", "make"]);
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let parent = folder.parent().unwrap_or(folder).display();
        // A module's bytes must not depend on where it was built: `__FILE__` is in them.
        let mut flags = format!("-ffile-prefix-map={parent}=teiji");
        if self.strictness.warnings {
            flags.push_str(" -Werror");
        }
        make.arg("-C")
            .arg(&self.headers.dir)
            .arg(format!("M={}", folder.display()))
            .arg(format!("-j{jobs}"))
            .arg(format!("CC={}", self.compiler.program))
            .arg(format!("KCFLAGS={flags}"))
            .arg(format!("ARCH={}", self.headers.arch.names().kbuild))
            .arg(format!("CROSS_COMPILE={}", self.headers.arch.tool_prefix()))
            // Nine tenths of a module, in memory that the guest would need for it.
            .arg("CONFIG_DEBUG_INFO=")
            // BTF needs pahole and the kernel's own vmlinux; nothing here reads it.
            .arg("CONFIG_DEBUG_INFO_BTF_MODULES=");
        if self.strictness.warnings {
            make.arg("W=1");
        }
        if self.strictness.sparse {
            make.arg("C=1");
        }
        make.arg("modules");
        for (name, _) in std::env::vars_os() {
            if is_makes_own(&name) {
                make.env_remove(name);
            }
        }
        if let Some(toolchain) = &self.compiler.toolchain {
            make.env("PATH", toolchain.path());
        }
        make.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped());
        teiji_sys::process::die_with_parent(&mut make);
        make
    }

    /// What must not be said in a strict build: warnings about our own files.
    fn complaints(&self, output: &[String]) -> Vec<String> {
        if self.strictness == Strictness::default() {
            return Vec::new();
        }
        // Files of ours are named by their path in this build, or relative to it.
        let theirs = self.headers.dir.parent().unwrap_or(&self.headers.dir).to_string_lossy();
        let ours = |line: &&String| {
            let of_file = line.contains(".c:") || line.contains(".h:");
            let complains = line.contains("warning:") || line.contains("error:");
            (of_file && complains && !line.starts_with(&*theirs))
                || line.contains("WARNING: modpost")
        };
        output.iter().filter(ours).take(QUOTED_LINES).cloned().collect()
    }

    fn io(&self, action: &'static str, path: &Path, source: io::Error) -> BuildError {
        let module = self.source.name().to_owned();
        BuildError::Io { module, action, path: path.to_owned(), source }
    }
}

/// Whether make takes every byte of the path as it is.
fn make_can_use(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.chars().all(|c| c.is_alphanumeric() || "/._-+~@,=%^".contains(c)))
}

/// Variables by which an outer make or a person's kernel build would steer this one.
pub(crate) fn is_makes_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["MAKE", "MFLAGS", "KBUILD", "KCFLAGS", "KERNEL", "ARCH", "CROSS_COMPILE", "CFLAGS", "LDFLAGS"]
        .iter()
        .any(|own| name.starts_with(own))
}

/// The lines that tell most: errors, else the last ones.
pub(crate) fn telling(output: &[String]) -> Vec<String> {
    let errors: Vec<_> = output
        .iter()
        .filter(|line| line.contains("error:") || line.contains("ERROR:"))
        .take(QUOTED_LINES)
        .cloned()
        .collect();
    if errors.is_empty() {
        output[output.len().saturating_sub(QUOTED_LINES)..].to_vec()
    } else {
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_quoted_before_the_last_lines() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let output = lines("  CC [M]  a.o\na.c:3: error: no\nmake: *** [a.o] Error 1");
        assert_eq!(telling(&output), ["a.c:3: error: no"]);
        assert_eq!(telling(&lines("make: nothing")), ["make: nothing"]);
    }

    #[test]
    fn versions_of_compilers_are_compared_as_numbers() {
        let debian = Compiler {
            program: "gcc".into(),
            version: "gcc (Debian 12.2.0-14+deb12u1) 12.2.0".into(),
            toolchain: None,
        };
        assert_eq!(debian.major(), Some(12));
        assert!(major("9.4.0") < debian.major() && debian.major() < major("14"));
    }

    #[test]
    fn paths_that_make_would_misread_are_refused() {
        assert!(make_can_use(Path::new("/home/me/.cache/teiji/headers/linux_6.12.1+deb12-1~a")));
        for bad in ["/home/a b", "/c:/x", "/a$b", "/a#b", "/a\u{a}b", "/it's"] {
            assert!(!make_can_use(Path::new(bad)), "{bad}");
        }
    }

    #[test]
    fn variables_of_an_outer_make_are_recognised() {
        assert!(is_makes_own(OsStr::new("MAKEFLAGS")) && is_makes_own(OsStr::new("KBUILD_OUTPUT")));
        assert!(!is_makes_own(OsStr::new("PATH")) && !is_makes_own(OsStr::new("HOME")));
    }
}
