//! The process whose system call the supervisor performs, as `/proc` shows it.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, fchown};
use std::path::PathBuf;

use teiji_sys::error::SysError;
use teiji_sys::netns::{self, NetnsError};
use teiji_sys::pidfd::PidFd;
use teiji_sys::socket::Socket;

/// The bit of `CAP_NET_ADMIN` in `CapEff`.
const CAP_NET_ADMIN: u64 = 1 << 12;

/// The supervisor itself.
#[derive(Debug)]
pub struct Own {
    network: PathBuf,
    users: PathBuf,
    status: Status,
}

impl Own {
    pub fn find() -> Result<Self, SysError> {
        let failed = |error| SysError::new("readlink", error);
        Ok(Self {
            network: fs::read_link("/proc/self/ns/net").map_err(failed)?,
            users: fs::read_link("/proc/self/ns/user").map_err(failed)?,
            status: Status::of("self").map_err(failed)?,
        })
    }
}

/// A thread that waits in a call.
#[derive(Debug)]
pub struct Caller {
    thread: u32,
    status: Status,
}

impl Caller {
    pub fn find(thread: u32) -> io::Result<Self> {
        Ok(Self { thread, status: Status::of(&thread.to_string())? })
    }

    fn path(&self, below: &str) -> String {
        format!("/proc/{}/{below}", self.thread)
    }

    /// For people.
    pub fn name(&self) -> String {
        format!("{} (process {})", self.status.name, self.status.process)
    }

    /// Whether sockets of the supervisor are in the caller's network namespace.
    pub fn is_in_namespace_of(&self, own: &Own) -> bool {
        fs::read_link(self.path("ns/net")).is_ok_and(|found| found == own.network)
    }

    pub fn network_namespace(&self) -> Result<OwnedFd, NetnsError> {
        netns::open(self.path("ns/net").as_ref())
    }

    /// Makes the socket the caller's, as if the caller had opened it.
    pub fn own(&self, socket: &Socket, own: &Own) -> io::Result<()> {
        let Status { user, group, .. } = self.status;
        if (user, group) == (own.status.user, own.status.group) {
            return Ok(());
        }
        fchown(socket, Some(user), Some(group))
    }

    /// A copy of the caller's descriptor.
    pub fn descriptor(&self, number: i32) -> Result<OwnedFd, SysError> {
        PidFd::open(self.status.process)?.descriptor(number)
    }

    /// The `int` at this address of the caller's memory.
    pub fn read_int(&self, address: u64) -> io::Result<i32> {
        let mut bytes = [0; 4];
        File::open(self.path("mem"))?.read_exact_at(&mut bytes, address)?;
        Ok(i32::from_ne_bytes(bytes))
    }

    /// Whether the caller may do what needs `CAP_NET_ADMIN` of the supervisor.
    pub fn may_force(&self, own: &Own) -> bool {
        let users = fs::read_link(self.path("ns/user"));
        users.is_ok_and(|users| users == own.users) && self.status.capabilities & CAP_NET_ADMIN != 0
    }
}

/// What `/proc/PID/status` says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    name: String,
    process: u32,
    /// For files and sockets.
    user: u32,
    group: u32,
    capabilities: u64,
}

impl Status {
    fn of(thread: &str) -> io::Result<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{thread}/status"))?)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
        };
        // Real, effective, saved, of the file system.
        let last = |name| field(name)?.split_whitespace().nth(3)?.parse().ok();
        Some(Self {
            name: field("Name")?.to_owned(),
            process: field("Tgid")?.parse().ok()?,
            user: last("Uid")?,
            group: last("Gid")?,
            capabilities: u64::from_str_radix(field("CapEff")?, 16).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_by_its_fields() {
        let text = "Name:\tsome tool\nUmask:\t0022\nTgid:\t812\nPid:\t813\nUid:\t0\t0\t0\t1000\n\
                    Gid:\t5\t5\t5\t6\nCapEff:\t0000000000001000\n";
        let status = Status::parse(text).unwrap();
        assert_eq!((&status.name[..], status.process), ("some tool", 812));
        assert_eq!((status.user, status.group), (1000, 6));
        assert_eq!(status.capabilities, CAP_NET_ADMIN);
        assert_eq!(Status::parse("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_is_in_its_own_namespaces() {
        let own = Own::find().unwrap();
        let caller = Caller::find(std::process::id()).unwrap();
        assert!(caller.is_in_namespace_of(&own));
        assert_eq!(caller.status.process, std::process::id());
        let value = 77_i32;
        let address = std::ptr::from_ref(&value).addr() as u64;
        match caller.read_int(address) {
            Ok(read) => assert_eq!(read, 77),
            Err(error) => println!("SKIP: no access to memory: {error}"),
        }
    }
}
