//! Profiles that are applied to this machine: all of a profile or nothing, and put back on demand, when nobody
//! confirms it, or when the program that applies it is killed.
//!
//! ```text
//!   apply ─→ guard ─→ journal: what there was ─→ steps ─→ compared with the profile ─→ journal: applied
//!              │                                  └ failed: put back                       │
//!              └ the program died: put back                            not confirmed: put back
//! ```
//!
//! * [`store`] – the journal and its locks, in `/run/teiji`, which a start of the machine empties as it does the
//!   kernel's settings,
//! * [`machine`] – applying, confirming, putting back,
//! * [`guard`] – starting the process that puts back when nobody else does,
//! * [`guard_process`] – that process,
//! * [`at_boot`] – the unit of systemd that applies a profile at each start.
#![forbid(unsafe_code)]

pub mod at_boot;
mod error;
pub mod guard;
pub mod guard_process;
pub mod machine;
pub mod store;

pub use error::ProfileError;
pub use machine::{Applied, Options, Source};
pub use store::{Journal, State, Store};
