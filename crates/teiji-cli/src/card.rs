//! What the cards' counters say became of frames.

use teiji_net::Observed;
use teiji_net::observe::ObservedPort;
use teiji_record::card::{CardCount, CardTrouble};

/// The trouble that `vtsn` ports counted during the measurement.
pub fn counts(network: &Observed) -> Vec<CardCount> {
    network.ports.iter().flat_map(of_port).collect()
}

/// The trouble that a `vtsn` port counted; none of another card.
pub fn of_port(port: &ObservedPort) -> Vec<CardCount> {
    // Other drivers give their own meaning to similar names.
    if port.driver.as_ref().is_none_or(|driver| driver.name != "vtsn") {
        return Vec::new();
    }
    let of = |trouble: CardTrouble| {
        let (mut frames, mut queues) = (0, Vec::new());
        for (key, count) in port.counters.iter().filter(|(_, count)| **count > 0) {
            let queue = key.strip_prefix("tx").and_then(|key| key.split_once('_'));
            match queue {
                Some((queue, name)) if name == trouble.counter() => {
                    frames += count;
                    queues.extend(queue.parse::<u16>());
                }
                _ if key == trouble.counter() => frames += count,
                _ => {}
            }
        }
        queues.sort_unstable();
        let (host, wire) = (port.host.clone(), port.wire.clone());
        (frames > 0).then_some(CardCount { host, wire, trouble, queues, frames })
    };
    CardTrouble::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(driver: &str, counters: &[(&str, u64)]) -> Observed {
        let counters: std::collections::BTreeMap<&str, u64> = counters.iter().copied().collect();
        let json = serde_json::json!({ "ports": [{
            "host": "talker", "wire": "line", "ifname": "line",
            "driver": { "name": driver, "version": "", "firmware": "", "bus": "" },
            "mac": null, "mtu": 1500, "state": "UP", "carrier": true, "speed_mbps": 1000,
            "channels": null, "tx_queues": 4, "addresses": [], "qdiscs": [], "stamps": null,
            "counters": counters, "tx_packets": 0, "rx_packets": 0,
        }] });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn late_frames_are_counted_with_their_queues() {
        let counters = [
            ("tx0_launch_late", 2),
            ("tx10_launch_late", 1),
            ("tx2_launch_late", 1),
            ("tx0_packets", 99),
            ("rx_overrun", 5),
        ];
        let count = |trouble, queues: &[u16], frames| CardCount {
            host: "talker".to_owned(),
            wire: "line".to_owned(),
            trouble,
            queues: queues.to_vec(),
            frames,
        };
        let expected =
            [count(CardTrouble::LaunchLate, &[0, 2, 10], 4), count(CardTrouble::RxOverrun, &[], 5)];
        assert_eq!(counts(&port("vtsn", &counters)), expected);
        assert_eq!(counts(&port("igb", &counters)), []);
    }

    #[test]
    fn waiting_by_design_is_no_trouble() {
        let counters = [("tx0_gate_waits", 7), ("tx2_credit_waits", 7), ("rx_packets", 3)];
        assert_eq!(counts(&port("vtsn", &counters)), []);
    }
}
