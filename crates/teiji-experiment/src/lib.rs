//! Experiment files: a question as TOML, read into [`Experiment`], with every
//! mistake explained.
//!
//! The file has hosts, wires and flows, and cases that override parts of them.
//! Reading resolves inheritance: each [`Case`] holds a complete [`Scenario`],
//! and nothing downstream knows how it was written. No I/O here: text in,
//! values or diagnostics out.
#![forbid(unsafe_code)]

pub mod scenario;

pub use scenario::{
    Case, Etf, Experiment, Flow, Host, LeafQdisc, Nic, Port, Qdisc, QueueRange, Scenario, SendMode,
    Transport, Wire,
};
