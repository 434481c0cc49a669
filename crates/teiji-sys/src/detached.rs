//! A file system that is mounted nowhere: a handle that paths go through (`fsopen(2)`, kernel
//! 5.2).
#![expect(unsafe_code, reason = "the mount calls have no wrappers in libc")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use crate::error::SysError;

/// A mounted file system without a place.
#[derive(Debug)]
pub struct Detached(OwnedFd);

const FSOPEN_CLOEXEC: libc::c_long = 1;
const FSMOUNT_CLOEXEC: libc::c_long = 1;
const FSCONFIG_CMD_CREATE: libc::c_long = 6;

impl Detached {
    /// Opens the file system of this kind, as the calling thread sees it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `ENODEV` if the kernel has none of this kind.
    pub fn open(kind: &CStr) -> Result<Self, SysError> {
        // SAFETY: the name is a NUL-terminated string; the rest are integers.
        let context = unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) };
        let context = descriptor("fsopen", context)?;
        let nothing = std::ptr::null::<libc::c_void>();
        // SAFETY: an open descriptor; this command takes no key and no value.
        let created = unsafe {
            libc::syscall(
                libc::SYS_fsconfig,
                context.as_raw_fd(),
                FSCONFIG_CMD_CREATE,
                nothing,
                nothing,
                0,
            )
        };
        if created < 0 {
            return Err(SysError::last("fsconfig"));
        }
        // SAFETY: an open descriptor and integers.
        let mount = unsafe {
            libc::syscall(
                libc::SYS_fsmount,
                context.as_raw_fd(),
                FSMOUNT_CLOEXEC,
                0 as libc::c_long,
            )
        };
        descriptor("fsmount", mount).map(Self)
    }

    /// A path below it, usable while it lives.
    pub fn path(&self, below: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{below}", self.0.as_raw_fd()))
    }
}

fn descriptor(call: &'static str, result: libc::c_long) -> Result<OwnedFd, SysError> {
    match libc::c_int::try_from(result) {
        // SAFETY: the kernel has just given us this descriptor; nobody else has it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(SysError::last(call)),
    }
}
