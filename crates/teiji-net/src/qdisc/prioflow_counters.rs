//! What a `prioflow` qdisc and its device counted. Layouts from kernel/uapi/prioflow.h.

use serde::{Deserialize, Serialize};
use teiji_core::wire::MacAddr;

use crate::message::{u32_at, u64_at};

/// Levels of a port; the highest is never paused.
pub const LEVELS: usize = 16;

/// `struct tc_prioflow_level { u64 sent, sent_bytes, dropped, longest_wait_ns, paused_ns;
/// u32 pauses, queued; u64 queued_bytes; }`
const LEVEL_LEN: usize = 56;
/// `struct tc_prioflow_xstats { u32 send_level, receive_level; struct tc_prioflow_level
/// level[16]; struct tc_prioflow_link link; struct tc_prioflow_forward forward;
/// struct tc_prioflow_by by; }`
const LEVELS_AT: usize = 8;
const LINK_AT: usize = LEVELS_AT + LEVELS * LEVEL_LEN;
/// In the link's: `u64 …[6]; u32 storms; u8 peer[6]; u8 unused[6];`
const PEER_AT: usize = LINK_AT + 52;
const FORWARD_AT: usize = LINK_AT + 64;
const BY_AT: usize = FORWARD_AT + 32;

/// What a level counted since the qdisc was set; pauses are those of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LevelCounters {
    /// Packets handed to the device.
    pub sent: u64,
    /// Bytes of these.
    pub sent_bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Longest time that one waited.
    pub longest_wait_ns: u64,
    /// How long it was not allowed to send.
    pub paused_ns: u64,
    /// How often.
    pub pauses: u32,
    /// Packets waiting now.
    pub queued: u32,
    /// Bytes of these.
    pub queued_bytes: u64,
}

impl LevelCounters {
    /// With those of another qdisc of the device.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.dropped += other.dropped;
        self.longest_wait_ns = self.longest_wait_ns.max(other.longest_wait_ns);
        self.queued += other.queued;
        self.queued_bytes += other.queued_bytes;
    }
}

/// Level frames of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounters {
    /// Sent.
    pub frames_sent: u64,
    /// Received and well-formed.
    pub frames_received: u64,
    /// Received and not.
    pub malformed: u64,
    /// Of those received: older than one that came before.
    pub stale: u64,
    /// Of those received: more a second than are listened to.
    pub limited: u64,
    /// Of those received: from a peer that had paused for too long.
    pub ignored: u64,
    /// How often it had.
    pub storms: u32,
}

/// What a bridge forwards, in frames of one level that came in by one port and wait in one
/// queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardCounters {
    /// Room for those that came in by this device; 0: none.
    pub room: u32,
    /// Of it for what can still come after asking for silence.
    pub headroom: u32,
    /// XOFFs sent to the peer because of them.
    pub asks: u64,
    /// That wait for this device: those that found no room, and could be dropped.
    pub beyond: u64,
    /// That wait for this device: as many as have at most.
    pub most: u32,
}

impl ForwardCounters {
    /// With those of another qdisc of the device.
    pub(crate) fn add(&mut self, other: &Self) {
        self.beyond += other.beyond;
        self.most = self.most.max(other.most);
    }
}

/// Who holds the levels of a device; the highest is in force, and 0 is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holders {
    /// Nothing below leaves: set by hand.
    pub transmit_by_hand: u8,
    /// Asked by the peer.
    pub transmit_by_peer: u8,
    /// The peer is asked to send nothing below: set by hand.
    pub receive_by_hand: u8,
    /// For sockets of this network namespace that are full.
    pub receive_by_sockets: u8,
    /// For frames that a bridge has taken from the device and that wait.
    pub receive_by_forwarded: u8,
}

/// What all counters of a qdisc and its device say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllCounters {
    pub(crate) transmit_level: u8,
    pub(crate) receive_level: u8,
    pub(crate) holders: Holders,
    pub(crate) peer: Option<MacAddr>,
    pub(crate) levels: [LevelCounters; LEVELS],
    pub(crate) link: LinkCounters,
    pub(crate) forward: ForwardCounters,
}

/// The counters, `TCA_STATS_APP`.
pub(crate) fn parse(bytes: &[u8]) -> Option<AllCounters> {
    let level = |at| u8::try_from(u32_at(bytes, at)?).ok();
    let mut levels = [LevelCounters::default(); LEVELS];
    for (index, counters) in levels.iter_mut().enumerate() {
        let long = |n: usize| u64_at(bytes, LEVELS_AT + index * LEVEL_LEN + 8 * n);
        let short = |n: usize| u32_at(bytes, LEVELS_AT + index * LEVEL_LEN + 40 + 4 * n);
        *counters = LevelCounters {
            sent: long(0)?,
            sent_bytes: long(1)?,
            dropped: long(2)?,
            longest_wait_ns: long(3)?,
            paused_ns: long(4)?,
            pauses: short(0)?,
            queued: short(1)?,
            queued_bytes: long(6)?,
        };
    }
    let long = |n: usize| u64_at(bytes, LINK_AT + 8 * n);
    let link = LinkCounters {
        frames_sent: long(0)?,
        frames_received: long(1)?,
        malformed: long(2)?,
        stale: long(3)?,
        limited: long(4)?,
        ignored: long(5)?,
        storms: u32_at(bytes, LINK_AT + 48)?,
    };
    let forward = ForwardCounters {
        room: u32_at(bytes, FORWARD_AT)?,
        headroom: u32_at(bytes, FORWARD_AT + 4)?,
        asks: u64_at(bytes, FORWARD_AT + 8)?,
        beyond: u64_at(bytes, FORWARD_AT + 16)?,
        most: u32_at(bytes, FORWARD_AT + 24)?,
    };
    let by = |n: usize| bytes.get(BY_AT + n).copied();
    let holders = Holders {
        transmit_by_hand: by(0)?,
        transmit_by_peer: by(1)?,
        receive_by_hand: by(2)?,
        receive_by_sockets: by(3)?,
        receive_by_forwarded: by(4)?,
    };
    let peer: [u8; 6] = *bytes.get(PEER_AT..)?.first_chunk()?;
    Some(AllCounters {
        transmit_level: level(0)?,
        receive_level: level(4)?,
        holders,
        peer: (peer != [0; 6]).then_some(MacAddr(peer)),
        levels,
        link,
        forward,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_where_the_kernels_header_has_them() {
        let mut bytes = vec![0; BY_AT + 8];
        bytes[0] = 3;
        bytes[4] = 7;
        let level_15 = LEVELS_AT + 15 * LEVEL_LEN;
        for (at, value) in [(level_15, 9), (level_15 + 24, 12_000), (level_15 + 48, 77)] {
            bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(value));
        }
        bytes[level_15 + 40..level_15 + 48].copy_from_slice(&[2, 0, 0, 0, 4, 0, 0, 0]);
        bytes[LINK_AT + 48] = 6;
        bytes[FORWARD_AT + 24] = 5;
        bytes[PEER_AT + 5] = 9;
        bytes[BY_AT + 1] = 3;
        bytes[BY_AT + 4] = 7;
        let found = parse(&bytes).unwrap();
        assert_eq!((found.transmit_level, found.receive_level), (3, 7));
        let holders =
            Holders { transmit_by_peer: 3, receive_by_forwarded: 7, ..Holders::default() };
        assert_eq!((found.holders, found.peer), (holders, Some(MacAddr([0, 0, 0, 0, 0, 9]))));
        let AllCounters { levels, link, forward, .. } = found;
        assert_eq!((forward.room, forward.most), (0, 5));
        let found = levels[15];
        assert_eq!((found.sent, found.longest_wait_ns, found.queued_bytes), (9, 12_000, 77));
        #[cfg(target_endian = "little")]
        assert_eq!((found.pauses, found.queued), (2, 4));
        assert_eq!(link.storms, 6);
        assert_eq!(levels[14], LevelCounters::default());
        bytes.truncate(BY_AT + 4);
        assert_eq!(parse(&bytes), None, "of another module");
    }
}
