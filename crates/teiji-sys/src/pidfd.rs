//! Another process, by a descriptor: its end, and copies of its descriptors (`pidfd_open(2)`,
//! `pidfd_getfd(2)`).
#![expect(unsafe_code, reason = "the calls have no wrappers in libc")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{SysError, check};

/// A process. Its descriptor becomes readable when the process has ended.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// The process with this number.
    ///
    /// # Errors
    /// `ESRCH` if there is none; `EINVAL` if it is a thread; `ENOSYS` before Linux 5.3.
    pub fn open(pid: u32) -> Result<Self, SysError> {
        let pid = libc::pid_t::try_from(pid).map_err(|_| {
            SysError::new("pidfd_open", std::io::Error::from_raw_os_error(libc::ESRCH))
        })?;
        // SAFETY: the call takes integers.
        descriptor("pidfd_open", unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }).map(Self)
    }

    /// A copy of its descriptor `number`.
    ///
    /// # Errors
    /// `EBADF` if it has none of this number; `EPERM` if this process is not permitted to trace it;
    /// `ENOSYS` before Linux 5.6.
    pub fn descriptor(&self, number: i32) -> Result<OwnedFd, SysError> {
        // SAFETY: the call takes integers.
        let result = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.0.as_raw_fd(), number, 0) };
        descriptor("pidfd_getfd", result)
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn descriptor(call: &'static str, result: libc::c_long) -> Result<OwnedFd, SysError> {
    let fd = check(call, libc::c_int::try_from(result).unwrap_or(-1))?;
    // SAFETY: the kernel has just given us this descriptor; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_copied_descriptor_is_the_same_socket() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let copy = PidFd::open(std::process::id()).unwrap().descriptor(socket.as_raw_fd());
        match copy {
            Ok(copy) => assert_eq!(
                UdpSocket::from(copy).local_addr().unwrap(),
                socket.local_addr().unwrap()
            ),
            Err(error) if error.errno() == libc::EPERM => println!("SKIP: {error}"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error() {
        for pid in [u32::MAX, 0x3FFF_FFFF] {
            assert_eq!(PidFd::open(pid).unwrap_err().errno(), libc::ESRCH);
        }
        let own = PidFd::open(std::process::id()).unwrap();
        assert!(
            [libc::EBADF, libc::EPERM].contains(&own.descriptor(1_000_000).unwrap_err().errno())
        );
    }
}
