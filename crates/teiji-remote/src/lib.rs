//! Other machines over SSH, by the user's own `ssh`: its configuration, agent and jump hosts apply.
//! [`Host::connect`] opens one connection, [`Host::push`] puts a program there, and
//! [`Program::run`] runs it. What was put there is removed at the end.
#![forbid(unsafe_code)]

mod connection;
mod destination;
mod error;
mod last_words;

pub use connection::{Host, Program, SshOptions, follow};
pub use destination::Destination;
pub use error::RemoteError;
pub use last_words::last_words;
