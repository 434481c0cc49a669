//! What process 1 of the laboratory's guest needs: mounts, modules, random numbers, a terminal
//! for a shell, power off.
#![expect(
    unsafe_code,
    reason = "mount, finit_module and reboot take C strings, an ioctl a structure"
)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use thiserror::Error;

use crate::error::{SysError, check};

/// Why something that an init does failed.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A text for the kernel contains a zero byte.
    #[error("`{0}` contains a zero byte")]
    ZeroByte(String),
    /// A file system could not be mounted.
    #[error("cannot mount {kind} on {target}: {error}")]
    Mount {
        /// File system type.
        kind: String,
        /// Where.
        target: String,
        /// The kernel's error.
        error: SysError,
    },
    /// A kernel module was refused.
    #[error("the kernel refused the module: {} ({error})", module_reason(error.errno()))]
    Module {
        /// The kernel's error.
        error: SysError,
    },
    /// The kernel's random numbers could not be given a start.
    #[error("cannot credit random numbers: {0}")]
    Random(#[source] io::Error),
    /// Reboot or power off was refused.
    #[error("cannot {action} the machine: {error}")]
    Power {
        /// `power off` or `restart`.
        action: &'static str,
        /// The kernel's error.
        error: SysError,
    },
}

/// What `init_module(2)` says about an error number, in words.
fn module_reason(errno: i32) -> &'static str {
    match errno {
        libc::EEXIST => "it is loaded already",
        libc::ENOENT => {
            "it uses a symbol that no loaded module provides (load what it needs first)"
        }
        libc::ENOEXEC => "it is no module for this kernel",
        libc::EINVAL => "a parameter is invalid, or its signature or version does not fit",
        libc::EPERM => "no right to load modules (CAP_SYS_MODULE)",
        libc::ENODEV => "its device is not there",
        _ => "its initialisation failed",
    }
}

fn c_string(text: &str) -> Result<CString, GuestError> {
    CString::new(text).map_err(|_| GuestError::ZeroByte(text.to_owned()))
}

/// Mounts a file system of type `kind` (`proc`, `sysfs`, `devtmpfs`, `tmpfs`,
/// `debugfs`, …) on `target` with `options` as in `mount -o`.
///
/// # Errors
/// [`GuestError`] if a text contains a zero byte or the kernel refuses to mount.
pub fn mount(kind: &str, target: &str, options: &str) -> Result<(), GuestError> {
    let (fs, at, data) = (c_string(kind)?, c_string(target)?, c_string(options)?);
    // SAFETY: all pointers are to zero-terminated strings that outlive the call.
    let result =
        unsafe { libc::mount(fs.as_ptr(), at.as_ptr(), fs.as_ptr(), 0, data.as_ptr().cast()) };
    check("mount", result).map(drop).map_err(|error| GuestError::Mount {
        kind: kind.to_owned(),
        target: target.to_owned(),
        error,
    })
}

/// Loads the (uncompressed) kernel module in `file` with `parameters` as on
/// the command line of `insmod`.
///
/// # Errors
/// [`GuestError`] if the parameters contain a zero byte or the kernel refuses the module.
pub fn load_module(file: BorrowedFd<'_>, parameters: &str) -> Result<(), GuestError> {
    let parameters = c_string(parameters)?;
    // SAFETY: the descriptor is open and the string outlives the call.
    let result = unsafe {
        libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), parameters.as_ptr(), 0_i32)
    };
    if result < 0 {
        return Err(GuestError::Module { error: SysError::last("finit_module") });
    }
    Ok(())
}

/// True for the error of a module that is loaded already.
pub fn is_loaded_already(error: &GuestError) -> bool {
    matches!(error, GuestError::Module { error } if error.errno() == libc::EEXIST)
}

/// Mixes `secret` into the kernel's random numbers and credits it as random, so that no program
/// waits for the first ones.
///
/// # Errors
/// [`GuestError::Random`] if the kernel refuses.
pub fn credit_random(secret: [u8; 32]) -> Result<(), GuestError> {
    /// `RNDADDENTROPY` of `<linux/random.h>`.
    const ADD_ENTROPY: libc::Ioctl = 0x4008_5203;
    /// `struct rand_pool_info` with room for `secret`.
    #[repr(C)]
    struct Pool {
        entropy_bits: libc::c_int,
        bytes: libc::c_int,
        secret: [u8; 32],
    }
    let device = File::options().write(true).open("/dev/random").map_err(GuestError::Random)?;
    let pool = Pool { entropy_bits: 256, bytes: 32, secret };
    // SAFETY: the kernel reads the two numbers and as many bytes as the second one says.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), ADD_ENTROPY, &raw const pool) };
    if result < 0 { Err(GuestError::Random(io::Error::last_os_error())) } else { Ok(()) }
}

/// Makes the child of `command` the leader of a session of its own, with its
/// standard input as controlling terminal, so that Ctrl-C and job control
/// work in a shell that runs there.
pub fn own_terminal(command: &mut Command) -> &mut Command {
    let take = || {
        // SAFETY: setsid takes nothing.
        if unsafe { libc::setsid() } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: TIOCSCTTY takes an integer argument; descriptor 0 is the
        // child's own standard input.
        if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: `take` calls only setsid and ioctl, which are async-signal-safe
    // system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(take) }
}

/// Writes dirty pages of all file systems to their devices.
pub fn sync() {
    // SAFETY: sync takes nothing and cannot fail.
    unsafe { libc::sync() };
}

/// Switches the machine off at once: nothing is stopped or written first.
/// Returns only with an error.
pub fn power_off() -> GuestError {
    reboot("power off", libc::RB_POWER_OFF)
}

/// Restarts the machine at once, like [`power_off`]. Under QEMU with
/// `-no-reboot` this ends the emulator even where ACPI is absent.
pub fn restart() -> GuestError {
    reboot("restart", libc::RB_AUTOBOOT)
}

fn reboot(action: &'static str, command: libc::c_int) -> GuestError {
    // SAFETY: reboot takes an integer; what it does is what the caller asked.
    unsafe { libc::reboot(command) };
    GuestError::Power { action, error: SysError::last("reboot") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_that_is_no_module_is_refused_with_a_reason() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let error = load_module(file.as_fd(), "").unwrap_err();
        assert!(!is_loaded_already(&error));
        let text = error.to_string();
        assert!(text.contains("finit_module"), "{text}");
    }

    #[test]
    fn a_failed_mount_names_type_and_place() {
        let error = mount("no-such-fs", "/no/such/place", "").unwrap_err().to_string();
        assert!(error.contains("no-such-fs on /no/such/place"), "{error}");
        assert!(matches!(mount("proc", "a\0b", ""), Err(GuestError::ZeroByte(_))));
    }

    #[test]
    fn a_child_without_terminal_cannot_own_one() {
        let mut command = Command::new("true");
        command.stdin(std::process::Stdio::null());
        assert!(own_terminal(&mut command).status().is_err());
    }
}
