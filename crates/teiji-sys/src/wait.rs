//! Waiting until one of several descriptors has something (`poll(2)`).
#![expect(unsafe_code, reason = "poll takes a pointer to an array")]

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::error::{SysError, check};

/// What a descriptor has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Something to read.
    pub readable: bool,
    /// The other end is closed, or the descriptor is in error.
    pub hung_up: bool,
}

/// Waits until one of them is ready, without end. A signal handler ends the wait with nothing.
///
/// # Errors
/// What `poll(2)` refuses: more descriptors than the process may have open.
pub fn for_any<const N: usize>(descriptors: [BorrowedFd<'_>; N]) -> Result<[Ready; N], SysError> {
    let mut entries =
        descriptors.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let number = libc::nfds_t::try_from(N).expect("a few descriptors");
    // SAFETY: `entries` are `number` entries, which the call reads and writes.
    match check("poll", unsafe { libc::poll(entries.as_mut_ptr(), number, -1) }) {
        Err(error) if error.errno() != libc::EINTR => Err(error),
        _ => Ok(entries.map(|entry| Ready {
            readable: entry.revents & libc::POLLIN != 0,
            hung_up: entry.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0,
        })),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_descriptor_that_has_something_is_named() {
        let (quiet, _held) = UnixStream::pair().unwrap();
        let (reader, mut writer) = UnixStream::pair().unwrap();
        writer.write_all(b"x").unwrap();
        let both = || for_any([quiet.as_fd(), reader.as_fd()]).unwrap();
        assert_eq!(both(), [Ready::default(), Ready { readable: true, hung_up: false }]);
        drop(writer);
        assert_eq!(both()[1], Ready { readable: true, hung_up: true });
    }
}
