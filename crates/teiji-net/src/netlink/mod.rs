//! Conversations with the kernel over netlink: one request, one answer.
//!
//! A socket belongs to the network namespace of the thread that opened it and
//! stays there, so one [`Netlink`] per host is all a plan needs.

pub(crate) mod address;
pub(crate) mod ethtool;
mod generic;
pub(crate) mod link;
pub(crate) mod neighbour;
pub(crate) mod netdev;
pub(crate) mod prioflow_events;
pub(crate) mod qdisc;
pub(crate) mod route;

use std::fmt;
use std::io;

use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};
use netlink_sys::{Socket, SocketAddr};

use teiji_core::errno::EAGAIN;

use crate::message::{
    HEADER_LEN, NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_DUMP_INTR, NLMSG_DONE,
    NLMSG_ERROR, Request, attribute, i32_at, messages, text, u32_at,
};

/// The kernel's dumps come in chunks of at most 32 KiB (`NLMSG_GOODSIZE` and
/// `max_recvmsg_len`).
const RECEIVE_LEN: usize = 64 * 1024;

/// `NLMSGERR_ATTR_MSG`: the kernel's own sentence.
const NLMSGERR_ATTR_MSG: u16 = 1;

/// The kernel's refusal: an error number and, often, a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    /// `errno`, positive.
    pub errno: i32,
    /// The kernel's extended acknowledgement, if it gave one.
    pub extack: Option<String>,
}

impl KernelError {
    /// Keeps the error number of an I/O error; `EIO` if it has none.
    pub(crate) fn from_io(error: &io::Error) -> Self {
        Self { errno: error.raw_os_error().unwrap_or(5), extack: None }
    }
}

impl std::error::Error for KernelError {}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // "No such device (os error 19)" → "No such device (errno 19)"
        let system = io::Error::from_raw_os_error(self.errno).to_string();
        f.write_str(&system.replace("(os error", "(errno"))?;
        match &self.extack {
            Some(extack) => write!(f, "; kernel: \"{extack}\""),
            None => Ok(()),
        }
    }
}

impl From<io::Error> for KernelError {
    fn from(error: io::Error) -> Self {
        Self::from_io(&error)
    }
}

/// A netlink socket in one network namespace.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl fmt::Debug for Netlink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Netlink").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    pub(crate) fn open() -> Result<Self, KernelError> {
        Self::open_protocol(NETLINK_ROUTE)
    }

    /// As [`Self::open`], for generic netlink.
    pub(crate) fn open_generic() -> Result<Self, KernelError> {
        Self::open_protocol(NETLINK_GENERIC)
    }

    fn open_protocol(protocol: isize) -> Result<Self, KernelError> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Old kernels lack these: then errors come without a sentence.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a request that changes something; `Ok` means the kernel did it.
    pub(crate) fn change(&mut self, request: Request) -> Result<(), KernelError> {
        self.converse(request, NLM_F_ACK, |_, _| ())
    }

    /// Sends a request for one object; `found` gets message type and payload.
    pub(crate) fn get(
        &mut self,
        request: Request,
        found: impl FnMut(u16, &[u8]),
    ) -> Result<(), KernelError> {
        self.converse(request, NLM_F_ACK, found)
    }

    /// Lists objects. A list that changed while it was read is read again, so
    /// `collect` starts from nothing each time.
    pub(crate) fn dump<T>(
        &mut self,
        request: &Request,
        mut parse: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, KernelError> {
        const TRIES: usize = 5;
        let mut list = Vec::new();
        for _ in 0..TRIES {
            list.clear();
            let mut torn = false;
            self.converse(request.clone(), NLM_F_DUMP, |flags, payload| {
                torn |= flags & NLM_F_DUMP_INTR != 0;
                list.extend(parse(payload));
            })?;
            if !torn {
                break;
            }
        }
        Ok(list)
    }

    fn converse(
        &mut self,
        request: Request,
        flags: u16,
        mut found: impl FnMut(u16, &[u8]),
    ) -> Result<(), KernelError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request.finish(self.sequence, flags), 0)?;
        loop {
            let bytes = self.receive()?;
            for message in messages(&bytes).filter(|m| m.sequence == self.sequence) {
                match message.kind {
                    NLMSG_ERROR => return acknowledgement(message.flags, message.payload),
                    NLMSG_DONE => return done(message.payload),
                    _ => found(message.flags, message.payload),
                }
            }
        }
    }

    /// Has the socket receive the messages of this multicast group, which
    /// [`Self::notification`] reads. It sends no request any more.
    pub(crate) fn listen(&mut self, group: u32) -> Result<(), KernelError> {
        self.socket.add_membership(group)?;
        Ok(self.socket.set_non_blocking(true)?)
    }

    /// What was notified, if anything: whole messages.
    pub(crate) fn notification(&self) -> Result<Option<Vec<u8>>, KernelError> {
        match self.receive() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.errno == EAGAIN => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn receive(&self) -> Result<Vec<u8>, KernelError> {
        loop {
            let mut bytes = Vec::with_capacity(RECEIVE_LEN);
            match self.socket.recv(&mut bytes, 0) {
                Ok(_) => return Ok(bytes),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// `NLMSG_DONE` carries a negative error number when a dump failed.
fn done(payload: &[u8]) -> Result<(), KernelError> {
    match i32_at(payload, 0) {
        Some(code) if code < 0 => Err(KernelError { errno: -code, extack: None }),
        _ => Ok(()),
    }
}

/// `struct nlmsgerr { int error; struct nlmsghdr msg; }`, then the request
/// again unless capped, then attributes.
fn acknowledgement(flags: u16, payload: &[u8]) -> Result<(), KernelError> {
    let code = i32_at(payload, 0).unwrap_or(0);
    if code == 0 {
        return Ok(());
    }
    let echoed = match u32_at(payload, 4) {
        Some(len) if flags & NLM_F_CAPPED == 0 => usize::try_from(len).unwrap_or(0),
        _ => HEADER_LEN,
    };
    let extack = payload
        .get(4 + echoed.next_multiple_of(4)..)
        .filter(|_| flags & NLM_F_ACK_TLVS != 0)
        .and_then(|tlvs| attribute(tlvs, NLMSGERR_ATTR_MSG))
        .map(text);
    Err(KernelError { errno: code.saturating_neg(), extack })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_sentence_is_read_with_and_without_the_echoed_request() {
        let sentence = b"Specified qdisc kind is unknown\0";
        let tlv = Request::new(0, 0, &[]).attribute(NLMSGERR_ATTR_MSG, sentence).finish(0, 0)
            [HEADER_LEN..]
            .to_vec();
        let request = Request::new(36, 0, &[0; 20]).finish(3, 0);
        for (flags, echoed) in [
            (NLM_F_ACK_TLVS | NLM_F_CAPPED, &request[..HEADER_LEN]),
            (NLM_F_ACK_TLVS, &request[..]),
        ] {
            let mut payload = (-2_i32).to_ne_bytes().to_vec();
            payload.extend_from_slice(echoed);
            payload.extend_from_slice(&tlv);
            let error = acknowledgement(flags, &payload).unwrap_err();
            assert_eq!(
                error.to_string(),
                "No such file or directory (errno 2); kernel: \"Specified qdisc kind is unknown\""
            );
        }
    }

    #[test]
    fn an_acknowledgement_without_error_is_success() {
        assert_eq!(acknowledgement(0, &[0; 20]), Ok(()));
        assert_eq!(done(&(-19_i32).to_ne_bytes()).unwrap_err().errno, 19);
    }

    #[test]
    fn the_kernel_lists_the_loopback_device() {
        let mut netlink = Netlink::open().unwrap();
        let links = link::list(&mut netlink).unwrap();
        assert!(links.iter().any(|l| l.name == "lo"), "{links:?}");
        assert_eq!(link::find(&mut netlink, "no-such-if").unwrap(), None);
    }
}
