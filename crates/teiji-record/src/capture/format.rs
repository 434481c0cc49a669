//! What pcap and pcapng have in common: their names, frames and numbers.

use std::collections::BTreeMap;

use teiji_core::time::{Capture, Instant};

/// Link type of Ethernet.
pub(super) const ETHERNET: u16 = 1;

/// Which format a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap with stamps of 1 µs.
    PcapMicros,
    /// pcap with stamps of 1 ns.
    PcapNanos,
    /// pcapng; each interface has its own resolution.
    PcapNg,
}

/// What was left out while reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Frames without time stamp (pcapng Simple Packet Blocks).
    pub without_stamp: u64,
    /// Frames of interfaces that are not Ethernet, by link type.
    pub other_links: BTreeMap<u16, u64>,
}

/// A frame in the buffer: where it is and when it was.
pub(super) struct Found {
    pub(super) at: Instant<Capture>,
    pub(super) interface: u32,
    pub(super) resolution_ns: i64,
    /// Bytes to pass over, of which `from..to` are the frame.
    pub(super) len: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Less was captured than was on the wire.
    pub(super) cut: bool,
}

/// How many of the captured bytes of a frame are not FCS.
#[inline]
pub(super) fn without_fcs(captured: u32, original: u32, fcs: usize) -> usize {
    let (captured, original) = (captured as usize, original as usize);
    if fcs == 0 { captured } else { captured.min(original.saturating_sub(fcs)) }
}

/// The 32-bit number at `offset`, which must be inside `bytes`.
#[inline]
pub(super) fn word(bytes: &[u8], offset: usize, big_endian: bool) -> u32 {
    let four = [bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]];
    if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}
