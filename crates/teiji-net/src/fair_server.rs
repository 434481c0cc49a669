//! The fair server: what keeps time for ordinary threads beside real-time ones.
//!
//! Until 6.11 a real-time thread is throttled: it may run `sched_rt_runtime_us` of each
//! `sched_rt_period_us`. Since 6.12 (5f6bd380c7bd, "sched/rt: Remove default bandwidth control") a
//! deadline server of each CPU runs ordinary threads that starve instead, for `runtime` of each
//! `period` (debugfs, `sched/fair_server/cpuN`). The sysctl then bounds the admission of deadline
//! threads only, unless the kernel schedules real-time groups (`CONFIG_RT_GROUP_SCHED`).

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;
use teiji_sys::debugfs::Debugfs;

use crate::cpus;
use crate::release::version_number;

const FOLDER: &str = "sched/fair_server";
/// The same where debugfs is mounted as usual.
pub(crate) const FAIR_SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

/// What a CPU's fair server gives to ordinary threads that starve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FairServer {
    /// So long …
    #[serde(rename = "runtime_ns")]
    pub runtime: Span,
    /// … of each period.
    #[serde(rename = "period_ns")]
    pub period: Span,
}

/// The fair servers of this machine by CPU; none on older kernels, and `None` where debugfs
/// cannot be read.
pub fn observe() -> Option<BTreeMap<u16, FairServer>> {
    let debugfs = Debugfs::open().ok()?;
    let found = cpus_of(&debugfs).into_iter().filter_map(|cpu| {
        let span = |file: &str| {
            let text = debugfs.read(&format!("{FOLDER}/cpu{cpu}/{file}")).ok()?;
            Some(Span::from_ns(text.trim().parse().ok()?))
        };
        Some((cpu, FairServer { runtime: span("runtime")?, period: span("period")? }))
    });
    Some(found.collect())
}

/// What real-time threads are limited by, in words; `None` if by nothing.
pub fn sentence(servers: &BTreeMap<u16, FairServer>) -> Option<String> {
    let mut alike: BTreeMap<FairServer, Vec<u16>> = BTreeMap::new();
    for (cpu, server) in servers.iter().filter(|(_, server)| server.runtime > Span::ZERO) {
        alike.entry(*server).or_default().push(*cpu);
    }
    let several = alike.values().map(Vec::len).sum::<usize>() < servers.len() || alike.len() > 1;
    let values = alike.iter().map(|(server, on)| {
        let place = if several { format!(" on CPU {}", cpus::list(on)) } else { String::new() };
        format!("{} of every {}{place}", server.runtime, server.period)
    });
    let values: Vec<String> = values.collect();
    (!values.is_empty()).then(|| {
        format!(
            "ordinary threads that starve get {} (fair server, debugfs {FOLDER})",
            values.join(", ")
        )
    })
}

/// Whether a kernel of this release has fair servers.
pub(crate) fn is_in(release: &str) -> bool {
    version_number(release).is_some_and(|version| version >= (6, 12))
}

/// The files, below debugfs, that say how long the server of each CPU runs.
pub(crate) fn runtime_files(debugfs: &Debugfs) -> Vec<String> {
    cpus_of(debugfs).into_iter().map(|cpu| format!("{FOLDER}/cpu{cpu}/runtime")).collect()
}

/// Gives real-time threads `limit` of each second; `None`: all of it.
pub(crate) fn apply(debugfs: &Debugfs, limit: Option<Span>) -> io::Result<()> {
    let runtime = runtime_for(limit).as_ns().to_string();
    runtime_files(debugfs).iter().try_for_each(|file| debugfs.write(file, &runtime))
}

/// What the servers have to have so that real-time threads get `limit` of each second.
pub(crate) fn runtime_for(limit: Option<Span>) -> Span {
    limit.map_or(Span::ZERO, |limit| Span::from_secs(1) - limit)
}

/// The shell's words for [`apply`] where debugfs is mounted as usual.
pub(crate) fn command(limit: Option<Span>) -> String {
    format!(
        "for f in {FAIR_SERVERS}/cpu*/runtime; do echo {} > $f; done",
        runtime_for(limit).as_ns()
    )
}

fn cpus_of(debugfs: &Debugfs) -> Vec<u16> {
    let numbers = debugfs.names(FOLDER).into_iter();
    let mut cpus: Vec<u16> =
        numbers.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    cpus.sort_unstable();
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_servers_share_a_sentence_and_inactive_ones_have_none() {
        let server = |ms| FairServer { runtime: Span::from_millis(ms), period: Span::from_secs(1) };
        let shown = |servers: &[(u16, i64)]| {
            sentence(&servers.iter().map(|(cpu, ms)| (*cpu, server(*ms))).collect())
        };
        assert_eq!(
            shown(&[(0, 50), (1, 50)]).unwrap(),
            "ordinary threads that starve get 50 ms of every 1 s (fair server, debugfs \
             sched/fair_server)"
        );
        let mixed = shown(&[(0, 50), (1, 0), (2, 50), (3, 300)]).unwrap();
        assert!(mixed.contains("50 ms of every 1 s on CPU 0,2, 300 ms of every 1 s on CPU 3"));
        assert_eq!(shown(&[(0, 0), (1, 0)]), None);
        assert_eq!(shown(&[]), None);
    }

    #[test]
    fn kernels_with_fair_servers_are_known_by_their_release() {
        for (release, has) in [
            ("6.1.0-56-rt-amd64", false),
            ("6.11.9", false),
            ("6.12.117+deb12-rt-amd64", true),
            ("7.3.4+deb13-rt-amd64", true),
            ("", false),
        ] {
            assert_eq!(is_in(release), has, "{release}");
        }
    }

    #[test]
    fn a_server_runs_for_the_time_that_real_time_threads_do_not_get() {
        assert_eq!(runtime_for(Some(Span::from_millis(950))), Span::from_millis(50));
        assert_eq!(runtime_for(Some(Span::from_secs(1))), Span::ZERO);
        assert_eq!(runtime_for(None), Span::ZERO);
    }
}
