//! A host of the experiment while it is applied: its network namespace, and what is
//! done inside.

use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use teiji_core::errno::ENOENT;
use teiji_sys::netns;

use crate::cause::Cause;
use crate::netlink::{KernelError, Netlink, link};
use crate::real_nic;

/// How long a port may take until it can send; a gigabit NIC negotiates for
/// two to four seconds.
pub(crate) const CARRIER_WAIT: Duration = Duration::from_secs(10);

/// An anonymous namespace, held open, with a socket inside.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) namespace: OwnedFd,
    pub(crate) netlink: Netlink,
}

impl Host {
    pub(crate) fn create() -> Result<Self, Cause> {
        let text = |error: netns::NetnsError| Cause::Text(error.to_string());
        let namespace = netns::create().map_err(text)?;
        let netlink = netns::in_namespace(namespace.as_fd(), Netlink::open).map_err(text)??;
        Ok(Self { namespace, netlink })
    }

    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Cause> {
        netns::in_namespace(self.namespace.as_fd(), work).map_err(|e| Cause::Text(e.to_string()))
    }

    pub(crate) fn sysctl(&self, path: &str, value: &str) -> Result<(), Cause> {
        let write = || std::fs::write(format!("/proc/sys/{path}"), value);
        match self.inside(write)? {
            // A kernel without IPv6 needs nobody to switch it off.
            Err(e) if e.raw_os_error() == Some(ENOENT) && path.ends_with("disable_ipv6") => Ok(()),
            Err(e) if e.raw_os_error() == Some(ENOENT) => Err(Cause::Text(
                "this kernel has no IPv6, which a flow of the experiment uses".to_owned(),
            )),
            result => result.map_err(|e| Cause::Kernel(KernelError::from_io(&e))),
        }
    }

    pub(crate) fn loopback_up(&mut self) -> Result<(), Cause> {
        const LOOPBACK: u32 = 1;
        Ok(link::set_up(&mut self.netlink, LOOPBACK, true)?)
    }

    pub(crate) fn set_queues(&mut self, ifname: &str, queues: u16) -> Result<(), Cause> {
        let tx_queues = link::find(&mut self.netlink, ifname)?.map_or(0, |l| l.tx_queues);
        self.inside(|| real_nic::set_queues(ifname, queues, tx_queues))?.map_err(Cause::Text)
    }

    pub(crate) fn wait_for_carrier(
        &mut self,
        ifname: &str,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), Cause> {
        const PAUSE: Duration = Duration::from_millis(10);
        let started = Instant::now();
        loop {
            if link::find(&mut self.netlink, ifname)?.is_some_and(|l| l.is_ready()) {
                return Ok(());
            }
            if interrupted() || started.elapsed() >= CARRIER_WAIT {
                return Err(Cause::Text(format!(
                    "{ifname} has no carrier after {} s; is the cable plugged in at both ends",
                    CARRIER_WAIT.as_secs()
                )));
            }
            thread::sleep(PAUSE);
        }
    }
}
