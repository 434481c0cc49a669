//! Where the time of a flow's frames went, and what still came of it after silence was asked for.

use std::collections::BTreeMap;

use teiji_core::reception::Reception;
use teiji_core::time::{Instant, Span, Tai};
use teiji_experiment::Flow;
use teiji_stats::wire::GAP;
use teiji_stats::{Deviation, Series, SilenceStatistics, Station, silence};

use super::{Direction, to_the_stamp};
use crate::FrameRow;

impl Direction<'_> {
    /// When a frame of `flow` had come wholly, in the schedule's clock.
    fn end(&self, flow: &Flow, row: &FrameRow) -> Option<Instant<Tai>> {
        Some(self.start(row)? + self.travel(flow))
    }

    /// The beginning of its preamble at the near end, likewise.
    fn start(&self, row: &FrameRow) -> Option<Instant<Tai>> {
        let exact = self.computed && self.one_clock();
        let at = row.wire.filter(|_| exact)? - to_the_stamp(self.wire);
        Some(Instant::from_ns(at.as_ns()))
    }

    /// From there until the whole frame is at the far end.
    fn travel(&self, flow: &Flow) -> Span {
        let octets = flow.transport.octets(flow.payload).saturating_sub(GAP);
        self.wire.rate.serialisation(octets) + self.wire.delay.unwrap_or(Span::ZERO)
    }

    /// What came after the listener's port had asked for silence.
    pub(super) fn silence(&self, id: u16, flow: &Flow) -> Option<SilenceStatistics> {
        let heard = self.records.facts.listeners.iter().filter(|l| l.flows.contains(&id));
        let asks: Vec<(i64, i64)> = heard
            .flat_map(|listener| &listener.silences)
            .map(|silence| (silence.asked.as_ns(), silence.released.as_ns()))
            .collect();
        let rows = self.records.rows_of(id).iter();
        let mut ends: Vec<i64> =
            rows.filter_map(|row| Some(self.end(flow, row)?.as_ns())).collect();
        ends.sort_unstable();
        silence::judge(&asks, &ends).filter(|_| !ends.is_empty())
    }

    pub(super) fn stations(&self, id: u16, flow: &Flow) -> BTreeMap<Station, Deviation> {
        let own = flow.from == self.host;
        let (start, end) = (|row: &FrameRow| self.start(row), |row: &FrameRow| self.end(flow, row));
        let took = |station: Station, row: &FrameRow| {
            let Reception { interrupt, softirq, woken } = row.reception;
            let own_interrupt = || interrupt.filter(|at| end(row).is_some_and(|end| *at >= end));
            Some(match station {
                Station::ToWire => start(row).filter(|_| own)? - row.woke?,
                Station::Qdisc => row.tx_kernel? - row.tx_sched?,
                Station::Card => start(row).filter(|_| own)? - row.tx_kernel?,
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
