//! The link: up, fast enough, awake, undamaged, without a long wait before it.

use teiji_core::time::Span;
use teiji_core::wire::ethernet;
use teiji_net::nic::Nic;

use crate::finding::{Finding, Fix, LINK, TIMING, Weight, finding};

/// The longest untagged frame with preamble, FCS and gap.
const FRAME_OCTETS: u32 = (ethernet::LONGEST + ethernet::AROUND) as u32;
/// A wait in a transmit ring that is worth mentioning.
const LONG: Span = Span::from_millis(1);
/// After so many frames a driver with BQL has a limit above 0 (`dql_completed` raises it when it was reached).
const FRAMES_TO_A_LIMIT: u64 = 1000;

pub(super) fn nic(nic: &Nic) -> Vec<Finding> {
    let name = &nic.name;
    let mut found = Vec::new();
    if !nic.up {
        found.push(finding(
            "down",
            LINK,
            Weight::Blocks,
            format!("{name} is down"),
            Fix::command(format!("ip link set {name} up")),
        ));
    } else if !nic.carrier {
        found.push(finding(
            "no-carrier",
            LINK,
            Weight::Blocks,
            format!("{name} has no carrier: nothing answers at the other end of its cable"),
            Fix::advice("plug in the cable, and switch the peer on"),
        ));
    }
    if let Some(mbps @ (10 | 100)) = nic.speed_mbps {
        found.push(finding(
            "slow-link",
            TIMING,
            Weight::Note,
            format!(
                "{name} has {mbps} Mbit/s: a frame waits up to {} µs for one that is on the wire",
                FRAME_OCTETS * 8 / mbps
            ),
            Fix::NotOnThisHardware,
        ));
    }
    if nic.eee.is_some_and(|eee| eee.enabled) {
        // T_w_sys_tx of IEEE 802.3, clause 78.
        let wake = match nic.speed_mbps {
            Some(100) => "30 µs (802.3az, 100BASE-TX)",
            Some(1000) => "16.5 µs (802.3az, 1000BASE-T)",
            _ => "some µs",
        };
        let active = nic.eee.is_some_and(|eee| eee.active);
        let agreed = if active { "" } else { ", if the peer agrees, which it does not now" };
        found.push(finding(
            "eee",
            TIMING,
            if active { Weight::Costs } else { Weight::Note },
            format!(
                "Energy Efficient Ethernet of {name} is on: the first frame after an idle time waits {wake} \
                 for the PHY to wake{agreed}"
            ),
            Fix::command(format!("ethtool --set-eee {name} eee off")),
        ));
    }
    found.extend(transmit_ring(nic));
    if nic.rx_crc_errors > 0 {
        found.push(finding(
            "damaged-frames",
            LINK,
            Weight::Costs,
            format!("{name} has received {} damaged frames", nic.rx_crc_errors),
            Fix::advice("look at cable, plugs and duplex (`ethtool` shows what was negotiated)"),
        ));
    }
    found
}

/// A ring that all priorities share, and that holds as many frames as there are descriptors.
fn transmit_ring(nic: &Nic) -> Option<Finding> {
    let (frames, _) = nic.rings?;
    let mbps = nic.speed_mbps.filter(|mbps| *mbps > 0)?;
    if nic.byte_queue_limit? > 0 || nic.tx_packets < FRAMES_TO_A_LIMIT {
        return None;
    }
    if nic.root_qdisc().is_some_and(|root| matches!(root.settings.kind(), "mqprio" | "taprio")) {
        return None;
    }
    let bits = i64::from(frames) * i64::from(FRAME_OCTETS) * 8;
    let longest = Span::from_ns(bits * 1000 / i64::from(mbps));
    let name = &nic.name;
    (longest >= LONG).then(|| {
        finding(
            "transmit-ring",
            TIMING,
            Weight::Costs,
            format!(
                "the transmit ring of {name} holds {frames} frames, and its driver limits no bytes in it \
                 (BQL): a frame waits up to {longest} for those before it, whatever its priority"
            ),
            Fix::advice(format!(
                "make it shorter (`ethtool -G {name} tx N`), or give frames of high priority a transmit \
                 queue of their own by mqprio"
            )),
        )
    })
}
