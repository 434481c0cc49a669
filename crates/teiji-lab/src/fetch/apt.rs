//! A private apt: its own source list, index and download folder; the system's stay untouched.
//!
//! Runs as any user. Signatures are checked by apt against Debian's key; the
//! system's proxy and other `Acquire` settings are taken over, its hooks are not.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::store::{Progress, Step, StoreError, item, space};

use super::error::FetchError;
use super::sources::{self, Mirror, Origin};
use super::stanza::{self, Stanza};

/// How long apt may stay silent. It prints twice per second while it downloads, and
/// falls silent for ever when, for instance, the disk fills up under its index.
const SILENCE_LIMIT: Duration = Duration::from_secs(120);
/// How long a server whose index and files differ is given before it is asked once more.
const MIRROR_PAUSE: Duration = Duration::from_secs(20);
/// Room for the index of a release: its lists and apt's cache of them (measured: 70 MB).
const INDEX_BYTES: u64 = 120_000_000;

/// The programs of apt and dpkg; tests put others in their place.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    /// Folder to take them from; `None` is the user's `PATH`.
    pub dir: Option<PathBuf>,
    /// How long apt may stay silent.
    pub silence_limit: Duration,
    /// How long to wait before a server whose index and files differ is asked again.
    pub mirror_pause: Duration,
}

impl Default for Tools {
    fn default() -> Self {
        Self { dir: None, silence_limit: SILENCE_LIMIT, mirror_pause: MIRROR_PAUSE }
    }
}

impl Tools {
    pub(crate) fn command(&self, tool: &str) -> Command {
        let mut command = match &self.dir {
            Some(dir) => Command::new(dir.join(tool)),
            None => Command::new(tool),
        };
        // Messages are read by this program: untranslated.
        command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        teiji_sys::process::die_with_parent(&mut command);
        command
    }

    /// Tells that a server's index and files differ, and gives it time.
    pub(crate) fn wait_for_mirror(&self, progress: &mut dyn Progress) {
        progress.note(&format!(
            "The package server's index and files differ, as while it is updated: trying again in {} s",
            self.mirror_pause.as_secs()
        ));
        std::thread::sleep(self.mirror_pause);
    }

    /// Runs a tool to its end; what it printed, or its error.
    pub(crate) fn output(
        &self,
        tool: &'static str,
        change: impl FnOnce(&mut Command),
    ) -> Result<String, FetchError> {
        let mut command = self.command(tool);
        change(&mut command);
        let output = command.output().map_err(|e| start_error(tool, e))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(tool_error(&command, output.status, &String::from_utf8_lossy(&output.stderr)))
    }
}

fn start_error(tool: &'static str, error: std::io::Error) -> FetchError {
    if error.kind() == std::io::ErrorKind::NotFound {
        FetchError::NotDebian { tool }
    } else {
        StoreError::io("run", Path::new(tool), error).into()
    }
}

fn tool_error(command: &Command, status: ExitStatus, stderr: &str) -> FetchError {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        // Writing to a String cannot fail.
        let _ = write!(text, " {}", arg.to_string_lossy());
    }
    let message = first_complaint(stderr);
    FetchError::Tool { command: text, status: status.to_string(), message }
}

/// The most telling line of what apt or dpkg printed on standard error.
fn first_complaint(stderr: &str) -> String {
    let strip =
        |line: &str| line.trim_start_matches(['E', 'W']).trim_start_matches(": ").to_owned();
    let errors = stderr.lines().filter(|l| l.starts_with("E: "));
    let warnings = stderr.lines().filter(|l| l.starts_with("W: "));
    let line = errors.chain(warnings).map(strip).next();
    line.or_else(|| stderr.lines().rev().find(|l| !l.trim().is_empty()).map(str::to_owned))
        .unwrap_or_else(|| "no message".into())
}

/// A file that apt would download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    pub file: String,
    pub bytes: u64,
    /// Hexadecimal, from the signed index.
    pub sha256: String,
}

/// Reads a line of `apt-get --print-uris`: `'URI' file bytes hash`.
fn parse_remote(line: &str) -> Option<Remote> {
    let rest = line.strip_prefix('\'')?.split_once("' ")?.1;
    let mut words = rest.split(' ');
    Some(Remote {
        file: words.next()?.to_owned(),
        bytes: words.next()?.parse().ok()?,
        sha256: words.next()?.strip_prefix("SHA256:")?.to_owned(),
    })
}

/// apt for one release of Debian and one architecture.
#[derive(Debug)]
pub(crate) struct Apt {
    tools: Tools,
    dir: PathBuf,
    origin: Origin,
    cache_dir: PathBuf,
}

impl Apt {
    /// Prepares the folders; asks nobody yet.
    pub(crate) fn new(tools: &Tools, cache_dir: &Path, origin: Origin) -> Result<Self, FetchError> {
        let Origin { release, arch } = origin;
        let dir = cache_dir.join("apt").join(format!("{}-{arch}", release.codename));
        for part in ["lists/partial", "archives/partial", "empty/partial", "state", "cache"] {
            item::create_dir(&dir.join(part))?;
        }
        Ok(Self { tools: tools.clone(), dir, origin, cache_dir: cache_dir.to_owned() })
    }

    /// Where downloads lie.
    pub(crate) fn archives(&self) -> PathBuf {
        self.dir.join("archives")
    }

    /// Fetches today's index: from the system's mirror, else from Debian's own; twice, if a
    /// mirror is being updated. Of an architecture that few use, the index of the security updates
    /// has been out of date for days: then it is done without these, and said.
    pub(crate) fn update(&self, progress: &mut dyn Progress) -> Result<(), FetchError> {
        let first = self.update_once(true, progress);
        let Err(FetchError::MirrorChanging { .. }) = first else { return first };
        self.tools.wait_for_mirror(progress);
        let second = self.update_once(true, progress);
        let Err(FetchError::MirrorChanging { message }) = &second else { return second };
        let suite = self.origin.release.security();
        if !message.contains(&suite) {
            return second;
        }
        progress.note(&format!(
            "The package server's index and files of {suite} still differ: older packages for {} are \
             taken, without its security updates",
            self.origin.arch
        ));
        self.update_once(false, progress)
    }

    /// With the index of the security updates, or without.
    fn update_once(&self, security: bool, progress: &mut dyn Progress) -> Result<(), FetchError> {
        space::require(&self.cache_dir, "the package index", INDEX_BYTES)?;
        let keyring = Path::new(sources::KEYRING);
        if self.tools.dir.is_none() && !keyring.exists() {
            // Without apt there is no keyring either: the missing program tells more.
            self.tools.output("apt-get", |c| {
                c.arg("--version");
            })?;
            return Err(FetchError::NoKeyring { path: keyring.to_owned() });
        }
        let mut mirrors: Vec<_> = self.system_mirror().into_iter().collect();
        if !mirrors.contains(&Mirror::default()) {
            mirrors.push(Mirror::default());
        }
        let settings = self.system_settings();
        let mut first_error = None;
        for mirror in mirrors {
            let Origin { release, arch } = self.origin;
            let list = mirror.source_list(release, security, sources::KEYRING);
            self.write("sources.list", &list)?;
            self.write("apt.conf", &self.configuration(&settings))?;
            let of_arch = arch.suffix();
            let what = format!("fetch the package index of Debian {}{of_arch}", release.number);
            match self.run(&what, None, progress, |c| {
                c.args(["--error-on=any", "update"]);
            }) {
                Ok(()) => return Ok(()),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        // The list of mirrors is never empty, so an error was seen.
        first_error.map_or(Ok(()), Err)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), FetchError> {
        let path = self.dir.join(name);
        Ok(fs::write(&path, text).map_err(|e| StoreError::io("write", &path, e))?)
    }

    /// The mirror that the system uses, if it is a Debian; any failure means "none".
    fn system_mirror(&self) -> Option<Mirror> {
        let os = fs::read_to_string("/etc/os-release").ok()?;
        if sources::os_release(&os, "ID") != Some("debian") {
            return None;
        }
        let codename = sources::os_release(&os, "VERSION_CODENAME")?;
        let targets = self
            .tools
            .output("apt-get", |c| {
                c.args(["indextargets", "--format", sources::TARGET_FORMAT]);
                c.arg("Created-By: Packages");
            })
            .ok()?;
        Mirror::configured(&targets, codename)
    }

    /// The system's `Acquire` settings (proxy, certificates, time-outs).
    fn system_settings(&self) -> String {
        let dump = self.tools.output("apt-config", |c| {
            c.args(["dump", "Acquire"]);
        });
        dump.unwrap_or_default()
            .lines()
            .filter(|line| {
                let ours = ["IndexTargets", "Changelogs", "cdrom", "Languages", "CompressionTypes"];
                line.starts_with("Acquire::")
                    && !line.ends_with(" \"\";")
                    && !ours.iter().any(|part| line["Acquire::".len()..].starts_with(part))
            })
            .fold(String::new(), |text, line| text + line + "\n")
    }

    /// apt.conf(5) for this private apt. `/dev/null` keeps the system's parts out.
    fn configuration(&self, settings: &str) -> String {
        let (dir, arch) = (self.dir.display(), self.origin.arch);
        format!(
            "{settings}\
             Dir::Etc::main \"/dev/null\";\n\
             Dir::Etc::parts \"/dev/null\";\n\
             Dir::Etc::sourcelist \"{dir}/sources.list\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::Etc::preferences \"/dev/null\";\n\
             Dir::Etc::preferencesparts \"/dev/null\";\n\
             Dir::State \"{dir}/state\";\n\
             Dir::State::lists \"{dir}/lists\";\n\
             Dir::State::status \"/var/lib/dpkg/status\";\n\
             Dir::Cache \"{dir}/cache\";\n\
             Dir::Cache::srcpkgcache \"\";\n\
             Dir::Cache::archives \"{dir}/archives\";\n\
             Dir::Log \"{dir}/state\";\n\
             APT::Architecture \"{arch}\";\n\
             APT::Architectures {{ \"{arch}\"; }};\n\
             APT::Sandbox::User \"root\";\n\
             APT::Install-Recommends \"false\";\n\
             Acquire::Languages \"none\";\n\
             Acquire::Retries \"3\";\n\
             Debug::NoLocking \"true\";\n"
        )
    }

    fn private(&self, command: &mut Command) {
        command.env("APT_CONFIG", self.dir.join("apt.conf")).current_dir(self.archives());
    }

    /// Records of the packages, in all their versions; unknown names are left out.
    pub(crate) fn show(&self, packages: &[String]) -> Result<Vec<Stanza>, FetchError> {
        let mut stanzas = Vec::new();
        for package in packages {
            let text = self.tools.output("apt-cache", |c| {
                self.private(c);
                c.arg("show").arg(package);
            });
            match text {
                Ok(text) => stanzas.extend(stanza::parse(&text)),
                // "No packages found" is an answer, not a failure.
                Err(FetchError::Tool { message, .. })
                    if message.contains("No packages found")
                        || message.contains("Unable to locate package") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(stanzas)
    }

    /// All that `args` needs, also what lies in [`Apt::archives`] already: apt leaves
    /// that out of its answer, so it is asked with an empty folder in its place.
    pub(crate) fn remotes(&self, what: &str, args: &[&str]) -> Result<Vec<Remote>, FetchError> {
        let text = self
            .tools
            .output("apt-get", |c| {
                self.private(c);
                let empty = self.dir.join("empty");
                c.arg("-o").arg(format!("Dir::Cache::archives={}", empty.display()));
                // Of the signed hashes, the one used here: `install` would print MD5.
                c.args(["-o", "Acquire::ForceHash=SHA256"]);
                c.current_dir(empty).args(["-qq", "-y", "--print-uris"]).args(args);
            })
            .map_err(|error| self.explain(what, error))?;
        Ok(text.lines().filter_map(parse_remote).collect())
    }

    /// Downloads into [`Apt::archives`]. apt checks what it downloads against the signed
    /// index, but takes a file of the right size that lies there for whole.
    pub(crate) fn download(
        &self,
        what: &str,
        args: &[&str],
        total_bytes: u64,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        self.run(what, Some(total_bytes), progress, |c| {
            c.args(["-y", "--download-only"]).args(args);
        })
    }

    /// Runs apt-get and turns its machine-readable status into progress.
    fn run(
        &self,
        what: &str,
        total_bytes: Option<u64>,
        progress: &mut dyn Progress,
        change: impl FnOnce(&mut Command),
    ) -> Result<(), FetchError> {
        let mut command = self.tools.command("apt-get");
        self.private(&mut command);
        command.args(["-qq", "-o", "APT::Status-Fd=1"]);
        change(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        progress.step(&Step { what, fraction: 0.0, total_bytes });
        let mut child = command.spawn().map_err(|e| start_error("apt-get", e))?;
        let stderr = child.stderr.take();
        // Read both pipes at once, or a full one would stop apt.
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            // An unreadable message only makes the error less telling.
            let _ = stderr.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        });
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take();
        // The channel closes when apt closes its output, or nobody listens any more.
        let reader = std::thread::spawn(move || {
            let lines = stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines);
            lines.map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        let mut last = 0.0;
        loop {
            match lines.recv_timeout(self.tools.silence_limit) {
                Ok(line) => {
                    // apt repeats itself several times per second.
                    let fraction = parse_status(&line).filter(|&fraction| fraction > last);
                    if let Some(fraction) = fraction {
                        last = fraction;
                        progress.step(&Step { what, fraction, total_bytes });
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // It may have ended meanwhile; then there is nothing to kill.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(FetchError::Silent {
                        what: what.strip_prefix("fetch ").unwrap_or(what).to_owned(),
                        seconds: self.tools.silence_limit.as_secs(),
                    });
                }
            }
        }
        drop(reader);
        let status =
            child.wait().map_err(|e| StoreError::io("wait for", Path::new("apt-get"), e))?;
        let complaints = complaints.join().unwrap_or_default();
        if status.success() {
            progress.step(&Step { what, fraction: 1.0, total_bytes });
            return Ok(());
        }
        Err(self.explain(what, tool_error(&command, status, &complaints)))
    }

    /// Gives apt's usual failures their own variant, by its (untranslated) words.
    fn explain(&self, what: &str, error: FetchError) -> FetchError {
        let FetchError::Tool { message, .. } = &error else { return error };
        let what = what.strip_prefix("fetch ").unwrap_or(what).to_owned();
        let message = message.clone();
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        // A certificate's failure is told as one of the connection, too: the narrower comes first.
        if has(&["certificate", "Certificate"]) {
            FetchError::Certificate { what, message }
        } else if has(&["No space left", "enough free space"]) {
            StoreError::Full { what, path: self.cache_dir.clone() }.into()
        } else if has(&["403 ", "407 ", "451 ", "Forbidden", "Proxy Authentication"]) {
            FetchError::Refused { what, message }
        } else if has(&["resolv", "connect", "Connection", "timed out", "unreachable"]) {
            FetchError::NoNetwork { what, message, dir: self.cache_dir.clone() }
        } else if has(&["not signed", "NO_PUBKEY", "signature", "GPG error", "not valid"]) {
            FetchError::Untrusted { what, message }
        } else if has(&[
            "Hash Sum mismatch",
            "unexpected size",
            "404",
            "no longer has",
            "not found",
        ]) {
            FetchError::MirrorChanging { message }
        } else {
            error
        }
    }
}

/// Part done, out of `dlstatus:1:12.5:Retrieving …` (apt's README.progress-reporting).
fn parse_status(line: &str) -> Option<f64> {
    let percent: f64 = line.strip_prefix("dlstatus:")?.split(':').nth(1)?.parse().ok()?;
    // 100 % is reported when apt has ended well, not before.
    Some((percent / 100.0).clamp(0.0, 0.999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apts_status_lines_become_fractions_and_others_are_ignored() {
        assert_eq!(parse_status("dlstatus:1:12.5000:Retrieving file 1 of 1"), Some(0.125));
        assert_eq!(parse_status("dlstatus:1:100.0000:Retrieving"), Some(0.999));
        assert_eq!(parse_status("pmstatus:x:1:y"), None);
        assert_eq!(parse_status("Get:1 http://…"), None);
    }

    #[test]
    fn print_uris_lines_give_file_and_size() {
        let line = "'http://h/p%2b_1%7e2.deb' busybox-static_1%3a1.35.0-4_amd64.deb 913 SHA256:0f";
        let remote = Remote {
            file: "busybox-static_1%3a1.35.0-4_amd64.deb".into(),
            bytes: 913,
            sha256: "0f".into(),
        };
        assert_eq!(parse_remote(line), Some(remote));
        assert_eq!(parse_remote("Reading package lists..."), None);
    }

    #[test]
    fn the_first_error_is_quoted_before_warnings() {
        let stderr = "W: careful\nE: Failed to fetch http://h/x  Temporary failure resolving 'h'\n";
        assert_eq!(
            first_complaint(stderr),
            "Failed to fetch http://h/x  Temporary failure resolving 'h'"
        );
        assert_eq!(first_complaint("dpkg-deb: error: no\n"), "dpkg-deb: error: no");
        assert_eq!(first_complaint(""), "no message");
    }
}
