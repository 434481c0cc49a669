//! Follows packets through the receiving kernels where the experiment requests it, and enters
//! what was found into the roles' logs.

use std::collections::{BTreeMap, BTreeSet};

use teiji_experiment::Scenario;
use teiji_net::Applied;
use teiji_net::receive_trace::ReceiveTrace;

use crate::measure::outcome::Logs;
use crate::measure::role::thread_name;

/// A recording under way, and whose packets are followed.
pub struct Tracing {
    trace: ReceiveTrace,
    /// The interrupts of the port that brings the packets, by identifier of the flow or the
    /// round trips.
    interrupts: BTreeMap<u16, Vec<u32>>,
}

/// Begins to record; `None` if nobody's packets are to be followed.
pub fn start(scenario: &Scenario, applied: &Applied) -> anyhow::Result<Option<Tracing>> {
    let flows = (0..).zip(&scenario.flows).filter(|(_, flow)| flow.listener_trace);
    let rounds = scenario.numbered_round_trips().filter(|(_, rounds)| rounds.responder_trace);
    let received = flows.map(|(id, flow)| (id, "listener", &flow.to, flow.last_wire()));
    let answered = rounds.map(|(id, rounds)| (id, "responder", &rounds.to, rounds.last_wire()));
    let mut interrupts = BTreeMap::new();
    let mut threads = Vec::new();
    let here = |host: &String| applied.namespace(host).is_some();
    for (id, role, host, wire) in received.chain(answered).filter(|(_, _, host, _)| here(host)) {
        interrupts.insert(id, applied.interrupts(host, wire)?);
        threads.push(thread_name(role, id));
    }
    if threads.is_empty() {
        return Ok(None);
    }
    let all: BTreeSet<u32> = interrupts.values().flatten().copied().collect();
    let trace = ReceiveTrace::start(&all, &threads).map_err(teiji_net::NetError::from)?;
    Ok(Some(Tracing { trace, interrupts }))
}

impl Tracing {
    /// Ends the recording and enters into `logs` how each packet came.
    pub fn finish(self, scenario: &Scenario, logs: &mut Logs) -> anyhow::Result<()> {
        let Self { trace, interrupts } = self;
        let traced = trace.finish().map_err(teiji_net::NetError::from)?;
        for (id, log) in (0..).zip(&mut logs.listeners) {
            let Some(irqs) = interrupts.get(&id) else { continue };
            let thread = thread_name("listener", id);
            for rx in &mut log.arrivals {
                if let Some(stamped) = rx.rx_kernel {
                    rx.reception = traced.reception(irqs, &thread, stamped, rx.taken);
                }
            }
        }
        for ((id, _), (log, _)) in scenario.numbered_round_trips().zip(&mut logs.rounds) {
            let Some(irqs) = interrupts.get(&id) else { continue };
            let thread = thread_name("responder", id);
            for round in &mut log.rounds {
                if let (Some(stamped), Some(left)) = (round.reflector_arrived, round.reflector_sent)
                {
                    round.reflector_reception = traced.reception(irqs, &thread, stamped, left);
                }
            }
        }
        if traced.lost > 0 {
            logs.warnings.push(format!(
                "The trace of the receiving kernel lost its {} oldest events: for the first \
                 frames it has no data.",
                traced.lost
            ));
        }
        Ok(())
    }
}
