//! Flow control of a port: the qdisc `prioflow` set, taken away and looked at, outside of
//! experiments (kernel/prioflow/README.md).

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::time::Span;
use teiji_core::wire::MacAddr;
use teiji_experiment::scenario::{LevelSource, LevelTable, LinkMode, Prioflow};
use thiserror::Error;

use crate::netlink::qdisc::RawPrioflow;
use crate::netlink::{KernelError, Netlink, link, prioflow, qdisc};
use crate::qdisc::{Handle, ROOT_HANDLE};
use crate::transmit_ring::TransmitRing;

/// The kind of the qdisc.
pub(crate) const KIND: &str = "prioflow";
/// Levels of a port; the highest is never paused.
pub const LEVELS: usize = 16;
/// [`PrioflowChange::bytes`] that takes the limit away.
pub const NO_LIMIT: u32 = u32::MAX;

const EPERM: i32 = 1;
const ENOENT: i32 = 2;

/// Why flow control cannot be set, taken away or looked at. Nothing was changed.
#[derive(Debug, Error)]
pub enum FlowError {
    /// There is no such interface.
    #[error("there is no interface `{0}` here; `ip link` lists them")]
    NoInterface(String),
    /// The module is missing.
    #[error(
        "this kernel has no `prioflow` qdisc: build and load the module (kernel/prioflow/README.md)"
    )]
    NoModule,
    /// Somebody has set another qdisc.
    #[error(
        "{ifname} has the qdisc `{kind}`, which somebody has set: remove it first \
         (tc qdisc del dev {ifname} root)"
    )]
    Taken {
        /// The interface.
        ifname: String,
        /// What it has.
        kind: String,
    },
    /// It is not there.
    #[error("{0} has no flow control; `teiji flow enable {0}` gives it some")]
    NotThere(String),
    /// The rights are missing.
    #[error("this needs root (CAP_NET_ADMIN): run it with sudo")]
    NoRights,
    /// The counters are not those that this program knows.
    #[error(
        "the loaded prioflow is of another version; unload it and load this one's (kernel/prioflow)"
    )]
    OtherVersion,
    /// The kernel refused.
    #[error("{ifname}: the kernel refuses: {error}")]
    Refused {
        /// The interface.
        ifname: String,
        /// What the kernel says.
        error: KernelError,
    },
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
    /// Nothing below this level leaves the port; 0: all does.
    pub send_level: Option<u8>,
    /// The send level ends by itself after this time.
    pub lifetime: Option<Span>,
    /// The peer is asked to send nothing below this level; 0: it may send all.
    pub receive_level: Option<u8>,
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
        word("room", self.room.as_ref().map(|room| room as _))
    }
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
    fn add(&mut self, other: &Self) {
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
    /// How often the peer was asked because of them.
    pub asks: u64,
    /// That wait for this device: those that found no room, and could be dropped.
    pub beyond: u64,
    /// That wait for this device: as many as have at most.
    pub most: u32,
}

impl ForwardCounters {
    /// With those of another qdisc of the device.
    fn add(&mut self, other: &Self) {
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

/// Flow control of a device as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowStatus {
    /// The device.
    pub interface: String,
    /// The settings of its first qdisc, and those of its link.
    pub settings: Prioflow,
    /// Level of each value of the source.
    pub table: LevelTable,
    /// Nothing below leaves the device now, by whoever holds it.
    pub transmit_level: u8,
    /// The peer is asked to send nothing below now.
    pub receive_level: u8,
    /// Who holds them.
    pub held: Holders,
    /// Whose frames were obeyed last.
    pub peer: Option<MacAddr>,
    /// Level 0 to 15, all qdiscs of the device together.
    pub levels: [LevelCounters; LEVELS],
    /// Level frames.
    pub link: LinkCounters,
    /// Frames that a bridge forwards.
    pub forward: ForwardCounters,
    /// What leaves the device although its peer asks for silence.
    pub transmit_ring: TransmitRing,
}

impl FlowStatus {
    /// How many frames can be in the transmit ring, if that is more than the setting `ring`: if
    /// the peer has the same, its receivers do not keep room for them.
    pub fn beyond_ring(&self) -> Option<u64> {
        let at_most = self.transmit_ring.at_most()?;
        (self.settings.link != LinkMode::Off && at_most > self.settings.ring.into())
            .then_some(at_most)
    }
}

/// A device of this network namespace that may have flow control.
#[derive(Debug)]
pub struct FlowPort {
    netlink: Netlink,
    index: u32,
    ifname: String,
}

impl FlowPort {
    /// The device with this name.
    pub fn open(ifname: &str) -> Result<Self, FlowError> {
        let refused = |error| FlowError::Refused { ifname: ifname.to_owned(), error };
        let mut netlink = Netlink::open().map_err(refused)?;
        let found = link::find(&mut netlink, ifname).map_err(refused)?;
        let Some(link) = found else { return Err(FlowError::NoInterface(ifname.to_owned())) };
        Ok(Self { netlink, index: link.index, ifname: ifname.to_owned() })
    }

    /// The devices of this namespace that have flow control.
    pub fn all() -> Result<Vec<Self>, FlowError> {
        let refused = |error| FlowError::Refused { ifname: "the devices".to_owned(), error };
        let mut netlink = Netlink::open().map_err(refused)?;
        let with = qdisc::list_prioflow(&mut netlink).map_err(refused)?;
        let mut links = link::list(&mut netlink).map_err(refused)?;
        links.retain(|link| with.iter().any(|qdisc| qdisc.index == link.index));
        links.iter().map(|link| Self::open(&link.name)).collect()
    }

    /// Makes `prioflow` the root qdisc, or changes the one that is there. Returns the `tc`
    /// command that does the same.
    pub fn enable(&mut self, change: &PrioflowChange) -> Result<String, FlowError> {
        let root =
            qdisc::list(&mut self.netlink, self.index).map_err(|error| self.refused(error))?;
        let root = root.iter().find(|qdisc| qdisc.parent == Handle::ROOT);
        // The kernel's own have no handle.
        let set = root.filter(|qdisc| qdisc.handle != Handle(0));
        let handle = match set {
            Some(qdisc) if qdisc.settings.kind() == KIND => qdisc.handle,
            Some(qdisc) => {
                let kind = qdisc.settings.kind().to_owned();
                return Err(FlowError::Taken { ifname: self.ifname.clone(), kind });
            }
            None => ROOT_HANDLE,
        };
        qdisc::replace_prioflow(&mut self.netlink, self.index, handle, change).map_err(
            |error| match error.errno {
                ENOENT => FlowError::NoModule,
                _ => self.refused(error),
            },
        )?;
        Ok(format!("tc qdisc replace dev {} root handle {handle} {KIND}{change}", self.ifname))
    }

    /// Takes the root qdisc away; the kernel's own comes back.
    pub fn disable(&mut self) -> Result<(), FlowError> {
        let root = self.dump()?.iter().any(|qdisc| qdisc.parent == Handle::ROOT);
        if !root {
            return Err(FlowError::NotThere(self.ifname.clone()));
        }
        qdisc::delete_root(&mut self.netlink, self.index).map_err(|error| self.refused(error))
    }

    /// What the kernel has.
    pub fn status(&mut self) -> Result<FlowStatus, FlowError> {
        let mut found: Option<FlowStatus> = None;
        let ring = TransmitRing::of(&self.ifname, self.index);
        for qdisc in self.dump()? {
            let one = self.read(&qdisc, ring).ok_or(FlowError::OtherVersion)?;
            match &mut found {
                None => found = Some(one),
                Some(all) => {
                    for (level, other) in all.levels.iter_mut().zip(&one.levels) {
                        level.add(other);
                    }
                    all.forward.add(&one.forward);
                }
            }
        }
        found.ok_or_else(|| FlowError::NotThere(self.ifname.clone()))
    }

    fn read(
        &self,
        RawPrioflow { options, counters, .. }: &RawPrioflow,
        transmit_ring: TransmitRing,
    ) -> Option<FlowStatus> {
        let AllCounters { transmit_level, receive_level, holders, peer, levels, link, forward } =
            prioflow::parse_counters(counters)?;
        let settings = prioflow::parse(options)?;
        Some(FlowStatus {
            interface: self.ifname.clone(),
            settings,
            table: settings.levels(),
            transmit_level,
            receive_level,
            held: holders,
            peer,
            levels,
            link,
            forward,
            transmit_ring,
        })
    }

    fn dump(&mut self) -> Result<Vec<RawPrioflow>, FlowError> {
        let mut all =
            qdisc::list_prioflow(&mut self.netlink).map_err(|error| self.refused(error))?;
        all.retain(|qdisc| qdisc.index == self.index);
        Ok(all)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.ifname
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn refused(&self, error: KernelError) -> FlowError {
        match error.errno {
            EPERM => FlowError::NoRights,
            _ => FlowError::Refused { ifname: self.ifname.clone(), error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_as_tcs_words() {
        let change = PrioflowChange {
            limit: Some(150),
            bytes: Some(9000),
            source: Some(LevelSource::Pcp),
            table: "0,0,0,0,1,2,3,15".parse().ok(),
            link: Some(LinkMode::MacControl),
            storm: Some(Span::from_millis(300)),
            send_level: Some(2),
            lifetime: Some(Span::from_millis(70)),
            receive_level: Some(3),
            ..PrioflowChange::default()
        };
        let words = " limit 150 bytes 9000 by pcp table 0,0,0,0,1,2,3,15 send-level 2 for 70 link \
                     mac-control receive-level 3 storm 300";
        assert_eq!(change.to_string(), words);
        assert_eq!(PrioflowChange::default().to_string(), "");
    }

    #[test]
    fn an_interface_without_flow_control_says_how_to_get_some() {
        let error = FlowPort::open("no-such-if").unwrap_err();
        assert!(error.to_string().contains("`ip link`"), "{error}");
        let mut loopback = FlowPort::open("lo").unwrap();
        let error = loopback.status().unwrap_err();
        assert_eq!(
            error.to_string(),
            "lo has no flow control; `teiji flow enable lo` gives it some"
        );
        assert!(matches!(loopback.disable(), Err(FlowError::NotThere(_))));
    }
}
