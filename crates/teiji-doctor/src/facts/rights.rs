//! What this program may do.

use serde::{Deserialize, Serialize};
use teiji_sys::sched::{self, Capability};

/// Rights and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Interfaces, qdiscs, launch times (`CAP_NET_ADMIN`).
    pub net_admin: bool,
    /// Real-time priorities (`CAP_SYS_NICE`).
    pub sys_nice: bool,
    /// The highest real-time priority without that (`RLIMIT_RTPRIO`).
    pub rtprio_limit: u64,
    /// All memory may be locked (`CAP_IPC_LOCK`, or no `RLIMIT_MEMLOCK`).
    pub memory_lock: bool,
}

impl Rights {
    /// Those of the calling thread.
    pub(super) fn now() -> Self {
        Self {
            net_admin: sched::has(Capability::NetAdmin),
            sys_nice: sched::has(Capability::SysNice),
            rtprio_limit: sched::realtime_limit(),
            memory_lock: sched::may_lock_memory(),
        }
    }

    /// A thread may have a real-time priority.
    pub const fn realtime(&self) -> bool {
        self.sys_nice || self.rtprio_limit > 0
    }
}
