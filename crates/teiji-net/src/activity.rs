//! A look at what the kernel's packet processing has done since boot.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use teiji_core::activity::{Activity, CpuActivity, ThreadActivity};
use teiji_core::time::Span;

use crate::threads::{self, KernelThread};

/// The softirqs that packets and timers raise, by the names of `/proc/softirqs`.
const SOFTIRQS: [&str; 4] = ["NET_RX", "NET_TX", "TIMER", "HRTIMER"];

/// The counts since boot. What the kernel does not tell is not there.
pub fn look() -> Activity {
    below(Path::new("/proc"), &threads::list())
}

fn below(proc: &Path, threads: &[KernelThread]) -> Activity {
    let read = |file: &str| fs::read_to_string(proc.join(file)).unwrap_or_default();
    let mut found = Activity::default();
    add_softirqs(&mut found.cpus, &read("softirqs"));
    add_softnet(&mut found.cpus, &read("net/softnet_stat"));
    for thread in threads.iter().filter(|thread| threads::is_about_packets(&thread.name)) {
        let text = |file: &str| read(&format!("{}/{file}", thread.tid));
        let Some(activity) = thread_activity(&text("schedstat"), &text("status")) else {
            continue;
        };
        let all = found.threads.entry(thread.name.clone()).or_default();
        *all = all.combined(activity, |a, b| a + b);
    }
    found
}

/// Reads `/proc/softirqs`: a line of CPUs, then one for each kind.
fn add_softirqs(cpus: &mut BTreeMap<u16, CpuActivity>, text: &str) {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let numbers: Vec<Option<u16>> =
        head.map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
    for line in lines {
        let Some((kind, counts)) = line.split_once(':') else { continue };
        let kind = kind.trim();
        if !SOFTIRQS.contains(&kind) {
            continue;
        }
        for (cpu, count) in numbers.iter().zip(counts.split_whitespace()) {
            if let (Some(cpu), Ok(count)) = (cpu, count.parse()) {
                cpus.entry(*cpu).or_default().softirqs.insert(kind.to_owned(), count);
            }
        }
    }
}

/// Reads `/proc/net/softnet_stat`: a line for each CPU that is online, numbers in
/// hexadecimal; the thirteenth is the CPU's (net/core/net-procfs.c, since 5.10).
fn add_softnet(cpus: &mut BTreeMap<u16, CpuActivity>, text: &str) {
    for line in text.lines() {
        let fields: Vec<u64> =
            line.split_whitespace().map_while(|f| u64::from_str_radix(f, 16).ok()).collect();
        let [frames, dropped, squeezed, ..] = fields[..] else { continue };
        let Some(cpu) = fields.get(12).and_then(|cpu| u16::try_from(*cpu).ok()) else { continue };
        let cpu = cpus.entry(cpu).or_default();
        (cpu.frames, cpu.dropped, cpu.squeezed) = (frames, dropped, squeezed);
    }
}

/// Reads `/proc/TID/schedstat` (ran, waited, times on a CPU) and `/proc/TID/status`.
fn thread_activity(schedstat: &str, status: &str) -> Option<ThreadActivity> {
    let mut times = schedstat.split_whitespace().map(str::parse::<i64>);
    let mut time = || Some(Span::from_ns(times.next()?.ok()?));
    let (ran, waited) = (time()?, time()?);
    let count = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.strip_prefix(':')?.trim().parse().ok()
    };
    Some(ThreadActivity {
        wakeups: count("voluntary_ctxt_switches")?,
        preemptions: count("nonvoluntary_ctxt_switches")?,
        ran,
        waited,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTIRQS: &str = "                    CPU0       CPU1       \n          \
        HI:          1          2\n      NET_TX:         10         20\n      \
        NET_RX:        300        400\n";
    const SOFTNET: &str = "\
        0000012c 00000001 00000005 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n\
        00000190 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000\n";
    const STATUS: &str =
        "Name:\tksoftirqd/0\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";

    fn machine(schedstat: &str) -> (tempfile::TempDir, Vec<KernelThread>) {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("softirqs", SOFTIRQS),
            ("net/softnet_stat", SOFTNET),
            ("15/schedstat", schedstat),
            ("15/status", STATUS),
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let thread = |tid, name: &str| KernelThread { tid, name: name.to_owned(), started: 1 };
        (dir, vec![thread(15, "ksoftirqd/0"), thread(15, "kworker/0:1"), thread(16, "irq/9-gone")])
    }

    #[test]
    fn counters_of_the_kernel_are_read() {
        let (dir, threads) = machine("5000 700 12\n");
        let found = below(dir.path(), &threads);
        assert_eq!(found.cpus[&0].softirqs, [("NET_RX".into(), 300), ("NET_TX".into(), 10)].into());
        let of = |cpu: &CpuActivity| (cpu.frames, cpu.dropped, cpu.squeezed);
        assert_eq!((of(&found.cpus[&0]), of(&found.cpus[&1])), ((300, 1, 5), (400, 0, 0)));
        let (ran, waited) = (Span::from_ns(5_000), Span::from_ns(700));
        let ksoftirqd = ThreadActivity { wakeups: 7, preemptions: 3, ran, waited };
        assert_eq!(found.threads, [("ksoftirqd/0".to_owned(), ksoftirqd)].into());
    }

    #[test]
    fn counters_of_this_machine_can_be_read() {
        let now = look();
        assert!(now.cpus.values().any(|cpu| cpu.softirqs.contains_key("NET_RX")), "{now:?}");
    }
}
