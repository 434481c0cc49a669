//! What is wrong between parts that are right by themselves; one submodule a
//! subject. Everything here works on drafts: a part that could not be read is
//! passed over.

mod address;
mod bridge;
mod flow;
pub(crate) mod instruction;
pub(crate) mod judge;
mod load;
mod port;
mod ptp;
mod queues;
pub(crate) mod requirement;
mod round_trips;
mod system;

pub(crate) use ptp::software_conflict;

use crate::draft::ScenarioDraft;
use crate::log::Log;
use crate::nic_source::NicSource;
use crate::tree::{Origin, Table};

const DAY_NS: i128 = 24 * 3_600 * 1_000_000_000;
/// Beyond this, instants would leave the range of 64 bits of nanoseconds.
const TOO_LONG_NS: i128 = 365 * DAY_NS;

/// Looks for contradictions in one case. `tree` tells where things were
/// written.
pub(crate) fn scenario(draft: &ScenarioDraft, tree: &Table, nics: NicSource, log: &Log) {
    let places = Places { tree };
    bridge::check(draft, &places, log);
    address::check(draft, &places, log);
    for port in &draft.ports {
        port::check(port, draft, &places, nics, log);
    }
    for flow in &draft.flows {
        flow::check(flow, draft, &places, log);
    }
    flow::own_ports(draft, &places, log);
    round_trips::check(draft, &places, log);
    ptp::check(draft, &places, nics, log);
    system::check(draft, &places, log);
    load::check(draft, &places, log);
    queues::check(draft, &places, log);
}

/// Finds the place of a value in the case's tree.
struct Places<'a> {
    tree: &'a Table,
}

impl Places<'_> {
    /// The value at `path`, or the nearest table around it that was written.
    fn at(&self, path: &[&str]) -> Origin {
        self.tree.origin(path).unwrap_or(Origin::NOWHERE)
    }

    /// A key of a flow, or its table.
    fn flow(&self, flow: &str, key: &str) -> Origin {
        self.at(&["flows", flow, key])
    }

    /// A key of round trips, or their table.
    fn round_trips(&self, name: &str, key: &str) -> Origin {
        self.at(&["round-trips", name, key])
    }

    /// Something below a port, or the nearest table around it.
    fn port(&self, host: &str, wire: &str, below: &[&str]) -> Origin {
        let path: Vec<&str> =
            ["hosts", host, "ports", wire].into_iter().chain(below.iter().copied()).collect();
        self.at(&path)
    }

    /// True if `key` of the flow was written.
    fn flow_has(&self, flow: &str, key: &str) -> bool {
        let flows = self.tree.table("flows");
        flows.and_then(|f| f.table(flow)).is_some_and(|f| f.get(key).is_some())
    }
}
