//! When the ports of traced flows have their peers be silent, as prioflow tells it, and enters
//! that into the listeners' logs.

use anyhow::Context;
use teiji::Silence;
use teiji_experiment::Scenario;
use teiji_net::Applied;
use teiji_net::flow::FlowPort;
use teiji_net::flow_events::{FlowEvent, FlowEvents};
use teiji_sys::netns;

use crate::measure::clock_step::TaiOffset;
use crate::measure::outcome::Logs;

/// The events of one flow's port.
struct Heard {
    id: u16,
    level: u8,
    events: FlowEvents,
}

/// Listens to prioflow at the ports of flows that are traced and take part in it.
pub struct Silences(Vec<Heard>);

/// Listens from now on.
pub fn start(scenario: &Scenario, applied: &Applied) -> anyhow::Result<Silences> {
    let mut all = Vec::new();
    for (id, flow) in (0..).zip(&scenario.flows).filter(|(_, flow)| flow.listener_trace) {
        let Some(level) = flow.flow_control else { continue };
        let port = applied.port(&flow.to, flow.last_wire());
        let missing = || format!("flow `{}`: host `{}` is not there", flow.name, flow.to);
        let (port, namespace) =
            (port.with_context(missing)?, applied.namespace(&flow.to).with_context(missing)?);
        let listen = || FlowEvents::open(&FlowPort::open(&port.ifname)?);
        let events = netns::in_namespace(namespace, listen)??;
        all.push(Heard { id, level: level.get(), events });
    }
    Ok(Silences(all))
}

impl Silences {
    /// Enters into `logs` what was heard.
    pub fn finish(self, logs: &mut Logs) {
        for Heard { id, level, mut events } in self.0 {
            let told = events.take();
            if let Some(log) = logs.listeners.get_mut(usize::from(id)) {
                log.silences = silences(&told.events, level);
            }
            if told.lost {
                logs.warnings.push(
                    "Levels changed faster than their events could be read: some pauses are not \
                     known."
                        .to_owned(),
                );
            }
        }
    }
}

/// The times for which frames of `level` were not wanted. One that did not end is left out.
fn silences(told: &[FlowEvent], level: u8) -> Vec<Silence> {
    let offset = TaiOffset::now();
    let mut asked = None;
    let mut all = Vec::new();
    for event in told {
        match (event.requested.contains(level), asked) {
            (true, None) => asked = Some(offset.tai(event.at)),
            (false, Some(at)) => {
                all.push(Silence { asked: at, released: offset.tai(event.at) });
                asked = None;
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use teiji_core::time::Instant;
    use teiji_net::flow::{LevelSet, PeerState};
    use teiji_net::flow_events::Happening;

    #[test]
    fn a_silence_lasts_from_a_higher_level_to_the_flows_own() {
        let event = |ms: i64, below: u32| FlowEvent {
            what: Happening::Levels,
            index: 1,
            paused: LevelSet(0),
            requested: LevelSet((1 << below) - 1),
            peer: PeerState::Unknown,
            at: Instant::from_ns(ms * 1_000_000),
        };
        let told = [
            event(1, 1),
            event(2, 2),
            event(3, 5),
            event(5, 1),
            event(7, 2),
            event(8, 0),
            event(9, 9),
        ];
        let lasted: Vec<i64> = silences(&told, 1)
            .iter()
            .map(|silence| (silence.released - silence.asked).as_ns() / 1_000_000)
            .collect();
        assert_eq!(lasted, [3, 1]);
    }
}
