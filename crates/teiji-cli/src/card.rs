//! What a card's counters say became of frames, in sentences.

use teiji_net::Observed;
use teiji_net::observe::ObservedPort;

/// One sentence for each kind of trouble that a `vtsn` port counted during the
/// measurement.
pub fn sentences(network: &Observed) -> Vec<String> {
    network.ports.iter().flat_map(of_port).collect()
}

fn of_port(port: &ObservedPort) -> Vec<String> {
    // Other drivers give their own meaning to similar names.
    if port.driver.as_ref().is_none_or(|driver| driver.name != "vtsn") {
        return Vec::new();
    }
    let per_queue = |name: &str| {
        let of_queue = |key: &str| {
            let (queue, counter) = key.strip_prefix("tx")?.split_once('_')?;
            (counter == name).then(|| queue.parse::<u16>().ok()).flatten()
        };
        let mut total = 0;
        let mut queues = Vec::new();
        for (key, count) in &port.counters {
            if let Some(queue) = of_queue(key).filter(|_| *count > 0) {
                total += count;
                queues.push(queue.to_string());
            }
        }
        (total, queues.join(", "))
    };
    let whole = |name: &str| port.counters.get(name).copied().unwrap_or(0);
    let at = format!("{} on {}", port.host, port.wire);
    let mut said = Vec::new();
    for (counter, meaning) in QUEUE_COUNTERS {
        let (count, queues) = per_queue(counter);
        if count > 0 {
            said.push(format!("{at}: {} {meaning} (queue {queues}).", frames(count)));
        }
    }
    for (counter, meaning) in PORT_COUNTERS {
        let count = whole(counter);
        if count > 0 {
            said.push(format!("{at}: {} {meaning}.", frames(count)));
        }
    }
    said
}

/// Counters of a transmit queue, `txN_NAME`, that tell of a frame that did not
/// leave as it was meant to. Gates, credits and PAUSE make frames wait by design
/// and are not among them.
const QUEUE_COUNTERS: [(&str, &str); 6] = [
    ("launch_late", "came to the card after the launch time and left at once: late in the card"),
    ("launch_delayed", "left the card after the launch time, because the wire was busy"),
    ("launch_horizon", "dropped by the card: the launch time lay beyond its horizon"),
    ("gate_never", "dropped by the card: no gate is open long enough"),
    ("no_memory", "dropped by the card's driver for want of memory"),
    ("timeouts", "dropped by the card: the queue was stuck"),
];

const PORT_COUNTERS: [(&str, &str); 3] = [
    ("rx_overrun", "lost by the receiving card: its ring was full"),
    ("rx_crc_errors", "arrived damaged and dropped by the card"),
    ("rx_down", "arrived while the port was down"),
];

fn frames(count: u64) -> String {
    if count == 1 { "1 frame".to_owned() } else { format!("{count} frames") }
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
    fn late_frames_are_named_with_their_queues() {
        let counters = [("tx0_launch_late", 2), ("tx1_launch_late", 1), ("tx0_packets", 99)];
        assert_eq!(
            sentences(&port("vtsn", &counters)),
            ["talker on line: 3 frames came to the card after the launch time and left at once: \
              late in the card (queue 0, 1)."]
        );
        assert_eq!(sentences(&port("igb", &counters)), Vec::<String>::new());
    }

    #[test]
    fn waiting_by_design_is_no_trouble() {
        let counters = [("tx0_gate_waits", 7), ("tx2_credit_waits", 7), ("rx_packets", 3)];
        assert_eq!(sentences(&port("vtsn", &counters)), Vec::<String>::new());
    }
}
