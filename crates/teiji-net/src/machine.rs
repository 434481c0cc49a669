//! The machine a run took place on, as far as it explains the result: kernel,
//! clocks, CPUs. Read from procfs and sysfs; what cannot be read is `None`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;

use crate::fair_server::{self, FairServer};
use crate::release::version_number;

/// The machine as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -v`: build number, preemption model, date.
    pub kernel_version: Option<String>,
    /// The kernel is fully preemptible (`PREEMPT_RT`).
    pub preempt_rt: bool,
    /// The kernel's command line.
    pub command_line: Option<String>,
    /// What the kernel's time is derived from, for example `tsc`.
    pub clocksource: Option<String>,
    /// How far `CLOCK_TAI` is ahead of `CLOCK_REALTIME`; 0 where nobody set it.
    pub tai_offset: Span,
    /// The first CPU's name.
    pub cpu_model: Option<String>,
    /// CPUs in use, as the kernel writes the list: `0-3`.
    pub cpus_online: Option<String>,
    /// CPUs kept free of ordinary work (`isolcpus`), as a list; empty: none.
    pub cpus_isolated: Option<String>,
    /// The first CPU's frequency governor.
    pub governor: Option<String>,
    /// Runs under a hypervisor, which may take the CPU away unseen.
    pub virtual_machine: bool,
    /// Real-time throttling: microseconds out of each period that real-time
    /// tasks may run; −1: no limit.
    pub rt_runtime_us: Option<i64>,
    /// The period of that limit in microseconds.
    pub rt_period_us: Option<i64>,
    /// The fair servers by CPU, on kernels that limit real-time tasks by these (6.12 and newer);
    /// `None` where debugfs could not be read, and in older records.
    #[serde(default)]
    pub fair_servers: Option<BTreeMap<u16, FairServer>>,
}

/// Looks at this machine.
pub fn observe() -> Machine {
    Machine {
        fair_servers: fair_server::observe(),
        ..observe_below(Path::new("/"), teiji_sys::clock::tai_offset())
    }
}

/// As [`observe`], with procfs and sysfs below `root`.
fn observe_below(root: &Path, tai_offset: Span) -> Machine {
    let line = |path: &str| {
        let text = fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned())
    };
    let number = |path: &str| line(path)?.parse().ok();
    let cpuinfo = line("proc/cpuinfo").unwrap_or_default();
    let kernel_version = line("proc/sys/kernel/version");
    Machine {
        kernel_release: line("proc/sys/kernel/osrelease"),
        // Distributions patch the file in before the mainline merge, all write
        // the version string.
        preempt_rt: line("sys/kernel/realtime").as_deref() == Some("1")
            || kernel_version.as_deref().is_some_and(|v| v.contains("PREEMPT_RT")),
        kernel_version,
        command_line: line("proc/cmdline"),
        clocksource: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        tai_offset,
        cpu_model: cpu_field(&cpuinfo, &["model name", "Model", "Hardware"]),
        cpus_online: line("sys/devices/system/cpu/online"),
        cpus_isolated: line("sys/devices/system/cpu/isolated"),
        governor: line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        virtual_machine: cpu_field(&cpuinfo, &["flags"])
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        rt_runtime_us: number("proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us: number("proc/sys/kernel/sched_rt_period_us"),
        fair_servers: None,
    }
}

/// The first field of `/proc/cpuinfo` with one of these names; x86 and Arm
/// call them differently.
fn cpu_field(cpuinfo: &str, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(key, _)| key.trim() == *name).map(|(_, v)| v.trim().to_owned())
    })
}

impl Machine {
    /// Major and minor version of the kernel.
    pub fn kernel_version_number(&self) -> Option<(u32, u32)> {
        version_number(self.kernel_release.as_deref()?)
    }

    /// Real-time tasks are limited by fair servers, not by the sysctl.
    pub fn has_fair_servers(&self) -> bool {
        self.kernel_release.as_deref().is_some_and(fair_server::is_in)
    }

    /// Real-time tasks may be stopped for a part of each period; a sentence
    /// for the report.
    pub fn rt_throttling(&self) -> Option<String> {
        if let Some(servers) = self.fair_servers.as_ref().filter(|servers| !servers.is_empty()) {
            return fair_server::sentence(servers);
        }
        if self.has_fair_servers() {
            return Some(
                "not known: this kernel has fair servers, and debugfs does not show them"
                    .to_owned(),
            );
        }
        match (self.rt_runtime_us?, self.rt_period_us?) {
            (runtime, period) if runtime >= 0 && runtime < period => Some(format!(
                "real-time tasks may run {runtime} µs of every {period} µs (sysctl kernel.sched_rt_runtime_us)"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_real_time_guest_is_recognised() {
        let root = tree(&[
            ("proc/sys/kernel/osrelease", "6.12.117+deb12-rt-amd64\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 6.12.117-1 (2026-07-01)\n"),
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: QEMU TCG CPU\nflags\t\t: fpu hypervisor\n",
            ),
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ]);
        let machine = observe_below(root.path(), Span::from_secs(37));
        assert!(machine.preempt_rt && machine.virtual_machine);
        assert_eq!(machine.cpu_model.as_deref(), Some("QEMU TCG CPU"));
        assert_eq!(machine.clocksource, None);
        // What the sysctl says means nothing from 6.12 on.
        assert!(machine.rt_throttling().unwrap().starts_with("not known"));
        let server = FairServer { runtime: Span::from_millis(50), period: Span::from_secs(1) };
        let with = |runtime| Machine {
            fair_servers: Some([(0, FairServer { runtime, ..server })].into()),
            ..machine.clone()
        };
        let text = with(server.runtime).rt_throttling().unwrap();
        assert!(text.contains("starve get 50 ms of every 1 s"), "{text}");
        assert_eq!(with(Span::ZERO).rt_throttling(), None);
        let machine = Machine { kernel_release: Some("6.1.0-56-rt-amd64".to_owned()), ..machine };
        let throttling = machine.rt_throttling().unwrap();
        assert!(throttling.contains("950000 µs of every 1000000 µs"), "{throttling}");
    }

    #[test]
    fn an_arm_board_and_unlimited_real_time_are_understood() {
        let root = tree(&[
            ("proc/cpuinfo", "processor : 0\nFeatures : fp\n\nModel : Raspberry Pi 5\n"),
            ("sys/kernel/realtime", "1\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ]);
        let machine = observe_below(root.path(), Span::ZERO);
        assert_eq!(machine.cpu_model.as_deref(), Some("Raspberry Pi 5"));
        assert!(machine.preempt_rt && !machine.virtual_machine);
        assert_eq!(machine.rt_throttling(), None);
    }

    #[test]
    fn the_kernel_of_this_machine_is_read() {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(observe().kernel_release.as_deref(), Some(release.trim()));
    }
}
