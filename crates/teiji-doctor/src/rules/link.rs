//! The link: up, fast enough, awake, undamaged.

use teiji_net::nic::Nic;

use crate::finding::{Finding, Fix, LINK, TIMING, Weight, finding};

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
        // The longest untagged frame with preamble and gap: 1538 octets.
        found.push(finding(
            "slow-link",
            TIMING,
            Weight::Note,
            format!(
                "{name} has {mbps} Mbit/s: a frame waits up to {} µs for one that is on the wire",
                1538 * 8 / mbps
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
