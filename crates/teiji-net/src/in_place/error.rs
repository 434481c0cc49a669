//! Why a profile could not be applied.

use thiserror::Error;

use super::ServiceError;
use crate::netlink::KernelError;
use crate::qdisc::QdiscError;
use crate::real_nic::Refusal;
use crate::system::SystemRefusal;

/// Why a profile could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InPlaceError {
    /// Fewer queues than the qdisc takes.
    #[error(
        "{interface}: its qdisc needs {needs} transmit queues, the profile gives it {has}: set queues = {needs}"
    )]
    Queues {
        /// The interface.
        interface: String,
        /// In the profile.
        has: u16,
        /// What the qdisc takes.
        needs: u16,
    },
    /// A qdisc that the kernel cannot take.
    #[error("{interface}: {error}")]
    Qdisc {
        /// The interface.
        interface: String,
        /// Why.
        error: QdiscError,
    },
    /// An interface is not there, or has what would be lost.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// This machine lacks something.
    #[error(transparent)]
    System(#[from] SystemRefusal),
    /// Clocks cannot be synchronised.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The kernel refused a step.
    #[error("{0}")]
    Step(String),
    /// The kernel accepted all steps, and has something else.
    #[error("the kernel took all settings, but has others: {}", .0.join("; "))]
    Ignored(Vec<String>),
    /// The kernel hides what the profile sets.
    #[error("cannot see who processes the frames of this machine's NICs ({0}): run it with sudo")]
    Unseen(String),
    /// The kernel does not answer.
    #[error("cannot look at this machine's interfaces: {0}")]
    Look(KernelError),
}
