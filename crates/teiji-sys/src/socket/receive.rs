//! Receiving many messages a call, with their control messages, into buffers
//! that are allocated once.
#![expect(unsafe_code, reason = "recvmmsg writes through pointers into prepared buffers")]

use std::os::fd::{AsFd, AsRawFd};

use super::event::{self, Stamps, TxEvent};
use super::{Address, Socket, length_of};
use crate::error::{SysError, check};

/// Room for the control messages of one message, in 8-byte words: a time stamp
/// takes 64 bytes, a report with an IPv6 address 64, with reserve.
const CONTROL_WORDS: usize = 32;
const CONTROL_BYTES: usize = CONTROL_WORDS * 8;

/// Which of a socket's queues to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Frames that arrived. Waits for the first, as long as the socket's
    /// receive time-out allows.
    Arrivals,
    /// Reports about frames that were sent. Never waits.
    Errors,
}

/// Buffers for up to a fixed number of messages.
pub struct Receiver {
    // INVARIANT: `messages[i]` points to `parts[i]`, which points to the i-th
    // piece of `payload`, to the i-th piece of `control` and, unless `sources`
    // is empty, to its i-th piece. The vectors are never resized, so their
    // buffers stay where they are when `self` moves.
    messages: Vec<libc::mmsghdr>,
    #[expect(dead_code, reason = "the kernel reads it through `messages`")]
    parts: Vec<libc::iovec>,
    payload: Vec<u8>,
    control: Vec<[u64; CONTROL_WORDS]>,
    sources: Vec<libc::sockaddr_storage>,
    payload_size: usize,
    count: u16,
    filled: usize,
}

// SAFETY: the raw pointers in `messages` and `parts` lead into buffers that
// this value owns; they are used only in `receive`, which has `&mut self`.
unsafe impl Send for Receiver {}

impl Receiver {
    /// Buffers for `count` messages with up to `payload_size` bytes each. What
    /// is longer is cut.
    pub fn new(count: u16, payload_size: usize) -> Self {
        let messages = usize::from(count);
        let mut payload = vec![0_u8; messages * payload_size];
        let mut control = vec![[0_u64; CONTROL_WORDS]; messages];
        // Pointers are taken from the vectors as a whole, so that each may be
        // used while the others are.
        let (payload_at, control_at) = (payload.as_mut_ptr(), control.as_mut_ptr());
        let mut parts: Vec<_> = (0..messages)
            .map(|i| libc::iovec {
                iov_base: payload_at.wrapping_add(i * payload_size).cast(),
                iov_len: payload_size,
            })
            .collect();
        let parts_at = parts.as_mut_ptr();
        let messages = (0..messages)
            .map(|i| {
                // SAFETY: integers and null pointers, for which zero is a value.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = parts_at.wrapping_add(i);
                message.msg_hdr.msg_iovlen = usize::from(payload_size > 0) as _;
                message.msg_hdr.msg_control = control_at.wrapping_add(i).cast();
                message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
                message
            })
            .collect();
        let sources = Vec::new();
        Self { messages, parts, payload, control, sources, payload_size, count, filled: 0 }
    }

    /// The same, and every message says who sent it.
    pub fn with_sources(count: u16, payload_size: usize) -> Self {
        let mut receiver = Self::new(count, payload_size);
        // SAFETY: integers, for which zero is a value.
        receiver.sources = vec![unsafe { std::mem::zeroed() }; usize::from(count)];
        let sources_at = receiver.sources.as_mut_ptr();
        for (i, message) in receiver.messages.iter_mut().enumerate() {
            message.msg_hdr.msg_name = sources_at.wrapping_add(i).cast();
            message.msg_hdr.msg_namelen = length_of::<libc::sockaddr_storage>();
        }
        receiver
    }

    /// Receives messages and gives how many. 0 means that none came in time.
    ///
    /// # Errors
    /// What the kernel says; `EINTR` and time-outs are no errors.
    #[inline]
    pub fn receive(&mut self, socket: &Socket, queue: Queue) -> Result<usize, SysError> {
        for message in &mut self.messages[..self.filled] {
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
            message.msg_hdr.msg_flags = 0;
            if !self.sources.is_empty() {
                message.msg_hdr.msg_namelen = length_of::<libc::sockaddr_storage>();
            }
        }
        self.filled = 0;
        let flags = match queue {
            Queue::Arrivals => libc::MSG_WAITFORONE,
            Queue::Errors => libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
        };
        // SAFETY: by the invariant each of the `len` messages points to live,
        // exclusively borrowed buffers of the lengths it states.
        let result = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.messages.as_mut_ptr(),
                self.count.into(),
                flags as _,
                std::ptr::null_mut(),
            )
        };
        match check("recvmmsg", result) {
            Ok(count) => {
                self.filled = usize::try_from(count).unwrap_or(0);
                Ok(self.filled)
            }
            Err(error) if matches!(error.errno(), libc::EAGAIN | libc::EINTR) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The messages of the last [`Receiver::receive`].
    #[inline]
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        self.messages[..self.filled].iter().enumerate().map(|(i, message)| {
            let length = (message.msg_len as usize).min(self.payload_size);
            let start = i * self.payload_size;
            // SAFETY: an array of integers seen as its bytes.
            let area: &[u8; CONTROL_BYTES] = unsafe { &*(&raw const self.control[i]).cast() };
            // A platform's `msg_controllen` may be narrower than usize.
            #[allow(clippy::unnecessary_cast)]
            let control_length = (message.msg_hdr.msg_controllen as usize).min(CONTROL_BYTES);
            Message {
                payload: &self.payload[start..start + length],
                control: &area[..control_length],
                source: self
                    .sources
                    .get(i)
                    .and_then(|at| Address::received(at, message.msg_hdr.msg_namelen)),
            }
        })
    }
}

/// One message that was received.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its bytes, cut at the receiver's payload size.
    pub payload: &'a [u8],
    control: &'a [u8],
    source: Option<Address>,
}

impl Message<'_> {
    /// The time stamps that came with it.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        event::stamps(self.control)
    }

    /// Who sent it; only from a receiver [with sources](Receiver::with_sources).
    #[inline]
    pub fn source(&self) -> Option<&Address> {
        self.source.as_ref()
    }

    /// The report it carries, if it is from the error queue.
    #[inline]
    pub fn tx_event(&self) -> Option<TxEvent> {
        event::tx_event(self.control)
    }
}
