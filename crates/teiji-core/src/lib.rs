//! Clock-typed instants, cycle arithmetic and frames on the wire.
//!
//! Everything here is a value: nothing in this crate opens a file, a socket or
//! a clock. The crates above it decide *when* to look at a clock; this one
//! knows what the answer means.
//!
//! * [`time`] – instants that remember which clock they were read from, and
//!   signed spans between them,
//! * [`quantity`] – durations, rates and sizes as people write them,
//! * [`cycle`] – the arithmetic of a periodic schedule,
//! * [`domain`] – small numbers with a range, such as code points and priorities,
//! * [`frame`] – what is known about one frame of a flow,
//! * [`send_mode`] – when and how frames are handed to the kernel,
//! * [`shell`] – words of a command line,
//! * [`figure`] – figures of a distribution, by name,
//! * [`cpu_time`] – how long a CPU was idle,
//! * [`load`] – what a machine does beside, by name,
//! * [`reception`] – how a packet came through the receiving kernel,
//! * [`wire`] – Ethernet, VLAN, IP, UDP and Teiji's own test header, byte by
//!   byte.
#![forbid(unsafe_code)]

pub mod activity;
pub mod cpu_time;
pub mod cycle;
pub mod domain;
pub mod errno;
pub mod figure;
pub mod frame;
pub mod load;
pub mod quantity;
pub mod reception;
pub mod send_mode;
pub mod shell;
pub mod time;
pub mod wire;
