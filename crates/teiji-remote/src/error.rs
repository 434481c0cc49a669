//! Why something on another host did not work.

use std::io;

use thiserror::Error;

use crate::Destination;

/// Why something on another host did not work.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// No `ssh` here.
    #[error("there is no `ssh` here: install it (Debian: apt install openssh-client)")]
    NoSsh,
    /// `ssh` could not be started or talked to.
    #[error("cannot run ssh: {0}")]
    Start(#[from] io::Error),
    /// No connection.
    #[error("cannot connect to {host}: {message}; try it by hand: ssh {}", .host.as_str())]
    Connect {
        /// The host.
        host: Destination,
        /// `ssh`'s own words.
        message: String,
    },
    /// The connection ended meanwhile.
    #[error("the connection to {host} was lost: {message}")]
    Lost {
        /// The host.
        host: Destination,
        /// `ssh`'s own words.
        message: String,
    },
    /// The program could not be put there.
    #[error("cannot put the program on {host}: {message}")]
    Push {
        /// The host.
        host: Destination,
        /// What the host said.
        message: String,
    },
    /// A command there failed.
    #[error("{host}: {message}")]
    Failed {
        /// The host.
        host: Destination,
        /// The end of what it wrote to standard error.
        message: String,
        /// Its exit code.
        code: i32,
    },
}
