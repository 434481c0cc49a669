//! How processes begin and end: children with their parent, a writer with its reader, helpers that
//! are nobody's children.
#![expect(unsafe_code, reason = "fork, and what runs after it; signals are per process")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use crate::error::{SysError, check};

/// Makes the child of `command` die (`SIGKILL`) when the *thread* that starts
/// it ends, however it ends: start it from a thread that lives as long as the
/// child should. A child whose parent died before `exec` does not start.
pub fn die_with_parent(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: prctl with this option takes an integer and no pointers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have died between fork and prctl; then nobody would
        // send the signal any more.
        // SAFETY: getppid takes nothing and cannot fail.
        if u32::try_from(unsafe { libc::getppid() }) != Ok(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: `tie` calls only prctl and getppid, which are async-signal-safe
    // system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(tie) }
}

/// Makes the child of `command`, and the children of that, ignore Ctrl-C (`SIGINT`). Unlike one in a
/// process group of its own, it may read from the terminal.
pub fn ignore_interrupt(command: &mut Command) -> &mut Command {
    let ignore = || {
        // SAFETY: takes integers; allowed between fork and exec.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: `ignore` calls only `signal`, which is async-signal-safe.
    unsafe { command.pre_exec(ignore) }
}

/// Ends this process as the kernel ends one that writes to a pipe nobody reads
/// (`SIGPIPE`), which Rust programs ignore. Nothing is dropped or flushed.
pub fn die_of_broken_pipe() -> ! {
    // SAFETY: both take integers only; the default action ends the process.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    // Only if the signal is blocked: the status a shell shows for it.
    std::process::exit(128 + libc::SIGPIPE)
}

/// Runs `work` in a process of its own, which init adopts: it is nobody's child, in a session of its
/// own, and ignores the signals that end programs. It has standard error, `keep`, and no other open
/// file; its working directory is `/`. It ends with `work`.
///
/// # Errors
/// What `fork` says; `EBUSY` if this process has more than one thread, whose locks a copy of the
/// process could never take.
pub fn detach(keep: OwnedFd, work: impl FnOnce(OwnedFd)) -> Result<(), SysError> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    if threads.map_err(|error| SysError::new("opendir", error))? != 1 {
        return Err(SysError::new("fork", io::Error::from_raw_os_error(libc::EBUSY)));
    }
    // SAFETY: the process has one thread, so the copy is complete.
    let child = check("fork", unsafe { libc::fork() })?;
    if child == 0 {
        // A process that leads no session gets no terminal, and one whose parent has ended is init's.
        // SAFETY: takes nothing; and again one thread.
        let grandchild = unsafe {
            libc::setsid();
            libc::fork()
        };
        if grandchild == 0 {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(alone_with(keep))));
            exit_at_once(i32::from(outcome.is_err()))
        }
        exit_at_once(i32::from(grandchild < 0));
    }
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        match check("waitpid", unsafe { libc::waitpid(child, &raw mut status, 0) }) {
            Err(error) if error.errno() == libc::EINTR => {}
            Err(error) => return Err(error),
            Ok(_) if status == 0 => return Ok(()),
            Ok(_) => return Err(SysError::new("fork", io::Error::from_raw_os_error(libc::EAGAIN))),
        }
    }
}

/// Ends the process without running what the program has registered for its end, which is the
/// original's.
fn exit_at_once(code: i32) -> ! {
    // SAFETY: takes an integer, and does not return.
    unsafe { libc::_exit(code) }
}

/// Makes a copied process independent: no files but standard error and `keep`.
fn alone_with(keep: OwnedFd) -> OwnedFd {
    let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    for signal in (1..=31).filter(|signal| *signal != libc::SIGCHLD && !faults.contains(signal)) {
        // SAFETY: takes integers. SIGKILL and SIGSTOP are refused.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    drop(std::env::set_current_dir("/"));
    close_all_but(keep.into_raw_fd())
}

fn close_all_but(keep: RawFd) -> OwnedFd {
    let keep = libc::c_uint::try_from(keep).expect("an open descriptor");
    for (first, last) in [(3, keep.saturating_sub(1)), (keep.max(2) + 1, libc::c_uint::MAX)] {
        if first <= last {
            // SAFETY: takes integers. Nothing in this copied process uses the descriptors.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
    for standard in [0, 1] {
        redirect_to_null(standard);
    }
    let keep = RawFd::try_from(keep).expect("as above");
    // SAFETY: it was an `OwnedFd`, and is open.
    unsafe { OwnedFd::from_raw_fd(keep) }
}

/// Writes of this process to standard error vanish from now on; whoever reads it sees its end.
pub fn silence_standard_error() {
    redirect_to_null(2);
}

fn redirect_to_null(standard: RawFd) {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        // SAFETY: both are descriptors; the standard one stays open all the time.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
}

/// Permits this process to trace the calling one, where Yama restricts that to ancestors
/// (`kernel.yama.ptrace_scope` 1). Without Yama nothing needs permission.
pub fn permit_tracing_by(pid: u32) {
    // SAFETY: prctl with this option takes integers; EINVAL without Yama.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(pid), 0, 0, 0) };
}

/// Names this process in `/proc/PID/comm`; the kernel takes 15 bytes.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the name is a NUL-terminated string that lives for the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    #[test]
    fn a_child_dies_when_the_thread_that_started_it_ends() {
        let child = thread::spawn(|| {
            let mut command = Command::new("sleep");
            die_with_parent(command.arg("60")).spawn().unwrap()
        })
        .join()
        .unwrap();
        let status = { child }.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_child_outlives_ctrl_c() {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -INT $$; exit 3"]);
        assert_eq!(ignore_interrupt(&mut command).status().unwrap().code(), Some(3));
    }

    #[test]
    fn a_child_that_ends_by_itself_is_not_disturbed() {
        assert!(die_with_parent(&mut Command::new("true")).status().unwrap().success());
    }
}
