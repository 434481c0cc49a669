//! What is known about one frame of a flow: the record everything else is computed from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::errno;
use crate::reception::Reception;
use crate::time::{Capture, Instant, Phc, Tai};

/// Everything known about one frame. A missing stamp is `None`, never 0; a
/// lost frame is a row without arrival, not a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Flow identifier: index in the scenario.
    pub flow: u16,
    /// Sequence number, from 0.
    pub seq: u64,
    /// When it was meant to be on the wire.
    pub scheduled: Instant<Tai>,
    /// When its sender woke; `None` if the talker never came to it.
    pub woke: Option<Instant<Tai>>,
    /// When the send call returned.
    pub handed_over: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_SCHED`: entered the qdisc.
    pub tx_sched: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_SOFTWARE`: handed to the NIC by the driver.
    pub tx_kernel: Option<Instant<Tai>>,
    /// `SOF_TIMESTAMPING_TX_HARDWARE`: left the NIC.
    pub tx_hardware: Option<Instant<Phc>>,
    /// Seen by the analyser.
    pub wire: Option<Instant<Capture>>,
    /// Arrived in the receiving kernel (first copy).
    pub rx_kernel: Option<Instant<Tai>>,
    /// Arrived at the receiving NIC (first copy).
    pub rx_hardware: Option<Instant<Phc>>,
    /// The receiving program had it (first copy).
    pub taken: Option<Instant<Tai>>,
    /// Its way through the receiving kernel, where that was traced (first copy).
    pub reception: Reception,
    /// Position in the order of arrival, over all flows of the listener, from
    /// 0 (first copy).
    pub arrival: Option<u64>,
    /// Copies that arrived; 0 for a lost frame.
    pub copies: u32,
    /// Why the kernel refused or dropped it, if it reported so.
    pub tx_error: Option<TxError>,
}

impl FrameRow {
    /// The frame `seq` of `flow` of which nothing is known but when it was meant to leave.
    pub const fn planned(flow: u16, seq: u64, scheduled: Instant<Tai>) -> Self {
        Self {
            flow,
            seq,
            scheduled,
            woke: None,
            handed_over: None,
            tx_sched: None,
            tx_kernel: None,
            tx_hardware: None,
            wire: None,
            rx_kernel: None,
            rx_hardware: None,
            taken: None,
            reception: Reception::UNKNOWN,
            arrival: None,
            copies: 0,
            tx_error: None,
        }
    }

    /// The kernel took it.
    pub fn was_sent(&self) -> bool {
        self.handed_over.is_some() && !matches!(self.tx_error, Some(TxError::SendFailed(_)))
    }

    /// The kernel took it and did not report that it dropped it.
    pub fn should_be_transmitted(&self) -> bool {
        self.handed_over.is_some() && self.tx_error.is_none()
    }
}

/// Why a frame did not get through, as the sending kernel reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TxError {
    /// ETF: its launch time had passed (`SO_EE_CODE_TXTIME_MISSED`).
    Missed,
    /// ETF: its launch time was unusable (`SO_EE_CODE_TXTIME_INVALID_PARAM`).
    Invalid,
    /// The send call failed with this errno.
    SendFailed(i32),
}

/// As in records and CSV: `missed`, `invalid`, or `send-failed:` with the name (or number) of errno.
impl fmt::Display for TxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missed => f.write_str("missed"),
            Self::Invalid => f.write_str("invalid"),
            Self::SendFailed(errno) => write!(f, "send-failed:{}", errno::name(*errno)),
        }
    }
}

impl TxError {
    /// The error written as `text`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "missed" => Some(Self::Missed),
            "invalid" => Some(Self::Invalid),
            _ => errno::parse(text.strip_prefix("send-failed:")?).map(Self::SendFailed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_written_for_people_and_read_back() {
        assert_eq!(TxError::SendFailed(105).to_string(), "send-failed:ENOBUFS");
        assert_eq!(TxError::SendFailed(9999).to_string(), "send-failed:9999");
        for tx_error in (0..200).map(TxError::SendFailed).chain([TxError::Missed, TxError::Invalid])
        {
            assert_eq!(TxError::parse(&tx_error.to_string()), Some(tx_error));
        }
        assert_eq!(TxError::parse("lost"), None);
    }
}
