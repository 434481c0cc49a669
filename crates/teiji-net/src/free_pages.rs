//! The free pages that each CPU keeps to itself: shortening its list to a new limit.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::thread;

use teiji_sys::sched::Pinned;

use crate::cpus;

/// Under which key it is observed how long the longest list was before the first frame.
pub(crate) const LONGEST_AT_START: &str = "longest list of free pages at the start";
/// What [`shorten`] does, as a plain command: frees some hundred pages on each CPU, several times.
pub(crate) const COMMAND: &str = "for c in $(seq 0 $(($(nproc --all) - 1))); do for i in $(seq 16); do \
     taskset -c $c dd if=/dev/zero of=/dev/null bs=1M count=1 status=none; done; done";

/// Frees of a page or more between two looks at the lists.
const FREES: usize = 64;
/// Looks at the lists at most: where a free gives back 31 pages, they suffice for 30 GiB.
const LOOKS: usize = 4_096;
/// What is sent and thrown away: some pages of the kernel's.
static THROWN_AWAY: [u8; 32 << 10] = [0; 32 << 10];

/// Has each CPU give back what its list has above its limit, as far as this process may run there.
///
/// The kernel follows a new `vm.percpu_pagelist_high_fraction` when a page is freed on the CPU: some
/// of what the list has too many goes with each, and up to 32 batches at once with the second of
/// two blocks of pages (`nr_pcp_free`, `mm/page_alloc.c`). So pages are freed here before anybody
/// has to wait for that.
pub(crate) fn shorten() {
    for cpu in cpus::online() {
        let done = thread::Builder::new().spawn(move || shorten_on(cpu));
        let _ = done.map(thread::JoinHandle::join);
    }
}

fn shorten_on(cpu: u16) {
    let Ok(_on_it) = Pinned::to(cpu) else { return };
    let mut before = u64::MAX;
    for _ in 0..LOOKS {
        for _ in 0..FREES {
            free_some();
        }
        let zones = fs::read_to_string("/proc/zoneinfo").unwrap_or_default();
        let too_many: u64 = lists_of(&zones, cpu).iter().map(|list| list.too_many()).sum();
        // What does not become less is a zone's in which nothing was freed here.
        if too_many == 0 || too_many >= before {
            return;
        }
        before = too_many;
    }
}

/// How many free pages the longest list of any CPU and zone has; `None` if the kernel does not say.
pub(crate) fn longest() -> Option<u64> {
    let zones = fs::read_to_string("/proc/zoneinfo").ok()?;
    lists(&zones).iter().map(|(_, list)| list.count).max()
}

/// Takes some of the kernel's pages and frees them, on this CPU.
fn free_some() {
    if let Ok((mut near, _far)) = UnixStream::pair() {
        let _ = near.set_nonblocking(true);
        let _ = near.write(&THROWN_AWAY);
    }
}

/// A CPU's list of a zone's free pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct List {
    count: u64,
    high: u64,
}

impl List {
    fn too_many(self) -> u64 {
        self.count.saturating_sub(self.high)
    }
}

/// The lists of `cpu`, one a zone.
fn lists_of(zoneinfo: &str, cpu: u16) -> Vec<List> {
    lists(zoneinfo).into_iter().filter(|(of, _)| *of == cpu).map(|(_, list)| list).collect()
}

/// Each list with its CPU, in the words of `/proc/zoneinfo` (`zoneinfo_show_print`, `mm/vmstat.c`).
fn lists(zoneinfo: &str) -> Vec<(u16, List)> {
    let mut lists: Vec<(u16, List)> = Vec::new();
    for line in zoneinfo.lines() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim();
        match (key, lists.last_mut()) {
            ("cpu", _) => lists.extend(value.parse().map(|cpu| (cpu, List::default()))),
            ("count", Some((_, list))) => list.count = value.parse().unwrap_or(0),
            ("high", Some((_, list))) => list.high = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_zone_has_a_list_a_cpu() {
        let zoneinfo = "\
Node 0, zone    DMA32
  pages free     98719
        high     967
  pagesets
    cpu: 0
              count: 6925
              high:  9071
              batch: 31
              high_min: 124
              high_max: 9071
  vm stats threshold: 24
    cpu: 1
              count: 67
              high:  124
              batch: 31
  vm stats threshold: 24
  node_unreclaimable:  0
Node 0, zone   Normal
  pagesets
    cpu: 1
              count: 5
              high:  6
              batch: 31
";
        assert_eq!(lists_of(zoneinfo, 0), [List { count: 6_925, high: 9_071 }]);
        assert_eq!(
            lists_of(zoneinfo, 1),
            [List { count: 67, high: 124 }, List { count: 5, high: 6 }]
        );
        assert_eq!(List { count: 125, high: 124 }.too_many(), 1);
        assert_eq!(lists_of(zoneinfo, 2), []);
        assert_eq!(lists_of("", 0), []);
    }
}
