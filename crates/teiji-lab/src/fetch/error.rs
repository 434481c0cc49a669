//! What can go wrong between this machine and Debian's package servers.

use std::path::PathBuf;

use crate::store::StoreError;

/// Why a package could not be fetched; every text ends in the next step.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// apt or dpkg is not there.
    #[error(
        "`{tool}` is not here, so this is not a Debian-like machine: give a kernel with --kernel \
         IMAGE \
         --modules DIR, and install QEMU {} or newer for the guest's processor (qemu-system-x86_64, -aarch64 or -arm) with \
         your system's packages",
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
        "cannot reach the package server while fetching {what} ({message}): check the network, or \
         fetch once \
         on a connected machine and copy {}", .dir.display()
    )]
    NoNetwork {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        message: String,
        /// The cache folder.
        dir: PathBuf,
    },
    /// apt hangs.
    #[error(
        "apt printed nothing for {seconds} s while fetching {what} and was ended: check the \
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
        "apt does not trust the package server while fetching {what} ({message}): check this \
         machine's clock \
         and update debian-archive-keyring"
    )]
    Untrusted {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        message: String,
    },
    /// The server, or a proxy on the way to it, does not give it to this machine.
    #[error(
        "the package server, or a proxy before it, refused {what} ({message}): look at the proxy \
         that apt \
         uses (apt-config dump | grep -i proxy; http_proxy) and at what this network allows"
    )]
    Refused {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        message: String,
    },
    /// The certificate of the server is not trusted.
    #[error(
        "the certificate of the package server is not trusted while fetching {what} ({message}): if \
         a proxy \
         or this network has a CA of its own, copy its certificate to \
         /usr/local/share/ca-certificates/NAME.crt and run update-ca-certificates as root"
    )]
    Certificate {
        /// What was to be fetched.
        what: String,
        /// apt's own words.
        message: String,
    },
    /// The server's index and its files differ: it is in the middle of an update, or stale.
    #[error(
        "the package server is being updated, or its mirror is out of date ({message}): try again \
         in a few \
         minutes, or name another mirror in /etc/apt/sources.list"
    )]
    MirrorChanging {
        /// apt's own words.
        message: String,
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
    #[error("`{command}` failed ({status}): {message}")]
    Tool {
        /// The command as typed.
        command: String,
        /// How it ended.
        status: String,
        /// Its own words.
        message: String,
    },
    /// What was fetched cannot be kept or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
