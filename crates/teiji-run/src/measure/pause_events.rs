//! Records in the listeners' logs when the ports of traced flows pause their peers, by prioflow's
//! events.

use anyhow::Context;
use teiji::PeerPause;
use teiji_experiment::Scenario;
use teiji_net::Applied;
use teiji_net::flow::FlowPort;
use teiji_net::flow_events::{FlowEvent, FlowEvents};
use teiji_sys::netns;

use crate::measure::clock_step::TaiOffset;
use crate::measure::outcome::Logs;

/// The events of one flow's port.
struct FlowPortEvents {
    id: u16,
    level: u8,
    events: FlowEvents,
}

/// Prioflow's events at the ports of traced flows with flow control.
pub struct PauseEvents(Vec<FlowPortEvents>);

/// Listens from now on.
pub fn start(scenario: &Scenario, applied: &Applied) -> anyhow::Result<PauseEvents> {
    let mut all = Vec::new();
    for (id, flow) in (0..).zip(&scenario.flows).filter(|(_, flow)| flow.listener_trace) {
        let Some(level) = flow.flow_control else { continue };
        // Another machine's.
        let Some(namespace) = applied.namespace(&flow.to) else { continue };
        let port = applied.port(&flow.to, flow.last_wire());
        let missing = || format!("flow `{}`: host `{}` is not there", flow.name, flow.to);
        let port = port.with_context(missing)?;
        let listen = || FlowEvents::open(&FlowPort::open(&port.ifname)?);
        let events = netns::in_namespace(namespace, listen)??;
        all.push(FlowPortEvents { id, level: level.get(), events });
    }
    Ok(PauseEvents(all))
}

impl PauseEvents {
    /// Enters the pauses into `logs`.
    pub fn finish(self, logs: &mut Logs) {
        for FlowPortEvents { id, level, mut events } in self.0 {
            let batch = events.take();
            if let Some(log) = logs.listeners.get_mut(usize::from(id)) {
                log.pauses = pauses(&batch.events, level);
            }
            if batch.lost {
                logs.warnings.push(
                    "Levels changed faster than their events could be read: some pauses are not \
                     known."
                        .to_owned(),
                );
            }
        }
    }
}

/// The times for which frames of `level` were paused. One that did not end is left out.
fn pauses(events: &[FlowEvent], level: u8) -> Vec<PeerPause> {
    let offset = TaiOffset::now();
    let mut requested_at = None;
    let mut all = Vec::new();
    for event in events {
        match (event.requested.contains(level), requested_at) {
            (true, None) => requested_at = Some(offset.tai(event.at)),
            (false, Some(at)) => {
                all.push(PeerPause { requested: at, resumed: offset.tai(event.at) });
                requested_at = None;
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
    fn a_pause_lasts_from_a_request_for_the_flows_level_to_its_end() {
        let event = |ms: i64, below: u32| FlowEvent {
            what: Happening::Levels,
            index: 1,
            paused: LevelSet(0),
            requested: LevelSet((1 << below) - 1),
            peer: PeerState::Unknown,
            at: Instant::from_ns(ms * 1_000_000),
        };
        let events = [
            event(1, 1),
            event(2, 2),
            event(3, 5),
            event(5, 1),
            event(7, 2),
            event(8, 0),
            event(9, 9),
        ];
        let lasted: Vec<i64> = pauses(&events, 1)
            .iter()
            .map(|pause| (pause.resumed - pause.requested).as_ns() / 1_000_000)
            .collect();
        assert_eq!(lasted, [3, 1]);
    }
}
