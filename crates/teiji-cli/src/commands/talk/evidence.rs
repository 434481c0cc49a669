//! What is known of a talker's frames beside its log: the NIC's clock, the interface's counters.

use std::thread;
use std::time::Duration;

use teiji::talker::{TalkerConfig, TxStamps};
use teiji_net::traffic::Traffic;
use teiji_sys::ethtool;
use teiji_sys::phc::{Offset, Phc};

use super::context::Counted;

/// How often the interface's counters are looked at, and how many times.
const COUNT_POLL: Duration = Duration::from_millis(10);
const POLLS_FOR_FIRST: u8 = 200;
const POLLS_FOR_ALL: u8 = 20;

/// The timestamps that frames are judged by: the best that the interface gives and that can be
/// compared with the schedule.
pub(super) fn judged_by(
    stamps: TxStamps,
    interface: &str,
    config: &TalkerConfig,
    phc_readable: bool,
) -> TxStamps {
    let in_software =
        || ethtool::timestamp_info(interface).is_ok_and(|info| info.transmits_in_software());
    match stamps {
        TxStamps::Hardware if config.launch.is_some() || phc_readable => TxStamps::Hardware,
        TxStamps::Hardware | TxStamps::Kernel if in_software() => TxStamps::Kernel,
        _ => TxStamps::None,
    }
}

/// The PHC of an interface against `CLOCK_TAI`, before a run and after it.
pub(super) struct Clock {
    phc: Phc,
    before: Offset,
}

impl Clock {
    pub(super) fn of(interface: &str) -> Option<Self> {
        let phc = Phc::open(ethtool::timestamp_info(interface).ok()?.phc_index?).ok()?;
        let before = phc.offset().ok()?;
        Some(Self { phc, before })
    }

    pub(super) fn finish(self) -> Option<[Offset; 2]> {
        Some([self.before, self.phc.offset().ok()?])
    }
}

/// What the interface counted since `before`. Drivers count a frame when its interrupt comes,
/// and some look at their NIC's counters once per second only: the first of the `expected` frames
/// is waited for, and the others for a shorter time.
pub(super) fn counted(before: &Traffic, interface: &str, expected: u64) -> Option<Counted> {
    let mut polls = 0;
    loop {
        let now = Traffic::of(interface).ok()?;
        let sent = now.sent.packets.saturating_sub(before.sent.packets);
        let patience = if sent == 0 { POLLS_FOR_FIRST } else { POLLS_FOR_ALL };
        if sent >= expected || polls >= patience {
            return Some(Counted {
                carrier: now.carrier,
                sent,
                dropped: now.sent.dropped.saturating_sub(before.sent.dropped),
                qdisc: now.qdisc_drops_since(before),
            });
        }
        polls += 1;
        thread::sleep(COUNT_POLL);
    }
}
