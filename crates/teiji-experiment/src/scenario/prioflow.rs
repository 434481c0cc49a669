//! `prioflow`, the qdisc of 16 levels with flow control of its link
//! (kernel/prioflow/README.md).

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use teiji_core::domain::Level;
use teiji_core::time::Span;
use teiji_core::wire::ethernet;

use super::level_table::LevelTable;
use crate::keys::prioflow::Prioflow;

impl Prioflow {
    /// What [`Prioflow::bytes`] may be: one frame has to fit, and the largest number means no limit to the
    /// kernel module.
    pub const BYTES: RangeInclusive<u32> = ethernet::LONGEST as u32..=u32::MAX - 1;
    /// What [`Prioflow::ring`] may be.
    pub const RING: RangeInclusive<u32> = 1..=Self::MOST_FRAMES;
    /// The most that [`Prioflow::ring`] and [`Prioflow::room`] may be, `PRIOFLOW_RING_MAX` and
    /// `PRIOFLOW_ROOM_MAX`.
    pub const MOST_FRAMES: u32 = 32_000;
    /// The most that [`Prioflow::reaction`] may be, `PRIOFLOW_REACTION_MAX_US`.
    pub const LONGEST_REACTION: Span = Span::from_millis(32);
    /// The most that [`Prioflow::storm`] may be, `u32` milliseconds.
    pub const LONGEST_STORM: Span = Span::from_millis(u32::MAX as i64);

    /// [`Prioflow::obey`] of records that do not have it.
    pub(crate) fn obeys_all() -> Level {
        Level::MOST
    }

    /// [`Prioflow::propagate`] of records that do not have it.
    pub(crate) fn propagates() -> bool {
        true
    }

    /// The level of each value of the source, whoever chose it.
    pub fn levels(&self) -> LevelTable {
        self.table.unwrap_or(LevelTable::default_of(self.source))
    }
}

/// What the level of a frame is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelSource {
    /// DSCP, its upper four bits.
    Dscp,
    /// The four property bits of RFC 1349's TOS.
    Tos,
    /// The priority of the VLAN tag, 2 × PCP + 1.
    Pcp,
    /// `SO_PRIORITY`.
    Priority,
}

impl LevelSource {
    /// All of them, as the kernel numbers them.
    pub const ALL: [Self; 4] = [Self::Dscp, Self::Tos, Self::Pcp, Self::Priority];

    /// How many values it has: as many entries has a table.
    pub const fn values(self) -> usize {
        match self {
            Self::Dscp => 64,
            Self::Pcp => 8,
            Self::Tos | Self::Priority => 16,
        }
    }

    /// Its name in `tc`, experiments and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dscp => "dscp",
            Self::Tos => "tos",
            Self::Pcp => "pcp",
            Self::Priority => "priority",
        }
    }
}

/// Type of the pause frames to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkMode {
    /// None are sent, none are obeyed.
    Off,
    /// By level frames as MAC Control frames, ethertype 0x8808.
    MacControl,
    /// With the experimental ethertype 0x88B5, for NICs that keep 0x8808 to themselves.
    Experimental,
    /// By PFC of IEEE 802.1Qbb, for standard equipment: two levels per priority.
    Pfc,
    /// By PAUSE of IEEE 802.3, for standard equipment: all levels at once.
    Pause,
}

impl LinkMode {
    /// All of them, as the kernel numbers them.
    pub const ALL: [Self; 5] =
        [Self::Off, Self::MacControl, Self::Experimental, Self::Pfc, Self::Pause];

    /// Its name in `tc`, experiments and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::MacControl => "mac-control",
            Self::Experimental => "experimental",
            Self::Pfc => "pfc",
            Self::Pause => "pause",
        }
    }
}

/// Which levels a congested level has the peer pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseScope {
    /// Itself alone, as PFC does for a priority.
    Level,
    /// Itself and all levels below: the study's threshold. Records of older runs have no scope.
    #[default]
    Below,
}

impl PauseScope {
    /// All of them, as the kernel numbers them.
    pub const ALL: [Self; 2] = [Self::Level, Self::Below];

    /// Its name in `tc`, experiments and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Below => "below",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_records_are_those_in_experiments() {
        fn same<T: Serialize + Copy>(all: &[T], name: fn(T) -> &'static str) {
            for one in all {
                assert_eq!(serde_json::to_value(one).unwrap(), name(*one));
            }
        }
        same(&LevelSource::ALL, LevelSource::name);
        same(&LinkMode::ALL, LinkMode::name);
        same(&PauseScope::ALL, PauseScope::name);
    }
}
