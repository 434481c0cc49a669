//! Queueing disciplines as values: what is planned and what is observed speak
//! the same type, so that the two can be compared. No I/O.

mod compile;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer, de};
use teiji_core::time::ClockId;
use teiji_core::time::Span;
use teiji_experiment::scenario::{Cbs, Etf, Prioflow, QueueRange, TaprioMode};

use crate::flow::{self, PrioflowChange};
pub use compile::{QdiscError, compile, queues_needed};

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

/// The kind of a qdisc and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Settings {
    /// `mqprio`: traffic classes on ranges of transmit queues.
    Mqprio {
        /// Traffic class of each priority.
        map: [u8; 16],
        /// Queues of each traffic class.
        queues: Vec<QueueRange>,
        /// The card does it.
        hw: bool,
    },
    /// `prio`: strict bands in software.
    Prio {
        /// Number of bands.
        bands: u32,
        /// Band of each priority.
        map: [u8; 16],
    },
    /// `etf`: earliest transmit time first.
    Etf(Etf),
    /// `taprio`: gates that open and close in a cycle.
    Taprio {
        /// Traffic class of each priority.
        map: [u8; 16],
        /// Queues of each traffic class.
        queues: Vec<QueueRange>,
        /// Cycles begin at this time of TAI, and whole cycles around it.
        base_time: Span,
        /// Length of the cycle.
        cycle: Span,
        /// How much longer the last cycle before a new table may become.
        extension: Span,
        /// Gate mask and interval of each entry.
        entries: Vec<(u32, Span)>,
        /// Who opens them.
        mode: TaprioMode,
    },
    /// `cbs`: the credit-based shaper.
    Cbs(Cbs),
    /// `prioflow`: 16 levels, with flow control of the link.
    Prioflow(Prioflow),
    /// `pfifo`: first in, first out.
    Pfifo {
        /// Packets.
        limit: u32,
    },
    /// `pfifo_fast`, a kernel default.
    PfifoFast,
    /// `fq_codel`, a kernel default.
    FqCodel {
        /// Packets.
        limit: u32,
        /// Microseconds.
        target_us: u32,
        /// Microseconds.
        interval_us: u32,
    },
    /// `mq`, the kernel's default root of a card with several queues.
    Mq,
    /// `noqueue`, the kernel's default on virtual links.
    Noqueue,
    /// A qdisc Teiji does not decode.
    Other {
        /// Its kind.
        name: String,
    },
}

impl Settings {
    /// The kind, as `tc` and the kernel spell it.
    pub fn kind(&self) -> &str {
        match self {
            Self::Mqprio { .. } => "mqprio",
            Self::Prio { .. } => "prio",
            Self::Etf(_) => "etf",
            Self::Taprio { .. } => "taprio",
            Self::Cbs(_) => "cbs",
            Self::Prioflow(_) => flow::KIND,
            Self::Pfifo { .. } => "pfifo",
            Self::PfifoFast => "pfifo_fast",
            Self::FqCodel { .. } => "fq_codel",
            Self::Mq => "mq",
            Self::Noqueue => "noqueue",
            Self::Other { name } => name,
        }
    }

    /// True if the card is asked to do this itself.
    pub fn offloaded(&self) -> bool {
        matches!(
            self,
            Self::Mqprio { hw: true, .. }
                | Self::Etf(Etf { offload: true, .. })
                | Self::Cbs(Cbs { offload: true, .. })
                | Self::Taprio { mode: TaprioMode::Offload, .. }
        )
    }
}

/// `tc`'s arguments: kind and options.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Mqprio { map, queues, hw } => {
                classes(f, map, queues)?;
                write!(f, " hw {}", u8::from(*hw))
            }
            Self::Taprio { map, queues, base_time, cycle, extension, entries, mode } => {
                classes(f, map, queues)?;
                write!(f, " base-time {}", base_time.as_ns())?;
                for (mask, interval) in entries {
                    write!(f, " sched-entry S {mask:02x} {}", interval.as_ns())?;
                }
                write!(f, " cycle-time {}", cycle.as_ns())?;
                if *extension != Span::ZERO {
                    write!(f, " cycle-time-extension {}", extension.as_ns())?;
                }
                match mode {
                    TaprioMode::Software => f.write_str(" clockid CLOCK_TAI"),
                    TaprioMode::TxtimeAssist { txtime_delay } => {
                        // tc's is in nanoseconds, too.
                        let delay = txtime_delay.as_ns();
                        write!(f, " clockid CLOCK_TAI flags 0x1 txtime-delay {delay}")
                    }
                    TaprioMode::Offload => f.write_str(" flags 0x2"),
                }
            }
            Self::Cbs(cbs) => write!(
                f,
                " idleslope {} sendslope {} hicredit {} locredit {} offload {}",
                cbs.idleslope_kbps,
                cbs.sendslope_kbps,
                cbs.hicredit_bytes,
                cbs.locredit_bytes,
                u8::from(cbs.offload)
            ),
            Self::Prio { bands, map } => write!(f, " bands {bands} priomap {}", joined(map)),
            Self::Etf(etf) => {
                write!(f, " clockid {} delta {}", etf.clock.name(), etf.delta.as_ns())?;
                for (set, word) in [
                    (etf.offload, " offload"),
                    (etf.deadline_mode, " deadline_mode"),
                    (etf.skip_sock_check, " skip_sock_check"),
                ] {
                    f.write_str(if set { word } else { "" })?;
                }
                Ok(())
            }
            Self::Prioflow(settings) => write!(f, "{}", PrioflowChange::from(settings)),
            Self::Pfifo { limit } => write!(f, " limit {limit}"),
            Self::FqCodel { limit, target_us, interval_us } => {
                write!(f, " limit {limit} target {target_us}us interval {interval_us}us")
            }
            Self::PfifoFast | Self::Mq | Self::Noqueue | Self::Other { .. } => Ok(()),
        }
    }
}

fn classes(f: &mut fmt::Formatter<'_>, map: &[u8; 16], queues: &[QueueRange]) -> fmt::Result {
    write!(f, " num_tc {} map {} queues", queues.len(), joined(map))?;
    for range in queues {
        write!(f, " {range}")?;
    }
    Ok(())
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
    pub settings: Settings,
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
        write!(f, "{}", self.settings)
    }
}

/// The clock with this number, if Teiji knows it.
pub(crate) fn clock(number: i32) -> Option<ClockId> {
    [ClockId::Tai, ClockId::Realtime, ClockId::Monotonic].into_iter().find(|c| c.number() == number)
}
