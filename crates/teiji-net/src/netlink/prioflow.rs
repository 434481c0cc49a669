//! The options and counters of a `prioflow` qdisc as netlink carries them. Layouts from
//! kernel/uapi/prioflow.h.

use teiji_core::time::Span;
use teiji_core::wire::MacAddr;
use teiji_experiment::scenario::{LevelSource, LevelTable, LinkMode, Prioflow};

use super::message::{Request, attribute, u32_at, u64_at};
use crate::flow::{
    AllCounters, ForwardCounters, Holders, LEVELS, LevelCounters, LinkCounters, NO_LIMIT,
    PrioflowChange,
};

const LIMIT: u16 = 1;
const BYTES: u16 = 2;
const SOURCE: u16 = 3;
const TABLE: u16 = 4;
const SEND_LEVEL: u16 = 5;
const LIFETIME_NS: u16 = 6;
const LINK: u16 = 8;
const RECEIVE_LEVEL: u16 = 9;
const STORM_MS: u16 = 10;
const REACTION_US: u16 = 11;
const RING: u16 = 12;
const ROOM: u16 = 13;

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

/// Appends what is to change.
pub(super) fn options(mut request: Request, change: &PrioflowChange) -> Request {
    let byte = |request: Request, kind, value: Option<u8>| match value {
        Some(value) => request.attribute(kind, &[value]),
        None => request,
    };
    let word = |request: Request, kind, value: Option<u32>| match value {
        Some(value) => request.u32(kind, value),
        None => request,
    };
    // A `Span` is what the user said; the kernel refuses what is beyond its own limits.
    let units = |span: Option<Span>, unit_ns: i64| {
        span.map(|span| u32::try_from(span.as_ns() / unit_ns).unwrap_or(u32::MAX))
    };
    request = word(request, LIMIT, change.limit);
    request = word(request, BYTES, change.bytes);
    request = byte(request, SOURCE, change.source.map(|source| source as u8));
    if let Some(table) = &change.table {
        request = request.attribute(TABLE, table.levels());
    }
    request = byte(request, SEND_LEVEL, change.send_level);
    if let Some(lifetime) = change.lifetime {
        request = request.attribute(LIFETIME_NS, &lifetime.as_ns().to_ne_bytes());
    }
    request = byte(request, LINK, change.link.map(|link| link as u8));
    request = byte(request, RECEIVE_LEVEL, change.receive_level);
    request = word(request, STORM_MS, units(change.storm, 1_000_000));
    request = word(request, REACTION_US, units(change.reaction, 1_000));
    request = word(request, RING, change.ring);
    word(request, ROOM, change.room)
}

/// The settings of a dump.
pub(crate) fn parse(options: &[u8]) -> Option<Prioflow> {
    let word = |kind| attribute(options, kind).and_then(|value| u32_at(value, 0));
    let source = *LevelSource::ALL.get(usize::from(byte(options, SOURCE)?))?;
    let table = LevelTable::new(attribute(options, TABLE)?).ok()?;
    Some(Prioflow {
        limit: word(LIMIT)?,
        bytes: Some(word(BYTES)?).filter(|bytes| *bytes != NO_LIMIT),
        source,
        table: Some(table).filter(|table| *table != LevelTable::usual(source)),
        link: *LinkMode::ALL.get(usize::from(byte(options, LINK)?))?,
        storm: Span::from_millis(word(STORM_MS)?.into()),
        reaction: Span::from_micros(word(REACTION_US)?.into()),
        ring: word(RING)?,
        room: word(ROOM)?,
    })
}

fn byte(options: &[u8], kind: u16) -> Option<u8> {
    attribute(options, kind)?.first().copied()
}

/// The counters, `TCA_STATS_APP`.
pub(crate) fn parse_counters(bytes: &[u8]) -> Option<AllCounters> {
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
    use crate::netlink::message::HEADER_LEN;

    #[test]
    fn what_is_sent_is_what_is_read() {
        let settings = Prioflow {
            limit: 150,
            bytes: Some(90_000),
            source: LevelSource::Pcp,
            table: LevelTable::new(&[0, 0, 1, 1, 2, 2, 3, 15]).ok(),
            link: LinkMode::Experimental,
            storm: Span::from_millis(300),
            reaction: Span::from_micros(250),
            ring: 4,
            room: 500,
        };
        let change = PrioflowChange::from(&settings);
        let bytes = options(Request::new(0, 0, &[]), &change).finish(1, 0);
        assert_eq!(parse(&bytes[HEADER_LEN..]), Some(settings));
        let some = PrioflowChange { send_level: Some(5), ..PrioflowChange::default() };
        let bytes = options(Request::new(0, 0, &[]), &some).finish(1, 0);
        assert_eq!(bytes[HEADER_LEN..], [5, 0, 5, 0, 5, 0, 0, 0], "nothing that is not said");
    }

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
        let found = parse_counters(&bytes).unwrap();
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
        assert_eq!(parse_counters(&bytes), None, "of another module");
    }
}
