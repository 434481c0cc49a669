//! A case's tables → a [`ScenarioDraft`](crate::draft::ScenarioDraft): types,
//! names, ranges; one submodule a kind of table.

mod cbs;
mod classes;
mod flow;
mod host;
pub(crate) mod judge;
mod load;
mod nic;
pub(crate) mod policy;
pub(crate) mod prioflow;
pub(crate) mod processing;
pub(crate) mod qdisc;
pub(crate) mod requirement;
mod round_trips;
mod slip;
mod taprio;
mod topology;

use crate::draft::ScenarioDraft;
use crate::draft::networks::Networks;
use crate::fields::Fields;
use crate::log::Log;

/// Reads the `require` of one case; `None` if it was wrong.
pub(crate) fn requirements(
    file: &Fields<'_>,
    log: &Log,
) -> Option<Vec<Option<requirement::RequirementDraft>>> {
    requirement::read(file, log)
}

/// Reads the `wires`, `hosts`, `flows`, `round-trips` and `loads` of one case. `file` is a reader over
/// the case's resolved table.
pub(crate) fn scenario(file: &Fields<'_>, log: &Log) -> ScenarioDraft {
    let wires = topology::wires(file, log);
    let names = topology::hosts(&wires);
    let hosts = topology::host_settings(file, &wires, &names, log);
    let networks = Networks::new(&wires, &hosts);
    let ports = topology::ports(file, &networks, log);
    let flows = flow::flows(file, &networks, log);
    let round_trips = round_trips::read(file, &networks, log);
    let ptp = host::ptp(file, log);
    let systems = host::systems(file, log);
    let loads = load::read(file, log);
    ScenarioDraft { hosts, ptp, systems, wires, ports, flows, round_trips, loads }
}
