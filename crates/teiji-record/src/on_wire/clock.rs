//! Which clock the stamps of a wire are of.

use teiji_core::time::Span;
use teiji_experiment::{Case, Nic, Wire};

use crate::Records;

/// True if the stamps of `wire` are exact: `vtsn` computes its time.
pub(super) fn is_computed(wire: &Wire, records: &Records) -> bool {
    wire.nic == Nic::Vtsn && records.facts.wire_resolution == Some(Span::from_ns(1))
}

/// NICs whose clocks are not set start at `CLOCK_TAI` and run as it does.
pub(super) fn runs_on_tai(case: &Case, wire: &Wire) -> bool {
    let clock_is_set = |host: &String| {
        let port = case.scenario.port(host, &wire.name);
        port.is_some_and(|port| port.vtsn.phc != teiji_experiment::Phc::default())
    };
    let synchronised = case.scenario.hosts.iter().any(|host| host.ptp.is_some());
    !synchronised && !wire.between.iter().any(clock_is_set)
}

/// The clocks of the wire's NICs and the schedule's are the same, or follow one another.
pub(super) fn is_one(case: &Case, wire: &Wire) -> bool {
    let synchronised = |host: &String| case.scenario.host(host).is_some_and(|h| h.ptp.is_some());
    runs_on_tai(case, wire) || wire.between.iter().all(synchronised)
}

/// Whether the wire's stamps of the flow number `flow` are instants of the schedule's
/// clock. Other stamps are of a clock whose offset nobody knows: only their differences
/// mean something.
pub fn wire_clock_is_tai(case: &Case, records: &Records, flow: u16) -> bool {
    let flow = case.scenario.flows.get(usize::from(flow));
    let wire = flow.and_then(|flow| {
        let last = flow.last_wire();
        case.scenario.wires.iter().find(|wire| wire.name == last)
    });
    wire.is_some_and(|wire| is_computed(wire, records) && is_one(case, wire))
}
