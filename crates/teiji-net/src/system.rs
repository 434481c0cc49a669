//! Settings of a host's kernel, as a plan has them and as the kernel says them:
//! threads of its CPUs, budgets, the limit of real-time threads. They are the
//! machine's, not a namespace's.

pub mod idle_latency;
mod remember;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::path::Path;

use teiji_core::time::Span;
use teiji_experiment::scenario::{Host, Policy, RtRuntime, System};
use teiji_sys::debugfs::Debugfs;
use thiserror::Error;

use crate::before::KernelBefore;
use crate::cause::Cause;
use crate::fair_server::{self, FAIR_SERVERS, FairServer};
use crate::netlink::KernelError;
use crate::threads::{self, KernelThread};

/// One setting of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemSetting {
    /// A sysctl of the machine.
    Sysctl {
        /// Its path below `/proc/sys`.
        path: &'static str,
        /// What is written.
        value: i64,
    },
    /// How threads `NAME/CPU` are scheduled.
    Threads {
        /// What they are called before the `/`.
        name: &'static str,
        /// Of this CPU; `None`: of all.
        cpu: Option<u16>,
        /// So.
        policy: Policy,
    },
    /// How long real-time threads may run of each second, as this kernel limits that: by its
    /// fair servers, or by the sysctl.
    RealTime {
        /// `None`: without a limit.
        limit: Option<Span>,
    },
    /// How long CPUs may take to leave an idle state.
    IdleLatency {
        /// This CPU; `None`: all.
        cpu: Option<u16>,
        /// At most so long.
        limit: Span,
    },
}

/// Why a plan cannot be applied to this machine. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SystemRefusal {
    /// No thread has such a name.
    #[error("this kernel has no thread `{name}`; those about packets and interrupts are: {there}{}", hint(.name))]
    NoThread {
        /// What was planned.
        name: String,
        /// What is there.
        there: String,
    },
    /// The kernel has no such setting.
    #[error(
        "there is no `{name}` here: this kernel lacks it, or this is a container with a network namespace of its own; leave it out, or run with --on lab"
    )]
    NoSysctl {
        /// Its name.
        name: String,
    },
    /// A CPU is missing.
    #[error("CPU {cpu} does not exist here or is offline; there are {online}")]
    NoCpu {
        /// What was planned.
        cpu: u16,
        /// What is there, as a list.
        online: String,
    },
    /// Threads may not be scheduled.
    #[error(
        "no right to schedule other threads: CAP_SYS_NICE is missing; run it with sudo, or with --on lab"
    )]
    NoRight,
    /// What limits real-time threads cannot be seen.
    #[error(
        "this kernel limits real-time threads by its fair servers, and debugfs, where they are set, \
         cannot be read; run it with sudo outside of containers, or leave `rt-runtime` out"
    )]
    NoDebugfs,
    /// The kernel takes no limit of idle states.
    #[error(
        "this kernel takes no limit for the idle states of CPU {cpu}: there is no {file} (CONFIG_PM); leave `idle-latency` out"
    )]
    NoIdleLatency {
        /// The CPU.
        cpu: u16,
        /// What is missing.
        file: String,
    },
    /// A setting may not be written.
    #[error(
        "no right to change `{name}` ({error}); run it with sudo, outside of containers, or with --on lab"
    )]
    ReadOnly {
        /// Its name.
        name: String,
        /// The kernel's error.
        error: KernelError,
    },
}

fn hint(name: &str) -> &'static str {
    if name.starts_with("ktimers") {
        " (only some kernels with PREEMPT_RT have ktimers)"
    } else {
        ""
    }
}

/// What a host needs.
pub(crate) fn of_host(host: &Host) -> Vec<SystemSetting> {
    of_kernel(&host.system, host.cpu)
}

/// The settings that this requests; threads are those of `cpu`, or of all.
pub(crate) fn of_kernel(system: &System, cpu: Option<u16>) -> Vec<SystemSetting> {
    let System {
        ksoftirqd,
        ktimers,
        netdev_budget,
        netdev_budget_time,
        dev_weight,
        rt_runtime,
        pagelist_high_fraction,
        idle_latency,
    } = *system;
    let threads =
        |name, policy: Option<Policy>| Some(SystemSetting::Threads { name, cpu, policy: policy? });
    let sysctl = |path, value: Option<i64>| Some(SystemSetting::Sysctl { path, value: value? });
    let real_time = rt_runtime.map(|runtime| SystemSetting::RealTime {
        limit: match runtime {
            RtRuntime::Unlimited => None,
            RtRuntime::Limited(span) => Some(span),
        },
    });
    let time = netdev_budget_time.map(|time| time.as_ns() / 1_000);
    let all = [
        sysctl("net/core/netdev_budget", netdev_budget.map(i64::from)),
        sysctl("net/core/netdev_budget_usecs", time),
        sysctl("net/core/dev_weight", dev_weight.map(i64::from)),
        real_time,
        sysctl("vm/percpu_pagelist_high_fraction", pagelist_high_fraction.map(i64::from)),
        threads("ksoftirqd", ksoftirqd),
        threads("ktimers", ktimers),
        idle_latency.map(|limit| SystemSetting::IdleLatency { cpu, limit }),
    ];
    all.into_iter().flatten().collect()
}

/// What an experiment plans for a host's kernel, by the keys of
/// [`Observed::system`](crate::observe::Observed::system).
pub fn planned(host: &Host) -> BTreeMap<String, String> {
    of_host(host).iter().map(SystemSetting::expected).collect()
}

/// `ksoftirqd/0`, or `ksoftirqd` for those of all CPUs.
fn thread_name(name: &str, cpu: Option<u16>) -> String {
    cpu.map_or_else(|| name.to_owned(), |cpu| format!("{name}/{cpu}"))
}

/// The threads that a name means.
fn find(name: &str, cpu: Option<u16>, all: &[KernelThread]) -> Vec<KernelThread> {
    let exact = thread_name(name, cpu);
    let fits = |thread: &&KernelThread| match cpu {
        Some(_) => thread.name == exact,
        None => thread.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')),
    };
    all.iter().filter(fits).cloned().collect()
}

fn sysctl_file(path: &str) -> String {
    format!("/proc/sys/{path}")
}

fn sysctl_name(path: &str) -> String {
    path.replace('/', ".")
}

/// The sysctl of older kernels.
const RT_RUNTIME: &str = "kernel/sched_rt_runtime_us";
/// What makes it limit nothing. Beside fair servers it bounds the admission of deadline threads, the
/// servers among them, and 6.12 miscounts these: it refuses less than a server has (`EBUSY`) as long
/// as there is a bound.
const UNLIMITED: &str = "-1";
/// Under which the limit of real-time threads is observed.
const REAL_TIME: &str = "real-time threads, µs of each second";

/// debugfs, where it has fair servers.
fn fair_servers() -> Option<Debugfs> {
    Debugfs::open().ok().filter(|debugfs| !fair_server::runtime_files(debugfs).is_empty())
}

/// `uname -r`.
fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()
}

/// As the sysctl has it.
fn micros(limit: Option<Span>) -> i64 {
    limit.map_or(-1, |limit| limit.as_ns() / 1_000)
}

/// What limits real-time threads now, in the words of [`SystemSetting::expected`].
fn real_time_now() -> Option<String> {
    let servers = fair_server::observe().unwrap_or_default();
    if servers.is_empty() {
        let text = fs::read_to_string(sysctl_file(RT_RUNTIME)).ok()?;
        return Some(text.trim().to_owned());
    }
    let limit = |server: &FairServer| match server.runtime {
        Span::ZERO => -1,
        // In microseconds of a second, whatever the period is.
        runtime => {
            let period_ns = server.period.as_ns().max(1);
            1_000_000 - runtime.as_ns().saturating_mul(1_000_000) / period_ns
        }
    };
    let mut limits: Vec<String> =
        servers.values().map(|server| limit(server).to_string()).collect();
    limits.dedup();
    Some(limits.join(", "))
}

impl SystemSetting {
    /// Sets it on this machine; sysctls are those of the calling thread's namespace.
    pub(crate) fn apply(&self) -> Result<(), Cause> {
        match self {
            Self::Sysctl { path, value } => fs::write(sysctl_file(path), value.to_string())
                .map_err(|error| Cause::Kernel(KernelError::from_io(&error))),
            Self::Threads { name, cpu, policy } => {
                let threads = find(name, *cpu, &threads::list());
                threads.iter().try_for_each(|thread| threads::schedule(thread, *policy))
            }
            Self::RealTime { limit } => {
                let written = match fair_servers() {
                    Some(debugfs) => fs::write(sysctl_file(RT_RUNTIME), UNLIMITED)
                        .and_then(|()| fair_server::apply(&debugfs, *limit)),
                    None => fs::write(sysctl_file(RT_RUNTIME), micros(*limit).to_string()),
                };
                written.map_err(|error| Cause::Kernel(KernelError::from_io(&error)))
            }
            Self::IdleLatency { cpu, limit } => idle_latency::apply(Path::new("/"), *cpu, *limit)
                .map_err(|error| Cause::Kernel(KernelError::from_io(&error))),
        }
    }

    /// Under which key it is observed, and what should be there.
    pub(crate) fn expected(&self) -> (String, String) {
        match self {
            Self::Sysctl { path, value } => (sysctl_name(path), value.to_string()),
            Self::Threads { name, cpu, policy } => (thread_name(name, *cpu), policy.to_string()),
            Self::RealTime { limit } => (REAL_TIME.to_owned(), micros(*limit).to_string()),
            Self::IdleLatency { cpu, limit } => {
                (idle_latency::name(*cpu), idle_latency::value(*limit))
            }
        }
    }

    pub(crate) fn observe(&self, all: &[KernelThread]) -> Option<(String, String)> {
        let (key, _) = self.expected();
        let is = match self {
            Self::Sysctl { path, .. } => {
                fs::read_to_string(sysctl_file(path)).ok()?.trim().to_owned()
            }
            Self::Threads { name, cpu, .. } => threads::policies(&find(name, *cpu, all))?,
            Self::RealTime { .. } => real_time_now()?,
            Self::IdleLatency { cpu, .. } => idle_latency::observe(Path::new("/"), *cpu)?,
        };
        Some((key, is))
    }

    /// Looks whether it can be set, and remembers what there is.
    pub(crate) fn inspect(
        &self,
        all: &[KernelThread],
        before: &mut KernelBefore,
    ) -> Result<(), SystemRefusal> {
        match self {
            Self::Sysctl { path, .. } => inspect_sysctl(path, before)?,
            Self::RealTime { .. } => match fair_servers() {
                Some(debugfs) => {
                    inspect_sysctl(RT_RUNTIME, before)?;
                    for file in fair_server::runtime_files(&debugfs) {
                        before.remember_debugfs(&debugfs, &file);
                    }
                }
                None if fair_server::is_in(&release()) => return Err(SystemRefusal::NoDebugfs),
                None => inspect_sysctl(RT_RUNTIME, before)?,
            },
            Self::IdleLatency { cpu, .. } => idle_latency::inspect(Path::new("/"), *cpu, before)?,
            Self::Threads { name, cpu, .. } => {
                let found = find(name, *cpu, all);
                if found.is_empty() {
                    let name = cpu.map_or_else(|| format!("{name}/0"), |_| thread_name(name, *cpu));
                    return Err(SystemRefusal::NoThread { name, there: threads::there(all) });
                }
                for thread in &found {
                    before.remember_thread(thread);
                }
            }
        }
        Ok(())
    }
}

fn inspect_sysctl(path: &str, before: &mut KernelBefore) -> Result<(), SystemRefusal> {
    let (file, name) = (sysctl_file(path), sysctl_name(path));
    if let Err(error) = OpenOptions::new().write(true).open(&file) {
        return Err(match error.kind() {
            std::io::ErrorKind::NotFound => SystemRefusal::NoSysctl { name },
            _ => SystemRefusal::ReadOnly { name, error: KernelError::from_io(&error) },
        });
    }
    before.remember_file(&file);
    Ok(())
}

/// As a plain command.
impl fmt::Display for SystemSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl { path, value } => write!(f, "sysctl -qw {}={value}", sysctl_name(path)),
            Self::Threads { name, cpu: Some(cpu), policy } => {
                write!(f, "{} $(pgrep -x {name}/{cpu})", chrt(*policy))
            }
            Self::Threads { name, cpu: None, policy } => {
                write!(f, "for t in $(pgrep '^{name}/'); do {} $t; done", chrt(*policy))
            }
            Self::RealTime { limit } => write!(
                f,
                "if [ -e {FAIR_SERVERS} ]; then sysctl -qw {name}={UNLIMITED}; {}; else sysctl -qw \
                 {name}={}; fi",
                fair_server::command(*limit),
                micros(*limit),
                name = sysctl_name(RT_RUNTIME),
            ),
            Self::IdleLatency { cpu, limit } => f.write_str(&idle_latency::command(*cpu, *limit)),
        }
    }
}

/// The command that schedules a thread, up to its number.
pub(crate) fn chrt(policy: Policy) -> String {
    match policy {
        Policy::Other => "chrt -o -p 0".to_owned(),
        Policy::Fifo(priority) => format!("chrt -f -p {priority}"),
        Policy::Rr(priority) => format!("chrt -r -p {priority}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(names: &[&str]) -> Vec<KernelThread> {
        let thread =
            |(tid, name): (u32, &&str)| KernelThread { tid, name: (*name).to_owned(), started: 0 };
        (1..).zip(names).map(thread).collect()
    }

    #[test]
    fn a_host_with_a_cpu_means_that_cpus_thread_and_one_without_all_of_them() {
        let all = threads(&["ksoftirqd/0", "ksoftirqd/1", "ksoftirqd/10", "ksoftirqdx/1"]);
        let names = |cpu| {
            let found = find("ksoftirqd", cpu, &all);
            found.into_iter().map(|thread| thread.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Some(1)), ["ksoftirqd/1"]);
        assert_eq!(names(None), ["ksoftirqd/0", "ksoftirqd/1", "ksoftirqd/10"]);
    }

    #[test]
    fn a_thread_that_is_not_there_is_refused_with_those_that_are() {
        let all = threads(&["rcuc/0", "irq/24-eth0", "ksoftirqd/0"]);
        let setting = |name, cpu| SystemSetting::Threads { name, cpu, policy: Policy::Other };
        let refusal = |setting: SystemSetting| {
            setting.inspect(&all, &mut KernelBefore::default()).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(setting("ksoftirqd", Some(3))),
            "this kernel has no thread `ksoftirqd/3`; those about packets and interrupts are: \
             irq/24-eth0, ksoftirqd/0"
        );
        assert!(refusal(setting("ktimers", None)).ends_with(
            "irq/24-eth0, ksoftirqd/0 (only some kernels with PREEMPT_RT have ktimers)"
        ));
        let refusal = refusal(SystemSetting::Sysctl { path: "net/core/no_such", value: 1 });
        assert!(refusal.starts_with("there is no `net.core.no_such` here"), "{refusal}");
    }
}
