//! What an experiment changes on a machine: plan → apply → observe → undo.
//!
//! * [`binding`] – where each host's ports are: veth or vtsn pairs, or NICs,
//! * [`plan`] – what will be changed, step by step, with equivalent commands,
//! * [`qdisc`] – queueing disciplines as values,
//! * [`vtsn`] – settings of a NIC by ethtool, and what only `vtsn` has,
//! * [`system`] – settings of a host's kernel: its threads, budgets, limits,
//! * [`in_place`] – what a profile changes, where its NICs are,
//! * [`processing`] – who processes a port's frames: interrupts, polling, steering,
//! * [`interrupts`] – the interrupts of an interface,
//! * [`flow`] – flow control of a port outside of experiments,
//! * [`before`] – what the kernel had before,
//! * [`apply`] – doing it, and taking it back,
//! * [`real_nic`] – NICs that exist before: what they had, when they are refused,
//! * [`usage`] – what an existing interface is used for,
//! * [`ssh`] – the SSH connection that the program was started from,
//! * [`keeper`] – gives NICs back when the program is killed,
//! * [`observe`] – what the kernel says afterwards, and how it differs,
//! * [`receive_trace`] – how packets come through the receiving kernel,
//! * [`launch`] – what becomes of launch times on an interface,
//! * [`traffic`] – what the kernel counts of an interface's packets,
//! * [`fair_server`] – what keeps time for ordinary threads beside real-time ones,
//! * [`nic`] – an interface and how it is set, without a plan,
//! * [`threads`] – how the kernel's threads are scheduled,
//! * [`daemon`] – running programs that steer clocks, interrupts or priorities,
//! * [`linuxptp`] – the settings of `ptp4l`,
//! * [`cpus`] – sets of CPUs as the kernel writes them,
//! * [`cpu_time`] – how long each CPU is idle,
//! * [`machine`] – kernel, clocks and CPUs, for the report.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use teiji_experiment::Experiment;
//! use teiji_net::{Binding, Plan};
//! # let text = "";
//! let experiment = Experiment::parse(text, "etf.toml")?;
//! let plan = Plan::compile(&experiment.cases[0].scenario, &Binding::veth())?;
//! println!("{}", plan.script());
//! let applied = plan.apply()?;
//! let observed = applied.observe()?;
//! for difference in observed.differences(&plan) {
//!     println!("{difference}");
//! }
//! applied.undo()?;
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

pub mod activity;
pub mod apply;
pub mod before;
pub mod binding;
mod cause;
pub mod command;
pub mod cpu_time;
pub mod cpus;
pub mod daemon;
pub mod error;
mod explain;
pub mod fair_server;
pub mod flow;
pub mod flow_events;
pub mod flow_rules;
mod free_pages;
mod host;
pub mod in_place;
pub mod interrupts;
pub mod keeper;
pub mod launch;
pub mod linuxptp;
pub mod machine;
mod message;
mod netlink;
pub mod nic;
pub mod observe;
pub mod plan;
pub mod processing;
pub mod qdisc;
pub mod real_nic;
pub mod receive_trace;
mod release;
pub mod ssh;
mod support;
pub mod system;
pub mod threads;
pub mod traffic;
pub mod transmit_ring;
pub mod usage;
pub mod vtsn;

pub use apply::{Applied, ApplyOptions, PortAddress, PortExchange, PortInfo};
pub use binding::{Binding, BindingError};
pub use error::NetError;
pub use explain::NO_VTSN;
pub use keeper::KeeperProgram;
pub use machine::Machine;
pub use netlink::KernelError;
pub use netlink::address::Address;
pub use netlink::netdev::Napi;
pub use netlink::route::Route;
pub use observe::Observed;
pub use plan::{Plan, PlanError};
pub use qdisc::{Counters, ObservedQdisc};
pub use ssh::SshConnection;
