//! Queueing disciplines: the same types for what an experiment plans and what a kernel shows.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::domain::SocketPriority;
use teiji_core::quantity::Rate;
use teiji_core::time::Span;
use teiji_core::wire::ethernet;

use crate::keys::prioflow::Prioflow;
use crate::keys::qdisc::Etf;

/// The queueing disciplines of a port: the root and what is below its classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QdiscTree {
    /// The root.
    pub root: Qdisc,
    /// Traffic class or band → qdisc on each of its queues.
    pub classes: BTreeMap<u8, Qdisc>,
}

/// One queueing discipline with its settings, as planned and as observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Qdisc {
    /// Traffic classes on ranges of hardware queues.
    Mqprio(Mqprio),
    /// Strict bands in software, for NICs with one queue.
    Prio(Prio),
    /// Gates that open and close in a cycle (802.1Qbv).
    Taprio(Taprio),
    /// Earliest `TxTime` First.
    Etf(Etf),
    /// Credit-based shaper (802.1Qav).
    Cbs(Cbs),
    /// 16 levels, with flow control of the link.
    Prioflow(Prioflow),
    /// First in, first out.
    Pfifo(Pfifo),
    /// A kernel default; observed only.
    FqCodel(FqCodel),
    /// A kernel default; observed only.
    PfifoFast,
    /// The kernel's default root of a NIC with several queues; observed only.
    Mq,
    /// The kernel's default on virtual links; observed only.
    Noqueue,
    /// One that Teiji does not decode.
    Other {
        /// Its kind.
        name: String,
    },
}

impl From<Qdisc> for QdiscTree {
    /// The qdisc as root, with nothing below.
    fn from(root: Qdisc) -> Self {
        Self { root, classes: BTreeMap::new() }
    }
}

impl QdiscTree {
    /// The traffic class or band of a priority; `None` where there are none.
    pub fn class_of(&self, priority: SocketPriority) -> Option<u8> {
        let (Qdisc::Mqprio(Mqprio { map, .. })
        | Qdisc::Prio(Prio { map, .. })
        | Qdisc::Taprio(Taprio { map, .. })) = &self.root
        else {
            return None;
        };
        Some(map[usize::from(priority.get())])
    }

    /// The discipline without children that frames of this priority pass, if
    /// the experiment sets one.
    pub fn leaf_of(&self, priority: SocketPriority) -> Option<&Qdisc> {
        match self.class_of(priority) {
            Some(class) => self.classes.get(&class),
            None => Some(&self.root),
        }
    }

    /// The ETF that frames of this priority pass.
    pub fn etf_of(&self, priority: SocketPriority) -> Option<&Etf> {
        match self.leaf_of(priority) {
            Some(Qdisc::Etf(etf)) => Some(etf),
            _ => None,
        }
    }

    /// The queues of each traffic class, where classes have queues.
    pub fn queue_ranges(&self) -> Option<&[QueueRange]> {
        match &self.root {
            Qdisc::Mqprio(Mqprio { queues, .. }) | Qdisc::Taprio(Taprio { queues, .. }) => {
                Some(queues)
            }
            _ => None,
        }
    }

    /// The number of transmit queues it needs; `None` where it does not matter.
    pub fn queues(&self) -> Option<u16> {
        self.queue_ranges()?.iter().map(|range| range.offset.saturating_add(range.count)).max()
    }

    /// The priorities whose frames pass an ETF.
    pub fn priorities_with_etf(&self) -> Vec<SocketPriority> {
        SocketPriority::all().filter(|priority| self.etf_of(*priority).is_some()).collect()
    }

    /// The root, then each of the others.
    pub fn all(&self) -> impl Iterator<Item = &Qdisc> {
        std::iter::once(&self.root).chain(self.classes.values())
    }
}

macro_rules! kinds {
    ($($Settings:ident = $kind:literal;)*) => { $(
        impl $Settings {
            /// The kind, as `tc`, the kernel and experiment files spell it.
            pub const KIND: &str = $kind;
        }
    )* };
}

kinds! {
    Mqprio = "mqprio";
    Prio = "prio";
    Taprio = "taprio";
    Etf = "etf";
    Cbs = "cbs";
    Prioflow = "prioflow";
    Pfifo = "pfifo";
    FqCodel = "fq_codel";
}

impl Qdisc {
    /// The kind, as `tc` and the kernel spell it.
    pub fn kind(&self) -> &str {
        match self {
            Self::Mqprio(_) => Mqprio::KIND,
            Self::Prio(_) => Prio::KIND,
            Self::Etf(_) => Etf::KIND,
            Self::Taprio(_) => Taprio::KIND,
            Self::Cbs(_) => Cbs::KIND,
            Self::Prioflow(_) => Prioflow::KIND,
            Self::Pfifo(_) => Pfifo::KIND,
            Self::PfifoFast => "pfifo_fast",
            Self::FqCodel(_) => FqCodel::KIND,
            Self::Mq => "mq",
            Self::Noqueue => "noqueue",
            Self::Other { name } => name,
        }
    }

    /// True if the NIC is to do this itself.
    pub fn offloaded(&self) -> bool {
        match self {
            Self::Mqprio(mqprio) => mqprio.hw,
            Self::Etf(etf) => etf.offload,
            Self::Cbs(cbs) => cbs.offload,
            Self::Taprio(taprio) => taprio.mode == TaprioMode::Offload,
            _ => false,
        }
    }
}

impl Etf {
    /// The kernel keeps [`Etf::delta`] in 32 signed bits of nanoseconds.
    pub const LONGEST_DELTA: Span = Span::from_ns(i32::MAX as i64);
}

/// `mqprio`, as in `tc-mqprio(8)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mqprio {
    /// Traffic class of each priority 0…15.
    pub map: [u8; 16],
    /// Queues of each traffic class.
    pub queues: Vec<QueueRange>,
    /// The NIC does it (`hw 1`).
    pub hw: bool,
}

/// `prio`, as in `tc-prio(8)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prio {
    /// Number of bands, 2 to 16.
    pub bands: u8,
    /// Band of each priority 0…15; band 0 is served first.
    pub map: [u8; 16],
}

/// `pfifo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pfifo {
    /// Packets.
    pub limit: u32,
}

/// `fq_codel`, as in `tc-fq_codel(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FqCodel {
    /// Packets.
    pub limit: u32,
    /// Microseconds.
    pub target_us: u32,
    /// Microseconds.
    pub interval_us: u32,
}

/// A range of hardware queues, `count@offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRange {
    /// How many.
    pub count: u16,
    /// The first.
    pub offset: u16,
}

impl fmt::Display for QueueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.count, self.offset)
    }
}

/// `taprio`, as in `tc-taprio(8)`: a table of gates, repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taprio {
    /// Traffic class of each priority 0…15.
    pub map: [u8; 16],
    /// Queues of each traffic class.
    pub queues: Vec<QueueRange>,
    /// Cycles begin at this time of `CLOCK_TAI`, and whole cycles before and
    /// after.
    pub base_time: Span,
    /// Length of the cycle.
    pub cycle: Span,
    /// How much longer the last cycle before a new table may become.
    pub extension: Span,
    /// The gates, in the order of time.
    pub entries: Vec<Gate>,
    /// Who opens them.
    pub mode: TaprioMode,
}

/// One line of a gate table; in run folders its mask and interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, Span)", into = "(u32, Span)")]
pub struct Gate {
    /// The traffic classes that may send; the others wait.
    pub open: Vec<u8>,
    /// For how long.
    pub interval: Span,
}

impl Gate {
    /// The kernel's gate mask: bit n for traffic class n.
    pub fn mask(&self) -> u32 {
        self.open
            .iter()
            .fold(0, |mask, class| mask | 1_u32.checked_shl((*class).into()).unwrap_or(0))
    }
}

impl From<(u32, Span)> for Gate {
    fn from((mask, interval): (u32, Span)) -> Self {
        Self { open: (0..32).filter(|class| (mask >> class) & 1 == 1).collect(), interval }
    }
}

impl From<Gate> for (u32, Span) {
    fn from(gate: Gate) -> Self {
        (gate.mask(), gate.interval)
    }
}

/// Who opens a `taprio`'s gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaprioMode {
    /// The kernel's timer, in software.
    Software,
    /// Software computes a launch time for each frame (`flags 0x1`); an ETF
    /// below keeps it.
    TxtimeAssist {
        /// Added to each launch time: how long a frame may take from here to
        /// the NIC.
        txtime_delay: Span,
    },
    /// The NIC (`flags 0x2`).
    Offload,
}

/// `cbs`, as in `tc-cbs(8)`: the credit-based shaper of 802.1Qav.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cbs {
    /// Credit gained while waiting, in kbit/s: the bandwidth it is meant to
    /// have.
    pub idleslope_kbps: i32,
    /// Credit spent while sending, in kbit/s; negative.
    pub sendslope_kbps: i32,
    /// Most credit, in bytes.
    pub hicredit_bytes: i32,
    /// Least credit, in bytes; negative.
    pub locredit_bytes: i32,
    /// The NIC does it.
    pub offload: bool,
}

impl Cbs {
    /// Bytes of the largest untagged frame with preamble, FCS and gap.
    pub const LARGEST_FRAME: u32 = (ethernet::LONGEST + ethernet::AROUND) as u32;

    /// The credits for `bandwidth` of a port that sends with `rate`, by the
    /// formulas of `tc-cbs(8)` (802.1Q Annex L): `frame` is the largest frame
    /// of the class, and one largest frame of others may be in its way.
    /// `None` if the bandwidth is not below the rate, or the numbers do not
    /// fit the kernel's.
    pub fn for_bandwidth(bandwidth: Rate, rate: Rate, frame: u32, offload: bool) -> Option<Self> {
        let kbps = |rate: Rate| i64::try_from(rate.as_bps() / 1_000).ok();
        let (idle, port) = (kbps(bandwidth)?, kbps(rate)?);
        let send = idle - port;
        if idle <= 0 || send >= 0 {
            return None;
        }
        // Rounded away from zero: the credit must never be short by a byte.
        let high = (i64::from(Self::LARGEST_FRAME) * idle + port - 1) / port;
        let low = (i64::from(frame) * send - port + 1) / port;
        Some(Self {
            idleslope_kbps: i32::try_from(idle).ok()?,
            sendslope_kbps: i32::try_from(send).ok()?,
            hicredit_bytes: i32::try_from(high).ok()?,
            locredit_bytes: i32::try_from(low).ok()?,
            offload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credits_of_a_bandwidth_are_those_of_the_manual_page() {
        // 20 Mbit/s of 1 Gbit/s: one frame of others in the way, 1538 bytes on
        // the wire, lets 30.76 bytes of credit gather.
        let (share, port) = (Rate::from_bps(20_000_000), Rate::from_bps(1_000_000_000));
        let cbs = Cbs::for_bandwidth(share, port, Cbs::LARGEST_FRAME, true).unwrap();
        assert_eq!((cbs.idleslope_kbps, cbs.sendslope_kbps), (20_000, -980_000));
        assert_eq!((cbs.hicredit_bytes, cbs.locredit_bytes), (31, -1_508));
        assert_eq!(Cbs::for_bandwidth(port, port, 1_538, true), None);
        assert_eq!(Cbs::for_bandwidth(Rate::from_bps(0), port, 1_538, true), None);
    }

    #[test]
    fn a_kind_is_the_tag_of_its_settings_in_json() {
        let kinds = [
            Mqprio::KIND,
            Prio::KIND,
            Taprio::KIND,
            Etf::KIND,
            Cbs::KIND,
            Prioflow::KIND,
            Pfifo::KIND,
            FqCodel::KIND,
        ];
        for kind in kinds {
            let bare = serde_json::json!({ "kind": kind });
            let error = serde_json::from_value::<Qdisc>(bare).unwrap_err().to_string();
            assert!(error.starts_with("missing field"), "{kind}: {error}");
        }
    }

    #[test]
    fn a_gate_is_a_mask_of_traffic_classes() {
        let gate = Gate { open: vec![0, 2, 15], interval: Span::from_micros(1) };
        assert_eq!(gate.mask(), 0x8005);
        assert_eq!(Gate::from((0x8005, gate.interval)), gate);
    }
}
