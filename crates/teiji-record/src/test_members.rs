//! What members of a run measured, for tests.

use teiji::load::LoadReport;
use teiji_core::load::LoadKind;
use teiji_core::time::{Instant, Span};
use teiji_stats::{RoundStatistics, RoundTerms, RoundView};

/// Of round trips: each took so many nanoseconds, and `lost` more had no reply.
pub fn rounds(times_ns: impl IntoIterator<Item = i64>, lost: usize) -> RoundStatistics {
    let round = |received| RoundView { received, ..RoundView::sent(Instant::from_ns(0)) };
    let answered = times_ns.into_iter().map(|ns| round(Some(Instant::from_ns(ns))));
    let rounds: Vec<RoundView> = answered.chain((0..lost).map(|_| round(None))).collect();
    let terms = RoundTerms {
        planned: rounds.len() as u64,
        period: None,
        timeout: Span::from_secs(1),
        duplicated: 0,
        foreign: 0,
    };
    RoundStatistics::from_rounds(&terms, rounds)
}

/// Of a TCP stream: its kbit/s.
pub fn stream(kbit: u64) -> LoadReport {
    LoadReport::new(LoadKind::TcpTx, kbit, 1_000)
}
