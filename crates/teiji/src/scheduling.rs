//! How the thread that sends or receives is scheduled.

use teiji_core::domain::RtPriority;
use teiji_sys::sched::{self, Nice, Pinned, Realtime, SchedError};

/// Scheduling that a run requests. The default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// `SCHED_FIFO` priority; `None` leaves the thread's class.
    pub realtime: Option<RtPriority>,
    /// The only CPU to run on.
    pub cpu: Option<u16>,
    /// Lock the process's memory, so that no page fault delays a frame. This
    /// stays until the process ends.
    pub lock_memory: bool,
}

/// The thread is scheduled as requested while this lives, and as before
/// afterwards.
#[derive(Debug)]
#[must_use = "scheduling is given back when this is dropped"]
pub(crate) struct Entered {
    // Dropped in this order: an ordinary thread again before it may move.
    _realtime: Option<Realtime>,
    _pinned: Option<Pinned>,
    _nice: Option<Nice>,
}

impl Entered {
    /// And with this nice value.
    pub(crate) fn with_nice(self, value: Option<u8>) -> Result<Self, SchedError> {
        Ok(Self { _nice: value.map(Nice::enter).transpose()?, ..self })
    }
}

/// Something that runs on a thread which is already scheduled as requested, so that whoever
/// waits for it does not wait for its turn among ordinary threads. Stays on its thread.
#[derive(Debug)]
#[must_use = "scheduling is given back when this is dropped"]
pub struct Scheduled<T> {
    pub(crate) role: T,
    pub(crate) entered: Entered,
}

impl Scheduling {
    /// Locks the process's memory, on request. May be called again.
    pub(crate) fn lock_memory(self) -> Result<(), SchedError> {
        if self.lock_memory { sched::lock_memory() } else { Ok(()) }
    }

    /// Schedules the calling thread as asked.
    pub(crate) fn enter(self) -> Result<Entered, SchedError> {
        let pinned = self.cpu.map(Pinned::to).transpose()?;
        self.lock_memory()?;
        // Last, so that the set-up above does not run in real time.
        let realtime = self.realtime.map(Realtime::enter).transpose()?;
        Ok(Entered { _realtime: realtime, _pinned: pinned, _nice: None })
    }
}
