//! What was seen of a machine at one look. Counters count from when the interface, qdisc or reader
//! began; only what is of a flow's [`Interval`] is from the look before on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teiji_core::time::{Instant, Monotonic};
use teiji_doctor::facts::Ptp4l;
use teiji_net::flow::{FlowStatus, LevelSet, PeerState};
use teiji_net::nic::PhcOffset;
use teiji_net::traffic::Traffic;

use crate::interval::Interval;

/// One look at a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: Instant<Monotonic>,
    /// The interfaces, in the order in which they were named.
    pub interfaces: Vec<Interface>,
    /// The state of the `ptp4l` that `pmc` reaches.
    pub ptp4l: Option<Ptp4l>,
    /// How many packets the kernel dropped, by its reason, on the whole machine since the start.
    pub drops: Option<BTreeMap<String, u64>>,
    /// What cannot be seen here, and why.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its counters and qdiscs; `None` if it is gone.
    pub traffic: Option<Traffic>,
    /// Its flow control, if it has some.
    pub flow_control: Option<FlowControl>,
    /// Its PHC against `CLOCK_TAI`.
    pub phc: Option<PhcOffset>,
    /// The flows that were seen on it.
    pub flows: Vec<Flow>,
    /// Frames that should have been looked at, and were not for want of time or of places.
    pub unseen: u64,
}

/// Flow control of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowControl {
    /// Levels that are not sent now.
    pub paused: LevelSet,
    /// Levels of which a pause is requested from the peer now.
    pub requested: LevelSet,
    /// The other end of the wire.
    pub peer: PeerState,
    /// How often the peer had paused for too long.
    pub storms: u32,
    /// The levels that were used so far.
    pub levels: Vec<Level>,
}

/// A level of flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// 0 to 15.
    pub level: u8,
    /// Packets handed to the device.
    pub sent: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets that wait now.
    pub waiting: u32,
    /// How long it was paused, in ns.
    pub paused_ns: u64,
}

/// A flow on the wire of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// What its frames have in common.
    pub name: String,
    /// They leave by this interface; otherwise they arrive.
    pub outgoing: bool,
    /// Frames since it was first seen.
    pub frames_total: u64,
    /// Frames lost since then.
    pub lost_total: u64,
    /// Since the look before.
    #[serde(flatten)]
    pub now: Interval,
}

impl FlowControl {
    pub(crate) fn of(status: &FlowStatus) -> Self {
        let level = |(level, counters): (u8, &teiji_net::flow::LevelCounters)| {
            let used = counters.sent > 0 || counters.dropped > 0 || counters.queued > 0;
            used.then_some(Level {
                level,
                sent: counters.sent,
                dropped: counters.dropped,
                waiting: counters.queued,
                paused_ns: counters.paused_ns,
            })
        };
        Self {
            paused: status.paused,
            requested: status.requested,
            peer: status.peer.state,
            storms: status.link.storms,
            levels: (0..).zip(&status.levels).filter_map(level).collect(),
        }
    }
}

/// Samples for tests.
#[cfg(test)]
pub(crate) mod examples {
    use super::*;
    use teiji_core::time::Span;
    use teiji_experiment::scenario::Qdisc;
    use teiji_net::qdisc::{Counters, Handle};
    use teiji_net::traffic::Packets;
    use teiji_net::{ObservedQdisc, qdisc};

    fn qdisc(parent: Handle, name: &str, packets: u64, drops: u32) -> ObservedQdisc {
        let settings = Qdisc::Other { name: name.to_owned() };
        let counters = Counters { packets, drops, waiting: 2, ..Counters::default() };
        ObservedQdisc { handle: Handle(0), parent, settings, counters }
    }

    /// After `seconds`, with 1 000 frames of 100 bytes in each of them.
    pub(crate) fn sample(seconds: u32, drops: u32) -> Sample {
        let packets = 1_000 * u64::from(seconds);
        let sent = Packets { packets, bytes: 100 * packets, dropped: 0 };
        let qdiscs = vec![
            qdisc(Handle::ROOT, "mqprio", packets, drops),
            qdisc(qdisc::ROOT_HANDLE.class(1), "etf", packets, drops),
        ];
        let flow = |number, outgoing, latency_ns, left_ns| Flow {
            name: format!("test flow {number}"),
            outgoing,
            frames_total: packets,
            lost_total: 3,
            now: Interval {
                frames: 1_000,
                range_ns: Some(1_234),
                latency_ns,
                left_ns,
                ..Interval::default()
            },
        };
        let level =
            Level { level: 3, sent: packets, paused_ns: packets * 500_000, ..Level::default() };
        Sample {
            at: Instant::from_ns(i64::from(seconds) * 1_000_000_000),
            interfaces: vec![
                Interface {
                    name: "eth0".to_owned(),
                    traffic: Some(Traffic { carrier: true, sent, qdiscs, ..Traffic::default() }),
                    flow_control: Some(FlowControl {
                        paused: LevelSet(0b1000),
                        peer: PeerState::Obeys,
                        levels: vec![level],
                        ..FlowControl::default()
                    }),
                    phc: Some(PhcOffset { ahead: Span::from_ns(-12), within: Span::ZERO }),
                    flows: vec![
                        flow(0, true, None, Some([142_345, 150_000])),
                        flow(1, true, None, Some([-3_912_975, -68_871])),
                        flow(0, false, Some([75_000, 90_000]), None),
                    ],
                    unseen: 0,
                },
                Interface { name: "eth1".to_owned(), ..Interface::default() },
            ],
            ptp4l: Some(Ptp4l { has_time: true, offset: Span::from_ns(40) }),
            drops: Some(BTreeMap::from([("QDISC_DROP".to_owned(), u64::from(drops))])),
            notes: vec!["no flows of eth1: needs root".to_owned()],
        }
    }
}
