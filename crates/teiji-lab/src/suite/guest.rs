//! The guest's side of a suite: runs the scripts one after the other, unloads the
//! modules, and collects what the kernel has to say.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Needs, Report, SCRIPTS_DIR, ScriptReport};

/// kmemleak takes nothing younger than this for a leak (`MSECS_MIN_AGE` is 5 s).
const LEAK_AGE: Duration = Duration::from_secs(6);
const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";
/// Room for the output of a script in the report.
const OUTPUT_BYTES: usize = 20_000;
/// How often a script is looked at.
const POLL: Duration = Duration::from_millis(50);

/// The tick of Debian's kernels, `CONFIG_HZ=250`.
const TICK_US: u64 = 4_000;

/// Runs every script in [`SCRIPTS_DIR`], in the order of names. `seed` decides the course
/// of events: the kernel's random numbers, and where in its tick the scripts start.
///
/// # Errors
/// If the scripts cannot be read or started, or the guest's debugfs or kernel log cannot be read; a
/// script that fails is in the report.
pub fn run(seed: u64) -> io::Result<Report> {
    // Another seed starts elsewhere in the kernel's tick, too. A prime, so that seeds near each
    // other are far apart in it.
    std::thread::sleep(Duration::from_micros(seed.wrapping_mul(997) % TICK_US));
    let folder = Path::new("/").join(SCRIPTS_DIR);
    let mut scripts =
        fs::read_dir(&folder)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
    scripts.sort();
    teiji_sys::guest::mount("debugfs", "/sys/kernel/debug", "").map_err(io::Error::other)?;
    let mut report = Report::default();
    let mut modules: Vec<String> = Vec::new();
    for script in &scripts {
        let text = fs::read_to_string(script)?;
        modules.extend(Needs::of(&text).modules);
        report.scripts.push(run_script(script, Needs::of(&text).limit)?);
    }
    mark("end of the scripts");
    modules.dedup();
    for module in modules.iter().rev() {
        report.stuck_modules.extend(unload(module));
    }
    look_at_kernel(&mut report)?;
    Ok(report)
}

/// Leaves a mark in the kernel's log and on the console, so that what the kernel says
/// can be distinguished by script. At the level of warnings: others stay off the console.
fn mark(what: &str) {
    // Without it the log is only less telling.
    let _ = fs::write("/dev/kmsg", format!("<4>{}{what}\n", super::gate::MARK));
}

fn run_script(script: &Path, limit: Duration) -> io::Result<ScriptReport> {
    let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
    mark(&name);
    let work = Path::new("/run/suite").join(&name);
    fs::create_dir_all(&work)?;
    let (results, output) = (work.join("results"), work.join("output"));
    File::create(&results)?;
    let out = File::create(&output)?;
    let (started, busy) = (Instant::now(), busy_seconds()?);
    let mut child = Command::new("/bin/sh")
        .arg(script)
        .env("RESULTS", &results)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()?;
    let status = wait(&mut child, limit)?;
    let mut report = ScriptReport { name, ..ScriptReport::default() };
    report.seconds = started.elapsed().as_secs_f64();
    // Idle time is told in other steps than the time itself.
    report.busy_seconds = (busy_seconds()? - busy).max(0.0);
    report.ended_badly = match status {
        None => Some(format!("it was not done after {} s and was ended", limit.as_secs())),
        Some(status) if !status.success() => Some(format!("it ended with {status}")),
        Some(_) => None,
    };
    report.add_results(&String::from_utf8_lossy(&fs::read(&results)?));
    let output_text = fs::read(&output)?;
    let tail = &output_text[output_text.len().saturating_sub(OUTPUT_BYTES)..];
    report.output = String::from_utf8_lossy(tail).into_owned();
    Ok(report)
}

/// What the processors have worked since the boot, in seconds.
fn busy_seconds() -> io::Result<f64> {
    let text = fs::read_to_string("/proc/uptime")?;
    let seconds: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [up, idle] = seconds[..] else {
        return Err(io::Error::other("/proc/uptime: no two numbers"));
    };
    let processors = std::thread::available_parallelism()?.get() as f64;
    Ok(up * processors - idle)
}

/// Waits for a script; whatever it left running in its group is ended with it.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    let mut status = child.try_wait()?;
    while status.is_none() && started.elapsed() < limit {
        std::thread::sleep(POLL);
        status = child.try_wait()?;
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Nobody left in the group is the usual case.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}

/// Unloads a module; the error if it stays.
fn unload(module: &str) -> Option<String> {
    let output = Command::new("/sbin/rmmod").arg(module).output();
    let loaded = fs::read_to_string("/proc/modules").unwrap_or_default();
    let name = format!("{} ", module.replace('-', "_"));
    if !loaded.lines().any(|line| line.starts_with(&name)) {
        return None;
    }
    let output_text = match output {
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("{module}: {output_text}"))
}

fn look_at_kernel(report: &mut Report) -> io::Result<()> {
    if Path::new(KMEMLEAK).exists() {
        // An object counts only when a second scan finds it unreferenced too.
        for _ in 0..2 {
            std::thread::sleep(LEAK_AGE);
            fs::write(KMEMLEAK, "scan")?;
        }
        report.leaks = Some(fs::read_to_string(KMEMLEAK)?);
    }
    report.lockdep_watched = fs::read_to_string("/proc/lockdep_stats").ok().map(|stats| {
        stats.lines().any(|line| {
            line.split_once(':').is_some_and(|(k, v)| k.trim() == "debug_locks" && v.trim() == "1")
        })
    });
    let tainted = fs::read_to_string("/proc/sys/kernel/tainted")?;
    report.tainted = tainted.trim().parse().map_err(io::Error::other)?;
    let log = Command::new("/bin/busybox").args(["dmesg"]).output()?;
    report.kernel_log = String::from_utf8_lossy(&log.stdout).into_owned();
    if report.kernel_log.is_empty() {
        return Err(io::Error::other("the kernel's log cannot be read"));
    }
    Ok(())
}
