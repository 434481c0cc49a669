//! What can go wrong between the laboratory and its kernels, QEMU and packages.

use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::{BuildError, KernelError};

/// Bytes in the megabyte that messages speak of.
pub(crate) const MEGABYTE: u64 = 1_000_000;

/// Why the cache cannot give what was asked for; every text ends in the next step.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where the cache belongs.
    #[error(
        "no place for the cache: neither XDG_CACHE_HOME nor HOME is set; set XDG_CACHE_HOME=DIR"
    )]
    NoHome,
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
        /// Needed, in megabytes; 0 when the disk filled up underway and nobody knows.
        needed_mb: u64,
        /// Free for this user, in megabytes.
        available_mb: u64,
    },
    /// Another file operation of the cache failed.
    #[error("{action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb: "read", "write", ….
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// apt or dpkg is not there.
    #[error(
        "`{tool}` is not here, so this is not a Debian-like machine: give a kernel with --kernel \
         IMAGE \
         --modules DIR, and install qemu-system-x86_64 {} or newer with your system's packages",
        crate::qemu_version::MINIMUM
    )]
    NotDebian {
        /// The program that was looked for.
        tool: &'static str,
    },
    /// The key that vouches for Debian's packages is not on this machine.
    #[error("Debian's signing key {} is missing: apt-get install debian-archive-keyring", .path.display())]
    NoKeyring {
        /// Where it should be.
        path: PathBuf,
    },
    /// The package server could not be reached.
    #[error(
        "cannot reach the package server while fetching {what} ({said}): check the network, or \
         fetch once \
         on a connected machine and copy {}", .dir.display()
    )]
    NoNetwork {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        said: String,
        /// The cache folder.
        dir: PathBuf,
    },
    /// apt hangs.
    #[error(
        "apt has been silent for {seconds} s while fetching {what} and was ended: check the \
         network and \
         the room on the disk, then try again"
    )]
    Silent {
        /// What was to be fetched.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A package or index does not carry a valid signature of Debian.
    #[error(
        "apt does not trust the package server while fetching {what} ({said}): check this \
         machine's clock \
         and update debian-archive-keyring"
    )]
    Untrusted {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        said: String,
    },
    /// The server, or a proxy on the way to it, does not give it to this machine.
    #[error(
        "the package server, or a proxy before it, refused {what} ({said}): look at the proxy \
         that apt \
         uses (apt-config dump | grep -i proxy; http_proxy) and at what this network allows"
    )]
    Refused {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        said: String,
    },
    /// The certificate of the server is not trusted.
    #[error(
        "the certificate of the package server is not trusted while fetching {what} ({said}): if \
         a proxy \
         or this network has a CA of its own, copy its certificate to \
         /usr/local/share/ca-certificates/NAME.crt and run update-ca-certificates as root"
    )]
    Certificate {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        said: String,
    },
    /// The server's index and its files differ: it is in the middle of an update, or stale.
    #[error(
        "the package server is being updated, or its mirror is out of date ({said}): try again \
         in a few \
         minutes, or name another mirror in /etc/apt/sources.list"
    )]
    MirrorChanging {
        /// apt's own words.
        said: String,
    },
    /// Debian does not have it (any more).
    #[error("Debian packages no {what} today: {known}")]
    NotPackaged {
        /// What was looked for.
        what: String,
        /// What there is instead, as a sentence.
        known: String,
    },
    /// A tool failed for a reason this program does not know.
    #[error("`{command}` failed ({status}): {said}")]
    Tool {
        /// The command as typed.
        command: String,
        /// How it ended.
        status: String,
        /// Its own words.
        said: String,
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
    /// No QEMU fits and none can be fetched for this system.
    #[error("no fitting QEMU: {found}; {advice}")]
    Qemu {
        /// What was found, and why it does not do.
        found: String,
        /// The next step.
        advice: String,
    },
    /// The kernel does not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A module could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl CacheError {
    /// An I/O error with its path; refusals and full disks get their own variant.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission { path: path.to_owned() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::full(action, path),
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }

    /// The disk filled up while `what` was being stored.
    pub(crate) fn full(what: &str, path: &Path) -> Self {
        let available_mb = super::space::available_bytes(path).unwrap_or(0) / MEGABYTE;
        Self::NoSpace {
            what: what.to_owned(),
            dir: path.to_owned(),
            needed_mb: available_mb + 1,
            available_mb,
        }
    }
}
