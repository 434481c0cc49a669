//! A system call that failed: which, and the kernel's error.

use std::io;

use thiserror::Error;

/// A system call that failed. The text names the call and the kernel's reason.
#[derive(Debug, Error)]
#[error("{call}: {error}")]
pub struct SysError {
    call: &'static str,
    // Not called `source`: the message already contains it, and a printed
    // chain of causes would repeat it.
    error: io::Error,
}

impl SysError {
    /// The failure of `call` with `error`.
    pub fn new(call: &'static str, error: io::Error) -> Self {
        Self { call, error }
    }

    /// The failure of `call` with the calling thread's current `errno`.
    pub(crate) fn last(call: &'static str) -> Self {
        Self::new(call, io::Error::last_os_error())
    }

    /// The error number, 0 if the failure did not come from the kernel.
    pub fn errno(&self) -> i32 {
        self.error.raw_os_error().unwrap_or(0)
    }

    /// The system call, as its manual page names it.
    pub fn call(&self) -> &'static str {
        self.call
    }
}

/// Turns the −1 convention of C into a `Result`.
pub(crate) fn check(call: &'static str, result: libc::c_int) -> Result<libc::c_int, SysError> {
    if result < 0 { Err(SysError::last(call)) } else { Ok(result) }
}
