//! How processes end: children with their parent, a writer with its reader.
#![expect(unsafe_code, reason = "pre_exec runs between fork and exec; signals are per process")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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
    fn a_child_that_ends_by_itself_is_not_disturbed() {
        assert!(die_with_parent(&mut Command::new("true")).status().unwrap().success());
    }
}
