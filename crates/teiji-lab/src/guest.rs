//! The guest's side: what `teiji` does when the kernel starts it as init.
//!
//! It mounts the kernel's file systems, loads the modules that the host put
//! into the initramfs, starts the measuring program as a child, and hands the
//! child's result to the host. As process 1 it must not die: every failure
//! becomes a message.

mod board;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::fetched;
use crate::protocol::{self, Kind, PORT_NAME};

/// Modules in the initramfs, loaded in the order of their names.
pub const MODULES_DIR: &str = "lib/teiji";
/// Marks an initramfs of Teiji; holds what the measuring program needs.
pub const JOB_PATH: &str = "teiji/job";
/// Where the measuring program leaves its result.
pub const RESULT_PATH: &str = "/run/result";
/// Where the measuring program's errors go.
const CHILD_STDERR: &str = "/run/stderr";

/// The word of the kernel command line for a guest that is a board, behind `teiji.`.
pub const BOARD_WORD: &str = "board";

/// Module parameter: the emulated watchdog fires after so much virtual time
/// without a sign of life, the most its register holds.
const WATCHDOG_HEARTBEAT: &str = "heartbeat=2046";
/// The same for a kernel that has the driver built in.
pub(crate) const WATCHDOG_ON_COMMAND_LINE: &str = "i6300esb.heartbeat=2046";
/// How often init gives a sign of life, on the watchdog's clock, which is QEMU's. Rare, because
/// waking costs the measurement a few instructions.
const WATCHDOG_INTERVAL: Duration = Duration::from_secs(900);

/// Words on the kernel command line that are meant for init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitArgs {
    /// `teiji.deadline=SECONDS`: most virtual time the measurement may take.
    pub deadline: Option<Duration>,
    /// `teiji.shell`: give a person a shell instead of measuring.
    pub shell: bool,
    /// `teiji.board`: be a board that people reach by SSH.
    pub board: bool,
    /// `teiji.slowdown=FACTOR`: this clock is so many times slower than QEMU's.
    pub slowdown: Option<u32>,
    /// Everything else that begins with `teiji.`, for the measuring program.
    pub rest: BTreeMap<String, String>,
}

impl InitArgs {
    /// Reads a kernel command line.
    pub fn parse(line: &str) -> Self {
        let mut args = Self::default();
        for word in line.split_whitespace().filter_map(|word| word.strip_prefix("teiji.")) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "deadline" => args.deadline = value.parse().ok().map(Duration::from_secs),
                "shell" => args.shell = true,
                BOARD_WORD => args.board = true,
                "slowdown" => args.slowdown = value.parse().ok().filter(|&factor| factor > 0),
                _ => {
                    args.rest.insert(key.to_owned(), value.to_owned());
                }
            }
        }
        args
    }
}

/// True if this process is init of a laboratory guest.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new("/").join(JOB_PATH).exists()
}

/// Runs the guest: `measure` builds the arguments with which this program is
/// started again to measure. Never returns; the host switches the machine off.
pub fn init(measure: impl FnOnce(&InitArgs) -> Vec<OsString>) -> ! {
    let mut port = None;
    if let Err(sentence) = run(measure, &mut port) {
        eprintln!("teiji: {sentence}");
        let port = match &mut port {
            Some(port) => Ok(port),
            none => open_port().map(|opened| none.insert(opened)),
        };
        let send = |port| protocol::send(port, Kind::Failure, sentence.as_bytes()).is_ok();
        if port.is_ok_and(send) {
            wait_for_the_host();
        }
    }
    let error = teiji_sys::guest::power_off();
    eprintln!("teiji: cannot switch off: {error}");
    wait_for_the_host()
}

fn wait_for_the_host() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn run(
    measure: impl FnOnce(&InitArgs) -> Vec<OsString>,
    port: &mut Option<File>,
) -> Result<(), String> {
    mount_all()?;
    let args = InitArgs::parse(&fs::read_to_string("/proc/cmdline").unwrap_or_default());
    // Boards run in real time, and collect random numbers as every machine.
    if !args.board {
        start_random(&args)?;
    }
    if args.shell {
        // A kernel without debugfs has none to show.
        let _ = teiji_sys::guest::mount("debugfs", "/sys/kernel/debug", "");
        load_modules()?;
        shell()?;
        return match fs::read_to_string(Path::new("/").join(fetched::LIST_PATH)) {
            Ok(list) => fetched::send(&list, port.insert(open_port()?))
                .map_err(|error| format!("cannot send the files: {error}")),
            Err(_) => Ok(()),
        };
    }
    load_modules()?;
    if args.board {
        return board::serve(port.insert(open_port()?));
    }
    let mut watchdog = Watchdog::arm();
    let arguments = measure(&args);
    let child = Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(
            File::create(CHILD_STDERR).map_err(|e| format!("cannot write {CHILD_STDERR}: {e}"))?,
        )
        .spawn()
        .map_err(|e| format!("cannot start the measurement: {e}"))?;
    let outcome = wait_for(child, &args, &mut watchdog);
    // Only now: talking to the host would disturb the measurement.
    let port = port.insert(open_port()?);
    let lost = |error| format!("cannot reach the host: {error}");
    if let Ok(result) = fs::read(RESULT_PATH) {
        protocol::send(port, Kind::Result, &result).map_err(lost)?;
    }
    outcome?;
    protocol::send(port, Kind::End, &[]).map_err(lost)?;
    wait_for_the_host()
}

/// Waits for the measurement, at most until the deadline in virtual time.
fn wait_for(mut child: Child, args: &InitArgs, watchdog: &mut Watchdog) -> Result<(), String> {
    let pid = child.id();
    let sign = WATCHDOG_INTERVAL / args.slowdown.unwrap_or(1);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    let started = Instant::now();
    loop {
        let left = args.deadline.map(|d| d.saturating_sub(started.elapsed()));
        let wait = left.unwrap_or(sign).min(sign);
        match ended.recv_timeout(wait) {
            Ok(Ok(status)) if status.success() => return Ok(()),
            Ok(Ok(status)) => {
                let stderr = fs::read_to_string(CHILD_STDERR).unwrap_or_default();
                let stderr = stderr.trim();
                return Err(if stderr.is_empty() {
                    format!("the measurement ended with {status}")
                } else {
                    stderr.to_owned()
                });
            }
            Ok(Err(error)) => return Err(format!("cannot wait for the measurement: {error}")),
            Err(_) => watchdog.alive(),
        }
        if left.is_some_and(|left| left <= sign) {
            return Err(format!(
                "the measurement (process {pid}) was not done after {} s of virtual time",
                started.elapsed().as_secs()
            ));
        }
    }
}

/// The kernel's random numbers, thus its random delays and addresses, follow from the seed. They are
/// there before anybody needs them: a kernel that has none computes until its timers have given it
/// some, which under a program of a higher real-time priority than theirs is for ever.
fn start_random(args: &InitArgs) -> Result<(), String> {
    let seed: u64 = args.rest.get("seed").and_then(|seed| seed.parse().ok()).unwrap_or_default();
    let mut secret = [0; 32];
    for part in secret.chunks_exact_mut(8) {
        part.copy_from_slice(&seed.to_le_bytes());
    }
    teiji_sys::guest::credit_random(secret).map_err(|error| error.to_string())
}

fn mount_all() -> Result<(), String> {
    for (kind, target) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        fs::create_dir_all(target).map_err(|e| format!("cannot make {target}: {e}"))?;
        teiji_sys::guest::mount(kind, target, "")
            .map_err(|e| format!("cannot mount {target}: {e}"))?;
    }
    Ok(())
}

fn load_modules() -> Result<(), String> {
    let dir = Path::new("/").join(MODULES_DIR);
    let mut modules: Vec<PathBuf> = fs::read_dir(&dir)
        .map_err(|e| format!("cannot list {}: {e}", dir.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    modules.sort();
    for path in modules {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let params = if name.contains("i6300esb") { WATCHDOG_HEARTBEAT } else { "" };
        File::open(&path)
            .map_err(|e| e.to_string())
            .and_then(|file| load_module(&file, params))
            .map_err(|e| format!("cannot load the kernel module {name}: {e}"))?;
    }
    Ok(())
}

fn load_module(file: &File, params: &str) -> Result<(), String> {
    match teiji_sys::guest::load_module(file.as_fd(), params) {
        Err(error) if !teiji_sys::guest::is_loaded_already(&error) => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn open_port() -> Result<File, String> {
    let ports = Path::new("/sys/class/virtio-ports");
    let found = fs::read_dir(ports).ok().and_then(|entries| {
        entries.flatten().find(|entry| {
            fs::read_to_string(entry.path().join("name")).is_ok_and(|n| n.trim() == PORT_NAME)
        })
    });
    let entry = found.ok_or("this kernel has no virtio serial port (CONFIG_VIRTIO_CONSOLE)")?;
    let path = Path::new("/dev").join(entry.file_name());
    OpenOptions::new()
        .write(true)
        .open(&path)
        .map_err(|e| format!("cannot open {}: {e}", path.display()))
}

/// The emulated watchdog, or nothing where the kernel has no driver for it:
/// then only the host's limit in real time ends a guest that hangs.
struct Watchdog(Option<File>);

impl Watchdog {
    fn arm() -> Self {
        Self(OpenOptions::new().write(true).open("/dev/watchdog").ok())
    }

    fn alive(&mut self) {
        if let Some(file) = &mut self.0 {
            let _ = file.write_all(b".");
        }
    }
}

fn shell() -> Result<(), String> {
    // The `console=` of the kernel's command line; its name differs by architecture.
    let active = fs::read_to_string("/sys/class/tty/console/active")
        .map_err(|e| format!("cannot find the console: {e}"))?;
    let line = Path::new("/dev").join(active.trim().rsplit(' ').next().unwrap_or_default());
    let console = |write: bool| {
        OpenOptions::new()
            .read(!write)
            .write(write)
            .open(&line)
            .map_err(|e| format!("cannot open the console: {e}"))
    };
    let mut command = Command::new("/bin/sh");
    command
        .arg("-l")
        .env("HOME", "/root")
        .env("TERM", "linux")
        .env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin")
        .env("PS1", "lab # ")
        .stdin(console(false)?)
        .stdout(console(true)?)
        .stderr(console(true)?);
    teiji_sys::guest::own_terminal(&mut command);
    command.status().map_err(|e| format!("cannot start the shell: {e}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_init_are_distinguished_from_those_of_the_kernel() {
        let args =
            InitArgs::parse("console=ttyS0 teiji.deadline=90 quiet teiji.case=etf teiji.seed=3");
        assert_eq!(args.deadline, Some(Duration::from_secs(90)));
        assert!(!args.shell);
        assert_eq!(args.rest["case"], "etf");
        assert_eq!(args.rest["seed"], "3");
    }
}
