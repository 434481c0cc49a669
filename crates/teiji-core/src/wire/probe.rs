//! Teiji's test header: which flow, which frame, and when it was meant to
//! leave.
//!
//! It stands at the beginning of the UDP payload, or of the Ethernet payload
//! of a frame with [`TEIJI_ETHERTYPE`](super::TEIJI_ETHERTYPE). 24 bytes, all
//! numbers in network byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic, ASCII `TEIJ` |
//! | 4 | 1 | version, 1 |
//! | 5 | 1 | reserved, 0, ignored on receipt |
//! | 6 | 2 | flow identifier |
//! | 8 | 8 | sequence number, from 0 |
//! | 16 | 8 | scheduled departure, ns of TAI since 1970 (two's complement) |
//!
//! What follows, up to the payload size, is zeros.

use crate::time::{Instant, Tai};

const VERSION: u8 = 1;

/// The test header of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which flow of the experiment.
    pub flow: u16,
    /// Which frame of the flow, from 0.
    pub seq: u64,
    /// When the frame was meant to leave.
    pub scheduled: Instant<Tai>,
}

impl Probe {
    /// Bytes of the header: the smallest payload a test frame can have.
    pub const LEN: usize = 24;
    /// What the header begins with.
    pub const MAGIC: [u8; 4] = *b"TEIJ";

    /// The header at the start of `payload`, or `None` if there is none.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let bytes = payload.first_chunk::<{ Self::LEN }>()?;
        if bytes[..4] != Self::MAGIC || bytes[4] != VERSION {
            return None;
        }
        let eight = |at: usize| bytes[at..].first_chunk::<8>().copied();
        Some(Self {
            flow: u16::from_be_bytes([bytes[6], bytes[7]]),
            seq: u64::from_be_bytes(eight(8)?),
            scheduled: Instant::from_ns(i64::from_be_bytes(eight(16)?)),
        })
    }

    /// True if `payload` ends inside what may be a header.
    pub fn may_begin(payload: &[u8]) -> bool {
        payload.len() < Self::LEN
            && payload.iter().zip(&Self::MAGIC).all(|(byte, magic)| byte == magic)
    }

    /// Writes the header over the first [`Probe::LEN`] bytes of `payload`.
    ///
    /// # Panics
    /// If `payload` is shorter than the header.
    pub fn emit(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&Self::MAGIC);
        payload[4] = VERSION;
        payload[5] = 0;
        payload[6..8].copy_from_slice(&self.flow.to_be_bytes());
        payload[8..16].copy_from_slice(&self.seq.to_be_bytes());
        payload[16..24].copy_from_slice(&self.scheduled.as_ns().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut bytes = [0xFF; Probe::LEN];
        Probe { flow: 0x0102, seq: 3, scheduled: Instant::from_ns(-1) }.emit(&mut bytes);
        assert_eq!(&bytes[..8], b"TEIJ\x01\x00\x01\x02");
        assert_eq!(&bytes[8..16], &[0, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(&bytes[16..], &[0xFF; 8]);
    }

    proptest! {
        #[test]
        fn what_is_emitted_parses_back(flow: u16, seq: u64, scheduled: i64) {
            let probe = Probe { flow, seq, scheduled: Instant::from_ns(scheduled) };
            let mut bytes = [0; 64];
            probe.emit(&mut bytes);
            prop_assert_eq!(Probe::parse(&bytes), Some(probe));
        }
    }

    #[test]
    fn foreign_payloads_are_not_ours() {
        assert_eq!(Probe::parse(b"TEIJ"), None);
        assert_eq!(Probe::parse(&[0; 64]), None);
        assert_eq!(Probe::parse(&[b'T', b'E', b'I', b'J', 2].repeat(8)), None);
    }
}
