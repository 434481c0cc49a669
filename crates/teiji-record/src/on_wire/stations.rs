//! Where the time of a flow's frames went, and which of them arrived after XOFF.

use std::collections::BTreeMap;

use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span, Tai};
use teiji_core::wire::ethernet;
use teiji_experiment::Flow;
use teiji_stats::{Deviation, Series, Station, XoffStatistics, xoff};

use super::{Direction, clock, to_the_stamp};
use crate::FrameRow;

/// From a frame's stamp to when it was at either end of the wire.
struct Transit {
    /// The stamp is of the schedule's clock.
    exact: bool,
    /// From the beginning of the preamble at the near end to the stamp.
    to_the_stamp: Span,
    /// From that beginning until the whole frame is at the far end.
    travel: Span,
}

impl Transit {
    /// The beginning of the frame's preamble at the near end.
    fn start(&self, row: &FrameRow) -> Option<Instant<Tai>> {
        let at = row.wire.filter(|_| self.exact)? - self.to_the_stamp;
        Some(Instant::from_ns(at.as_ns()))
    }

    /// When the frame had come wholly.
    fn end(&self, row: &FrameRow) -> Option<Instant<Tai>> {
        Some(self.start(row)? + self.travel)
    }
}

impl Direction<'_> {
    fn transit(&self, flow: &Flow) -> Transit {
        let octets = flow.transport.octets(flow.payload).saturating_sub(ethernet::GAP.into());
        Transit {
            exact: self.computed && clock::is_one(self.case, self.wire),
            to_the_stamp: to_the_stamp(self.wire),
            travel: self.wire.rate.serialisation(octets) + self.wire.delay.unwrap_or(Span::ZERO),
        }
    }

    /// What arrived after XOFF of the listener's port.
    pub(super) fn after_xoff(&self, id: u16, flow: &Flow) -> Option<XoffStatistics> {
        let listeners = self.records.facts.listeners.iter().filter(|l| l.flows.contains(&id));
        let xoffs: Vec<(i64, i64)> = listeners
            .flat_map(|listener| &listener.pauses)
            .map(|pause| (pause.requested.as_ns(), pause.resumed.as_ns()))
            .collect();
        if xoffs.is_empty() {
            return None;
        }
        let transit = self.transit(flow);
        let rows = self.records.rows_of(id).iter();
        let mut ends: Vec<i64> = rows.filter_map(|row| Some(transit.end(row)?.as_ns())).collect();
        ends.sort_unstable();
        xoff::of(&xoffs, &ends).filter(|_| !ends.is_empty())
    }

    /// How long the stretches of its frames' way took.
    pub(super) fn stations(&self, id: u16, flow: &Flow) -> BTreeMap<Station, Deviation> {
        let own = flow.from == self.host;
        let transit = self.transit(flow);
        let start = |row: &FrameRow| transit.start(row);
        let end = |row: &FrameRow| transit.end(row);
        let took = |station: Station, row: &FrameRow| {
            let Reception { interrupt, softirq, woken } = row.reception;
            let own_interrupt = || interrupt.filter(|at| end(row).is_some_and(|end| *at >= end));
            Some(match station {
                Station::ToWire => start(row).filter(|_| own)? - row.woke?,
                Station::Qdisc => row.tx_kernel? - row.tx_sched?,
                Station::Nic => start(row).filter(|_| own)? - row.tx_kernel?,
                Station::Receive => row.rx_kernel? - end(row)?,
                Station::Interrupt => own_interrupt()? - end(row)?,
                Station::Softirq => softirq? - own_interrupt()?,
                Station::Polling => row.rx_kernel? - softirq?.max(end(row)?),
                Station::Deliver => row.taken? - row.rx_kernel?,
                Station::Socket => woken? - row.rx_kernel?,
                Station::WakeUp => row.taken? - woken?,
            })
        };
        let rows = self.records.rows_of(id);
        let of = |station: Station| {
            let all = rows.iter().filter_map(|row| took(station, row));
            Some((station, all.map(Span::as_ns).collect::<Series>().finish()?))
        };
        Station::ALL.into_iter().filter_map(of).collect()
    }
}
