//! What a case's frames did on its wires: from records and experiment to the
//! statistics that need both.

mod clock;
mod stations;

use std::collections::{BTreeMap, BTreeSet};

use teiji_core::domain::SocketPriority;
use teiji_core::quantity::Rate;
use teiji_core::time::Span;
use teiji_core::wire::ethernet;
use teiji_experiment::{Case, Experiment, Flow, Qdisc, QdiscTree, Scenario, SendMode, Wire};
use teiji_stats::gates::{self, Windows};
use teiji_stats::shaping::{self, Reservation};
use teiji_stats::wire;
use teiji_stats::{
    GateStatistics, Series, ShapingStatistics, Wait, WireFrame, WireStatistics, median, waits,
};

pub use clock::wire_clock_is_tai;

use crate::Records;

/// Stamps of a computed wire are whole nanoseconds, and so is a frame's time on it.
const ROUNDING_NS: i64 = 2;

/// The statistics of each flow that was seen on its wire, by name. `experiment` tells
/// what the other cases set: a case without gates, or without reservation, is judged
/// by the first that has them.
pub fn on_wire(
    experiment: &Experiment,
    case: &Case,
    records: &Records,
) -> BTreeMap<String, WireStatistics> {
    let mut all = BTreeMap::new();
    for wire in &case.scenario.wires {
        for host in &wire.between {
            all.extend(Direction::new(experiment, case, records, wire, host).statistics());
        }
    }
    all
}

/// One direction of a wire: whatever leaves by one port.
struct Direction<'a> {
    experiment: &'a Experiment,
    case: &'a Case,
    records: &'a Records,
    wire: &'a Wire,
    host: &'a str,
    flows: Vec<(u16, &'a Flow)>,
    /// The flows' common first instant, in ns.
    first_ns: i64,
    /// In the order of departure.
    frames: Vec<WireFrame>,
    /// The stamps are exact: the wire's time is computed.
    computed: bool,
}

impl<'a> Direction<'a> {
    fn new(
        experiment: &'a Experiment,
        case: &'a Case,
        records: &'a Records,
        wire: &'a Wire,
        host: &'a str,
    ) -> Self {
        // Stamps are of a flow's last wire.
        let own = |flow: &Flow| {
            flow.last_wire() == wire.name && flow.to != host && wire.between.contains(&flow.to)
        };
        let flows: Vec<(u16, &Flow)> =
            (0..).zip(&case.scenario.flows).filter(|(_, flow)| own(flow)).collect();
        let way = to_the_stamp(wire);
        let mut frames: Vec<WireFrame> = Vec::new();
        for (id, flow) in &flows {
            let octets = flow.transport.octets(flow.payload);
            let seen = records.rows_of(*id).iter().filter_map(|row| Some((row, row.wire?)));
            frames.extend(seen.map(|(row, at)| WireFrame {
                flow: *id,
                planned_ns: row.scheduled.as_ns(),
                start_ns: (at - way).as_ns(),
                octets,
            }));
        }
        frames.sort_by_key(|frame| frame.start_ns);
        let first = flows.first().and_then(|(id, flow)| {
            let plan = records.about.flows.iter().find(|plan| plan.flow == *id)?;
            Some((plan.base - flow.offset).as_ns())
        });
        let first_ns = first.unwrap_or(0);
        let computed = clock::is_computed(wire, records);
        Self { experiment, case, records, wire, host, flows, first_ns, frames, computed }
    }

    fn statistics(&self) -> BTreeMap<String, WireStatistics> {
        let launched = self.launched();
        let offset = self.clock_offset(&launched);
        let waits = if self.computed {
            waits::waits(&self.frames, self.wire.rate, &launched)
        } else {
            BTreeMap::new()
        };
        let of_flow = |(id, flow): &(u16, &Flow)| {
            let frames: Vec<WireFrame> =
                self.frames.iter().filter(|frame| frame.flow == *id).copied().collect();
            // A bridge sends when a frame has come, not by the flow's plan.
            let own_departure = self.computed && flow.from == self.host;
            let late = || frames.iter().map(|frame| frame.late_ns() - offset);
            let resolution = if launched.contains(id) { self.launch_resolution() } else { 0 };
            let statistics = WireStatistics {
                rate_bps: wire::rate_bps(&frames),
                departure: late().collect::<Series>().finish().filter(|_| own_departure),
                resolution_ns: resolution + ROUNDING_NS,
                waits: self.waits_of(*id, &waits),
                gates: self.gates(flow, &frames),
                shaping: self.shaping(flow),
                xoffs: self.after_xoff(*id, flow),
                stations: self.stations(*id, flow),
            };
            (flow.name.clone(), statistics)
        };
        self.flows.iter().map(of_flow).collect()
    }

    fn waits_of(&self, flow: u16, waits: &BTreeMap<(u16, u16), Vec<i64>>) -> Vec<Wait> {
        let own = waits.iter().filter(|((waiting, _), _)| *waiting == flow);
        own.filter_map(|((_, other), ns)| {
            let (_, other) = self.flows.iter().find(|(id, _)| id == other)?;
            Wait::over(&other.name, ns.clone())
        })
        .collect()
    }

    /// The flows whose launch times the NIC keeps.
    fn launched(&self) -> BTreeSet<u16> {
        let launched = |flow: &Flow| {
            let exact = matches!(flow.mode, SendMode::LaunchTime { deadline: false, .. });
            let etf = qdiscs(&self.case.scenario, self.host, self.wire)
                .and_then(|qdiscs| qdiscs.etf_of(self.priority(flow)));
            flow.from == self.host && exact && etf.is_some_and(|etf| etf.offload)
        };
        self.flows.iter().filter(|(_, flow)| launched(flow)).map(|(id, _)| *id).collect()
    }

    /// Bridges see the frame, not the priority it was sent with: all that pass them have 0.
    fn priority(&self, flow: &Flow) -> SocketPriority {
        if flow.from == self.host { flow.priority } else { SocketPriority::LEAST }
    }

    fn launch_resolution(&self) -> i64 {
        let port = self.case.scenario.port(self.host, &self.wire.name);
        port.and_then(|port| port.vtsn.launch_resolution).map_or(1, Span::as_ns)
    }

    /// The wire's clock minus the schedule's, in ns: what the earliest launched frame
    /// says, or else the median of all, where the two are not known to be the same.
    fn clock_offset(&self, launched: &BTreeSet<u16>) -> i64 {
        if clock::runs_on_tai(self.case, self.wire) {
            return 0;
        }
        let kept = self.frames.iter().filter(|frame| launched.contains(&frame.flow));
        kept.map(WireFrame::late_ns).min().unwrap_or_else(|| {
            let mut all: Vec<i64> = self.frames.iter().map(WireFrame::late_ns).collect();
            median(&mut all).unwrap_or(0)
        })
    }

    /// The first case whose qdisc at this port gives something: this one, or another
    /// by name.
    fn first_case<T>(
        &self,
        found: impl Fn(&QdiscTree) -> Option<T>,
    ) -> Option<(T, Option<String>)> {
        let of = |case: &Case| qdiscs(&case.scenario, self.host, self.wire).and_then(&found);
        of(self.case).map(|found| (found, None)).or_else(|| {
            self.experiment.cases.iter().find_map(|case| Some((of(case)?, Some(case.name.clone()))))
        })
    }

    fn gates(&self, flow: &Flow, frames: &[WireFrame]) -> Option<GateStatistics> {
        // Gates are of the talker's clock, stamps of the listener's.
        if !self.computed || !clock::is_one(self.case, self.wire) {
            return None;
        }
        let (windows, gates_of) = self.first_case(|qdiscs| windows(qdiscs, self.priority(flow)))?;
        // Where nobody aligned the flows with the gates, the gates are with the flows.
        let windows =
            if gates_of.is_some() { windows.beginning_at(self.first_ns) } else { windows };
        let statistics = gates::of(frames, self.wire.rate, &windows, ROUNDING_NS);
        Some(GateStatistics { gates_of, ..statistics })
    }

    /// Of all the class's frames.
    fn shaping(&self, flow: &Flow) -> Option<ShapingStatistics> {
        if !self.computed {
            return None;
        }
        let ((reservation, class), reserved_in) =
            self.first_case(|qdiscs| reservation(qdiscs, self.priority(flow)))?;
        let of_class = |id: u16| {
            let flow = self.flows.iter().find(|(own, _)| *own == id);
            flow.is_some_and(|(_, flow)| class.contains(&self.priority(flow)))
        };
        let frames: Vec<WireFrame> =
            self.frames.iter().filter(|frame| of_class(frame.flow)).copied().collect();
        let statistics = shaping::of(&frames, self.wire.rate, &reservation)?;
        Some(ShapingStatistics { reserved_in, ..statistics })
    }
}

/// From the beginning of a frame at the near end to its stamp, which is of the end of the start
/// delimiter at the far end.
fn to_the_stamp(wire: &Wire) -> Span {
    wire.delay.unwrap_or(Span::ZERO) + wire.rate.serialisation(ethernet::PREAMBLE.into())
}

fn qdiscs<'a>(scenario: &'a Scenario, host: &str, wire: &Wire) -> Option<&'a QdiscTree> {
    scenario.port(host, &wire.name)?.qdisc.as_ref()
}

/// When frames of `priority` may leave.
fn windows(qdiscs: &QdiscTree, priority: SocketPriority) -> Option<Windows> {
    let Qdisc::Taprio(taprio) = &qdiscs.root else { return None };
    let class = qdiscs.class_of(priority)?;
    let entries: Vec<(bool, i64)> = taprio
        .entries
        .iter()
        .map(|gate| (gate.open.contains(&class), gate.interval.as_ns()))
        .collect();
    Windows::new(taprio.base_time.as_ns(), taprio.cycle.as_ns(), &entries)
}

/// What is reserved for the class of `priority`, and the priorities in it. Each queue
/// of the class has a shaper.
fn reservation(
    qdiscs: &QdiscTree,
    priority: SocketPriority,
) -> Option<(Reservation, Vec<SocketPriority>)> {
    let Some(Qdisc::Cbs(cbs)) = qdiscs.leaf_of(priority) else { return None };
    let class = qdiscs.class_of(priority);
    let shapers = qdiscs
        .queue_ranges()
        .and_then(|queues| queues.get(usize::from(class?)))
        .map_or(1, |range| u64::from(range.count));
    let idle = u64::try_from(cbs.idleslope_kbps).ok()? * 1_000;
    let credit = i64::from(cbs.hicredit_bytes) - i64::from(cbs.locredit_bytes);
    let reservation = Reservation {
        idle: Rate::from_bps(idle * shapers),
        credit_bytes: u64::try_from(credit).ok()? * shapers,
    };
    let in_class = |priority: &SocketPriority| qdiscs.class_of(*priority) == class;
    Some((reservation, SocketPriority::all().filter(in_class).collect()))
}

#[cfg(test)]
#[path = "on_wire_tests.rs"]
mod tests;
