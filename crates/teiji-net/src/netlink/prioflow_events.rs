//! The events of `prioflow` by generic netlink. Numbers from kernel/uapi/prioflow.h.

use teiji_core::errno::ENOENT;
use teiji_core::time::{Instant, Monotonic};

use super::generic::{Family, field};
use super::{KernelError, Netlink};
use crate::message::{messages, u16_at, u32_at, u64_at};
use crate::qdisc::prioflow_counters::{LevelSet, PeerState};

const FAMILY: &str = "prioflow";
const GROUP: &str = "events";
const CMD_LEVELS: u8 = 1;
const CMD_STORM: u8 = 2;
const CMD_PEER: u8 = 3;
const CMD_RECEIVER: u8 = 4;
const CMD_GET_RECEIVERS: u8 = 5;
const A_IFINDEX: u16 = 1;
const A_PAUSED: u16 = 2;
const A_REQUEST: u16 = 3;
const A_TIME: u16 = 4;
const A_PEER_STATE: u16 = 6;
const A_INODE: u16 = 7;
const A_PID: u16 = 8;
const A_LEVEL: u16 = 9;
const A_XOFF_NS: u16 = 10;
const A_ABANDONED: u16 = 11;
const A_QUEUED: u16 = 12;
const A_HIGH: u16 = 13;
const A_BUFFER: u16 = 14;
const A_PAUSE_REQUESTS: u16 = 15;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Other levels are paused or requested now.
    Levels,
    /// The peer has paused for too long, and is ignored for as long.
    Storm,
    /// The state of the peer is another now.
    Peer,
}

/// One event of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// What happened.
    pub what: Happening,
    /// The device's index.
    pub index: u32,
    /// Levels that are not sent from now on.
    pub paused: LevelSet,
    /// Levels that the peer shall pause from now on.
    pub requested: LevelSet,
    /// What is known of the peer.
    pub peer: PeerState,
    /// When.
    pub at: Instant<Monotonic>,
}

/// A socket that sends pause requests, as the kernel module knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Receiver {
    /// Inode of the socket, as in `/proc/PID/fd`.
    pub inode: u64,
    /// The process that opted it in.
    pub pid: u32,
    /// Index of the device that it stands for; 0: all of the namespace.
    pub ifindex: u32,
    /// Level of its datagrams.
    pub level: u8,
    /// How long its peers have been paused; 0: they are not.
    pub xoff_ns: u64,
    /// It has not read for too long, and is no longer served.
    pub abandoned: bool,
    /// Bytes that it has not read, as the kernel charges them.
    pub queued: u32,
    /// From here on it sends XOFF, bytes.
    pub high: u32,
    /// `SO_RCVBUF`, bytes.
    pub buffer: u32,
    /// How often it has sent XOFF.
    pub pause_requests: u32,
}

/// An event of a receiver: it is no longer served, or is again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverEvent {
    /// When.
    pub at: Instant<Monotonic>,
    /// Its state from then on.
    pub receiver: Receiver,
}

/// The receivers of the calling thread's network namespace.
pub(crate) fn receivers(netlink: &mut Netlink) -> Result<Vec<Receiver>, KernelError> {
    let family = Family::find(netlink, FAMILY)?;
    netlink.dump(&family.request(CMD_GET_RECEIVERS), receiver)
}

/// The events of receivers in a notification.
pub(crate) fn parse_receivers(bytes: &[u8]) -> impl Iterator<Item = ReceiverEvent> {
    messages(bytes).filter_map(|message| {
        let payload = message.payload;
        (*payload.first()? == CMD_RECEIVER).then_some(())?;
        Some(ReceiverEvent { at: time(payload)?, receiver: receiver(payload)? })
    })
}

fn receiver(payload: &[u8]) -> Option<Receiver> {
    let byte = |kind| field(payload, kind)?.first().copied();
    let word = |kind| u32_at(field(payload, kind)?, 0);
    let long = |kind| u64_at(field(payload, kind)?, 0);
    Some(Receiver {
        inode: long(A_INODE)?,
        pid: word(A_PID)?,
        ifindex: word(A_IFINDEX)?,
        level: byte(A_LEVEL)?,
        xoff_ns: long(A_XOFF_NS)?,
        abandoned: byte(A_ABANDONED)? != 0,
        queued: word(A_QUEUED)?,
        high: word(A_HIGH)?,
        buffer: word(A_BUFFER)?,
        pause_requests: word(A_PAUSE_REQUESTS)?,
    })
}

fn time(payload: &[u8]) -> Option<Instant<Monotonic>> {
    let ns = u64_at(field(payload, A_TIME)?, 0)?;
    Some(Instant::from_ns(i64::try_from(ns).ok()?))
}

/// A socket of the calling thread's network namespace that receives them from now on.
pub(crate) fn listen() -> Result<Netlink, KernelError> {
    let mut netlink = Netlink::open_generic()?;
    let group = Family::find(&mut netlink, FAMILY)?.group(GROUP);
    netlink.listen(group.ok_or(KernelError { errno: ENOENT, extack: None })?)?;
    Ok(netlink)
}

/// The events of a notification; a newer module's others are skipped.
pub(crate) fn parse(bytes: &[u8]) -> impl Iterator<Item = FlowEvent> {
    messages(bytes).filter_map(|message| event(message.payload))
}

fn event(payload: &[u8]) -> Option<FlowEvent> {
    let set = |kind| u16_at(field(payload, kind)?, 0).map(LevelSet);
    Some(FlowEvent {
        what: match *payload.first()? {
            CMD_LEVELS => Happening::Levels,
            CMD_STORM => Happening::Storm,
            CMD_PEER => Happening::Peer,
            _ => return None,
        },
        index: u32_at(field(payload, A_IFINDEX)?, 0)?,
        paused: set(A_PAUSED)?,
        requested: set(A_REQUEST)?,
        peer: PeerState::of(*field(payload, A_PEER_STATE)?.first()?)?,
        at: time(payload)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;

    #[test]
    fn an_event_is_read_and_what_is_not_known_is_skipped() {
        let of = |command: u8| {
            Request::new(30, 0, &[command, 1, 0, 0])
                .u32(A_IFINDEX, 7)
                .attribute(A_PAUSED, &5_u16.to_ne_bytes())
                .attribute(A_REQUEST, &[0, 0])
                .attribute(A_PEER_STATE, &[1])
                .attribute(A_TIME, &12_u64.to_ne_bytes())
                .finish(0, 0)
        };
        let bytes: Vec<u8> = [1, 9, 2].into_iter().flat_map(of).collect();
        let levels = FlowEvent {
            what: Happening::Levels,
            index: 7,
            paused: LevelSet(5),
            requested: LevelSet(0),
            peer: PeerState::Obeys,
            at: Instant::from_ns(12),
        };
        let storm = FlowEvent { what: Happening::Storm, ..levels };
        assert_eq!(parse(&bytes).collect::<Vec<_>>(), [levels, storm]);
        let without_time = Request::new(30, 0, &[1, 1, 0, 0]).u32(A_IFINDEX, 7).finish(0, 0);
        assert_eq!(parse(&without_time).next(), None);
    }
}
