//! Where a frame's timestamps are taken.

use serde::{Deserialize, Serialize};
use teiji_core::frame::FrameRow;
use teiji_core::time::Instant;

/// Where time stamps were taken, best judge first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimestampPoint {
    /// On the wire, by an analyser's capture.
    Wire,
    /// By the receiving NIC.
    RxHardware,
    /// By the sending NIC.
    TxHardware,
    /// By the receiving kernel.
    RxKernel,
    /// By the sending kernel, at the hand-over to the driver.
    TxKernel,
}

impl TimestampPoint {
    /// All of them, best judge first.
    pub const ALL: [Self; 5] =
        [Self::Wire, Self::RxHardware, Self::TxHardware, Self::RxKernel, Self::TxKernel];

    /// True where stamps are of the clock that schedules are made in; the
    /// other clocks have an unknown offset to it.
    pub const fn clock_is_tai(self) -> bool {
        matches!(self, Self::RxKernel | Self::TxKernel)
    }

    /// A frame's stamp taken here, in nanoseconds of this timestamp point's clock.
    pub fn stamp_ns(self, frame: &FrameRow) -> Option<i64> {
        match self {
            Self::Wire => frame.wire.map(Instant::as_ns),
            Self::RxHardware => frame.rx_hardware.map(Instant::as_ns),
            Self::TxHardware => frame.tx_hardware.map(Instant::as_ns),
            Self::RxKernel => frame.rx_kernel.map(Instant::as_ns),
            Self::TxKernel => frame.tx_kernel.map(Instant::as_ns),
        }
    }
}
