//! Measures an experiment: every case at every seed, in the laboratory or on this machine, into
//! a run folder; sums the folder up, and assembles its report.
//!
//! * [`run`](mod@run) – a whole run, from a request to the summary,
//! * [`measure`](mod@measure) – one case on the machine this program is on,
//! * [`machines`] – a case on several machines at once, over SSH,
//! * [`lab`] – a case in a guest, and [`guest`] – the guest's end of that,
//! * [`member`] – logs and captures become records in the run folder,
//! * [`summarise`](mod@summarise) – the records become the summary, now or years later,
//! * [`report`] – `report.html` from a run folder,
//! * [`replay`] – whether a repeated run gave the same records,
//! * [`trace`] – records a member that is repeated, and [`causes`] – what delayed its frames,
//! * [`punctuality`] – whether frames of a talker were on time,
//! * [`margin`] – the search for a transmission margin.
//!
//! `examples/measure.rs` is a whole program: it measures two cases over a veth pair, prints their
//! ranges and writes the report.
//!
//! A program that measures on NICs or changes settings of the kernel begins its `main` with
//! [`teiji_net::keeper::main`] where its first argument is [`teiji_net::keeper::SUBCOMMAND`]: the run
//! starts the program a second time, to restore everything if the first one is killed.
//!
//! The laboratory's guest runs the program that started it. So a program that measures there
//! begins its `main` with `teiji_lab::guest::init(teiji_run::guest::measure_arguments)` where
//! `teiji_lab::guest::is_init()` says so, and calls [`guest::measure`] for the arguments that
//! these are.
//!
//! Errors are [`anyhow`]'s, made to be printed as one sentence with its causes; a caller that
//! has to tell them apart looks for [`Mistake`] and [`Interrupted`].
#![forbid(unsafe_code)]

pub mod causes;
mod error;
pub mod experiment_file;
pub mod guest;
pub mod guest_program;
mod interruption;
pub mod job;
pub mod lab;
pub mod limits;
pub mod machines;
pub mod margin;
pub mod measure;
pub mod member;
mod progress;
pub mod punctuality;
pub mod replay;
pub mod report;
pub mod run;
pub mod summarise;
pub mod trace;

pub use error::{Interrupted, Mistake};
pub use interruption::{abandon_preparation, is_undo_pending};
pub use progress::{CacheSteps, Progress, Step, Unwatched};
pub use run::{Ended, Finished, On, Request, run};

pub(crate) use error::mistake;
