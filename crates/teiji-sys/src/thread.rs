//! Scheduling of any thread of this machine, by its number: policy, priority, CPUs.
#![expect(unsafe_code, reason = "sched_setscheduler and its kin take pointers")]

use teiji_core::domain::RtPriority;

use crate::error::{SysError, check};
use crate::sched::CpuSet;

/// Policy and priority as the kernel numbers them (`sched(7)`), so that what
/// somebody else had set can be put back exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPolicy {
    /// `SCHED_OTHER` 0, `SCHED_FIFO` 1, `SCHED_RR` 2, …; may carry
    /// `SCHED_RESET_ON_FORK`.
    pub policy: i32,
    /// 1 to 99 for real-time policies, else 0.
    pub priority: i32,
}

impl ThreadPolicy {
    /// `SCHED_OTHER`: not in real time.
    pub const OTHER: Self = Self { policy: libc::SCHED_OTHER, priority: 0 };

    /// `SCHED_FIFO` at `priority`.
    pub fn fifo(priority: RtPriority) -> Self {
        Self { policy: libc::SCHED_FIFO, priority: priority.get().into() }
    }

    /// `SCHED_RR` at `priority`.
    pub fn rr(priority: RtPriority) -> Self {
        Self { policy: libc::SCHED_RR, priority: priority.get().into() }
    }
}

/// A thread's number as the calls want it; 0 would be the calling thread.
fn number(tid: u32) -> Result<libc::pid_t, SysError> {
    let missing = || SysError::new("thread number", std::io::Error::from_raw_os_error(libc::ESRCH));
    libc::pid_t::try_from(tid).ok().filter(|tid| *tid > 0).ok_or_else(missing)
}

/// How a thread is scheduled.
///
/// # Errors
/// `ESRCH` if there is no such thread.
pub fn policy(tid: u32) -> Result<ThreadPolicy, SysError> {
    let tid = number(tid)?;
    let mut param = libc::sched_param { sched_priority: 0 };
    // SAFETY: integers only.
    let policy = check("sched_getscheduler", unsafe { libc::sched_getscheduler(tid) })?;
    // SAFETY: `param` is valid and writable.
    check("sched_getparam", unsafe { libc::sched_getparam(tid, &raw mut param) })?;
    Ok(ThreadPolicy { policy, priority: param.sched_priority })
}

/// Schedules a thread so. Its nice value stays.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, `ESRCH` if there is no such thread, `EINVAL` for a
/// priority outside the policy's range.
pub fn set_policy(tid: u32, wanted: ThreadPolicy) -> Result<(), SysError> {
    let tid = number(tid)?;
    let param = libc::sched_param { sched_priority: wanted.priority };
    // SAFETY: `param` is valid for the call.
    let result = unsafe { libc::sched_setscheduler(tid, wanted.policy, &raw const param) };
    check("sched_setscheduler", result).map(drop)
}

/// The CPUs a thread may run on, in ascending order.
///
/// # Errors
/// `ESRCH` if there is no such thread.
pub fn cpus(tid: u32) -> Result<Vec<u16>, SysError> {
    Ok(CpuSet::of(number(tid)?)?.members().collect())
}

/// Confines a thread to `cpus`; those that do not exist are passed over by the kernel.
///
/// # Errors
/// `EINVAL` if none of them can be used, or for a thread that is bound to its CPU;
/// `EPERM` without `CAP_SYS_NICE`.
pub fn set_cpus(tid: u32, cpus: &[u16]) -> Result<(), SysError> {
    let tid = number(tid)?;
    CpuSet::from_members(cpus).apply_to(tid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// Runs `test` with the number of another thread, which waits meanwhile.
    fn with_other_thread(test: impl FnOnce(u32)) {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                let link = std::fs::read_link("/proc/thread-self").unwrap();
                sender.send(link.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap();
                let _ = ended.recv();
            });
            test(receiver.recv().unwrap());
            drop(end);
        });
    }

    #[test]
    fn another_threads_policy_is_set_and_put_back() {
        with_other_thread(|tid| {
            let before = policy(tid).unwrap();
            assert_eq!(before, ThreadPolicy::OTHER);
            let seven = RtPriority::new(7).unwrap();
            for wanted in [ThreadPolicy::fifo(seven), ThreadPolicy::rr(RtPriority::LEAST)] {
                match set_policy(tid, wanted) {
                    Ok(()) => assert_eq!(policy(tid).unwrap(), wanted),
                    Err(error) => {
                        assert_eq!(error.errno(), libc::EPERM);
                        println!("SKIP: real-time priorities are not available here: {error}");
                    }
                }
            }
            set_policy(tid, before).unwrap();
            assert_eq!(policy(tid).unwrap(), before);
        });
    }

    #[test]
    fn another_threads_cpus_are_set_and_put_back() {
        with_other_thread(|tid| {
            let before = cpus(tid).unwrap();
            set_cpus(tid, &before[..1]).unwrap();
            assert_eq!(cpus(tid).unwrap(), before[..1]);
            set_cpus(tid, &before).unwrap();
            assert_eq!(cpus(tid).unwrap(), before);
        });
    }

    #[test]
    fn a_thread_that_does_not_exist_is_an_error_and_never_oneself() {
        for tid in [0, u32::MAX, 0x7FFF_FFFF] {
            assert_eq!(policy(tid).unwrap_err().errno(), libc::ESRCH, "{tid}");
            assert_eq!(set_policy(tid, ThreadPolicy::OTHER).unwrap_err().errno(), libc::ESRCH);
        }
    }
}
