//! What is known of a talker's run beside its log.

use serde::Serialize;
use teiji::margin::Reading;
use teiji::talker::TxStamps;
use teiji_core::domain::SocketPriority;
use teiji_core::time::Span;
use teiji_net::traffic::QdiscDrops;

use teiji_run::punctuality::{Counts, Criteria};

/// What is known beside the log.
pub(super) struct Context {
    pub(super) interface: String,
    pub(super) destination: String,
    pub(super) priority: SocketPriority,
    pub(super) period: Span,
    pub(super) margin: Option<Span>,
    pub(super) criteria: Criteria,
    /// What the kernel counted meanwhile, where it says.
    pub(super) counted: Option<Counted>,
    pub(super) headroom: Option<Reading>,
}

/// What the kernel counted at the interface while the talker ran, of all programs' packets.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Counted {
    pub(super) carrier: bool,
    pub(super) sent: u64,
    pub(super) dropped: u64,
    #[serde(skip)]
    pub(super) qdisc: Option<QdiscDrops>,
}

/// What says when a frame was transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JudgedBy {
    /// Nothing but the return of the send call.
    HandOver,
    /// The driver's timestamp (`SOF_TIMESTAMPING_TX_SOFTWARE`).
    DriverTimestamp,
    /// The NIC's timestamp (`SOF_TIMESTAMPING_TX_HARDWARE`).
    NicTimestamp,
}

impl From<TxStamps> for JudgedBy {
    fn from(stamps: TxStamps) -> Self {
        match stamps {
            TxStamps::None => Self::HandOver,
            TxStamps::Kernel => Self::DriverTimestamp,
            TxStamps::Hardware => Self::NicTimestamp,
        }
    }
}

/// Of the frames without timestamps, how many the interface has not counted, at least: packets
/// of others are in its number, too.
pub(super) fn uncounted(counts: &Counts, judged_by: JudgedBy, counted: Option<&Counted>) -> u64 {
    match counted {
        Some(counted) if judged_by == JudgedBy::HandOver => {
            counts.transmitted().saturating_sub(counted.sent)
        }
        _ => 0,
    }
}
