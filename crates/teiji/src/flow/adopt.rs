//! Opting in the UDP sockets of a program that runs already, by copies of its descriptors.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

use teiji_core::errno::{EBADF, EINVAL, ENOSYS, ESRCH};
use teiji_sys::error::SysError;
use teiji_sys::pidfd::PidFd;
use teiji_sys::socket::Socket;
use thiserror::Error;

use super::opt_in::{self, OptIn, OptedIn};
use super::{EPERM, FlowError};

/// What `readlink` gives of a socket's descriptor.
const SOCKET_LINK: &str = "socket:[";

/// Why the sockets of a process are out of reach. Each text says what to do about it.
#[derive(Debug, Error)]
pub enum AdoptError {
    /// There is no such process.
    #[error("there is no process {pid}: see `ps -e`")]
    NoProcess {
        /// The number.
        pid: u32,
    },
    /// The number is a thread's.
    #[error(
        "{pid} is the number of a thread: use the number of its process, `Tgid` in /proc/{pid}/status"
    )]
    Thread {
        /// The number.
        pid: u32,
    },
    /// This process may not trace it.
    #[error(
        "no permission to copy descriptors of process {pid}: run as root, or as the user of that \
         process where the sysctl kernel.yama.ptrace_scope is 0"
    )]
    NoPermission {
        /// The number.
        pid: u32,
    },
    /// The kernel is too old.
    #[error("this kernel cannot copy descriptors of another process: Linux 5.6 can (pidfd_getfd)")]
    OldKernel,
    /// Something else.
    #[error(transparent)]
    Sys(#[from] SysError),
}

/// A UDP socket of another program.
#[derive(Debug)]
pub struct ProgramSocket {
    /// Its descriptors there, in order.
    pub descriptors: Vec<i32>,
    /// The address that it is bound to; port 0: not bound.
    pub local: Option<SocketAddr>,
    /// The address that it is connected to.
    pub peer: Option<SocketAddr>,
    socket: Socket,
}

impl ProgramSocket {
    /// Opts it in.
    ///
    /// # Errors
    /// Without the module, the permission for the level, the senders' room or the receiver's headroom.
    pub fn opt_in(&self, opt_in: &OptIn) -> Result<OptedIn, FlowError> {
        opt_in.apply_to(&self.socket, false)
    }

    /// Opts it out, in both directions. Its buffers keep their sizes.
    ///
    /// # Errors
    /// Without the module.
    pub fn opt_out(&self) -> Result<(), FlowError> {
        opt_in::opt_out(&self.socket)
    }
}

/// The UDP sockets that a process has now, by their first descriptors.
///
/// # Errors
/// If there is no such process, its descriptors may not be copied, or the kernel is older than 5.6.
pub fn udp_sockets(pid: u32) -> Result<Vec<ProgramSocket>, AdoptError> {
    let explain = |error: SysError| match error.errno() {
        ESRCH => AdoptError::NoProcess { pid },
        EINVAL => AdoptError::Thread { pid },
        EPERM => AdoptError::NoPermission { pid },
        ENOSYS => AdoptError::OldKernel,
        _ => AdoptError::Sys(error),
    };
    let process = PidFd::open(pid).map_err(explain)?;
    let mut sockets = Vec::new();
    for descriptors in socket_descriptors(pid)?.into_values() {
        let Some(&first) = descriptors.first() else { continue };
        let copy = match process.descriptor(first) {
            Ok(copy) => copy,
            // Closed meanwhile.
            Err(error) if error.errno() == EBADF => continue,
            Err(error) => return Err(explain(error)),
        };
        if let Some(socket) = Socket::from_udp(copy) {
            let (local, peer) = (socket.local_address().ok(), socket.peer_address());
            sockets.push(ProgramSocket { descriptors, local, peer, socket });
        }
    }
    sockets.sort_by_key(|socket| socket.descriptors[0]);
    Ok(sockets)
}

/// The descriptors of each socket, in order, by what names the socket.
fn socket_descriptors(pid: u32) -> Result<BTreeMap<String, Vec<i32>>, AdoptError> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => AdoptError::NoPermission { pid },
        std::io::ErrorKind::NotFound => AdoptError::NoProcess { pid },
        _ => AdoptError::Sys(SysError::new("opendir", error)),
    })?;
    let mut found: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for entry in entries.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let link = fs::read_link(entry.path())
            .ok()
            .and_then(|link| link.into_os_string().into_string().ok());
        if let (Some(number), Some(link)) =
            (number, link.filter(|link| link.starts_with(SOCKET_LINK)))
        {
            found.entry(link).or_default().push(number);
        }
    }
    for descriptors in found.values_mut() {
        descriptors.sort_unstable();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn udp_sockets_of_a_process_are_found_once_with_all_descriptors() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let second = socket.try_clone().unwrap();
        let _other = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = match udp_sockets(std::process::id()) {
            Ok(found) => found,
            Err(error @ AdoptError::NoPermission { .. }) => return println!("SKIP: {error}"),
            Err(error) => panic!("{error}"),
        };
        let local = socket.local_addr().unwrap();
        let ours: Vec<_> = found.iter().filter(|found| found.local == Some(local)).collect();
        let mut descriptors = [socket.as_raw_fd(), second.as_raw_fd()];
        descriptors.sort_unstable();
        assert_eq!(ours.len(), 1);
        assert_eq!((&ours[0].descriptors[..], ours[0].peer), (&descriptors[..], None));
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        let error = udp_sockets(0x3FFF_FFFF).unwrap_err().to_string();
        assert_eq!(error, "there is no process 1073741823: see `ps -e`");
    }
}
