//! Experiment files: a question as TOML, read into [`Experiment`], with every
//! mistake explained.
//!
//! The file has hosts, wires, flows and round trips, and cases that override parts of them.
//! Reading resolves inheritance: each [`Case`] holds a complete [`Scenario`],
//! and nothing downstream knows how it was written. No I/O here: text in,
//! values or diagnostics out.
//!
//! One direction, one module a step:
//!
//! ```text
//! text ── syntax ─→ tree ── overrides ─→ cases ─→ read ─→ drafts ── check ─→ Experiment
//!                    (every value remembers where it was written)
//! ```
//!
//! Findings gather in one log on the way, so that a single reading names all
//! of them. [`keys`] declares each key; docs/experiments.md is held to it.
#![forbid(unsafe_code)]

mod alone;
mod cases;
mod check;
mod draft;
mod fields;
mod host_profile;
pub mod keys;
mod log;
pub mod mistake;
mod nic_source;
mod overrides;
mod print;
pub mod profile;
mod read;
pub mod reader;
pub mod scenario;
pub mod suggest;
mod syntax;
mod threshold;
mod tree;

pub use host_profile::HostProfile;
pub use keys::profile::NicSettings;
pub use mistake::{Mistake, Mistakes, Place, Severity};
pub use profile::{PortProfile, Profile, PtpServices};
pub use reader::{NicSource, Reader, Reading};
pub use scenario::{
    AllowedLoss, Case, Cbs, Etf, Experiment, Flow, Gate, Host, InstructionTime, Judge, JudgeBy,
    Mqprio, Nic, PauseLength, Phc, Port, Ptp, PtpProfile, PtpRole, PtpTimestamps, Qdisc, QdiscTree,
    QueueRange, Relation, RequiredCount, RequiredFigure, Requirement, RoundTrips, Scenario,
    SendMode, Taprio, TaprioMode, Transport, VtsnSettings, Wire,
};
pub use threshold::Threshold;
