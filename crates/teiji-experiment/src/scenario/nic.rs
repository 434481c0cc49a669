//! The kinds of NIC that the laboratory has, and what each can do.

use std::fmt;

use serde::{Deserialize, Serialize};
use teiji_core::quantity::Rate;

/// A NIC of the laboratory: emulated by QEMU, or `vtsn`, a NIC in
/// software inside the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nic {
    /// Intel 82574, one transmit queue (QEMU `e1000e`).
    E1000e,
    /// Intel 82576, several transmit queues (QEMU `igb`).
    Igb,
    /// Realtek 8139C+, one transmit queue, 100 Mbit/s (QEMU `rtl8139`).
    Rtl8139,
    /// Teiji's own: a TSN NIC in software whose pairs are joined by a wire,
    /// with launch times, gates, credits and a clock.
    Vtsn,
}

impl Nic {
    /// All of them, for messages.
    pub const ALL: [Self; 4] = [Self::E1000e, Self::Igb, Self::Rtl8139, Self::Vtsn];
    /// Those that QEMU emulates.
    pub const EMULATED: [Self; 3] = [Self::E1000e, Self::Igb, Self::Rtl8139];

    /// The name in experiment files; of an emulated NIC also QEMU's device
    /// name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E1000e => "e1000e",
            Self::Igb => "igb",
            Self::Rtl8139 => "rtl8139",
            Self::Vtsn => "vtsn",
        }
    }

    /// The kernel module that drives it.
    pub const fn module(self) -> &'static str {
        match self {
            Self::E1000e => "e1000e",
            Self::Igb => "igb",
            Self::Rtl8139 => "8139cp",
            Self::Vtsn => "vtsn",
        }
    }

    /// The most transmit queues its driver offers.
    pub const fn max_queues(self) -> u16 {
        match self {
            Self::Igb => 8,
            Self::Vtsn => 16,
            Self::E1000e | Self::Rtl8139 => 1,
        }
    }
}

impl Nic {
    /// True for a NIC that sends frames at their launch time, opens gates and
    /// counts credits itself.
    pub const fn has_offloads(self) -> bool {
        matches!(self, Self::Vtsn)
    }

    /// The rate at which it sends unless the wire says otherwise.
    pub const fn rate(self) -> Rate {
        match self {
            Self::Rtl8139 => Rate::from_bps(100_000_000),
            Self::E1000e | Self::Igb | Self::Vtsn => Rate::from_bps(1_000_000_000),
        }
    }
}

impl fmt::Display for Nic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
