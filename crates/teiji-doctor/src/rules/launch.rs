//! Launch times: what the NIC can do, and what its qdiscs do with them now.

use teiji_experiment::scenario::{Etf, Qdisc, TaprioMode};
use teiji_net::nic::{Moderation, Nic};
use teiji_net::observe::Stamps;
use teiji_net::qdisc::{Handle, ObservedQdisc, PlannedQdisc};

use super::priorities::{highest, set_priority};
use crate::facts::Facts;
use crate::finding::{Feature, Finding, Fix, LAUNCH, TIMING, Weight, finding};

/// PCI numbers of the I210, as `igb` knows them (`E1000_DEV_ID_I210_*` of
/// `drivers/net/ethernet/intel/igb/e1000_hw.h`).
const I210: [&str; 6] =
    ["8086:1533", "8086:1536", "8086:1537", "8086:1538", "8086:157b", "8086:157c"];
/// The I210 has launch times on its first two transmit queues (`igb_offload_txtime`).
const I210_QUEUES: u32 = 2;

/// Whether a NIC has launch times in hardware: what answers `TC_SETUP_QDISC_ETF` in
/// `drivers/net/ethernet` of Linux 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaunchTimes {
    /// On all of its transmit queues.
    Yes,
    /// On so many, from the first on.
    FirstQueues(u32),
    /// On the queues that the board's description enables; not on the first, which has TSO instead (stmmac's
    /// `tbs_en`, set for all others by its boards of Intel and NXP).
    SomeQueues,
    /// Its driver does not offer them.
    No,
    /// A driver that is not known here.
    Unknown,
}

impl LaunchTimes {
    pub(super) fn is_in_hardware(self) -> bool {
        matches!(self, Self::Yes | Self::FirstQueues(_) | Self::SomeQueues)
    }
}

/// Drivers that were looked at and have none.
pub(super) const WITHOUT: [&str; 14] = [
    "am65-cpsw-nuss",
    "atlantic",
    "e1000",
    "e1000e",
    "fec",
    "i40e",
    "ixgbe",
    "lan743x",
    "macb",
    "mlx5_core",
    "r8169",
    "tg3",
    "virtio_net",
    "veth",
];

pub(super) fn launch_times_of(nic: &Nic) -> LaunchTimes {
    let Some(driver) = &nic.driver else { return LaunchTimes::Unknown };
    match driver.name.as_str() {
        "vtsn" | "igc" | "fsl_enetc" => LaunchTimes::Yes,
        "igb" if nic.pci.as_deref().is_some_and(|pci| I210.contains(&pci)) => {
            LaunchTimes::FirstQueues(I210_QUEUES)
        }
        "igb" => LaunchTimes::No,
        // stmmac's names for itself.
        "st_gmac" | "st_xgmac" => LaunchTimes::SomeQueues,
        name if WITHOUT.contains(&name) => LaunchTimes::No,
        _ => LaunchTimes::Unknown,
    }
}

pub(super) fn nic(facts: &Facts, nic: &Nic) -> Vec<Finding> {
    if !super::applies(nic, Feature::LaunchTimes) {
        return Vec::new();
    }
    let mut found = [hardware(nic), stamps(nic), qdiscs(facts, nic), moderation(nic)].concat();
    found.extend(timer_thread(facts, nic));
    found
}

fn driver(nic: &Nic) -> &str {
    nic.driver.as_ref().map_or("unknown", |driver| driver.name.as_str())
}

fn hardware(nic: &Nic) -> Vec<Finding> {
    let mut found = Vec::new();
    match launch_times_of(nic) {
        LaunchTimes::No => found.push(finding(
            "no-launch-times",
            LAUNCH,
            Weight::Costs,
            format!(
                "{} ({}) has no launch times in hardware: etf transmits in software, `delta` early, \
                 and as regularly as timers and threads run",
                nic.name,
                driver(nic)
            ),
            Fix::NotOnThisHardware,
        )),
        LaunchTimes::Unknown => found.push(finding(
            "launch-times-unknown",
            LAUNCH,
            Weight::Note,
            format!("it is not known here whether the driver {} has launch times", driver(nic)),
            Fix::advice(format!(
                "try it: tc qdisc replace dev {} root etf clockid CLOCK_TAI delta 300000 offload; then \
                 tc qdisc del dev {} root",
                nic.name, nic.name
            )),
        )),
        _ => {}
    }
    if nic.tx_queues == 1 && nic.kind.is_none() {
        found.push(finding(
            "one-transmit-queue",
            LAUNCH,
            Weight::Costs,
            format!("{} uses one transmit queue, which all frames share", nic.name),
            Fix::advice(format!(
                "`ethtool -l {}` shows whether it can have more; `ethtool -L` sets them",
                nic.name
            )),
        ));
    }
    found
}

fn stamps(nic: &Nic) -> Vec<Finding> {
    let mut found = Vec::new();
    let proven = |stamps: Stamps| stamps.phc.is_some() && stamps.tx_hardware;
    match nic.stamps {
        Some(stamps) if proven(stamps) && stamps.rx_hardware => {}
        Some(stamps) if proven(stamps) => found.push(finding(
            "no-receive-stamps",
            LAUNCH,
            Weight::Note,
            format!("{} takes receive timestamps of PTP frames only", nic.name),
            Fix::NotOnThisHardware,
        )),
        Some(_) if nic.kind.is_none() => found.push(finding(
            "no-phc",
            LAUNCH,
            Weight::Costs,
            format!(
                "{} ({}) has no PHC, or takes no transmit timestamps: PTP works in software, and \
                 nothing shows when a frame was transmitted",
                nic.name,
                driver(nic)
            ),
            Fix::NotOnThisHardware,
        )),
        _ => {}
    }
    let lost: u64 = nic
        .counters
        .iter()
        .filter(|(name, _)| {
            name.ends_with("tx_hwtstamp_timeouts") || name.ends_with("tx_hwtstamp_skipped")
        })
        .map(|(_, count)| count)
        .sum();
    if lost > 0 {
        found.push(finding(
            "transmit-stamps-lost",
            LAUNCH,
            Weight::Costs,
            format!(
                "{lost} transmit timestamps of {} were lost since its driver was loaded: this is what \
                 ptp4l calls \"timed out while polling for tx timestamp\"",
                nic.name
            ),
            Fix::advice(
                format!(
                    "raise ptp4l's tx_timestamp_timeout (50 ms), and stamp fewer other frames: {}",
                    stamp_slots(nic)
                ),
            ),
        ));
    }
    found
}

/// How many frames may wait for their transmit timestamps (`IGC_MAX_TX_TSTAMP_REGS` of igc, the one `ptp_tx_skb`
/// of igb and `tx_hwtstamp_skb` of e1000e, Linux 6.12).
fn stamp_slots(nic: &Nic) -> &'static str {
    match driver(nic) {
        "igc" => "igc has registers for 4 at a time, and older kernels use one of them",
        "igb" | "e1000e" => "this NIC has a register for one at a time",
        _ => "a NIC has registers for few at a time",
    }
}

/// The transmit queue that a qdisc below `mq`, `mqprio` or `taprio` serves.
fn queue_of(qdisc: &ObservedQdisc, all: &[ObservedQdisc]) -> Option<u32> {
    let major = |handle: Handle| handle.0 >> 16;
    let parent = all
        .iter()
        .find(|other| other.parent == Handle::ROOT && major(other.handle) == major(qdisc.parent))?;
    matches!(parent.settings.kind(), "mq" | "mqprio" | "taprio")
        .then(|| (qdisc.parent.0 & 0xffff).checked_sub(1))?
}

fn etfs(nic: &Nic) -> impl Iterator<Item = (&ObservedQdisc, &Etf)> {
    nic.qdiscs.iter().filter_map(|qdisc| match &qdisc.settings {
        Qdisc::Etf(etf) => Some((qdisc, etf)),
        _ => None,
    })
}

/// The priorities whose frames come to this qdisc, if the root tells.
fn priorities(qdisc: &ObservedQdisc, nic: &Nic) -> Vec<usize> {
    if qdisc.parent == Handle::ROOT {
        return (0..16).collect();
    }
    let (map, queues) = match nic.root_qdisc().map(|root| &root.settings) {
        Some(Qdisc::Mqprio(mqprio)) => (mqprio.map, &mqprio.queues),
        Some(Qdisc::Taprio(taprio)) => (taprio.map, &taprio.queues),
        _ => return Vec::new(),
    };
    let Some(queue) = queue_of(qdisc, &nic.qdiscs) else { return Vec::new() };
    let serves = |class: u8| {
        queues.get(usize::from(class)).is_some_and(|range| {
            (u32::from(range.offset)..u32::from(range.offset) + u32::from(range.count))
                .contains(&queue)
        })
    };
    (0..16).filter(|priority| serves(map[*priority])).collect()
}

fn qdiscs(facts: &Facts, nic: &Nic) -> Vec<Finding> {
    let mut found = Vec::new();
    let hardware = launch_times_of(nic);
    let taprio = nic.qdiscs.iter().any(|qdisc| matches!(qdisc.settings, Qdisc::Taprio(_)));
    if etfs(nic).next().is_none() && !taprio {
        found.push(finding(
            "no-etf",
            LAUNCH,
            Weight::Note,
            format!("{} has no etf qdisc now: launch times (SO_TXTIME) have no effect", nic.name),
            set_up(nic, hardware),
        ));
    }
    for (qdisc, etf) in etfs(nic) {
        let other = queue_of(qdisc, &nic.qdiscs)
            .and_then(|queue| on_other_queue(nic, hardware, queue, etf.offload));
        if !etf.offload && hardware.is_in_hardware() && other.is_none() {
            found.push(finding(
                "etf-in-software",
                LAUNCH,
                Weight::Costs,
                format!(
                    "etf on {} works in software, though the NIC has launch times: frames are \
                     transmitted {} early, and as regularly as timers run",
                    nic.name, etf.delta
                ),
                with_offload(nic, qdisc, etf),
            ));
        }
        found.extend(other);
        let mapped = priorities(qdisc, nic);
        let ptp = facts.daemons.iter().any(|daemon| daemon.name == "ptp4l");
        if !etf.skip_sock_check && mapped.contains(&0) {
            found.push(finding(
                "etf-for-all",
                LAUNCH,
                Weight::Costs,
                format!(
                    "etf on {} has the frames of priority 0, too, and drops what has no launch time: ARP, \
                     SSH{}",
                    nic.name,
                    if ptp { ", ptp4l's" } else { "" }
                ),
                Fix::advice("keep etf to the class of one priority by mqprio, and priority 0 in another"),
            ));
        }
        if qdisc.counters.drops > 0 {
            found.push(finding(
                "etf-drops",
                LAUNCH,
                Weight::Costs,
                format!(
                    "etf on {} has dropped {} frames since it was set: they were late, had no launch \
                     time, or one by another clock",
                    nic.name, qdisc.counters.drops
                ),
                Fix::command(format!("teiji margin {}", nic.name)),
            ));
        }
    }
    found
}

/// An etf on a transmit queue without launch times, though others of the NIC have them.
fn on_other_queue(nic: &Nic, hardware: LaunchTimes, queue: u32, offload: bool) -> Option<Finding> {
    let (which, instead) = match hardware {
        LaunchTimes::FirstQueues(count) if queue >= count => {
            (format!("on the first {count} only"), "queue 0 or 1 in mqprio (`queues 1@0 …`)")
        }
        // With offload its driver has accepted the queue.
        LaunchTimes::SomeQueues if queue == 0 && !offload => (
            "on others only, as most boards are".to_owned(),
            "queue 1 in mqprio (`queues 1@1 …`), with `offload`",
        ),
        _ => return None,
    };
    Some(finding(
        "etf-on-other-queue",
        LAUNCH,
        Weight::Costs,
        format!("etf is on transmit queue {queue} of {}, which has launch times {which}", nic.name),
        Fix::advice(format!("give its traffic class {instead}")),
    ))
}

/// With `PREEMPT_RT` the qdiscs' timers expire in the threads `ktimers/N`, which have the lowest real-time
/// priority.
fn timer_thread(facts: &Facts, nic: &Nic) -> Option<Finding> {
    let name = &nic.name;
    let software = nic.qdiscs.iter().any(|qdisc| match &qdisc.settings {
        Qdisc::Etf(etf) => !etf.offload,
        Qdisc::Taprio(taprio) => taprio.mode != TaprioMode::Offload,
        _ => false,
    });
    let (weight, effect) = match (software, etfs(nic).next().is_some()) {
        (true, _) => (Weight::Costs, "frames are transmitted that much later"),
        (false, true) => (Weight::Note, "`delta` of etf has to cover that"),
        (false, false) => return None,
    };
    let timers = facts.threads.iter().filter(|thread| thread.name.starts_with("ktimers/"));
    let timers = timers.min_by_key(|thread| thread.priority)?;
    let interrupts = highest(&facts.threads, &["irq/"])?;
    (timers.priority < interrupts.priority).then(|| {
        finding(
            "timer-thread-priority",
            LAUNCH,
            weight,
            format!(
                "the qdisc timers of {name} expire in {} ({}), after all threads of higher priority, as \
                 {} ({}): {effect}",
                timers.name, timers.policy, interrupts.name, interrupts.policy
            ),
            set_priority("ktimers/.*"),
        )
    })
}

/// The commands that give an etf offload. The kernel changes no etf that is there (`tc qdisc replace` fails).
fn with_offload(nic: &Nic, qdisc: &ObservedQdisc, etf: &Etf) -> Fix {
    let (name, parent) = (&nic.name, qdisc.parent);
    let place = if parent == Handle::ROOT { "root".to_owned() } else { format!("parent {parent}") };
    let settings = Qdisc::Etf(Etf { offload: true, ..*etf });
    let new = PlannedQdisc { parent, handle: None, settings };
    Fix::command(format!("tc qdisc del dev {name} {place} && tc qdisc add dev {name} {new}"))
}

/// Up to this value `rx-usecs` and `tx-usecs` of a driver are no times but modes, of which 0 is off and the others
/// choose a time by the load (`igb_get_coalesce`, `igc_ethtool_get_coalesce`, `e1000_get_coalesce` of Linux 6.12).
fn last_mode(nic: &Nic) -> u32 {
    match driver(nic) {
        "igb" | "igbvf" | "igc" => 3,
        "e1000" | "e1000e" => 4,
        _ => 0,
    }
}

fn moderation(nic: &Nic) -> Vec<Finding> {
    let waits = |moderation: &Moderation| moderation.tx_us > 0 || moderation.rx_us > 0;
    let Some(moderation) = nic.moderation.filter(waits) else { return Vec::new() };
    let (chosen, off) = if moderation.adaptive {
        (", as the NIC chooses by the load", " adaptive-rx off adaptive-tx off")
    } else {
        ("", "")
    };
    let time = |us: u32| match us {
        1.. if us <= last_mode(nic) => {
            format!("what {} chooses by the load (mode {us})", driver(nic))
        }
        us => format!("{us} µs"),
    };
    // In pairs of queues igc has one time for both, and refuses to set the other.
    let tx = if driver(nic) == "igc" && moderation.rx_us > 0 { "" } else { " tx-usecs 0" };
    vec![finding(
        "interrupt-moderation",
        TIMING,
        Weight::Costs,
        format!(
            "interrupt moderation of {} delays interrupts by {} after reception and {} after \
             transmission{chosen}",
            nic.name,
            time(moderation.rx_us),
            time(moderation.tx_us)
        ),
        Fix::command(format!("ethtool -C {}{off} rx-usecs 0{tx}", nic.name)),
    )]
}

/// The commands of a first set-up with priority 3 for frames with launch times.
fn set_up(nic: &Nic, hardware: LaunchTimes) -> Fix {
    let name = &nic.name;
    let offload = if hardware.is_in_hardware() { " offload" } else { "" };
    let etf = format!("etf clockid CLOCK_TAI delta 300000{offload}");
    if nic.tx_queues < 3 {
        return Fix::advice(format!(
            "tc qdisc replace dev {name} root {etf}; all frames without launch time are dropped then, as \
             {name} has too few queues to keep them apart"
        ));
    }
    // Priority 2 is for other frames in time, as PTP's.
    let (map, queue) =
        if hardware == LaunchTimes::SomeQueues { ("2 2 0 1", 2) } else { ("2 2 1 0", 1) };
    Fix::command(format!(
        "tc qdisc replace dev {name} parent root handle 100 mqprio num_tc 3 map {map} 2 2 2 2 2 2 2 2 2 \
         2 2 2 queues 1@0 1@1 1@2 hw 0 && tc qdisc replace dev {name} parent 100:{queue} {etf}"
    ))
}
