//! Scheduling of the calling thread: real-time priority, CPU affinity, locked
//! memory. What was changed is put back when the guard is dropped.
#![expect(unsafe_code, reason = "sched_*, mlockall and getrlimit take pointers")]

use std::marker::PhantomData;

use teiji_core::domain::RtPriority;
use thiserror::Error;

use crate::error::{SysError, check};

/// Why the scheduling of a thread could not be changed.
#[derive(Debug, Error)]
pub enum SchedError {
    /// The process may not have real-time threads of this priority.
    #[error(
        "no right to real-time priority {priority}: CAP_SYS_NICE is missing and RLIMIT_RTPRIO is \
         {limit}; run as root, or `setcap cap_sys_nice+ep` the program, or raise `rtprio` in \
         /etc/security/limits.conf"
    )]
    NoRealtimeRight {
        /// What was requested.
        priority: RtPriority,
        /// The highest priority that `RLIMIT_RTPRIO` allows.
        limit: u64,
    },
    /// The right is there, but the control group has no real-time budget.
    #[error(
        "real-time priority {priority} was refused although CAP_SYS_NICE is there: the control \
         group has no real-time budget (cpu.rt_runtime_us), or a sandbox forbids it"
    )]
    NoRealtimeBudget {
        /// What was requested.
        priority: RtPriority,
    },
    /// The CPU does not exist, is offline, or is not allowed here.
    #[error(
        "CPU {cpu} cannot be used: it does not exist, is offline, or this process is confined to others; allowed here: {allowed}"
    )]
    Cpu {
        /// What was requested.
        cpu: u16,
        /// The CPUs that are allowed, as a list like `0-1,3`.
        allowed: String,
    },
    /// The process may not lock that much memory.
    #[error(
        "no right to lock memory: CAP_IPC_LOCK is missing and RLIMIT_MEMLOCK is {limit} bytes; run \
         as root, or raise `memlock` in /etc/security/limits.conf"
    )]
    NoLockRight {
        /// `RLIMIT_MEMLOCK` in bytes.
        limit: u64,
    },
    /// Anything else.
    #[error(transparent)]
    Sys(#[from] SysError),
}

/// A capability that scheduling and sockets may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Interfaces, qdiscs, `SO_TXTIME`, priorities above 6.
    NetAdmin,
    /// `AF_PACKET` sockets.
    NetRaw,
    /// Locking memory.
    IpcLock,
    /// Network namespaces, mounts.
    SysAdmin,
    /// Real-time priorities.
    SysNice,
}

impl Capability {
    /// Bit number in `include/uapi/linux/capability.h`.
    const fn bit(self) -> u32 {
        match self {
            Self::NetAdmin => 12,
            Self::NetRaw => 13,
            Self::IpcLock => 14,
            Self::SysAdmin => 21,
            Self::SysNice => 23,
        }
    }
}

/// Whether the calling thread has `capability` in effect. False where procfs
/// is not mounted.
pub fn has(capability: Capability) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .is_some_and(|set| (set >> capability.bit()) & 1 == 1)
}

/// The soft limit of a resource of this process.
fn limit(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid, writable rlimit64. On failure it stays 0.
    unsafe { libc::getrlimit64(resource, &raw mut limit) };
    limit.rlim_cur
}

/// The highest real-time priority that this process may take without `CAP_SYS_NICE`
/// (`RLIMIT_RTPRIO`); 0: none.
pub fn realtime_limit() -> u64 {
    limit(libc::RLIMIT_RTPRIO)
}

/// True if this process may lock all of its memory, what it will get included.
pub fn may_lock_memory() -> bool {
    limit(libc::RLIMIT_MEMLOCK) == libc::RLIM64_INFINITY || has(Capability::IpcLock)
}

/// The calling thread runs under `SCHED_FIFO` while this lives; dropping it
/// restores the policy and priority from before. Stays on its thread.
#[derive(Debug)]
#[must_use = "the priority is given back when this is dropped"]
pub struct Realtime {
    policy: libc::c_int,
    before: libc::sched_param,
    thread: PhantomData<*const ()>,
}

impl Realtime {
    /// Puts the calling thread under `SCHED_FIFO` at `priority`.
    ///
    /// # Errors
    /// [`SchedError::NoRealtimeRight`] without the right,
    /// [`SchedError::NoRealtimeBudget`] if the thread's control group may not run real-time
    /// threads.
    pub fn enter(priority: RtPriority) -> Result<Self, SchedError> {
        let mut before = libc::sched_param { sched_priority: 0 };
        // SAFETY: pid 0 is the calling thread; no pointers.
        let policy = check("sched_getscheduler", unsafe { libc::sched_getscheduler(0) })?;
        // SAFETY: pid 0 is the calling thread; `before` is valid and writable.
        check("sched_getparam", unsafe { libc::sched_getparam(0, &raw mut before) })?;
        let wanted = libc::sched_param { sched_priority: libc::c_int::from(priority.get()) };
        match set_policy(libc::SCHED_FIFO, wanted) {
            Ok(()) => Ok(Self { policy, before, thread: PhantomData }),
            Err(error) if error.errno() != libc::EPERM => Err(error.into()),
            Err(_) if has(Capability::SysNice) => Err(SchedError::NoRealtimeBudget { priority }),
            Err(_) => {
                Err(SchedError::NoRealtimeRight { priority, limit: limit(libc::RLIMIT_RTPRIO) })
            }
        }
    }
}

/// The calling thread has another nice value while this lives.
#[derive(Debug)]
#[must_use = "the nice value is given back when this is dropped"]
pub struct Nice {
    before: libc::c_int,
    thread: PhantomData<*const ()>,
}

impl Nice {
    /// Gives the calling thread a nice value, up to 19: the higher, the less of the CPU. Less than it
    /// has needs `CAP_SYS_NICE`.
    ///
    /// # Errors
    /// What the kernel refuses: less than the thread has, without the capability.
    pub fn enter(value: u8) -> Result<Self, SchedError> {
        // SAFETY: integers; 0 is the calling thread. A failure cannot be told from -1, and is none
        // for the calling thread.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        set_nice(libc::c_int::from(value))?;
        Ok(Self { before, thread: PhantomData })
    }
}

impl Drop for Nice {
    fn drop(&mut self) {
        // Refused without the capability; the thread ends soon then.
        drop(set_nice(self.before));
    }
}

fn set_nice(value: libc::c_int) -> Result<(), SysError> {
    // SAFETY: integers; 0 is the calling thread.
    check("setpriority", unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) }).map(drop)
}

impl Drop for Realtime {
    fn drop(&mut self) {
        // Lowering one's own priority needs no right; if the kernel refuses
        // nevertheless, staying real-time is harmless to the caller.
        let _ = set_policy(self.policy, self.before);
    }
}

fn set_policy(policy: libc::c_int, param: libc::sched_param) -> Result<(), SysError> {
    // SAFETY: pid 0 is the calling thread; `param` is valid for the call.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const param) };
    check("sched_setscheduler", result).map(drop)
}

/// The calling thread runs on one CPU while this lives; dropping it restores
/// the set of CPUs from before. Stays on its thread.
#[derive(Debug)]
#[must_use = "the affinity is given back when this is dropped"]
pub struct Pinned {
    before: CpuSet,
    thread: PhantomData<*const ()>,
}

impl Pinned {
    /// Confines the calling thread to `cpu`.
    ///
    /// # Errors
    /// [`SchedError::Cpu`] if this process may not run there, or there is no such CPU.
    pub fn to(cpu: u16) -> Result<Self, SchedError> {
        let before = CpuSet::current()?;
        let refused = || SchedError::Cpu { cpu, allowed: before.to_string() };
        let wanted = CpuSet::single(cpu).ok_or_else(refused)?;
        match wanted.apply() {
            Ok(()) => Ok(Self { before, thread: PhantomData }),
            Err(error) if error.errno() == libc::EINVAL => Err(refused()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The set was the thread's own a moment ago; a refusal can only mean
        // that CPUs went offline, and then the kernel has moved us already.
        let _ = self.before.apply();
    }
}

/// The CPUs that the calling thread may run on; empty if the kernel does not
/// say.
pub fn allowed_cpus() -> Vec<u16> {
    CpuSet::current().map_or_else(|_| Vec::new(), |set| set.members().collect())
}

/// Bit mask of CPUs, as large as the largest kernel configuration (8192).
#[derive(Clone, Debug)]
pub(crate) struct CpuSet([u64; 128]);

impl CpuSet {
    /// Those of `cpus` that a kernel can have.
    pub(crate) fn from_members(cpus: &[u16]) -> Self {
        let mut set = Self([0; 128]);
        for cpu in cpus {
            if let Some(word) = set.0.get_mut(usize::from(cpu / 64)) {
                *word |= 1 << (cpu % 64);
            }
        }
        set
    }

    fn single(cpu: u16) -> Option<Self> {
        let mut set = Self([0; 128]);
        *set.0.get_mut(usize::from(cpu / 64))? |= 1 << (cpu % 64);
        Some(set)
    }

    fn current() -> Result<Self, SysError> {
        Self::of(0)
    }

    /// Those of a thread; 0 is the calling one.
    pub(crate) fn of(tid: libc::pid_t) -> Result<Self, SysError> {
        let mut set = Self([0; 128]);
        // SAFETY: the kernel writes at most the given number of bytes into the
        // array; any bit pattern is valid for it.
        let result =
            unsafe { libc::sched_getaffinity(tid, size_of_val(&set.0), set.0.as_mut_ptr().cast()) };
        check("sched_getaffinity", result).map(|_| set)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = u16> + '_ {
        (0..u16::MAX).filter(|cpu| {
            self.0.get(usize::from(cpu / 64)).is_some_and(|word| (word >> (cpu % 64)) & 1 == 1)
        })
    }

    fn apply(&self) -> Result<(), SysError> {
        self.apply_to(0)
    }

    /// Confines a thread to them; 0 is the calling one.
    pub(crate) fn apply_to(&self, tid: libc::pid_t) -> Result<(), SysError> {
        // SAFETY: the kernel reads at most the given number of bytes.
        let result =
            unsafe { libc::sched_setaffinity(tid, size_of_val(&self.0), self.0.as_ptr().cast()) };
        check("sched_setaffinity", result).map(drop)
    }
}

impl std::fmt::Display for CpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&cpu_list(&self.members().collect::<Vec<u16>>()))
    }
}

/// CPUs in ascending order as the kernel lists them: `0-2,5`.
pub fn cpu_list(cpus: &[u16]) -> String {
    let mut ranges = Vec::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(cpu, next)| **cpu == *next).count();
        let last = rest[run - 1];
        ranges.push(if run == 1 { first.to_string() } else { format!("{first}-{last}") });
        rest = &rest[run..];
    }
    ranges.join(",")
}

/// Locks the memory of the whole process into RAM, what it has now and (where
/// the right is unlimited) what it will get, and touches the stack of the
/// calling thread, so that no page fault delays a frame. Stays in force until
/// the process ends: other threads may rely on it.
///
/// # Errors
/// [`SchedError::NoLockRight`] if the limit on locked memory is too low.
pub fn lock_memory() -> Result<(), SchedError> {
    let limit = limit(libc::RLIMIT_MEMLOCK);
    // With a finite limit, locking the future as well would turn the next
    // large allocation into a failed one.
    let future = if may_lock_memory() { libc::MCL_FUTURE } else { 0 };
    // SAFETY: mlockall takes flags and no pointers.
    match check("mlockall", unsafe { libc::mlockall(libc::MCL_CURRENT | future) }) {
        Ok(_) => {
            prefault_stack();
            Ok(())
        }
        Err(error) if matches!(error.errno(), libc::EPERM | libc::ENOMEM) => {
            Err(SchedError::NoLockRight { limit })
        }
        Err(error) => Err(error.into()),
    }
}

/// Touches the next 64 KiB of the calling thread's stack.
#[inline(never)]
#[expect(clippy::large_stack_arrays, reason = "the point is to touch the stack")]
fn prefault_stack() {
    let stack = [1_u8; 64 * 1024];
    std::hint::black_box(&stack);
}

#[cfg(test)]
#[path = "sched_tests.rs"]
mod tests;
