//! Passing a descriptor to another process over a Unix socket (`SCM_RIGHTS`, `unix(7)`).
#![expect(unsafe_code, reason = "sendmsg and recvmsg take pointers to control messages")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::error::SysError;

/// Room for one control message with one descriptor, aligned as `struct cmsghdr`.
type Control = [u64; 4];
/// `CMSG_LEN`: header and descriptor.
const LENGTH: usize = size_of::<libc::cmsghdr>() + size_of::<RawFd>();

/// Sends the descriptor with one byte.
pub fn send(to: &UnixStream, descriptor: BorrowedFd<'_>) -> Result<(), SysError> {
    let mut control: Control = [0; 4];
    // SAFETY: a structure of integers, for which zero is a value.
    let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
    header.cmsg_len = LENGTH as _;
    header.cmsg_level = libc::SOL_SOCKET;
    header.cmsg_type = libc::SCM_RIGHTS;
    // SAFETY: `control` is aligned for both and larger than `LENGTH`.
    unsafe {
        let at = control.as_mut_ptr().cast::<u8>();
        at.cast::<libc::cmsghdr>().write(header);
        at.add(size_of::<libc::cmsghdr>()).cast::<RawFd>().write(descriptor.as_raw_fd());
    }
    let result = with_message(&mut control, |message| {
        // SAFETY: `message` is complete and lives for the call.
        unsafe { libc::sendmsg(to.as_raw_fd(), message, libc::MSG_NOSIGNAL) }
    });
    if result < 0 { Err(SysError::last("sendmsg")) } else { Ok(()) }
}

/// Receives a descriptor; `None` if the other end is closed, or has sent something else.
pub fn receive(from: &UnixStream) -> Result<Option<OwnedFd>, SysError> {
    let mut control: Control = [0; 4];
    let result = with_message(&mut control, |message| {
        // SAFETY: `message` is complete and lives for the call.
        unsafe { libc::recvmsg(from.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    });
    if result < 0 {
        return Err(SysError::last("recvmsg"));
    }
    // SAFETY: `control` is aligned for both and larger; any bytes are valid.
    let (header, descriptor) = unsafe {
        let at = control.as_ptr().cast::<u8>();
        (
            at.cast::<libc::cmsghdr>().read(),
            at.add(size_of::<libc::cmsghdr>()).cast::<RawFd>().read(),
        )
    };
    let passed = header.cmsg_len as usize == LENGTH
        && (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    // SAFETY: the kernel has just given us this descriptor; nobody else has it.
    Ok(passed.then(|| unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Calls `transfer` with a message of one byte and the control area.
fn with_message(control: &mut Control, transfer: impl FnOnce(*mut libc::msghdr) -> isize) -> isize {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: a structure of integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<libc::cmsghdr>() + size_of::<u64>();
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
