//! One connection to a host, shared by all commands there (ssh's `ControlMaster`).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;

use teiji_core::shell::quote;
use teiji_sys::process;

use crate::last_words::last_words;
use crate::{Destination, RemoteError};

/// What ssh exits with for a failure of its own.
const OWN_FAILURE: i32 = 255;
/// Without an answer for so many times 5 s the connection is given up.
const SILENCES: u8 = 3;
/// How long a host that does not answer is tried, unless the user's configuration says it.
const CONNECT_S: u8 = 30;

/// How `ssh` is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshOptions {
    /// The configuration to use instead of the user's (`ssh -F`).
    pub config: Option<PathBuf>,
}

/// A host that is connected.
#[derive(Debug)]
pub struct Host {
    destination: Destination,
    options: SshOptions,
    /// The folder of the connection's socket.
    folder: tempfile::TempDir,
    master: Child,
}

/// This program on a host; removed when this is dropped.
#[derive(Debug)]
pub struct Program {
    host: Arc<Host>,
    folder: String,
}

impl Host {
    /// Connects. `ssh` may request a password or about an unknown host key, on the terminal.
    ///
    /// # Errors
    /// [`RemoteError::Connect`] with ssh's own words.
    pub fn connect(destination: Destination, options: SshOptions) -> Result<Self, RemoteError> {
        // Short: a socket's path has 108 characters, and ssh adds some.
        let folder = tempfile::Builder::new().prefix("teiji-ssh").tempdir()?;
        let socket = folder.path().join("s");
        let mut command = ssh(&options, &socket);
        if leaves_timeout(&configuration(&options, &destination)?) {
            command.arg("-o").arg(format!("ConnectTimeout={CONNECT_S}"));
        }
        command.args(["-o", "ControlMaster=yes", "-N", "--"]).arg(destination.as_str());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Also if this program is killed.
        let mut master = start(process::die_with_parent(&mut command))?;
        let message = follow(master.stderr.take());
        loop {
            if socket.exists() {
                return Ok(Self { destination, options, folder, master });
            }
            if master.try_wait()?.is_some() {
                let message = last_words(&message.join().unwrap_or_default());
                return Err(RemoteError::Connect { host: destination, message });
            }
            thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The host's name.
    pub fn name(&self) -> &Destination {
        &self.destination
    }

    /// The processor as `uname -m` names it there.
    ///
    /// # Errors
    /// [`RemoteError::Lost`].
    pub fn processor(&self) -> Result<String, RemoteError> {
        self.text("uname -m", Stdio::null()).map(|text| text.trim().to_owned())
    }

    /// Puts a program there, into a folder of its own from which programs may run.
    ///
    /// # Errors
    /// [`RemoteError::Push`] if no folder has room for it or lets it run.
    pub fn push(self: &Arc<Self>, program: &Path) -> Result<Program, RemoteError> {
        let file = File::open(program)?;
        let kib = file.metadata()?.len().div_ceil(1024);
        let folder = self.text(&placing(kib), file.into()).map_err(|error| match error {
            RemoteError::Failed { host, message, .. } => RemoteError::Push { host, message },
            other => other,
        })?;
        Ok(Program { host: Arc::clone(self), folder: folder.trim().to_owned() })
    }

    /// Standard output of a shell command there, which gets `input`.
    ///
    /// # Errors
    /// [`RemoteError::Lost`]; [`RemoteError::Failed`] with the end of its standard error if it does not
    /// exit with 0.
    pub fn text(&self, line: &str, input: Stdio) -> Result<String, RemoteError> {
        let output = self.output(line, input)?;
        let code = output.status.code().unwrap_or(OWN_FAILURE);
        if code != 0 {
            let message = last_words(&String::from_utf8_lossy(&output.stderr));
            return Err(RemoteError::Failed { host: self.destination.clone(), message, code });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A shell command there, ready to start.
    fn command(&self, line: &str) -> Command {
        let mut command = ssh(&self.options, &self.socket());
        command.args(["-o", "ControlMaster=no", "-o", "BatchMode=yes", "-T", "--"]);
        // Whatever the user's shell there is.
        command.arg(self.destination.as_str()).arg(format!("exec sh -c {}", quote(line)));
        command
    }

    fn output(&self, line: &str, input: Stdio) -> Result<Output, RemoteError> {
        let mut command = self.command(line);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = start(&mut command)?.wait_with_output()?;
        if output.status.code().is_none_or(|code| code == OWN_FAILURE) {
            let message = last_words(&String::from_utf8_lossy(&output.stderr));
            return Err(RemoteError::Lost { host: self.destination.clone(), message });
        }
        Ok(output)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let mut command = ssh(&self.options, &self.socket());
        command.args(["-O", "exit", "--"]).arg(self.destination.as_str());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ended = command.status().is_ok_and(|status| status.success());
        if !ended {
            let _ = self.master.kill();
        }
        let _ = self.master.wait();
    }
}

impl Program {
    /// The host it is on.
    pub fn host(&self) -> &Destination {
        self.host.name()
    }

    /// The command that runs it there with these arguments, as the last thing: its streams are that
    /// program's.
    pub fn last_command<'w>(&self, arguments: impl IntoIterator<Item = &'w str>) -> Command {
        self.host.command(&self.last_line(arguments))
    }

    fn removal(&self) -> String {
        format!("rm -rf {}", quote(&self.folder))
    }

    /// Runs it there with these arguments, as the last thing, and gives its standard output.
    ///
    /// # Errors
    /// [`RemoteError::Failed`] with the end of its standard error if it does not exit with 0.
    pub fn run<'w>(
        &self,
        arguments: impl IntoIterator<Item = &'w str>,
    ) -> Result<String, RemoteError> {
        self.host.text(&self.last_line(arguments), Stdio::null()).map_err(|error| match error {
            // Its own name is no news.
            RemoteError::Failed { host, message, code } => {
                let message = message.strip_prefix("teiji: ").unwrap_or(&message).to_owned();
                RemoteError::Failed { host, message, code }
            }
            other => other,
        })
    }

    /// Runs it there with these arguments and `input`, as the last thing, however it ends.
    ///
    /// # Errors
    /// [`RemoteError::Lost`].
    pub fn output<'w>(
        &self,
        arguments: impl IntoIterator<Item = &'w str>,
        input: Stdio,
    ) -> Result<Output, RemoteError> {
        self.host.output(&self.last_line(arguments), input)
    }

    /// The program removes itself when it ends, also if this one was killed or the connection was lost.
    fn last_line<'w>(&self, arguments: impl IntoIterator<Item = &'w str>) -> String {
        let program = quote(&format!("{}/teiji", self.folder));
        let words: Vec<String> = arguments.into_iter().map(quote).collect();
        format!("{program} {}; code=$?; {}; exit $code", words.join(" "), self.removal())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nobody is left to tell if the connection is gone.
        let _ = self.host.text(&self.removal(), Stdio::null());
    }
}

/// The script that puts a program of this size from standard input into the first folder that has
/// room for it and lets it run, and prints that folder. A `/tmp` may be mounted noexec, or be full; a
/// root file system in memory may not say how large it is.
fn placing(kib: u64) -> String {
    format!(
        "for place in \"${{TMPDIR:-/tmp}}\" /var/tmp /run \"$HOME\" /dev/shm; do \
             d=$(mktemp -d \"$place/teiji.XXXXXX\") || continue; \
             free=$(df -Pk \"$d\" | sed -n '2s/.* \\([0-9][0-9]*\\)  *[0-9][0-9]*%.*/\\1/p'); \
             if [ \"${{free:-{kib}}}\" -ge {kib} ] && printf '#!/bin/sh\\n' >\"$d/teiji\" && \
                 chmod 700 \"$d/teiji\" && \"$d/teiji\"; then \
                 if cat >\"$d/teiji\" && \"$d/teiji\" --version >&2; \
                     then echo \"$d\"; exit 0; fi; \
                 rm -rf \"$d\"; exit 1; \
             fi; \
             echo \"$place: ${{free:-unknown}} KiB are free of {kib}, or no program may run there\" >&2; \
             rm -rf \"$d\"; \
         done; exit 1"
    )
}

/// `ssh` with what all calls share.
fn ssh(options: &SshOptions, socket: &Path) -> Command {
    let mut command = with_configuration(options);
    // Ctrl-C is for this program, which still needs the connection for the undo.
    process::ignore_interrupt(&mut command);
    let mut path = OsString::from("ControlPath=");
    path.push(socket);
    command.arg("-o").arg(path);
    // What a configuration may have for sessions of people.
    for option in [
        "RemoteCommand=none",
        "PermitLocalCommand=no",
        "ForwardAgent=no",
        "ForwardX11=no",
        "ClearAllForwardings=yes",
        // The connection ends with this program.
        "ControlPersist=no",
    ] {
        command.args(["-o", option]);
    }
    command.args(["-o", "ServerAliveInterval=5", "-o"]);
    command.arg(format!("ServerAliveCountMax={SILENCES}"));
    command
}

fn with_configuration(options: &SshOptions) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &options.config {
        command.arg("-F").arg(config);
    }
    command
}

/// The user's configuration for a host, as `ssh -G` prints it.
fn configuration(options: &SshOptions, host: &Destination) -> Result<String, RemoteError> {
    let mut command = with_configuration(options);
    command.args(["-G", "--"]).arg(host.as_str());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let printed = start(&mut command)?.wait_with_output()?.stdout;
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

/// True if the time to connect is not the user's. Through another host it is: a person may have to
/// type the password of that one meanwhile.
fn leaves_timeout(configuration: &str) -> bool {
    let has = |word: &str| configuration.lines().any(|line| line.starts_with(word));
    has("connecttimeout none") && !has("proxyjump ") && !has("proxycommand ")
}

fn start(command: &mut Command) -> Result<Child, RemoteError> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => RemoteError::NoSsh,
        _ => RemoteError::Start(error),
    })
}

/// Reads what a child writes until it ends.
pub fn follow(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the user's own ssh makes of our options with this configuration; `None` without ssh.
    fn configured(text: &str, ours: bool) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config");
        std::fs::write(&config, text).unwrap();
        let options = SshOptions { config: Some(config) };
        let host: Destination = "ssh:board".parse().unwrap();
        if !ours {
            return configuration(&options, &host).ok();
        }
        let output = ssh(&options, Path::new("/s")).args(["-G", "board"]).output().ok()?;
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn what_a_person_configured_for_sessions_does_not_apply() {
        let text = "ControlPersist yes\nLocalForward 1234 there:22\nExitOnForwardFailure yes\n";
        let Some(printed) = configured(text, true) else { return println!("SKIP: no ssh") };
        assert!(printed.contains("\ncontrolpersist no\n"), "{printed}");
        assert!(printed.contains("\nclearallforwardings yes\n"), "{printed}");
        assert!(!printed.contains("localforward"), "{printed}");
    }

    #[test]
    fn a_silent_host_has_a_short_timeout_or_the_configured_one() {
        let leaves = |text| configured(text, false).map(|printed| leaves_timeout(&printed));
        if leaves("").is_none() {
            return println!("SKIP: no ssh");
        }
        assert_eq!(leaves("Host other\nConnectTimeout 60\n"), Some(true));
        assert_eq!(leaves("ConnectTimeout 60\n"), Some(false));
        assert_eq!(leaves("ProxyJump gate\n"), Some(false));
        assert_eq!(leaves("ProxyCommand nc %h %p\n"), Some(false));
    }

    #[test]
    fn a_program_is_put_where_it_has_room_and_may_run() {
        let dir = tempfile::tempdir().unwrap();
        let place = |kib: u64| {
            let program = File::open("/bin/true").unwrap();
            let mut command = Command::new("sh");
            command.arg("-c").arg(placing(kib)).env("TMPDIR", dir.path()).stdin(program);
            command.output().unwrap()
        };
        let placed = place(1);
        let folder = String::from_utf8(placed.stdout).unwrap();
        assert_eq!(placed.status.code(), Some(0), "{}", String::from_utf8_lossy(&placed.stderr));
        assert!(Path::new(folder.trim()).join("teiji").exists(), "{folder}");
        // More than any disk has: nothing stays behind.
        let refused = place(u64::from(u32::MAX) << 20);
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(message.contains(&format!("{}: ", dir.path().display())), "{message}");
        assert!(message.contains("KiB are free of") && !message.contains("unknown"), "{message}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
