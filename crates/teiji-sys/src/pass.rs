//! Passing a descriptor to another process over a Unix socket (`SCM_RIGHTS`, `unix(7)`).
#![expect(unsafe_code, reason = "sendmsg and recvmsg take pointers to control messages")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::error::SysError;

/// One control message with one descriptor, as `CMSG_DATA` places it.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    descriptor: RawFd,
}

/// `CMSG_LEN`: without the padding.
const LENGTH: usize = size_of::<libc::cmsghdr>() + size_of::<RawFd>();

impl Control {
    fn of(descriptor: RawFd) -> Self {
        // SAFETY: a structure of integers, for which zero is a value.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_len = LENGTH as _;
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = libc::SCM_RIGHTS;
        Self { header, descriptor }
    }
}

/// Sends the descriptor with one byte.
///
/// # Errors
/// If the other end is closed, or too many descriptors are on their way.
pub fn send(to: &UnixStream, descriptor: BorrowedFd<'_>) -> Result<(), SysError> {
    let mut control = Control::of(descriptor.as_raw_fd());
    let result = with_message(&mut control, |message| {
        // SAFETY: `message` is complete and lives for the call.
        unsafe { libc::sendmsg(to.as_raw_fd(), message, libc::MSG_NOSIGNAL) }
    });
    if result < 0 { Err(SysError::last("sendmsg")) } else { Ok(()) }
}

/// Receives a descriptor; `None` if the other end is closed, or has sent something else.
///
/// # Errors
/// What `recvmsg(2)` refuses.
pub fn receive(from: &UnixStream) -> Result<Option<OwnedFd>, SysError> {
    // Not yet that of a descriptor: the kernel writes it if it passes one.
    let mut control = Control::of(-1);
    control.header.cmsg_type = 0;
    let result = with_message(&mut control, |message| {
        // SAFETY: `message` is complete and lives for the call.
        unsafe { libc::recvmsg(from.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    });
    if result < 0 {
        return Err(SysError::last("recvmsg"));
    }
    let Control { header, descriptor } = control;
    let passed = (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    // SAFETY: the kernel has just given us this descriptor; nobody else has it.
    Ok((passed && descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Calls `transfer` with a message of one byte and the control area.
fn with_message(control: &mut Control, transfer: impl FnOnce(*mut libc::msghdr) -> isize) -> isize {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: a structure of integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = std::ptr::from_mut(control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    transfer(&raw mut message)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_descriptor_arrives_and_is_the_same_file() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = UnixStream::pair().unwrap();
        send(&here, writer.as_fd()).unwrap();
        drop(writer);
        let mut passed = File::from(receive(&there).unwrap().unwrap());
        passed.write_all(b"hello").unwrap();
        drop(passed);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_closed_end_and_plain_bytes_pass_nothing() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"x").unwrap();
        assert!(receive(&there).unwrap().is_none());
        drop(here);
        assert!(receive(&there).unwrap().is_none());
    }
}
