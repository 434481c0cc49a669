//! System calls of a program that another process completes: a seccomp filter with user
//! notification (`seccomp_unotify(2)`).
//!
//! The filter is one of the calling thread, of its children, and of the programs that they start.
//! It cannot be removed. The kernel stops each call that matches a rule until the listener has
//! completed it; all other calls pass.
//!
//! Contains `unsafe`: structures that the kernel reads and writes.
#![expect(unsafe_code, reason = "seccomp and its ioctls take pointers to structures")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::bpf::{give, instruction};
use crate::error::{SysError, check};

/// A system call that a rule can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `socket(domain, type, protocol)`.
    Socket,
    /// `setsockopt(fd, level, option, value, length)`.
    SetSocketOption,
}

impl Call {
    const ALL: [Self; 2] = [Self::Socket, Self::SetSocketOption];

    fn number(self) -> u32 {
        let number = match self {
            Self::Socket => libc::SYS_socket,
            Self::SetSocketOption => libc::SYS_setsockopt,
        };
        u32::try_from(number).expect("numbers of system calls are small")
    }
}

/// An argument of a call, an `int`, after the mask, has one of the values.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a> {
    /// The argument, from 0.
    pub argument: u8,
    /// The bits that are compared.
    pub mask: u32,
    /// The values, at most 32.
    pub any_of: &'a [u32],
}

/// Calls that the listener completes: all conditions are true.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    /// The call.
    pub call: Call,
    /// Conditions of its arguments.
    pub conditions: &'a [Condition<'a>],
}

/// The architecture in the kernel's words (`linux/audit.h`). Calls of others, as of 32-bit
/// programs, match no rule.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "arm")]
const ARCHITECTURE: u32 = 0x4000_0028;
#[cfg(target_arch = "riscv64")]
const ARCHITECTURE: u32 = 0xC000_00F3;
// No architecture: no call matches.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "riscv64"
)))]
const ARCHITECTURE: u32 = 0;

/// Offsets in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
const CLOSE_ON_EXEC: u32 = libc::O_CLOEXEC as u32;
/// Of the lower half of an argument.
const LOWER_HALF: u32 = if cfg!(target_endian = "little") { 0 } else { 4 };

fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

fn jump_if_equal(value: u32, skip: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, 0, value)
}

/// Goes on with the next rule; the distance is filled in when it is known.
fn next_rule() -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JA, 0, 0, 0)
}

/// The filter's program.
fn program(rules: &[Rule<'_>]) -> Vec<libc::sock_filter> {
    let mut program =
        vec![load(ARCHITECTURE_AT), jump_if_equal(ARCHITECTURE, 1), give(libc::SECCOMP_RET_ALLOW)];
    for rule in rules {
        let mut jumps = vec![program.len() + 2];
        program.extend([load(NUMBER_AT), jump_if_equal(rule.call.number(), 1), next_rule()]);
        for condition in rule.conditions {
            let at = ARGUMENTS_AT + 8 * u32::from(condition.argument) + LOWER_HALF;
            let and = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
            program.extend([load(at), instruction(and, 0, 0, condition.mask)]);
            // Past the other values, and the jump to the next rule.
            let skips = (1..=condition.any_of.len()).rev();
            program.extend(condition.any_of.iter().zip(skips).map(|(&value, skip)| {
                jump_if_equal(value, u8::try_from(skip).expect("at most 32 values"))
            }));
            jumps.push(program.len());
            program.push(next_rule());
        }
        program.push(give(libc::SECCOMP_RET_USER_NOTIF));
        let end = program.len();
        for jump in jumps {
            program[jump].k = u32::try_from(end - jump - 1).expect("a short program");
        }
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    program
}

/// The process that completes the calls holds it. When the last one is closed, calls that match a
/// rule fail with `ENOSYS`.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A call that waits for the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Its identifier.
    pub id: u64,
    /// The calling thread, in the listener's PID namespace; 0: not in it.
    pub thread: u32,
    /// The call; `None` if no rule could name it.
    pub call: Option<Call>,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// Gives the calling thread the filter. With `killable`, a call that the listener has received can
/// be interrupted by fatal signals only (Linux 5.19).
///
/// # Errors
/// `EACCES` if the thread has neither `CAP_SYS_ADMIN` nor
/// [`no_new_privileges`]; `EBUSY` if a filter with a listener exists already; `EINVAL` if the kernel
/// does not know a flag.
pub fn install(rules: &[Rule<'_>], killable: bool) -> Result<Listener, SysError> {
    let mut program = program(rules);
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).expect("a short program"),
        filter: program.as_mut_ptr(),
    };
    // Without the second flag, older kernels slow the program down against Spectre.
    let mut flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if killable {
        flags |= libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    }
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: `filter` points to `len` instructions; both live for the call.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const filter) };
    let fd = check("seccomp", libc::c_int::try_from(fd).unwrap_or(-1))?;
    // SAFETY: the kernel has just given us this descriptor; nobody else has it.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Programs that this thread starts get no privileges by set-user-ID or file capabilities. Cannot
/// be undone.
///
/// # Errors
/// On a kernel without the option (before 3.5).
pub fn no_new_privileges() -> Result<(), SysError> {
    // SAFETY: prctl with this option takes integers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// `struct seccomp_notif` and as much again, as a later kernel may write more.
#[repr(C)]
struct Room {
    notification: libc::seccomp_notif,
    _spare: [u64; 64],
}

impl Listener {
    /// The next call; waits for it. `None` if the caller has died meanwhile.
    ///
    /// # Errors
    /// If the kernel has no notifications (before 5.0).
    pub fn receive(&self) -> Result<Option<Notification>, SysError> {
        // SAFETY: structures of integers, for which zero is a value.
        let mut room: Room = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel wants zeros, and writes at most the structure it knows.
        let result = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut room)
        };
        match check("ioctl SECCOMP_IOCTL_NOTIF_RECV", result) {
            Ok(_) => {}
            Err(error) if matches!(error.errno(), libc::ENOENT | libc::EINTR) => return Ok(None),
            Err(error) => return Err(error),
        }
        let libc::seccomp_notif { id, pid, data, .. } = room.notification;
        let call = Call::ALL.into_iter().find(|call| i64::from(call.number()) == data.nr.into());
        Ok(Some(Notification { id, thread: pid, call, arguments: data.args }))
    }

    /// Whether the call still waits. What was read of the caller by its number is the caller's only
    /// if this is true afterwards.
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads the identifier.
        let result = unsafe {
            let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _;
            libc::ioctl(self.0.as_raw_fd(), request, &raw const id)
        };
        result == 0
    }

    /// Has the kernel execute the call.
    ///
    /// # Errors
    /// If the caller has died meanwhile (`ENOENT`).
    pub fn proceed(&self, id: u64) -> Result<(), SysError> {
        #[expect(clippy::cast_possible_truncation, reason = "the flag is 1")]
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        self.respond(libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
    }

    /// Completes the call with a result, without executing it.
    ///
    /// # Errors
    /// If the caller has died meanwhile (`ENOENT`).
    pub fn complete(&self, id: u64, result: i64) -> Result<(), SysError> {
        self.respond(libc::seccomp_notif_resp { id, val: result, error: 0, flags: 0 })
    }

    /// Has the call fail with this error number.
    ///
    /// # Errors
    /// If the caller has died meanwhile (`ENOENT`).
    pub fn fail(&self, id: u64, errno: i32) -> Result<(), SysError> {
        self.respond(libc::seccomp_notif_resp { id, val: 0, error: -errno, flags: 0 })
    }

    fn respond(&self, response: libc::seccomp_notif_resp) -> Result<(), SysError> {
        // SAFETY: the kernel reads the structure.
        let result = unsafe {
            let request = libc::SECCOMP_IOCTL_NOTIF_SEND as _;
            libc::ioctl(self.0.as_raw_fd(), request, &raw const response)
        };
        check("ioctl SECCOMP_IOCTL_NOTIF_SEND", result).map(drop)
    }

    /// Gives the caller a copy of the descriptor, and completes the call with its number.
    ///
    /// # Errors
    /// `EINVAL` before Linux 5.14; `EMFILE` if the caller has too many. The call waits on then.
    pub fn complete_with_copy(
        &self,
        id: u64,
        descriptor: BorrowedFd<'_>,
        close_on_exec: bool,
    ) -> Result<(), SysError> {
        #[expect(clippy::cast_possible_truncation, reason = "the flag is 2")]
        let flags = libc::SECCOMP_ADDFD_FLAG_SEND as u32;
        let srcfd = u32::try_from(descriptor.as_raw_fd()).expect("an open descriptor");
        let newfd_flags = if close_on_exec { CLOSE_ON_EXEC } else { 0 };
        let copy = libc::seccomp_notif_addfd { id, flags, srcfd, newfd: 0, newfd_flags };
        // SAFETY: the kernel reads the structure.
        let result = unsafe {
            let request = libc::SECCOMP_IOCTL_NOTIF_ADDFD as _;
            libc::ioctl(self.0.as_raw_fd(), request, &raw const copy)
        };
        check("ioctl SECCOMP_IOCTL_NOTIF_ADDFD", result).map(drop)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for Listener {
    /// A listener that another process has passed on.
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;
