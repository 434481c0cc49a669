//! Frames that nothing stops any more: those in a NIC's transmit ring, which its size and the
//! kernel's byte queue limits (BQL, `lib/dynamic_queue_limits.c`) bound.

use serde::Serialize;
use teiji_sys::sysfs::Sysfs;

use crate::netlink::ethtool;
use crate::processing;

/// Bytes that BQL counts of the smallest Ethernet frame: it comes without frame check sequence.
const SMALLEST_FRAME: u64 = 60;

/// What bounds the frames in the transmit ring of each queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TransmitRing {
    /// Frames that it holds (`ethtool -g`), if the driver says.
    pub frames: Option<u32>,
    /// Bytes that the kernel lets into it at most: of all queues' `limit_max` the largest.
    /// `None` without BQL, or if it may not be read. A driver may ignore it.
    pub byte_limit: Option<u64>,
}

impl TransmitRing {
    /// That of an interface of the calling thread's namespace.
    pub(crate) fn of(ifname: &str, index: u32) -> Self {
        Self {
            frames: ethtool::rings(index).map(|(tx, _)| tx),
            byte_limit: Sysfs::open()
                .ok()
                .and_then(|sysfs| processing::largest_byte_limit(&sysfs, ifname)),
        }
    }

    /// How many frames can be in it, of whatever size; `None` if nothing is known. BQL lets
    /// one more in as long as the limit is not reached.
    pub fn at_most(self) -> Option<u64> {
        let by_bytes = self.byte_limit.map(|bytes| bytes / SMALLEST_FRAME + 1);
        self.frames.map(u64::from).into_iter().chain(by_bytes).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tighter_bound_counts() {
        let at_most = |frames, byte_limit| TransmitRing { frames, byte_limit }.at_most();
        assert_eq!(at_most(Some(256), Some(1_879_048_192)), Some(256));
        // Two frames of 1514 bytes, or 50 of 60 and one more.
        assert_eq!(at_most(Some(256), Some(3_028)), Some(51));
        assert_eq!(at_most(Some(4), Some(3_028)), Some(4));
        assert_eq!(at_most(None, Some(0)), Some(1));
        assert_eq!(at_most(Some(64), None), Some(64));
        assert_eq!(at_most(None, None), None);
    }
}
