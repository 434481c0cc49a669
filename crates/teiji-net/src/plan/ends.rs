//! Whom a port reaches: the hosts at the far end of its wire, and beyond bridges.

use super::PlannedPort;

/// The ports of hosts that frames from `port` come to, over its wire and the bridges
/// there. `wires` are the ends of each. Bridges make no loops.
pub(super) fn reached_hosts(
    port: usize,
    ports: &[PlannedPort],
    wires: &[(usize, usize)],
) -> Vec<usize> {
    let mut found = Vec::new();
    // The ports whose wires are still to be followed.
    let mut open = vec![port];
    let mut followed = vec![port];
    while let Some(near) = open.pop() {
        let Some(far) = far_end(near, wires) else { continue };
        if !ports[far].bridged {
            found.push(far);
            continue;
        }
        let others = (0..ports.len()).filter(|&other| {
            other != far && ports[other].bridged && ports[other].host == ports[far].host
        });
        for other in others {
            if !followed.contains(&other) {
                followed.push(other);
                open.push(other);
            }
        }
    }
    found.sort_unstable();
    found
}

fn far_end(port: usize, wires: &[(usize, usize)]) -> Option<usize> {
    wires.iter().find_map(|&(near, far)| match port {
        _ if port == near => Some(far),
        _ if port == far => Some(near),
        _ => None,
    })
}
