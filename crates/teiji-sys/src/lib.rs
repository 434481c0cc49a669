//! The only crate with `unsafe` code: safe functions over the system calls that
//! Teiji needs, one file a topic.
//!
//! * [`clock`] – reading clocks, sleeping until an instant,
//! * [`sched`] – real-time priority, CPU affinity, locked memory,
//! * [`netns`] – network namespaces,
//! * [`interface`] – names, indices, addresses and sizes of interfaces,
//! * [`ethtool`] – queues, driver, counters and time stamping of a NIC,
//! * [`flow`] – what sockets request of the kernel module prioflow,
//! * [`hwstamp`] – switching hardware time stamps on and back,
//! * [`pass`] – passing descriptors between processes,
//! * [`pidfd`] – another process's end and descriptors,
//! * [`phc`] – how far a NIC's clock is ahead of `CLOCK_TAI`,
//! * [`process`] – children that die with their parent, writers with their reader,
//! * [`seccomp`] – completing system calls of another program,
//! * [`socket`] – datagram sockets, launch times, time stamps, the error queue,
//! * [`tcp`] – what the kernel knows of a connection,
//! * [`thread`] – scheduling of any thread,
//! * [`sysfs`] – sysfs as a network namespace has it,
//! * [`tracefs`] – tracepoints of the kernel,
//! * [`wait`] – waiting for one of several descriptors,
//! * [`guest`] – what the init of the laboratory's guest needs.
//!
//! Nothing here decides: no retries, no defaults, no logging. Decisions are
//! taken by the crates above, which are free of `unsafe`. Linux on 64-bit and little-endian 32-bit processors.
//!
//! Every file that contains `unsafe` says so in its head; the files without
//! that line (parsing, errors) are ordinary safe code.

#[cfg(not(all(target_os = "linux", any(target_pointer_width = "64", target_endian = "little"))))]
compile_error!("teiji-sys knows Linux on 64-bit and on little-endian 32-bit processors only");

mod bpf;
pub mod clock;
pub mod debugfs;
pub mod error;
pub mod ethtool;
pub mod flow;
pub mod guest;
pub mod hwstamp;
pub mod interface;
pub mod netns;
pub mod pass;
pub mod phc;
pub mod pidfd;
pub mod process;
pub mod sched;
pub mod seccomp;
pub mod socket;
pub mod sysfs;
pub mod tcp;
pub mod thread;
pub mod tracefs;
pub mod wait;

mod detached;
mod interface_name;
mod ioctl;
mod time64;

pub use error::SysError;
