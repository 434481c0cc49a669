//! Sending one message a call, with its launch time, without allocation.
#![expect(unsafe_code, reason = "sendmsg takes pointers to address, data and control area")]

use std::os::fd::{AsFd, AsRawFd};

use teiji_core::time::{Instant, Tai};

use super::{Address, Socket};
use crate::error::SysError;

/// `SCM_TXTIME`, which is also the option's number.
const SCM_TXTIME: libc::c_int = super::SO_TXTIME;

/// A control message with a launch time, as `cmsg(3)` lays it out: a byte
/// array needs no alignment, so it follows the header without gap.
#[repr(C)]
struct LaunchControl {
    header: libc::cmsghdr,
    launch: [u8; 8],
}

/// Sends messages to one address. The parts that stay are built once; a launch
/// time is patched into place.
pub struct Sender {
    address: Option<Address>,
    control: LaunchControl,
}

impl Sender {
    /// A sender to `address`; `None` for sockets that are bound to where they
    /// send (`AF_PACKET`).
    pub fn new(address: Option<Address>) -> Self {
        // SAFETY: integers, for which zero is a value. (Zeroed instead of
        // written out, because some C libraries have padding fields.)
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = size_of::<LaunchControl>() as _;
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = SCM_TXTIME;
        Self { address, control: LaunchControl { header, launch: [0; 8] } }
    }

    /// Sends `header` followed by `payload` as one message, with a launch time
    /// if there is one ([`Socket::set_launch_times`] comes first). Never
    /// waits: a full send buffer is `EAGAIN`.
    ///
    /// # Errors
    /// What the kernel says, without allocation.
    #[inline]
    pub fn send(
        &mut self,
        socket: &Socket,
        header: &[u8],
        payload: &[u8],
        launch: Option<Instant<Tai>>,
    ) -> Result<(), SysError> {
        let part = |bytes: &[u8]| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let mut parts = [part(header), part(payload)];
        // One part is cheaper for the kernel than two.
        let used = if header.is_empty() { &mut parts[1..] } else { &mut parts[..] };
        // SAFETY: integers and null pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = used.as_mut_ptr();
        message.msg_iovlen = used.len() as _;
        if let Some(address) = &self.address {
            let (pointer, length) = address.as_raw();
            message.msg_name = pointer.cast_mut().cast();
            message.msg_namelen = length;
        }
        if let Some(launch) = launch {
            self.control.launch = launch.as_ns().to_ne_bytes();
            message.msg_control = (&raw mut self.control).cast();
            message.msg_controllen = size_of::<LaunchControl>() as _;
        }
        // SAFETY: all pointers in `message` are to values that outlive the call,
        // with their true lengths; sendmsg only reads through them.
        let result = unsafe {
            libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_DONTWAIT)
        };
        // A datagram goes as a whole or not at all.
        if result < 0 { Err(SysError::last("sendmsg")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_message_has_the_size_that_the_c_macros_compute() {
        // SAFETY: pure arithmetic.
        let expected = unsafe { libc::CMSG_LEN(8) } as usize;
        assert_eq!(size_of::<LaunchControl>(), expected);
    }
}
