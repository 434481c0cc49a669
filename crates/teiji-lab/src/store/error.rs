//! What can go wrong with the files of the cache, whoever keeps them there.

use std::io;
use std::path::{Path, PathBuf};

/// Why something stored cannot be read, changed or used; every text ends in the next step.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The cache folder may not be written by this user.
    #[error(
        "no permission to write {}: make it yours (sudo chown -R \"$USER\" {}) or set \
         XDG_CACHE_HOME=DIR",
        .path.display(), .path.display()
    )]
    Permission {
        /// The path that was refused.
        path: PathBuf,
    },
    /// The file system of the cache is too full.
    #[error(
        "{what} needs {needed_mb} MB in {}, {available_mb} MB are free: make room \
         (teiji lab clean --unused) or set XDG_CACHE_HOME=DIR on a larger disk",
        .dir.display()
    )]
    NoSpace {
        /// What was to be stored.
        what: String,
        /// The cache folder.
        dir: PathBuf,
        /// Needed, in megabytes.
        needed_mb: u64,
        /// Free for this user, in megabytes.
        available_mb: u64,
    },
    /// The file system of the cache filled up.
    #[error(
        "the disk of {} is full ({what}): make room (teiji lab clean --unused) or set \
         XDG_CACHE_HOME=DIR on a larger disk",
        .path.display()
    )]
    Full {
        /// What was being stored, or done.
        what: String,
        /// Where.
        path: PathBuf,
    },
    /// Another file operation of the cache failed.
    #[error("{action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb: "read", "write", ….
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A downloaded package does not have the contents it should have.
    #[error("{package} has no {missing}: it is not the kind of package expected here; report this")]
    Contents {
        /// The package.
        package: String,
        /// What it lacks.
        missing: String,
    },
    /// Somebody else uses what is to be removed.
    #[error("another teiji is using the cache: let it end, then try again")]
    InUse,
}

impl StoreError {
    /// An I/O error with its path; refusals and full disks get their own variant.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission { path }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { what: action.to_owned(), path }
            }
            _ => Self::Io { action, path, source },
        }
    }
}
