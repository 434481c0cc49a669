//! How long a CPU may take to leave an idle state (C-state): the limit that PM `QoS` keeps for each CPU. Its file keeps
//! the value without a process, unlike `/dev/cpu_dma_latency`.
//!
//! The kernel's `Documentation/ABI/testing/sysfs-devices-power` defines the values: microseconds, `0` for no limit and
//! `n/a` for a limit of 0.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use teiji_core::time::Span;

use super::SystemRefusal;
use crate::before::KernelBefore;
use crate::cpus;
use crate::netlink::KernelError;

/// What it is called in findings, of this CPU or of all.
pub(crate) fn name(cpu: Option<u16>) -> String {
    cpu.map_or_else(|| "idle-latency".to_owned(), |cpu| format!("idle-latency of cpu {cpu}"))
}

/// What is written, and read again.
pub(crate) fn value(limit: Span) -> String {
    match limit.as_ns() / 1_000 {
        // A 0 would be no limit.
        0 => "n/a".to_owned(),
        micros => micros.to_string(),
    }
}

/// The limit in microseconds that a CPU's file has; `None` without one.
pub fn limit_us(value: &str) -> Option<i32> {
    match value {
        "n/a" => Some(0),
        "0" => None,
        micros => micros.parse().ok(),
    }
}

/// The files, as a shell finds them.
pub(crate) fn files(cpu: Option<u16>) -> String {
    let cpu = cpu.map_or_else(|| "[0-9]*".to_owned(), |cpu| cpu.to_string());
    format!("/{}", file(&cpu))
}

fn file(cpu: &str) -> String {
    format!("sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// The command that sets it.
pub(crate) fn command(cpu: Option<u16>, limit: Span) -> String {
    let (files, value) = (files(cpu), value(limit));
    match cpu {
        Some(_) => format!("echo {value} > {files}"),
        None => format!("for f in {files}; do echo {value} > $f; done"),
    }
}

/// The CPUs that it is about.
fn wanted(root: &Path, cpu: Option<u16>) -> Vec<u16> {
    if let Some(cpu) = cpu {
        return vec![cpu];
    }
    let online = cpus::online_below(root);
    // The first CPU is always there, and shows whether the kernel has such files.
    if online.is_empty() { vec![0] } else { online }
}

/// Sets it below `root`.
pub(crate) fn apply(root: &Path, cpu: Option<u16>, limit: Span) -> io::Result<()> {
    let set = |cpu: u16| fs::write(root.join(file(&cpu.to_string())), value(limit));
    wanted(root, cpu).into_iter().try_for_each(set)
}

/// What there is, once if all CPUs have the same.
pub(crate) fn observe(root: &Path, cpu: Option<u16>) -> Option<String> {
    let read = |cpu: u16| fs::read_to_string(root.join(file(&cpu.to_string()))).ok();
    let all: Option<Vec<String>> = wanted(root, cpu).into_iter().map(read).collect();
    let mut all: Vec<String> = all?.iter().map(|value| value.trim().to_owned()).collect();
    all.dedup();
    Some(all.join(", "))
}

/// Looks whether it can be set, and remembers what there is.
pub(crate) fn inspect(
    root: &Path,
    cpu: Option<u16>,
    before: &mut KernelBefore,
) -> Result<(), SystemRefusal> {
    let online = cpus::online_below(root);
    for cpu in wanted(root, cpu) {
        if !online.is_empty() && !online.contains(&cpu) {
            return Err(SystemRefusal::NoCpu { cpu, online: cpus::list(&online) });
        }
        let path = root.join(file(&cpu.to_string())).display().to_string();
        if let Err(error) = OpenOptions::new().write(true).open(&path) {
            return Err(match error.kind() {
                io::ErrorKind::NotFound => SystemRefusal::NoIdleLatency { cpu, file: path },
                _ => SystemRefusal::ReadOnly { name: path, error: KernelError::from_io(&error) },
            });
        }
        before.remember_file(&path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these CPUs, which have no limit.
    fn machine(online: &str, cpus: &[u16]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for cpu in cpus {
            let path = root.path().join(file(&cpu.to_string()));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "0\n").unwrap();
        }
        let folder = root.path().join("sys/devices/system/cpu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("online"), online).unwrap();
        root
    }

    #[test]
    fn a_limit_is_set_seen_and_put_back_on_the_cpus_that_it_is_about() {
        let root = machine("0-1\n", &[0, 1, 2]);
        let root = root.path();
        let read = |cpu: u16| fs::read_to_string(root.join(file(&cpu.to_string()))).unwrap();
        let mut before = KernelBefore::default();
        inspect(root, None, &mut before).unwrap();
        apply(root, None, Span::from_micros(20)).unwrap();
        assert_eq!([0, 1, 2].map(read), ["20", "20", "0\n"], "CPU 2 is offline");
        assert_eq!(observe(root, None).as_deref(), Some("20"));
        apply(root, Some(1), Span::ZERO).unwrap();
        assert_eq!(observe(root, Some(1)).unwrap(), value(Span::ZERO));
        assert_eq!(observe(root, None).as_deref(), Some("20, n/a"));
        assert!(before.put_back().is_empty());
        assert_eq!(observe(root, None).as_deref(), Some("0"));
    }

    #[test]
    fn a_kernel_without_such_limits_and_a_cpu_that_is_not_there_are_named() {
        let refusal = |root: &tempfile::TempDir, cpu| {
            let mut before = KernelBefore::default();
            inspect(root.path(), cpu, &mut before).unwrap_err().to_string()
        };
        let bare = machine("0\n", &[]);
        let message = refusal(&bare, None);
        assert!(message.contains("CPU 0") && message.contains("CONFIG_PM"), "{message}");
        assert!(message.contains("leave `idle-latency` out"), "{message}");
        let message = refusal(&machine("0\n", &[0]), Some(7));
        assert_eq!(message, "CPU 7 does not exist here or is offline; there are 0");
        let odd = machine("0\n", &[0]);
        let path = odd.path().join(file("0"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let message = refusal(&odd, None);
        assert!(
            message.starts_with("no right to change `") && message.contains("with sudo"),
            "{message}"
        );
    }

    #[test]
    fn it_prints_as_the_command_that_a_person_would_type() {
        let of_one = "echo n/a > /sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us";
        assert_eq!(command(Some(3), Span::ZERO), of_one);
        let of_all = command(None, Span::from_micros(20));
        assert!(
            of_all.starts_with("for f in /sys/devices/system/cpu/cpu[0-9]*/power/"),
            "{of_all}"
        );
        assert!(of_all.ends_with("; do echo 20 > $f; done"), "{of_all}");
    }
}
