//! Why a profile was not applied, confirmed or put back.

use std::fmt;
use std::io;
use std::path::PathBuf;

use teiji_net::in_place::InPlaceError;
use thiserror::Error;

/// Why a profile was not applied, confirmed or put back.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The journal cannot be written, read or removed.
    #[error("cannot {action} {}: {error}{}", .path.display(), needs_root(.error))]
    Journal {
        /// What was to be done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The journal is of another version, or damaged.
    #[error("{} cannot be read ({why}): it is of another version of teiji, or damaged. That version's `teiji revert` \
             puts everything back, and so does a restart of the machine", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Its interfaces cannot be seen from here.
    #[error(
        "{0} was applied in another network namespace: run teiji there (`ip netns exec`, `nsenter --net`)"
    )]
    Elsewhere(String),
    /// Somebody else is at work.
    #[error("another `teiji apply` or `teiji revert` is at work here; try again when it has ended")]
    Busy,
    /// What was applied waits for confirmation.
    #[error(
        "{0} is applied and waits for confirmation: `teiji apply --confirmed`, or `teiji revert`"
    )]
    Unconfirmed(String),
    /// Nothing waits for confirmation.
    #[error("nothing waits for confirmation here{}", note(.0.as_ref()))]
    NothingToConfirm(Option<String>),
    /// It carries the connection.
    #[error(
        "{interface} carries this SSH connection (from {client}), and {file} changes it. Nothing was changed. Give \
         --confirm 60s: what was there is put back then unless you confirm, also if the connection breaks"
    )]
    Ssh {
        /// The interface.
        interface: String,
        /// Where the person is.
        client: std::net::IpAddr,
        /// The profile.
        file: String,
    },
    /// Nobody would put it back.
    #[error(
        "cannot start the process that puts everything back after a crash: {0}. Nothing was changed"
    )]
    Guard(io::Error),
    /// The machine does not fit the profile, or its kernel refuses a step.
    #[error(transparent)]
    InPlace(#[from] InPlaceError),
    /// A profile was not applied.
    #[error(transparent)]
    Refused(#[from] Box<Refused>),
    /// A profile that was applied once cannot be read any more.
    #[error("{0} was applied by another version of teiji, which reads it differently")]
    Stale(String),
    /// Not everything could be put back.
    #[error("not everything could be put back: {}. `teiji revert` tries again", .0.join("; "))]
    NotRestored(Vec<String>),
    /// It cannot be applied at each start.
    #[error("cannot have it applied at each start: {0}")]
    AtBoot(String),
}

/// A profile that the machine has not taken, and what became of the machine.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub error: ProfileError,
    /// What could not be put back.
    pub not_restored: Vec<String>,
    /// The profile that was applied before, and is again; or why it is not.
    pub previous: Option<Result<String, String>>,
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, not_restored, previous } = self;
        let sentence = error.to_string();
        write!(f, "{}. ", sentence.trim_end_matches('.'))?;
        match (&not_restored[..], previous) {
            ([], None) => f.write_str("Everything is as it was before"),
            ([], Some(Ok(file))) => write!(f, "{file} is applied again"),
            ([], Some(Err(why))) => write!(
                f,
                "The profile that was applied before could not be applied again, so none is: {why}"
            ),
            (not_restored, _) => {
                write!(
                    f,
                    "Not everything could be put back: {}; `teiji revert` tries again",
                    not_restored.join("; ")
                )
            }
        }
    }
}

impl Refused {
    /// Of a machine to which nothing was done yet.
    pub(crate) fn of(error: impl Into<ProfileError>) -> Box<Self> {
        Box::new(Self { error: error.into(), not_restored: Vec::new(), previous: None })
    }
}

fn needs_root(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; this needs root: run it with sudo",
        _ => "",
    }
}

fn note(note: Option<&String>) -> String {
    note.map(|note| format!(": {note}")).unwrap_or_default()
}
