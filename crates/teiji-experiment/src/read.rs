//! A case's tables → a [`ScenarioDraft`](crate::draft::ScenarioDraft): types,
//! names, ranges; one submodule a kind of table.

mod card;
mod cbs;
mod flow;
pub(crate) mod judge;
mod load;
pub(crate) mod networks;
mod policy;
mod prioflow;
mod processing;
mod ptp;
mod qdisc;
pub(crate) mod requirement;
mod round_trips;
mod slip;
mod system;
mod taprio;
mod topology;

use crate::draft::ScenarioDraft;
use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{InstructionTime, Prioflow};
use networks::Networks;

/// Reads the `require` of one case; `None` if it was wrong.
pub(crate) fn requirements(
    file: &Fields<'_>,
    log: &Log,
) -> Option<Vec<Option<requirement::RequirementDraft>>> {
    requirement::read(file, log)
}

/// Reads the settings of a `prioflow`, outside of an experiment.
pub(crate) fn prioflow(fields: &Fields<'_>, log: &Log) -> Option<Prioflow> {
    prioflow::read(fields, log)
}

/// Reads the `instruction` of one case.
pub(crate) fn instruction(file: &Fields<'_>, log: &Log) -> Found<InstructionTime> {
    file.duration("instruction", "\"2ns\"").and_then(|text| {
        let time = InstructionTime::parse(text);
        if time.is_none() {
            log.mistake(
                file.place("instruction"),
                format!("instruction = \"{text}\" is not possible"),
                "The laboratory's processor takes 125, 250 or 500 ps, 1, 2, 4, 8 or 16 ns for an \
                 instruction.",
            );
        }
        time
    })
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
    let ptp = ptp::read(file, log);
    let systems = system::read(file, log);
    let loads = load::read(file, log);
    ScenarioDraft { hosts, ptp, systems, wires, ports, flows, round_trips, loads }
}
