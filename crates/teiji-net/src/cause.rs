//! Why a step failed.

use std::fmt;

use crate::netlink::KernelError;

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The kernel refused.
    Kernel(KernelError),
    /// A sentence says it all.
    Text(String),
}

impl From<KernelError> for Cause {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(error) => error.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}
