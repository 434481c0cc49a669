//! `prioflow`: 16 levels, with flow control of the link. Layouts from kernel/uapi/prioflow.h.

use std::fmt;

use teiji_core::domain::Level;
use teiji_core::time::Span;
use teiji_experiment::scenario::{LevelSource, LevelTable, LinkMode, PauseScope, Prioflow};

use super::{DropReason, Kind, OPTIONS};
use crate::message::{Request, attribute, u32_at};

/// [`PrioflowChange::bytes`] that takes the limit away.
pub const NO_LIMIT: u32 = u32::MAX;

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
const SCOPE: u16 = 14;
const OBEY: u16 = 15;
const PROPAGATE: u16 = 16;

impl Kind for Prioflow {
    fn words(&self) -> String {
        PrioflowChange::from(self).to_string()
    }

    fn encode(&self, request: Request) -> Request {
        PrioflowChange::from(self).encode(request)
    }

    fn module(&self) -> Option<&'static str> {
        Some(Self::KIND)
    }

    fn drops_for(&self) -> Option<DropReason> {
        Some(DropReason::Full)
    }
}

impl PrioflowChange {
    /// Appends what is to change.
    pub(crate) fn encode(&self, request: Request) -> Request {
        request.nested(OPTIONS, |request| options(request, self))
    }
}

/// What is to change of a qdisc and its link; `None` stays as it is, and in a new qdisc is
/// the kernel's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrioflowChange {
    /// As [`Prioflow::limit`].
    pub limit: Option<u32>,
    /// Most bytes that wait, or [`NO_LIMIT`].
    pub bytes: Option<u32>,
    /// As [`Prioflow::source`]; brings its own table.
    pub source: Option<LevelSource>,
    /// The level of each value of the source.
    pub table: Option<LevelTable>,
    /// As [`Prioflow::link`].
    pub link: Option<LinkMode>,
    /// As [`Prioflow::storm`].
    pub storm: Option<Span>,
    /// As [`Prioflow::reaction`].
    pub reaction: Option<Span>,
    /// As [`Prioflow::ring`].
    pub ring: Option<u32>,
    /// As [`Prioflow::room`].
    pub room: Option<u32>,
    /// As [`Prioflow::scope`].
    pub scope: Option<PauseScope>,
    /// As [`Prioflow::obey`].
    pub obey: Option<Level>,
    /// As [`Prioflow::propagate`].
    pub propagate: Option<bool>,
    /// Nothing below this level leaves the port; 0: all does.
    pub send_level: Option<Level>,
    /// The send level ends by itself after this time.
    pub lifetime: Option<Span>,
    /// Receive level: the peer pauses all levels below; 0: none.
    pub receive_level: Option<Level>,
}

impl From<&Prioflow> for PrioflowChange {
    fn from(settings: &Prioflow) -> Self {
        Self {
            limit: Some(settings.limit),
            bytes: settings.bytes,
            source: Some(settings.source),
            table: settings.table,
            link: Some(settings.link),
            storm: Some(settings.storm),
            reaction: Some(settings.reaction),
            ring: Some(settings.ring),
            room: Some(settings.room),
            scope: Some(settings.scope),
            obey: Some(settings.obey),
            propagate: Some(settings.propagate),
            send_level: None,
            lifetime: None,
            receive_level: None,
        }
    }
}

/// `tc`'s words, each with a space before it.
impl fmt::Display for PrioflowChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut word = |name: &str, value: Option<&dyn fmt::Display>| {
            value.map_or(Ok(()), |value| write!(f, " {name} {value}"))
        };
        let units = |span: Option<Span>, unit_ns: i64| span.map(|span| span.as_ns() / unit_ns);
        word("limit", self.limit.as_ref().map(|limit| limit as _))?;
        word("bytes", self.bytes.as_ref().map(|bytes| bytes as _))?;
        word("by", self.source.map(LevelSource::name).as_ref().map(|name| name as _))?;
        word("table", self.table.as_ref().map(|table| table as _))?;
        word("send-level", self.send_level.as_ref().map(|level| level as _))?;
        word("for", units(self.lifetime, 1_000_000).as_ref().map(|ms| ms as _))?;
        word("link", self.link.map(LinkMode::name).as_ref().map(|name| name as _))?;
        word("receive-level", self.receive_level.as_ref().map(|level| level as _))?;
        word("storm", units(self.storm, 1_000_000).as_ref().map(|ms| ms as _))?;
        word("reaction", units(self.reaction, 1_000).as_ref().map(|us| us as _))?;
        word("ring", self.ring.as_ref().map(|ring| ring as _))?;
        word("room", self.room.as_ref().map(|room| room as _))?;
        word("scope", self.scope.map(PauseScope::name).as_ref().map(|name| name as _))?;
        word("obey", self.obey.as_ref().map(|level| level as _))?;
        let on = |yes| if yes { "on" } else { "off" };
        word("propagate", self.propagate.map(on).as_ref().map(|word| word as _))
    }
}

/// Appends what is to change.
fn options(mut request: Request, change: &PrioflowChange) -> Request {
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
    request = byte(request, SEND_LEVEL, change.send_level.map(Level::get));
    if let Some(lifetime) = change.lifetime {
        request = request.attribute(LIFETIME_NS, &lifetime.as_ns().to_ne_bytes());
    }
    request = byte(request, LINK, change.link.map(|link| link as u8));
    request = byte(request, RECEIVE_LEVEL, change.receive_level.map(Level::get));
    request = word(request, STORM_MS, units(change.storm, 1_000_000));
    request = word(request, REACTION_US, units(change.reaction, 1_000));
    request = word(request, RING, change.ring);
    request = word(request, ROOM, change.room);
    request = byte(request, SCOPE, change.scope.map(|scope| scope as u8));
    request = byte(request, OBEY, change.obey.map(Level::get));
    byte(request, PROPAGATE, change.propagate.map(u8::from))
}

/// The settings of a dump.
pub(crate) fn decode(options: &[u8]) -> Option<Prioflow> {
    let word = |kind| attribute(options, kind).and_then(|value| u32_at(value, 0));
    let source = *LevelSource::ALL.get(usize::from(byte(options, SOURCE)?))?;
    let table = LevelTable::new(attribute(options, TABLE)?).ok()?;
    Some(Prioflow {
        limit: word(LIMIT)?,
        bytes: Some(word(BYTES)?).filter(|bytes| *bytes != NO_LIMIT),
        source,
        table: Some(table).filter(|table| *table != LevelTable::default_of(source)),
        link: *LinkMode::ALL.get(usize::from(byte(options, LINK)?))?,
        storm: Span::from_millis(word(STORM_MS)?.into()),
        reaction: Span::from_micros(word(REACTION_US)?.into()),
        ring: word(RING)?,
        room: word(ROOM)?,
        scope: *PauseScope::ALL.get(usize::from(byte(options, SCOPE)?))?,
        obey: Level::new(byte(options, OBEY)?)?,
        propagate: byte(options, PROPAGATE)? != 0,
    })
}

fn byte(options: &[u8], kind: u16) -> Option<u8> {
    attribute(options, kind)?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER_LEN;

    #[test]
    fn a_change_reads_as_tcs_words() {
        let change = PrioflowChange {
            limit: Some(150),
            bytes: Some(9000),
            source: Some(LevelSource::Pcp),
            table: "0,0,0,0,1,2,3,14".parse().ok(),
            link: Some(LinkMode::MacControl),
            storm: Some(Span::from_millis(300)),
            send_level: Level::new(2),
            lifetime: Some(Span::from_millis(70)),
            receive_level: Level::new(3),
            ..PrioflowChange::default()
        };
        let words = " limit 150 bytes 9000 by pcp table 0,0,0,0,1,2,3,14 send-level 2 for 70 link \
                     mac-control receive-level 3 storm 300";
        assert_eq!(change.to_string(), words);
        assert_eq!(PrioflowChange::default().to_string(), "");
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let settings = Prioflow {
            limit: 150,
            bytes: Some(90_000),
            source: LevelSource::Pcp,
            table: LevelTable::new(&[0, 0, 1, 1, 2, 2, 3, 14]).ok(),
            link: LinkMode::Experimental,
            storm: Span::from_millis(300),
            reaction: Span::from_micros(250),
            ring: 4,
            room: 500,
            scope: PauseScope::Level,
            obey: Level::HIGHEST_PAUSED,
            propagate: false,
        };
        let change = PrioflowChange::from(&settings);
        let bytes = options(Request::new(0, 0, &[]), &change).finish(1, 0);
        assert_eq!(decode(&bytes[HEADER_LEN..]), Some(settings));
        let some = PrioflowChange { send_level: Level::new(5), ..PrioflowChange::default() };
        let bytes = options(Request::new(0, 0, &[]), &some).finish(1, 0);
        assert_eq!(bytes[HEADER_LEN..], [5, 0, 5, 0, 5, 0, 0, 0], "nothing that is not said");
    }
}
