//! What the counters of NICs, queues and sockets say became of frames.

use teiji_experiment::Scenario;
use teiji_net::Observed;
use teiji_net::observe::ObservedPort;
use teiji_net::qdisc::{DropReason, drops_for};
use teiji_record::join::ListenerFacts;
use teiji_record::nic_count::{NicCount, NicProblem};

/// The trouble of a measurement: at ports, in queues, and in the sockets of the
/// listeners, one per flow in their order.
pub fn counts(
    network: &Observed,
    scenario: &Scenario,
    listeners: &[ListenerFacts],
) -> Vec<NicCount> {
    let sockets = scenario.flows.iter().zip(listeners).filter_map(|(flow, listener)| {
        count((&flow.to, flow.last_wire()), NicProblem::SocketFull, listener.socket_drops)
    });
    of_network(network).into_iter().chain(sockets).collect()
}

fn of_network(network: &Observed) -> Vec<NicCount> {
    let of_both = |port| of_port(port).into_iter().chain(of_queues(port));
    network.ports.iter().flat_map(of_both).collect()
}

fn of_queues(port: &ObservedPort) -> impl Iterator<Item = NicCount> {
    let of = |(reason, trouble)| {
        let which = port.qdiscs.iter().filter(|qdisc| drops_for(&qdisc.settings) == Some(reason));
        let drops = which.map(|qdisc| u64::from(qdisc.counters.drops)).sum();
        count((&port.host, &port.wire), trouble, drops)
    };
    let reasons =
        [(DropReason::Full, NicProblem::QueueFull), (DropReason::Delay, NicProblem::QueueDelay)];
    reasons.into_iter().filter_map(of)
}

fn count((host, wire): (&str, &str), trouble: NicProblem, frames: u64) -> Option<NicCount> {
    let (host, wire, queues) = (host.to_owned(), wire.to_owned(), Vec::new());
    (frames > 0).then_some(NicCount { host, wire, trouble, queues, frames })
}

/// The trouble that a port counted.
pub fn of_port(port: &ObservedPort) -> Vec<NicCount> {
    // Drivers give their own meaning to similar names; of those of other NICs only the kernel's
    // own counters are told.
    if port.driver.as_ref().is_none_or(|driver| driver.name != "vtsn") {
        return [
            (NicProblem::RxOverrun, port.rx_missed),
            (NicProblem::RxCrcErrors, port.rx_crc_errors),
        ]
        .into_iter()
        .filter_map(|(trouble, frames)| count((&port.host, &port.wire), trouble, frames))
        .collect();
    }
    let of = |trouble: NicProblem| {
        let counter = trouble.counter()?;
        let (mut frames, mut queues) = (0, Vec::new());
        for (key, count) in port.counters.iter().filter(|(_, count)| **count > 0) {
            let queue = key.strip_prefix("tx").and_then(|key| key.split_once('_'));
            match queue {
                Some((queue, name)) if name == counter => {
                    frames += count;
                    queues.extend(queue.parse::<u16>());
                }
                _ if key == counter => frames += count,
                _ => {}
            }
        }
        queues.sort_unstable();
        let (host, wire) = (port.host.clone(), port.wire.clone());
        (frames > 0).then_some(NicCount { host, wire, trouble, queues, frames })
    };
    NicProblem::OF_NICS.into_iter().filter_map(of).collect()
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
        let count = |trouble, queues: &[u16], frames| NicCount {
            host: "talker".to_owned(),
            wire: "line".to_owned(),
            trouble,
            queues: queues.to_vec(),
            frames,
        };
        let expected =
            [count(NicProblem::LaunchLate, &[0, 2, 10], 4), count(NicProblem::RxOverrun, &[], 5)];
        assert_eq!(of_network(&port("vtsn", &counters)), expected);
        // Another driver's names may mean something else; the kernel's own count does not.
        let mut igb = port("igb", &counters);
        assert_eq!(of_network(&igb), []);
        igb.ports[0].rx_missed = 8;
        assert_eq!(of_network(&igb), [count(NicProblem::RxOverrun, &[], 8)]);
    }

    #[test]
    fn full_queues_and_sockets_are_counted_where_they_are() {
        let mut network = port("igb", &[]);
        let qdisc = |parent: &str, settings: serde_json::Value| {
            serde_json::json!({ "handle": "0:", "parent": parent, "settings": settings,
                "counters": { "bytes": 0, "packets": 0, "drops": 7, "overlimits": 0,
                              "requeues": 0, "waiting": 0, "backlog_bytes": 0 } })
        };
        let of = |value| serde_json::from_value(value).unwrap();
        network.ports[0].qdiscs = vec![
            of(qdisc("root", serde_json::json!({ "kind": "mq" }))),
            of(qdisc(":1", serde_json::json!({ "kind": "pfifo", "limit": 9 }))),
            of(qdisc(":2", serde_json::json!({ "kind": "pfifo_fast" }))),
            of(qdisc(
                ":3",
                serde_json::json!({ "kind": "fq_codel", "limit": 10_240, "target_us": 4_999,
                                    "interval_us": 99_999 }),
            )),
        ];
        let found = of_network(&network);
        let found: Vec<_> = found.iter().map(|count| (count.trouble, count.frames)).collect();
        assert_eq!(found, [(NicProblem::QueueFull, 14), (NicProblem::QueueDelay, 7)]);
        let text = "name = \"demo\"\nquestion = \"?\"\n[wires.line]\nbetween = [\"a\", \"b\"]\n\
                    [flows.one]\nfrom = \"a\"\nto = \"b\"\nperiod = \"1ms\"\nframes = 9\n";
        let experiment = teiji_experiment::Experiment::parse(text, "demo.toml").unwrap();
        let full = ListenerFacts { socket_drops: 3, ..ListenerFacts::default() };
        let scenario = &experiment.cases[0].scenario;
        let found = counts(&port("igb", &[]), scenario, &[full]);
        assert_eq!((found[0].host.as_str(), found[0].wire.as_str()), ("b", "line"));
        assert_eq!((found[0].trouble, found[0].frames), (NicProblem::SocketFull, 3));
    }

    #[test]
    fn waiting_by_design_is_no_trouble() {
        let counters = [("tx0_gate_waits", 7), ("tx2_credit_waits", 7), ("rx_packets", 3)];
        assert_eq!(of_network(&port("vtsn", &counters)), []);
    }
}
