//! Queueing disciplines: what is planned and what is observed, with a file for each kind that
//! has its words for `tc` and its options for netlink. No I/O.

mod cbs;
mod compile;
mod etf;
mod fifo;
mod mqprio;
mod prio;
pub mod prioflow;
pub mod prioflow_counters;
mod taprio;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer, de};
use teiji_experiment::keys;
use teiji_experiment::scenario::{
    Cbs, Etf, FqCodel, Mqprio, Pfifo, Prio, Prioflow, Qdisc, QdiscTree, Taprio,
};

use crate::message::Request;
pub use compile::{QdiscError, compile, queues_needed};

/// `TCA_OPTIONS`
const OPTIONS: u16 = 2;
/// `TC_QOPT_MAX_QUEUE`
const MAX_CLASSES: usize = keys::MAX_CLASSES as usize;

/// The handle Teiji gives a root qdisc, as the ETF study did.
pub const ROOT_HANDLE: Handle = Handle(0x0100_0000);

/// A qdisc's or class's handle, `major:minor` in hexadecimal (`tc(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u32);

impl Handle {
    /// `TC_H_ROOT`, the parent of a root qdisc.
    pub const ROOT: Self = Self(u32::MAX);
    /// `TC_H_INGRESS`, the parent of `ingress` and `clsact`.
    pub const INGRESS: Self = Self(0xffff_fff1);

    /// The class `minor` of this qdisc.
    #[must_use]
    pub const fn class(self, minor: u16) -> Self {
        Self((self.0 & 0xffff_0000) | minor as u32)
    }

    /// The minor number.
    pub const fn minor(self) -> u32 {
        self.0 & 0xffff
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.minor()) {
            (Self::ROOT, _) => f.write_str("root"),
            (Self::INGRESS, _) => f.write_str("ingress"),
            (_, 0) => write!(f, "{:x}:", self.0 >> 16),
            (_, minor) => write!(f, "{:x}:{minor:x}", self.0 >> 16),
        }
    }
}

impl Serialize for Handle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bad = || de::Error::custom(format!("`{text}` is not a qdisc handle"));
        match text.as_str() {
            "root" => return Ok(Self::ROOT),
            "ingress" => return Ok(Self::INGRESS),
            _ => {}
        }
        let (major, minor) = text.split_once(':').ok_or_else(bad)?;
        let hex = |part: &str| match part {
            "" => Ok(0),
            _ => u16::from_str_radix(part, 16).map(u32::from).map_err(|_| bad()),
        };
        Ok(Self((hex(major)? << 16) | hex(minor)?))
    }
}

/// What a file of this folder knows about its kind.
trait Kind {
    /// The words of `tc` after the kind, each with a space before.
    fn words(&self) -> String;

    /// Appends [`OPTIONS`] as the kernel takes them.
    fn encode(&self, request: Request) -> Request;

    /// What the kernel would refuse.
    fn check(&self) -> Result<(), QdiscError> {
        Ok(())
    }

    /// The module that has it; `None` where it is part of the kernel.
    fn module(&self) -> Option<&'static str> {
        None
    }

    /// Why it drops packets; `None` if it has several reasons (as `etf`), or counts what another one
    /// below it counts.
    fn drops_for(&self) -> Option<DropReason> {
        None
    }

    /// What a driver's refusal to do it in hardware means.
    fn not_offloaded(&self) -> Option<NotOffloaded> {
        None
    }
}

/// Why a queue drops packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It was full.
    Full,
    /// The packets had waited too long.
    Delay,
}

/// A driver's refusal, in parts of sentences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotOffloaded {
    /// What the NIC lacks, and the words that were refused.
    pub(crate) lack: &'static str,
    /// What works there.
    pub(crate) instead: &'static str,
}

/// The file of a kind that can be set; `None` of those that are observed only.
fn kind(qdisc: &Qdisc) -> Option<&dyn Kind> {
    Some(match qdisc {
        Qdisc::Mqprio(mqprio) => mqprio,
        Qdisc::Prio(prio) => prio,
        Qdisc::Taprio(taprio) => taprio,
        Qdisc::Etf(etf) => etf,
        Qdisc::Cbs(cbs) => cbs,
        Qdisc::Prioflow(prioflow) => prioflow,
        Qdisc::Pfifo(pfifo) => pfifo,
        Qdisc::FqCodel(fq_codel) => fq_codel,
        Qdisc::PfifoFast | Qdisc::Mq | Qdisc::Noqueue | Qdisc::Other { .. } => return None,
    })
}

/// The qdisc of this kind with the settings that the kernel shows.
pub(crate) fn decode(kind: &str, options: &[u8]) -> Option<Qdisc> {
    match kind {
        Mqprio::KIND => mqprio::decode(options).map(Qdisc::Mqprio),
        Prio::KIND => prio::decode(options).map(Qdisc::Prio),
        Taprio::KIND => taprio::decode(options).map(Qdisc::Taprio),
        Etf::KIND => etf::decode(options).map(Qdisc::Etf),
        Cbs::KIND => cbs::decode(options).map(Qdisc::Cbs),
        Prioflow::KIND => prioflow::decode(options).map(Qdisc::Prioflow),
        Pfifo::KIND => fifo::decode(options).map(Qdisc::Pfifo),
        FqCodel::KIND => fifo::decode_fq_codel(options).map(Qdisc::FqCodel),
        "pfifo_fast" => Some(Qdisc::PfifoFast),
        "mq" => Some(Qdisc::Mq),
        "noqueue" => Some(Qdisc::Noqueue),
        _ => None,
    }
}

/// Appends the options of `qdisc`.
pub(crate) fn encode(qdisc: &Qdisc, request: Request) -> Request {
    match kind(qdisc) {
        Some(kind) => kind.encode(request),
        None => request,
    }
}

/// What a driver's refusal to do `qdisc` in hardware means.
pub(crate) fn not_offloaded(qdisc: &Qdisc) -> Option<NotOffloaded> {
    kind(qdisc)?.not_offloaded()
}

/// Why `qdisc` drops packets, if there is one reason, and they are counted there alone.
pub fn drops_for(qdisc: &Qdisc) -> Option<DropReason> {
    match qdisc {
        Qdisc::PfifoFast => Some(DropReason::Full),
        qdisc => kind(qdisc)?.drops_for(),
    }
}

/// The kernel modules of these qdiscs.
pub fn modules(tree: &QdiscTree) -> impl Iterator<Item = &'static str> {
    tree.all().filter_map(|qdisc| kind(qdisc)?.module())
}

/// `tc`'s arguments: kind and options.
pub fn words(qdisc: &Qdisc) -> String {
    let options = kind(qdisc).map(Kind::words).unwrap_or_default();
    format!("{}{options}", qdisc.kind())
}

fn joined(map: &[u8; 16]) -> String {
    map.map(|class| class.to_string()).join(" ")
}

/// A qdisc to be set: where and what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedQdisc {
    /// [`Handle::ROOT`] or a class of the root qdisc.
    pub parent: Handle,
    /// The handle it gets; `None` lets the kernel choose.
    pub handle: Option<Handle>,
    /// What it is.
    pub settings: Qdisc,
}

/// `tc qdisc replace dev …`'s arguments after the device.
impl fmt::Display for PlannedQdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parent == Handle::ROOT {
            f.write_str("root ")?;
        } else {
            write!(f, "parent {} ", self.parent)?;
        }
        if let Some(handle) = self.handle {
            write!(f, "handle {handle} ")?;
        }
        f.write_str(&words(&self.settings))
    }
}

/// A qdisc as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedQdisc {
    /// `0:` for the kernel's defaults.
    pub handle: Handle,
    /// Where it hangs.
    pub parent: Handle,
    /// Kind and settings.
    pub settings: Qdisc,
    /// Its counters.
    pub counters: Counters,
}

/// What a qdisc counted since it was set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes handed to the device.
    pub bytes: u64,
    /// Packets handed to the device.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u32,
    /// Times a packet had to wait or, in `etf`, was late.
    pub overlimits: u32,
    /// Packets the device gave back.
    pub requeues: u32,
    /// Packets waiting now.
    pub waiting: u32,
    /// Bytes waiting now.
    pub backlog_bytes: u32,
}
