//! Network namespaces: making them, entering them, working in them.
//!
//! A namespace belongs to a *thread* here, never to the process: two hosts of
//! an experiment live in one program, each in the namespace of its threads.
#![expect(unsafe_code, reason = "unshare and setns change the calling thread")]

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use thiserror::Error;

use crate::error::{SysError, check};

/// Why a namespace could not be made, opened or entered.
#[derive(Debug, Error)]
pub enum NetnsError {
    /// The process lacks the capability.
    #[error(
        "no right to {action} a network namespace: CAP_SYS_ADMIN is missing; run as root or with sudo"
    )]
    NoRight {
        /// `make` or `enter`.
        action: &'static str,
    },
    /// The kernel was built without them.
    #[error("this kernel has no network namespaces (CONFIG_NET_NS)")]
    NotInKernel,
    /// The handle is one of something else.
    #[error("the file is not a network namespace")]
    NotANamespace,
    /// The namespace file could not be opened.
    #[error("cannot open the network namespace {path}: {error}")]
    Open {
        /// Which file.
        path: String,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// No thread could be started.
    #[error("cannot start a thread for a network namespace: {0}")]
    Thread(std::io::Error),
    /// Anything else.
    #[error("cannot {action} a network namespace: {error}")]
    Sys {
        /// `make` or `enter`.
        action: &'static str,
        /// The kernel's error.
        error: SysError,
    },
}

fn explain(action: &'static str, error: SysError) -> NetnsError {
    match error.errno() {
        libc::EPERM => NetnsError::NoRight { action },
        libc::EINVAL if action == "enter" => NetnsError::NotANamespace,
        libc::EINVAL => NetnsError::NotInKernel,
        _ => NetnsError::Sys { action, error },
    }
}

/// Makes a network namespace and gives a handle to it. The namespace lives as
/// long as the handle, a thread inside it, or a socket opened in it. Its
/// loopback interface is down. The calling thread stays where it is.
///
/// # Errors
/// If a thread cannot be started, or the kernel refuses the namespace (it needs `CAP_SYS_ADMIN`).
pub fn create() -> Result<OwnedFd, NetnsError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
            // SAFETY: takes no pointers, and changes this short-lived thread only.
            check("unshare", unsafe { libc::unshare(libc::CLONE_NEWNET) })
                .map_err(|error| explain("make", error))?;
            current()
        });
        worker.map_err(NetnsError::Thread)?.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// A handle to the calling thread's namespace.
///
/// # Errors
/// If `/proc` is not mounted, or no descriptor is free.
pub fn current() -> Result<OwnedFd, NetnsError> {
    open(Path::new("/proc/thread-self/ns/net"))
}

/// A handle to the namespace at `path`, for example `/run/netns/talker` or
/// `/proc/812/ns/net`.
///
/// # Errors
/// If the file cannot be opened.
pub fn open(path: &Path) -> Result<OwnedFd, NetnsError> {
    File::open(path)
        .map(OwnedFd::from)
        .map_err(|error| NetnsError::Open { path: path.display().to_string(), error })
}

/// Moves the calling thread into `namespace`. Sockets that it opened before
/// stay where they are.
///
/// # Errors
/// If the descriptor is not a network namespace's, or the right (`CAP_SYS_ADMIN`) is missing.
pub fn enter(namespace: BorrowedFd<'_>) -> Result<(), NetnsError> {
    // SAFETY: takes no pointers; the descriptor is open for the call.
    check("setns", unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
        .map(drop)
        .map_err(|error| explain("enter", error))
}

/// Runs `work` on a fresh thread inside `namespace` and gives its result. A
/// panic of `work` goes on in the caller.
///
/// # Errors
/// If a thread cannot be started, or it cannot enter the namespace.
pub fn in_namespace<T, F>(namespace: BorrowedFd<'_>, work: F) -> Result<T, NetnsError>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, || {
            enter(namespace)?;
            Ok(work())
        });
        worker.map_err(NetnsError::Thread)?.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::linux::fs::MetadataExt;

    fn identity(namespace: &OwnedFd) -> (u64, u64) {
        let meta = File::from(namespace.try_clone().unwrap()).metadata().unwrap();
        (meta.st_dev(), meta.st_ino())
    }

    #[test]
    fn work_runs_inside_the_namespace_and_the_caller_stays_outside() {
        let namespace = match create() {
            Ok(namespace) => namespace,
            Err(NetnsError::NoRight { .. }) => {
                println!("SKIP: making a network namespace needs root");
                return;
            }
            Err(other) => panic!("{other}"),
        };
        let home = identity(&current().unwrap());
        let inside = in_namespace(namespace.as_fd(), || identity(&current().unwrap())).unwrap();
        assert_eq!(inside, identity(&namespace));
        assert_ne!(inside, home);
        assert_eq!(identity(&current().unwrap()), home);
    }

    #[test]
    fn a_missing_namespace_is_named() {
        let error = open(Path::new("/run/netns/no-such-host")).unwrap_err().to_string();
        assert!(error.contains("/run/netns/no-such-host"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_namespace_cannot_be_entered() {
        let file = OwnedFd::from(File::open("/dev/null").unwrap());
        assert!(matches!(enter(file.as_fd()), Err(NetnsError::NotANamespace)));
    }
}
