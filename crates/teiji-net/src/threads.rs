//! Threads of the kernel: finding them by name, scheduling them.
//!
//! Their names say what they do: `ksoftirqd/0`, `ktimers/0`, `irq/24-eth0`,
//! `napi/eth0-8193`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teiji_experiment::scenario::Policy;
use teiji_sys::thread::{self, ThreadPolicy};

use crate::cause::Cause;
use crate::cpus;
use crate::netlink::KernelError;

/// `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
const SCHED_RESET_ON_FORK: i32 = 0x4000_0000;
/// Thread names that are about packets, timers and interrupts.
const KINDS: [&str; 4] = ["irq/", "ksoftirqd/", "ktimers/", "napi/"];

/// A thread of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KernelThread {
    pub(crate) tid: u32,
    pub(crate) name: String,
    /// When it began, in ticks since boot: numbers are used again.
    pub(crate) started: u64,
}

/// How a thread of the kernel is scheduled, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// Its name.
    pub name: String,
    /// Its policy and priority: `fifo 50`, `other`.
    pub policy: String,
    /// Its real-time priority; 0 for a thread without.
    pub priority: u8,
    /// The CPUs it may run on.
    pub cpus: Vec<u16>,
}

/// The kernel's threads that are about packets, timers, interrupts and RCU, by number.
pub fn scheduled() -> Vec<Scheduled> {
    let wanted = |thread: &KernelThread| is_about_packets(&thread.name) || is_rcu(&thread.name);
    list()
        .into_iter()
        .filter(wanted)
        .filter_map(|thread| {
            let is = thread::policy(thread.tid).ok()?;
            Some(Scheduled {
                policy: name_of(is),
                priority: u8::try_from(is.priority).unwrap_or(0),
                cpus: thread::cpus(thread.tid).ok()?,
                name: thread.name,
            })
        })
        .collect()
}

/// `rcuc/0`, `rcub/1`: they run RCU's callbacks, and boost its readers.
fn is_rcu(name: &str) -> bool {
    name.starts_with("rcuc/") || name.starts_with("rcub/")
}

/// The kernel's threads, by number.
pub(crate) fn list() -> Vec<KernelThread> {
    list_below(Path::new("/proc"))
}

fn list_below(proc: &Path) -> Vec<KernelThread> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let tids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut threads: Vec<KernelThread> = tids.filter_map(|tid| look(proc, tid)).collect();
    threads.sort_unstable_by_key(|thread| thread.tid);
    threads
}

fn look(proc: &Path, tid: u32) -> Option<KernelThread> {
    parse(tid, &fs::read_to_string(proc.join(format!("{tid}/stat"))).ok()?)
}

/// Reads `/proc/TID/stat` (`proc(5)`); `None` for what is no thread of the kernel.
fn parse(tid: u32, stat: &str) -> Option<KernelThread> {
    // A name may have blanks and brackets: it ends at the last bracket.
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // Fields from the third, the state, on.
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let kernel = number(9)? & KERNEL_THREAD != 0;
    kernel.then_some(KernelThread { tid, name: name.to_owned(), started: number(22)? })
}

/// True if a thread of this name is about packets, timers and interrupts.
pub(crate) fn is_about_packets(name: &str) -> bool {
    KINDS.iter().any(|kind| name.starts_with(kind))
}

/// What threads there are, for somebody who named one that is not there.
pub(crate) fn there(threads: &[KernelThread]) -> String {
    let known = threads.iter().filter(|thread| is_about_packets(&thread.name));
    let names: Vec<&str> = known.map(|thread| thread.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Schedules a thread so.
pub(crate) fn schedule(thread: &KernelThread, policy: Policy) -> Result<(), Cause> {
    let wanted = match policy {
        Policy::Other => ThreadPolicy::OTHER,
        Policy::Fifo(priority) => ThreadPolicy::fifo(priority),
        Policy::Rr(priority) => ThreadPolicy::rr(priority),
    };
    thread::set_policy(thread.tid, wanted).map_err(|error| refused(thread, &error))
}

/// Confines a thread to `cpus`.
pub(crate) fn confine(thread: &KernelThread, cpus: &[u16]) -> Result<(), Cause> {
    thread::set_cpus(thread.tid, cpus).map_err(|error| refused(thread, &error))
}

fn refused(thread: &KernelThread, error: &teiji_sys::SysError) -> Cause {
    match error.errno() {
        // No thread of that name is left, which the kernel's number would not say.
        3 => Cause::Text(format!("{} has ended meanwhile", thread.name)),
        errno => Cause::Kernel(KernelError { errno, extack: None }),
    }
}

/// How threads are scheduled: `fifo 50`, or with names where they differ; `None`
/// if there are none.
pub(crate) fn policies(threads: &[KernelThread]) -> Option<String> {
    common(threads, |thread| Some(name_of(thread::policy(thread.tid).ok()?)))
}

/// Where threads may run, as a list, likewise.
pub(crate) fn places(threads: &[KernelThread]) -> Option<String> {
    common(threads, |thread| Some(cpus::list(&thread::cpus(thread.tid).ok()?)))
}

fn common(
    threads: &[KernelThread],
    value_of: impl Fn(&KernelThread) -> Option<String>,
) -> Option<String> {
    let values: Vec<(&str, String)> =
        threads.iter().filter_map(|t| Some((t.name.as_str(), value_of(t)?))).collect();
    let (_, first) = values.first()?;
    if values.iter().all(|(_, value)| value == first) {
        return Some(first.clone());
    }
    Some(
        values.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "),
    )
}

fn name_of(is: ThreadPolicy) -> String {
    match is.policy & !SCHED_RESET_ON_FORK {
        0 => "other".to_owned(),
        1 => format!("fifo {}", is.priority),
        2 => format!("rr {}", is.priority),
        3 => "batch".to_owned(),
        5 => "idle".to_owned(),
        6 => "deadline".to_owned(),
        other => format!("policy {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KSOFTIRQD: &str = "15 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 7 0 0 20 0 1 0 23 0 \
                             0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 0 0 0 0";

    #[test]
    fn threads_of_the_kernel_are_found_by_name_and_start() {
        let found = parse(15, KSOFTIRQD).unwrap();
        assert_eq!((found.name.as_str(), found.started), ("ksoftirqd/0", 23));
        // Names that look like the end of themselves.
        let odd = KSOFTIRQD.replace("ksoftirqd/0", "irq/24-PCIe PME) S 0 (x");
        assert_eq!(parse(15, &odd).unwrap().name, "irq/24-PCIe PME) S 0 (x");
    }

    #[test]
    fn a_program_that_calls_itself_so_is_none() {
        // 4194304 is PF_RANDOMIZE: a program of somebody.
        let program = KSOFTIRQD.replace("69238848", "4194304");
        assert_eq!(parse(15, &program), None);
        for text in ["", "15", "15 (x", "15 (x) S 2 0"] {
            assert_eq!(parse(15, text), None, "{text:?}");
        }
    }

    #[test]
    fn a_name_that_is_missing_is_answered_with_those_that_are_there() {
        let proc = tempfile::tempdir().unwrap();
        let names = ["rcuc/0", "irq/24-eth0", "ksoftirqd/0", "kworker/0:1", "napi/eth0-8193"];
        for (tid, name) in (30..).zip(names) {
            let folder = proc.path().join(format!("{tid}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("stat"), KSOFTIRQD.replace("ksoftirqd/0", name)).unwrap();
        }
        fs::create_dir(proc.path().join("sys")).unwrap();
        let threads = list_below(proc.path());
        assert_eq!(threads.len(), names.len());
        assert_eq!(there(&threads), "irq/24-eth0, ksoftirqd/0, napi/eth0-8193");
        assert_eq!(there(&[]), "none");
    }
}
