//! What bridges' ports with flow control had room for, and what they needed of it.

use teiji_net::Observed;
use teiji_net::flow::ForwardCounters;
use teiji_net::observe::ObservedPort;
use teiji_record::BridgeHeadroom;

/// Of each port of a bridge that has a link, in the order of the ports.
pub fn of(network: &Observed) -> Vec<BridgeHeadroom> {
    let of_port = |port: &ObservedPort| {
        let ForwardCounters { room, headroom, pause_requests, over_limit, most } = port.forward?;
        let (host, wire) = (port.host.clone(), port.wire.clone());
        (room > 0).then_some(BridgeHeadroom {
            host,
            wire,
            room,
            headroom,
            pause_requests,
            most,
            over_limit,
        })
    };
    network.ports.iter().filter_map(of_port).collect()
}
