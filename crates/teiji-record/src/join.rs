//! Brings together what talkers, listeners and the analyser saw of each frame.
//! Pure: logs in, rows out.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use teiji::{ListenerLog, PeerPause, ReceiveHeadroom, RxRecord, TalkerLog};
use teiji_core::time::{Capture, Instant, Span};

use crate::FrameRow;
use crate::columns::Row;
use crate::plan::FlowPlan;

/// A test frame seen by the analyser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Flow identifier in the test header.
    pub flow: u16,
    /// Sequence number in the test header.
    pub seq: u64,
    /// When it was on the wire.
    pub at: Instant<Capture>,
}

/// What is known beside the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// One per listener, in the order given.
    pub listeners: Vec<ListenerFacts>,
    /// Flows whose talker was stopped before its last frame, or left no log.
    pub interrupted: BTreeSet<u16>,
    /// Records of a talker beyond its flow's last frame. Not 0 means that the
    /// logs do not belong to this plan.
    pub unplanned: u64,
    /// Test frames of planned flows on the wire that were not the first copy.
    pub wire_copies: u64,
    /// Resolution of the analyser's stamps, where there was one.
    pub wire_resolution: Option<Span>,
    /// Flows whose listeners' machines have other clocks than their senders': only differences of
    /// the listeners' stamps mean something.
    #[serde(default)]
    pub apart: BTreeSet<u16>,
}

/// What is known of one listener beside the frames it received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerFacts {
    /// The planned flows of which it received a frame.
    pub flows: BTreeSet<u16>,
    /// Packets that were not frames of a planned flow.
    pub foreign: u64,
    /// Packets its socket dropped because its buffer was full.
    pub socket_drops: u64,
    /// When its port paused its peer at the flow's level, where that was traced.
    #[serde(default, rename = "silences")]
    pub pauses: Vec<PeerPause>,
    /// With flow control: its headroom.
    #[serde(default, rename = "room")]
    pub headroom: Option<ReceiveHeadroom>,
}

impl Facts {
    /// Foreign packets on the socket that `flow` came in by: those of the
    /// listeners that received its frames, or of all if none did.
    pub fn foreign(&self, flow: u16) -> u64 {
        let received = |l: &&ListenerFacts| l.flows.contains(&flow);
        let by_nobody = !self.listeners.iter().any(|l| received(&l));
        self.listeners.iter().filter(|l| by_nobody || received(l)).map(|l| l.foreign).sum()
    }
}

/// The rows of a case and what does not fit in rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// One row for each planned frame, by flow, then by sequence number.
    pub rows: Vec<FrameRow>,
    /// What is known beside them.
    pub facts: Facts,
}

/// Brings the logs together. Every planned frame becomes a row, those never
/// attempted too; what belongs to no planned frame is counted.
///
/// A test frame whose scheduled time is not the planned frame's (a straggler
/// of an earlier run) is foreign.
pub fn join(
    plans: &[FlowPlan],
    talkers: &[TalkerLog],
    listeners: &[ListenerLog],
    sightings: impl IntoIterator<Item = Sighting>,
) -> Joined {
    let mut table = Table::new(plans);
    let mut facts = Facts::default();
    let planned: BTreeMap<u16, &FlowPlan> = plans.iter().map(|p| (p.flow, p)).collect();
    facts.interrupted = planned.keys().copied().collect();
    for talker in talkers {
        if !talker.interrupted {
            facts.interrupted.remove(&talker.flow);
        }
        facts.unplanned += table.add_talker(talker);
    }
    for listener in listeners {
        facts.listeners.push(table.add_listener(listener));
    }
    for sighting in sightings {
        if let Some(row) = table.row(sighting.flow, sighting.seq) {
            match row.wire {
                None => row.wire = Some(sighting.at),
                Some(_) => facts.wire_copies += 1,
            }
        }
    }
    Joined { rows: table.rows, facts }
}

/// The rows under construction, and where each flow's begin.
struct Table {
    rows: Vec<FrameRow>,
    /// Flow → index of its frame 0, number of frames.
    flows: BTreeMap<u16, (usize, u64)>,
}

impl Table {
    fn new(plans: &[FlowPlan]) -> Self {
        let by_flow: BTreeMap<u16, &FlowPlan> = plans.iter().map(|p| (p.flow, p)).collect();
        let mut table = Self { rows: Vec::new(), flows: BTreeMap::new() };
        for (flow, plan) in by_flow {
            table.flows.insert(flow, (table.rows.len(), plan.frames));
            table.rows.extend((0..plan.frames).map(|seq| unsent(plan, seq)));
        }
        table
    }

    fn row(&mut self, flow: u16, seq: u64) -> Option<&mut FrameRow> {
        let (first, frames) = *self.flows.get(&flow)?;
        if seq >= frames {
            return None;
        }
        self.rows.get_mut(first + usize::try_from(seq).ok()?)
    }

    /// Returns how many records had no row.
    fn add_talker(&mut self, talker: &TalkerLog) -> u64 {
        let mut unplanned = 0;
        for tx in &talker.frames {
            let Some(row) = self.row(talker.flow, tx.seq) else {
                unplanned += 1;
                continue;
            };
            row.scheduled = tx.scheduled;
            row.woke = Some(tx.woke);
            row.handed_over = Some(tx.handed_over);
            row.tx_sched = tx.tx_sched;
            row.tx_kernel = tx.tx_kernel;
            row.tx_hardware = tx.tx_hardware;
            row.tx_error = tx.tx_error;
        }
        unplanned
    }

    fn add_listener(&mut self, log: &ListenerLog) -> ListenerFacts {
        let mut facts = ListenerFacts {
            flows: BTreeSet::new(),
            foreign: log.foreign,
            socket_drops: log.socket_drops,
            pauses: log.pauses.clone(),
            headroom: log.headroom,
        };
        for (arrival, rx) in (0..).zip(&log.arrivals) {
            let row = self.row(rx.flow, rx.seq).filter(|row| row.scheduled == rx.scheduled);
            match row {
                Some(row) => {
                    add_arrival(row, arrival, rx);
                    facts.flows.insert(rx.flow);
                }
                None => facts.foreign += 1,
            }
        }
        facts
    }
}

fn add_arrival(row: &mut FrameRow, arrival: u64, rx: &RxRecord) {
    if row.copies == 0 {
        row.rx_kernel = rx.rx_kernel;
        row.rx_hardware = rx.rx_hardware;
        row.taken = Some(rx.taken);
        row.reception = rx.reception;
        row.arrival = Some(arrival);
    }
    row.copies = row.copies.saturating_add(1);
}

fn unsent(plan: &FlowPlan, seq: u64) -> FrameRow {
    FrameRow { flow: plan.flow, seq, scheduled: plan.departure(seq), ..FrameRow::EMPTY }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
