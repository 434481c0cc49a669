//! The pcap format (draft-ietf-opsawg-pcap): a header, then records.

use std::io::Read;

use teiji_core::time::Instant;

use super::buffer::Buffer;
use super::error::{CaptureError, MAX_FRAME};
use super::format::{ETHERNET, Format, Found, without_fcs, word};

/// Bytes of the file header.
pub(super) const HEADER: usize = 24;
/// Bytes of a record's header.
pub(super) const RECORD: usize = 16;

/// What the file header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pcap {
    big_endian: bool,
    /// Nanoseconds per unit of the fraction: 1 or 1000.
    unit_ns: u32,
    link_type: u16,
    /// Bytes of FCS at the end of each frame.
    fcs: usize,
}

/// A record's header.
pub(super) struct Record {
    seconds: u32,
    fraction: u32,
    /// Bytes of the frame in the file.
    pub(super) captured: u32,
    /// Bytes it had on the wire.
    original: u32,
}

impl Pcap {
    pub(super) fn new<R: Read>(
        buffer: &mut Buffer<R>,
        magic: [u8; 4],
    ) -> Result<Self, CaptureError> {
        Self::byte_order(magic)?;
        let header = buffer
            .array::<HEADER>()?
            .ok_or(CaptureError::Truncated { offset: 0, what: "its header" })?;
        let pcap = Self::parse(&header)?;
        if pcap.link_type != ETHERNET {
            return Err(CaptureError::LinkType(pcap.link_type));
        }
        buffer.consume(HEADER, 0, 0);
        Ok(pcap)
    }

    /// Whether it is big-endian, and nanoseconds per unit.
    fn byte_order(magic: [u8; 4]) -> Result<(bool, u32), CaptureError> {
        match magic {
            [0xA1, 0xB2, 0xC3, 0xD4] => Ok((true, 1_000)),
            [0xD4, 0xC3, 0xB2, 0xA1] => Ok((false, 1_000)),
            [0xA1, 0xB2, 0x3C, 0x4D] => Ok((true, 1)),
            [0x4D, 0x3C, 0xB2, 0xA1] => Ok((false, 1)),
            [0xA1, 0xB2, 0xCD, 0x34] | [0x34, 0xCD, 0xB2, 0xA1] => {
                Err(CaptureError::Variant("a pcap file of the Kuznetzov variant".to_owned()))
            }
            _ => Err(CaptureError::NotACapture(magic)),
        }
    }

    /// Reads the file header.
    pub(super) fn parse(header: &[u8; HEADER]) -> Result<Self, CaptureError> {
        let [a, b, c, d, ..] = *header;
        let (big_endian, unit_ns) = Self::byte_order([a, b, c, d])?;
        let major = if big_endian { [header[4], header[5]] } else { [header[5], header[4]] };
        let major = u16::from_be_bytes(major);
        if major != 2 {
            return Err(CaptureError::Variant(format!("a pcap file of version {major}, not 2")));
        }
        // Bits 0-15 are the link type; if bit 26 is set, bits 28-31 count the
        // pairs of FCS bytes at the end of each frame.
        let word = word(header, 20, big_endian);
        let fcs = if word & (1 << 26) == 0 { 0 } else { (word >> 28) as usize * 2 };
        Ok(Self { big_endian, unit_ns, link_type: (word & 0xFFFF) as u16, fcs })
    }

    pub(super) fn format(self) -> Format {
        if self.unit_ns == 1 { Format::PcapNanos } else { Format::PcapMicros }
    }

    /// Reads a record's header; `None` if its length cannot be.
    #[inline]
    pub(super) fn record(self, header: &[u8; RECORD]) -> Option<Record> {
        let at = |offset| word(header, offset, self.big_endian);
        let captured = at(8);
        (u64::from(captured) <= MAX_FRAME).then(|| Record {
            seconds: at(0),
            fraction: at(4),
            captured,
            original: at(12),
        })
    }

    #[inline]
    pub(super) fn next<R: Read>(
        self,
        buffer: &mut Buffer<R>,
    ) -> Result<Option<Found>, CaptureError> {
        const WHAT: &str = "a frame";
        let offset = buffer.offset();
        let truncated = CaptureError::Truncated { offset, what: WHAT };
        let Some(header) = buffer.array::<RECORD>()? else {
            return if buffer.fill(1)? == 0 { Ok(None) } else { Err(truncated) };
        };
        let Some(record) = self.record(&header) else {
            let length = u64::from(word(&header, 8, self.big_endian));
            return Err(CaptureError::Length { offset, what: WHAT, length });
        };
        let len = RECORD + record.captured as usize;
        if buffer.fill(len)? < len {
            return Err(truncated);
        }
        let ns = i64::from(record.seconds) * 1_000_000_000
            + i64::from(record.fraction) * i64::from(self.unit_ns);
        Ok(Some(Found {
            at: Instant::from_ns(ns),
            interface: 0,
            resolution_ns: i64::from(self.unit_ns),
            len,
            from: RECORD,
            to: RECORD + without_fcs(record.captured, record.original, self.fcs),
            cut: record.captured < record.original,
        }))
    }
}
