//! What is read of a machine. What it does not tell, or not without privilege, is `None` or empty.

pub mod cpu;
pub mod kernel;
pub mod ptp4l;
pub mod rights;

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

use teiji_net::machine::{self, Machine};
use teiji_net::nic::{self, Nic, NicError};
use teiji_net::threads::{self, Scheduled};

use crate::probe::Probe;
pub use cpu::{Cpus, IdleState};
pub use kernel::Kernel;
pub use ptp4l::Ptp4l;
pub use rights::Rights;
pub use teiji_net::daemon::{self, Daemon};

/// A machine that was looked at: what `teiji doctor --json` gives beside the verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// What was measured, with `--probe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// What was read.
    pub facts: Facts,
}

/// Everything that the rules judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Kernel, clocks, CPUs, as a run's report has them.
    pub machine: Machine,
    /// What the kernel was built with.
    pub kernel: Kernel,
    /// How its CPUs save energy.
    pub cpus: Cpus,
    /// Threads of the kernel that are about packets, timers, interrupts and RCU.
    pub threads: Vec<Scheduled>,
    /// Running programs that steer clocks, interrupts or priorities.
    pub daemons: Vec<Daemon>,
    /// The state of the `ptp4l` that `pmc` reaches.
    pub ptp4l: Option<Ptp4l>,
    /// What this program may do.
    pub rights: Rights,
    /// The largest receive buffer that a socket may request, in bytes (`net.core.rmem_max`).
    pub rmem_max: Option<u64>,
    /// Fragments of other datagrams of the same sender between those of one, which is discarded beyond; 0: no limit
    /// (`net.ipv4.ipfrag_max_dist`).
    #[serde(default)]
    pub fragment_distance: Option<u64>,
    /// The interfaces, in the order in which they were named.
    pub nics: Vec<Nic>,
}

impl Facts {
    /// Reads this machine and these interfaces of the calling thread's network namespace.
    ///
    /// # Errors
    /// [`NicError`] for an interface that is not there.
    pub fn read(interfaces: &[String]) -> Result<Self, NicError> {
        Self::read_by(interfaces, |_| false)
    }

    /// The same, of those of the interfaces that have not gone since they were listed.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub fn read_those_there(interfaces: &[String]) -> Result<Self, NicError> {
        Self::read_by(interfaces, |error| matches!(error, NicError::NoInterface(_)))
    }

    /// `passes`: errors of an interface that leave it out.
    fn read_by(interfaces: &[String], passes: fn(&NicError) -> bool) -> Result<Self, NicError> {
        let threads = threads::scheduled();
        let look = |name: &String| nic::look(name, &threads);
        let nics = interfaces.iter().map(look);
        let nics = nics.filter(|found| !found.as_ref().is_err_and(passes));
        let nics = nics.collect::<Result<_, _>>()?;
        let root = Path::new("/");
        let machine = machine::observe();
        let sysctl = |name: &str| {
            fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?.trim().parse().ok()
        };
        Ok(Self {
            kernel: Kernel::read(root, machine.kernel_release.as_deref().unwrap_or_default()),
            cpus: Cpus::read(root),
            threads,
            daemons: daemon::running(root),
            ptp4l: Ptp4l::look(),
            rights: Rights::now(),
            rmem_max: sysctl("core/rmem_max"),
            fragment_distance: sysctl("ipv4/ipfrag_max_dist"),
            machine,
            nics,
        })
    }
}
