//! Why a board cannot be prepared on this host; every text ends in the next step.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

use super::name::Name;

/// See the variants.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// A board of this name is running.
    #[error(
        "the board `{name}` is running already ({by}): choose another name, or end it with \
         `ssh -F {} {name} poweroff`",
        .config.display()
    )]
    NameInUse {
        /// The name.
        name: Name,
        /// Its process.
        by: String,
        /// The configuration for `ssh -F`.
        config: PathBuf,
    },
    /// Both ends of the wire belong to other boards.
    #[error(
        "the wire `{wire}` has two ends, and both are in use, by {by}: give another wire with \
         --wire NAME, or end one of these boards"
    )]
    WireInUse {
        /// The wire.
        wire: Name,
        /// The boards and their processes.
        by: String,
    },
    /// The socket of a wire would have too long a path.
    #[error(
        "{} is longer than the 107 bytes that the path of a socket can have: set XDG_RUNTIME_DIR \
         to a folder with a short path",
        .path.display()
    )]
    LongPath {
        /// The socket.
        path: PathBuf,
    },
    /// `ssh-keygen` is not there.
    #[error(
        "`ssh-keygen` is not installed, and a board needs keys: install it (apt-get install \
         openssh-client)"
    )]
    NoKeygen,
    /// `ssh-keygen` failed.
    #[error("ssh-keygen did not make {}: {message}", .path.display())]
    Keygen {
        /// The key.
        path: PathBuf,
        /// Its message.
        message: String,
    },
    /// No port of 127.0.0.1 is free.
    #[error("no port of 127.0.0.1 is free for SSH ({0}): end programs that listen")]
    NoPort(io::Error),
    /// A file operation failed.
    #[error(
        "cannot {action} {}: {source}; XDG_RUNTIME_DIR chooses another folder for boards",
        .path.display()
    )]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A lock cannot be had.
    #[error(transparent)]
    Lock(#[from] StoreError),
}

impl BoardError {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
