//! What a `prioflow` qdisc and its device counted. Layouts from kernel/uapi/prioflow.h.

use serde::{Deserialize, Serialize};
use teiji_core::wire::MacAddr;

use crate::message::{u16_at, u32_at, u64_at};

/// Levels of a port; the highest is never paused.
pub const LEVELS: usize = 16;

/// `struct tc_prioflow_level { u64 sent, sent_bytes, dropped, longest_wait_ns, paused_ns;
/// u32 pauses, queued; u64 queued_bytes; }`
const LEVEL_LEN: usize = 56;
/// `struct tc_prioflow_xstats { u16 paused, request; u32 unused; struct tc_prioflow_level
/// level[16]; struct tc_prioflow_link link; struct tc_prioflow_forward forward;
/// struct tc_prioflow_by by; u64 ruled, ruled_over_room, kept, lost; }`
const LEVELS_AT: usize = 8;
const LINK_AT: usize = LEVELS_AT + LEVELS * LEVEL_LEN;
/// In the link's: `u64 …[6]; u32 storms; u8 peer[6], peer_state, peer_version, peer_obeys,
/// unused; u16 peer_ring; u64 peer_silent_ns, foreign, no_memory; s32 thread; u32 peer_reaction_us;`
const PEER_AT: usize = LINK_AT + 52;
const SILENT_AT: usize = LINK_AT + 64;
const FORWARD_AT: usize = LINK_AT + 96;
const BY_AT: usize = FORWARD_AT + 32;
/// In `struct tc_prioflow_by`, after the levels: `u16 paused_hand, paused_peer, …;`
const BY_LEN: usize = 20;
/// Aligned to eight octets.
const RULED_AT: usize = BY_AT + BY_LEN + 4;

/// Levels, a bit for each: bit L stands for level L.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelSet(pub u16);

impl LevelSet {
    /// Whether this level is in it.
    pub fn contains(self, level: u8) -> bool {
        u32::from(level) < u16::BITS && (self.0 >> level) & 1 == 1
    }

    /// Its levels, from the lowest on.
    pub fn levels(self) -> impl Iterator<Item = u8> {
        (0..16).filter(move |&level| self.contains(level))
    }

    /// The highest level plus one, 0 if it is empty: if it has all levels below, a threshold.
    pub fn top(self) -> u8 {
        self.levels().last().map_or(0, |level| level + 1)
    }

    /// Whether it has all levels below [`Self::top`].
    pub fn is_threshold(self) -> bool {
        self.0 & self.0.wrapping_add(1) == 0
    }
}

impl Serialize for LevelSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.levels())
    }
}

impl<'de> Deserialize<'de> for LevelSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let levels = Vec::<u8>::deserialize(deserializer)?;
        let bit = |level: &u8| 1_u16.checked_shl((*level).into()).unwrap_or(0);
        Ok(Self(levels.iter().map(bit).fold(0, |all, bit| all | bit)))
    }
}

/// What a port knows of the other end of its wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerState {
    /// The link is off or new, or its equipment says nothing of itself.
    #[default]
    Unknown,
    /// It obeys.
    Obeys,
    /// It does not obey all of the requested levels.
    ObeysLess,
    /// Its pause-storm watchdog ignores requests for some level.
    Ignores,
    /// It sends, but does not receive this port's frames.
    ReceivesNothing,
    /// It sends no level frames, or none any more.
    Silent,
    /// It has transmitted more frames of requested levels than can have been in flight.
    Defies,
}

impl PeerState {
    /// By the kernel's number, `PRIOFLOW_PEER_*`.
    pub(crate) fn of(number: u8) -> Option<Self> {
        const ALL: [PeerState; 7] = [
            PeerState::Unknown,
            PeerState::Obeys,
            PeerState::ObeysLess,
            PeerState::Ignores,
            PeerState::ReceivesNothing,
            PeerState::Silent,
            PeerState::Defies,
        ];
        ALL.get(usize::from(number)).copied()
    }

    /// As `tc -s qdisc` and docs/protocol.md have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Obeys => "obeys",
            Self::ObeysLess => "obeys less",
            Self::Ignores => "ignores",
            Self::ReceivesNothing => "receives nothing",
            Self::Silent => "silent",
            Self::Defies => "defies",
        }
    }

    /// Whether the peer loses what this port asks it to keep.
    pub fn is_alarm(self) -> bool {
        !matches!(self, Self::Unknown | Self::Obeys)
    }
}

/// What a port knows of its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// Source address of its last obeyed frame.
    pub address: Option<MacAddr>,
    /// Whether it obeys.
    pub state: PeerState,
    /// Version of its level frames; 0: unknown.
    pub version: u8,
    /// It obeys requests to pause the levels below. From version 2 on.
    pub obeys: u8,
    /// Its headroom covers this many frames in the rings of both ends,
    pub ring: u16,
    /// and this time from XOFF to the last frame, in µs. 0: it does not say.
    pub reaction_us: u32,
    /// Time since its last frame; 0 if there was none.
    pub silent_ns: u64,
}

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
    /// Of those received: above the rate limit.
    pub limited: u64,
    /// Of those received: from a peer that had paused for too long.
    pub ignored: u64,
    /// How often it had.
    pub storms: u32,
    /// Level frames that others wanted to send here; they were dropped.
    pub foreign: u64,
    /// Not sent for lack of memory; repeated later.
    pub no_memory: u64,
    /// Process ID of the thread that sends them; 0: none.
    pub thread: u32,
}

/// What a bridge forwards, in frames of one level that came in by one port and wait in one
/// queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardCounters {
    /// Room for those that came in by this device; 0: none.
    pub room: u32,
    /// Of it the headroom for in-flight frames after XOFF.
    pub headroom: u32,
    /// XOFFs sent to the peer because of them.
    #[serde(rename = "asks")]
    pub pause_requests: u64,
    /// That wait for this device: those that found no room, and could be dropped.
    #[serde(rename = "beyond")]
    pub over_limit: u64,
    /// That wait for this device: as many as have at most.
    pub most: u32,
}

impl ForwardCounters {
    /// With those of another qdisc of the device.
    pub(crate) fn add(&mut self, other: &Self) {
        self.over_limit += other.over_limit;
        self.most = self.most.max(other.most);
    }
}

/// Packets of programs that have not opted in, to which a rule of the administrator's applies
/// ([`crate::flow_rules`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCounters {
    /// Protected ones.
    pub protected: u64,
    /// Those that were not, because of `net.prioflow.send_room`.
    pub over_room: u64,
}

impl RuleCounters {
    /// With those of another qdisc of the device.
    pub(crate) fn add(&mut self, other: Self) {
        self.protected += other.protected;
        self.over_room += other.over_room;
    }
}

/// Who pauses levels of a device, and who has its peer pause some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Holders {
    /// Not sent: set by hand.
    pub transmit_by_hand: LevelSet,
    /// Not sent: requested by the peer.
    pub transmit_by_peer: LevelSet,
    /// Requested from the peer: set by hand.
    pub receive_by_hand: LevelSet,
    /// For sockets of this network namespace that are full.
    pub receive_by_sockets: LevelSet,
    /// For frames that a bridge has taken from the device and that wait.
    pub receive_by_forwarded: LevelSet,
}

/// Protected packets of a device that its qdiscs do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeptCounters {
    /// They wait for the carrier now.
    pub kept: u64,
    /// They were dropped: the device was set down, its qdisc removed, or, of those that a bridge
    /// forwards, the carrier lost.
    pub lost: u64,
}

/// What all counters of a qdisc and its device say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllCounters {
    pub(crate) paused: LevelSet,
    pub(crate) requested: LevelSet,
    pub(crate) holders: Holders,
    pub(crate) peer: Peer,
    pub(crate) levels: [LevelCounters; LEVELS],
    pub(crate) link: LinkCounters,
    pub(crate) forward: ForwardCounters,
    pub(crate) ruled: RuleCounters,
    pub(crate) kept: KeptCounters,
}

/// The counters, `TCA_STATS_APP`.
pub(crate) fn parse(bytes: &[u8]) -> Option<AllCounters> {
    let set = |at| u16_at(bytes, at).map(LevelSet);
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
        foreign: u64_at(bytes, SILENT_AT + 8)?,
        no_memory: u64_at(bytes, SILENT_AT + 16)?,
        thread: u32_at(bytes, SILENT_AT + 24)?,
    };
    let forward = ForwardCounters {
        room: u32_at(bytes, FORWARD_AT)?,
        headroom: u32_at(bytes, FORWARD_AT + 4)?,
        pause_requests: u64_at(bytes, FORWARD_AT + 8)?,
        over_limit: u64_at(bytes, FORWARD_AT + 16)?,
        most: u32_at(bytes, FORWARD_AT + 24)?,
    };
    let by = |n: usize| set(BY_AT + 8 + 2 * n);
    let holders = Holders {
        transmit_by_hand: by(0)?,
        transmit_by_peer: by(1)?,
        receive_by_hand: by(2)?,
        receive_by_sockets: by(3)?,
        receive_by_forwarded: by(4)?,
    };
    let ruled = RuleCounters {
        protected: u64_at(bytes, RULED_AT)?,
        over_room: u64_at(bytes, RULED_AT + 8)?,
    };
    let kept =
        KeptCounters { kept: u64_at(bytes, RULED_AT + 16)?, lost: u64_at(bytes, RULED_AT + 24)? };
    let address: [u8; 6] = *bytes.get(PEER_AT..)?.first_chunk()?;
    let [state, version, obeys] = *bytes.get(PEER_AT + 6..)?.first_chunk()?;
    let peer = Peer {
        address: (address != [0; 6]).then_some(MacAddr(address)),
        state: PeerState::of(state)?,
        version,
        obeys,
        ring: u16_at(bytes, PEER_AT + 10)?,
        reaction_us: u32_at(bytes, SILENT_AT + 28)?,
        silent_ns: u64_at(bytes, SILENT_AT)?,
    };
    let (paused, requested) = (set(0)?, set(2)?);
    Some(AllCounters { paused, requested, holders, peer, levels, link, forward, ruled, kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_where_the_kernels_header_has_them() {
        let mut bytes = vec![0; RULED_AT + 32];
        bytes[..4].copy_from_slice(&[3_u16, 7].map(u16::to_ne_bytes).concat());
        let level_15 = LEVELS_AT + 15 * LEVEL_LEN;
        for (at, value) in [(level_15, 9), (level_15 + 24, 12_000), (level_15 + 48, 77)] {
            bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(value));
        }
        bytes[level_15 + 40..level_15 + 48].copy_from_slice(&[2, 0, 0, 0, 4, 0, 0, 0]);
        bytes[LINK_AT + 48] = 6;
        bytes[FORWARD_AT + 24] = 5;
        bytes[PEER_AT + 5] = 9;
        bytes[PEER_AT + 6..PEER_AT + 9].copy_from_slice(&[2, 2, 14]);
        bytes[PEER_AT + 10..PEER_AT + 12].copy_from_slice(&64_u16.to_ne_bytes());
        bytes[SILENT_AT + 28..SILENT_AT + 32].copy_from_slice(&1000_u32.to_ne_bytes());
        bytes[BY_AT + 10..BY_AT + 12].copy_from_slice(&3_u16.to_ne_bytes());
        bytes[BY_AT + 16..BY_AT + 18].copy_from_slice(&7_u16.to_ne_bytes());
        bytes[RULED_AT + 8..RULED_AT + 16].copy_from_slice(&u64::to_ne_bytes(5));
        bytes[RULED_AT + 24..].copy_from_slice(&u64::to_ne_bytes(8));
        let found = parse(&bytes).unwrap();
        assert_eq!(found.ruled, RuleCounters { protected: 0, over_room: 5 });
        assert_eq!(found.kept, KeptCounters { kept: 0, lost: 8 });
        assert_eq!((found.paused, found.requested), (LevelSet(3), LevelSet(7)));
        let holders = Holders {
            transmit_by_peer: LevelSet(3),
            receive_by_forwarded: LevelSet(7),
            ..Holders::default()
        };
        let peer = Peer {
            address: Some(MacAddr([0, 0, 0, 0, 0, 9])),
            state: PeerState::ObeysLess,
            version: 2,
            obeys: 14,
            ring: 64,
            reaction_us: 1000,
            silent_ns: 0,
        };
        assert_eq!((found.holders, found.peer), (holders, peer));
        let AllCounters { levels, link, forward, .. } = found;
        assert_eq!((forward.room, forward.most), (0, 5));
        let found = levels[15];
        assert_eq!((found.sent, found.longest_wait_ns, found.queued_bytes), (9, 12_000, 77));
        #[cfg(target_endian = "little")]
        assert_eq!((found.pauses, found.queued), (2, 4));
        assert_eq!(link.storms, 6);
        assert_eq!(levels[14], LevelCounters::default());
        bytes.truncate(BY_AT + 8);
        assert_eq!(parse(&bytes), None, "of another module");
    }

    #[test]
    fn a_set_of_levels_knows_its_levels_and_whether_it_is_a_threshold() {
        let some = LevelSet(0b1010);
        assert_eq!(some.levels().collect::<Vec<_>>(), [1, 3]);
        assert_eq!((some.top(), some.is_threshold()), (4, false));
        assert_eq!((LevelSet(0b111).top(), LevelSet(0b111).is_threshold()), (3, true));
        assert_eq!((LevelSet(0).top(), LevelSet(0).is_threshold()), (0, true));
        assert!(some.contains(3) && !some.contains(2) && !some.contains(16));
    }
}
