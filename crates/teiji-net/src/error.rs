//! What went wrong between a plan and the kernel, and what to do next.

use std::fmt;

use teiji_sys::netns::NetnsError;
use teiji_sys::tracefs::TraceError;
use thiserror::Error;

use crate::keeper::KeeperError;
use crate::netlink::KernelError;
use crate::real_nic::Refusal;
use crate::system::SystemRefusal;

/// Why a plan could not be applied, observed or undone.
#[derive(Debug, Error)]
pub enum NetError {
    /// A NIC may not be taken. Nothing was changed.
    #[error("{0}. Nothing was changed.")]
    Refused(#[from] Refusal),
    /// This machine lacks something that the plan changes. Nothing was changed.
    #[error("{0}. Nothing was changed.")]
    System(#[from] SystemRefusal),
    /// There is no keeper. Nothing was changed.
    #[error("{0}. Nothing was changed.")]
    Keeper(#[from] KeeperError),
    /// A namespace could not be made or entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
    /// A step failed; what had been done before it was undone.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// The caller requested the stop; what had been done was undone.
    #[error("interrupted while the network was being set up.{}", aftermath(.0))]
    Interrupted(Vec<String>),
    /// Another machine of the experiment is not ready; what had been done here was undone.
    #[error("{message}.{}", aftermath(.not_restored))]
    Elsewhere {
        /// Why.
        message: String,
        /// What could not be undone here.
        not_restored: Vec<String>,
    },
    /// Packets cannot be traced on their way in.
    #[error("cannot trace the receiving kernel: {0}")]
    Trace(#[from] TraceError),
    /// The kernel did not answer a question.
    #[error("cannot observe {what}: {error}")]
    Observe {
        /// What was queried.
        what: String,
        /// The kernel's error.
        error: KernelError,
    },
    /// Some things could not be put back.
    #[error("not everything could be put back: {}", .0.join("; "))]
    Undo(Vec<String>),
}

/// A step that failed.
#[derive(Debug)]
pub struct StepError {
    /// The host.
    pub host: String,
    /// The interface, if the step concerns one.
    pub ifname: Option<String>,
    /// The step as a command.
    pub command: String,
    /// The kernel's error, if it was the kernel.
    pub kernel: Option<KernelError>,
    /// The sentences: what failed and what to do.
    pub(crate) text: String,
    /// What could not be undone; empty if nothing stayed.
    pub not_restored: Vec<String>,
}

impl std::error::Error for StepError {}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, aftermath(&self.not_restored))
    }
}

fn aftermath(not_restored: &[String]) -> String {
    match not_restored {
        [] => " Nothing was changed.".to_owned(),
        _ => format!(" Undoing what was done before failed in part: {}", not_restored.join("; ")),
    }
}
