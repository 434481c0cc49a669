//! What a kernel has before a plan changes it, as plain commands: they keep it in a
//! variable of the shell, and put it back from there.

use super::{RT_RUNTIME, SystemSetting, idle_latency, sysctl_name, thread_name};
use crate::fair_server::FAIR_SERVERS;

impl SystemSetting {
    /// The variable that keeps what there was.
    fn variable(&self) -> String {
        let name = match self {
            Self::Sysctl { path, .. } => sysctl_name(path),
            Self::Threads { name, cpu, .. } => thread_name(name, *cpu),
            Self::RealTime { .. } => "real-time".to_owned(),
            Self::IdleLatency { cpu, .. } => idle_latency::name(*cpu),
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        format!("before_{}", name.chars().map(plain).collect::<String>())
    }

    /// The command that lists the threads.
    fn threads(name: &str, cpu: Option<u16>) -> String {
        match cpu {
            Some(cpu) => format!("pgrep -x {name}/{cpu}"),
            None => format!("pgrep '^{name}/'"),
        }
    }

    /// The command that remembers what there is.
    pub(crate) fn remember(&self) -> String {
        let variable = self.variable();
        match self {
            Self::Sysctl { path, .. } => format!("{variable}=$(sysctl -n {})", sysctl_name(path)),
            Self::Threads { name, cpu, .. } => format!(
                "{variable}=$(for t in $({}); do echo $t $(chrt -p $t | sed 's/.*: //'); done)",
                Self::threads(name, *cpu)
            ),
            Self::RealTime { .. } => format!(
                "{variable}=$(sysctl -n {}; for f in {FAIR_SERVERS}/cpu*/runtime; do \
                 if [ -e $f ]; then echo $f $(cat $f); fi; done)",
                sysctl_name(RT_RUNTIME)
            ),
            Self::IdleLatency { cpu, .. } => {
                let files = idle_latency::files(*cpu);
                format!("{variable}=$(for f in {files}; do echo $f $(cat $f); done)")
            }
        }
    }

    /// The command that puts it back.
    pub(crate) fn restore(&self) -> String {
        let variable = self.variable();
        match self {
            Self::Sysctl { path, .. } => {
                format!("sysctl -qw {}=\"${variable}\"", sysctl_name(path))
            }
            Self::Threads { .. } => format!(
                "echo \"${variable}\" | while read t policy priority; do case $policy in \
                 SCHED_FIFO*) chrt -f -p $priority $t;; SCHED_RR*) chrt -r -p $priority $t;; \
                 *) chrt -o -p 0 $t;; esac; done"
            ),
            Self::IdleLatency { .. } => {
                format!("echo \"${variable}\" | while read f limit; do echo $limit > $f; done")
            }
            // The servers first: see `UNLIMITED`.
            Self::RealTime { .. } => format!(
                "echo \"${variable}\" | while read f runtime; do \
                 if [ \"$runtime\" ]; then echo $runtime > $f; fi; done; \
                 sysctl -qw {}=$(echo \"${variable}\" | head -n 1)",
                sysctl_name(RT_RUNTIME)
            ),
        }
    }
}
