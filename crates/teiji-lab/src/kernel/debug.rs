//! The debug kernels: Debian's Linux 6.12 with KASAN, lockdep, kmemleak, fault injection
//! and the like, with and without `PREEMPT_RT`, built on this machine.
//!
//! Both are needed: without `PREEMPT_RT` more mistakes with RCU show (with it,
//! `local_bh_disable` is a read lock too), with it the scheduling is the real one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::store::{Progress, Step};

use super::build::{BuildError, is_makes_own, telling};

/// Debian's package with the source.
pub(crate) const SOURCE_PACKAGE: &str = "linux-source-6.12";
/// The package's archive, and the folder in it.
const ARCHIVE: &str = "usr/src/linux-source-6.12.tar.xz";
const FOLDER: &str = "linux-source-6.12";
/// What both kernels have in common.
const CONFIG: &str = include_str!("../../../../kernel/debug/debug.config");
/// Room for source and objects while it is built (measured: 2.3 GB).
pub(crate) const BUILD_BYTES: u64 = 3_000_000_000;
/// Lines that make prints in a whole build (measured with 6.12.117: 2051).
const STEPS: f64 = 2050.0;
/// KASAN does not watch lockdep itself, for speed: the kernel's own choice since 6.15.
const UNWATCHED: [&str; 1] = ["KASAN_SANITIZE_lockdep.o=n"];
/// What the build needs: a program or header, and the package that has it.
const TOOLS: [(&str, &str); 9] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("cpio", "cpio"),
    ("rsync", "rsync"),
];
const HEADERS: [(&str, &str); 2] =
    [("/usr/include/libelf.h", "libelf-dev"), ("/usr/include/openssl/opensslv.h", "libssl-dev")];

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DebugKernel {
    pub realtime: bool,
}

impl DebugKernel {
    /// As the user names it.
    pub(crate) fn name(self) -> &'static str {
        if self.realtime { "debug-rt" } else { "debug" }
    }

    /// Its configuration, as far as it is not "off".
    pub(crate) fn config(self) -> String {
        let preemption = if self.realtime { "CONFIG_PREEMPT_RT=y" } else { "CONFIG_PREEMPT=y" };
        format!("{CONFIG}CONFIG_LOCALVERSION=\"-teiji-{}\"\n{preemption}\n", self.name())
    }

    /// Builds it in `work` from the unpacked source package in `package`, and puts what
    /// the laboratory needs into `root`: `vmlinuz`, `config`, `modules/`, `build/`.
    pub(crate) fn build(
        self,
        package: &Path,
        work: &Path,
        root: &Path,
        log: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(), BuildError> {
        require_tools()?;
        let source = work.join(FOLDER);
        let objects = work.join("objects");
        let wanted = work.join("wanted.config");
        let write =
            |path: &Path, text: &str| fs::write(path, text).map_err(|e| io("write", path, e));
        fs::create_dir_all(&objects).map_err(|e| io("create", &objects, e))?;
        write(&wanted, &self.config())?;
        let mut run = Run { kernel: self, log, progress };

        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(package.join(ARCHIVE)).arg("-C").arg(work);
        run.step("unpack the kernel's source", None, &mut tar)?;
        let make = || {
            let mut make = Command::new("make");
            make.arg("-C").arg(&source).arg(format!("O={}", objects.display())).arg("ARCH=x86_64");
            // The same bytes whoever builds it, and when.
            make.envs([
                ("KBUILD_BUILD_TIMESTAMP", "2026-01-01"),
                ("KBUILD_BUILD_USER", "teiji"),
                ("KBUILD_BUILD_HOST", "lab"),
            ]);
            make
        };
        let mut configure = make();
        configure.arg(format!("KCONFIG_ALLCONFIG={}", wanted.display())).arg("allnoconfig");
        run.step("configure the debug kernel", None, &mut configure)?;
        let config = objects.join(".config");
        let got = fs::read_to_string(&config).map_err(|e| io("read", &config, e))?;
        let lost = lost_lines(&self.config(), &got);
        if !lost.is_empty() {
            return Err(BuildError::Configuration { kernel: self.name(), lost });
        }
        let mut compile = make();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        // "modules" is what writes Module.symvers.
        compile.arg(format!("-j{jobs}")).args(["bzImage", "modules"]).args(UNWATCHED);
        let what = format!("build kernel {} (10 to 20 minutes on two processors)", self.name());
        run.step(&what, Some(STEPS), &mut compile)?;
        let tree = root.join("build");
        let mut headers = make();
        headers.arg("run-command").arg(format!(
            "KBUILD_RUN_COMMAND=+$(srctree)/scripts/package/install-extmod-build {}",
            tree.display()
        ));
        run.step("collect what modules are built with", None, &mut headers)?;

        let modules = root.join("modules");
        fs::create_dir_all(&modules).map_err(|e| io("create", &modules, e))?;
        for (from, to) in [
            ("arch/x86/boot/bzImage", "vmlinuz"),
            (".config", "config"),
            ("modules.builtin", "modules/modules.builtin"),
            ("modules.builtin.modinfo", "modules/modules.builtin.modinfo"),
        ] {
            let from = objects.join(from);
            fs::copy(&from, root.join(to)).map_err(|e| io("copy", &from, e))?;
        }
        Ok(())
    }
}

/// Runs the commands of a build, all they say going to one log.
struct Run<'a> {
    kernel: DebugKernel,
    log: &'a Path,
    progress: &'a mut dyn Progress,
}

impl Run<'_> {
    /// Runs one; `lines` is how many steps it will print, where that is known.
    fn step(
        &mut self,
        what: &str,
        lines: Option<f64>,
        command: &mut Command,
    ) -> Result<(), BuildError> {
        let mut show = |fraction| {
            self.progress.step(&Step { what, fraction, total_bytes: None });
        };
        show(0.0);
        for (name, _) in std::env::vars_os() {
            if is_makes_own(&name) {
                command.env_remove(name);
            }
        }
        // A shell brings both streams together.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(command.get_program());
        shell.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::piped());
        let shell = teiji_sys::process::die_with_parent(&mut shell);
        let mut child = shell.spawn().map_err(|e| io("run", Path::new("sh"), e))?;
        let mut output = Vec::new();
        let mut done = 0.0;
        for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            let line = line.map_err(|e| io("read from", Path::new("make"), e))?;
            if let Some(lines) = lines.filter(|_| line.starts_with("  ")) {
                done += 1.0;
                show((done / lines).min(0.99));
            }
            output.push(line);
        }
        let status = child.wait().map_err(|e| io("wait for", Path::new("make"), e))?;
        if status.success() {
            show(1.0);
            return Ok(());
        }
        // The error below says enough if even the log cannot be kept.
        let _ = fs::write(self.log, output.join("\n") + "\n");
        Err(BuildError::KernelFailed {
            kernel: self.kernel.name(),
            lines: telling(&output),
            log: self.log.to_owned(),
        })
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> BuildError {
    BuildError::Io { module: "the debug kernel".into(), action, path: path.to_owned(), source }
}

/// All packages that are missing, in one sentence.
fn require_tools() -> Result<(), BuildError> {
    let paths: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|all| std::env::split_paths(&all).collect())
        .unwrap_or_default();
    let absent_tool = |tool: &str| !paths.iter().any(|dir| dir.join(tool).is_file());
    let tools = TOOLS.into_iter().filter(|(tool, _)| absent_tool(tool));
    let headers = HEADERS.into_iter().filter(|(path, _)| !Path::new(path).exists());
    let missing: Vec<&str> = tools.chain(headers).map(|(_, package)| package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(BuildError::KernelTools { packages: missing.join(" ") })
}

/// Lines of the wanted configuration that the kernel did not take over: options it does
/// not know, or whose conditions are not met, vanish without a word.
fn lost_lines(wanted: &str, got: &str) -> Vec<String> {
    let set = |line: &&str| line.starts_with("CONFIG_") && !line.ends_with("=n");
    let got: std::collections::BTreeSet<&str> = got.lines().collect();
    wanted.lines().filter(set).filter(|line| !got.contains(line)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_configuration_loses_are_reported() {
        let wanted = "# why\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=5\n";
        assert_eq!(lost_lines(wanted, "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=5\n"), [""; 0]);
        assert_eq!(lost_lines(wanted, "CONFIG_C=4\n"), ["CONFIG_A=y", "CONFIG_C=5"]);
    }

    #[test]
    fn the_two_kernels_differ_in_name_and_preemption_only() {
        let (with, without) = (DebugKernel { realtime: true }, DebugKernel { realtime: false });
        let differ: Vec<_> = with
            .config()
            .lines()
            .zip(without.config().lines())
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect();
        assert_eq!(
            differ,
            [
                (
                    "CONFIG_LOCALVERSION=\"-teiji-debug-rt\"".to_owned(),
                    "CONFIG_LOCALVERSION=\"-teiji-debug\"".to_owned()
                ),
                ("CONFIG_PREEMPT_RT=y".to_owned(), "CONFIG_PREEMPT=y".to_owned()),
            ]
        );
    }
}
