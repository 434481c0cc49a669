//! What can go wrong between the laboratory and its kernels, QEMU and packages.

use crate::fetch::FetchError;
use crate::kernel::{BuildError, KernelError};
use crate::qemu_install::QemuError;
use crate::store::StoreError;

/// Why the cache cannot give what was requested; every text ends in the next step.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where the cache belongs.
    #[error(
        "no place for the cache: neither XDG_CACHE_HOME nor HOME is set; set XDG_CACHE_HOME=DIR"
    )]
    NoHome,
    /// A package could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// No QEMU fits, and none can be fetched for this system.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// What is stored cannot be read, changed or used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The kernel does not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A module could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}
