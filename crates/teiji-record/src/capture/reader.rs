//! Reads frames from a pcap or pcapng file, whichever it is.

use std::io::Read;

use teiji_core::time::{Capture, Instant, Span};

use super::buffer::Buffer;
use super::error::CaptureError;
use super::format::{Format, Found, Notes};
use super::pcap::Pcap;
use super::pcapng::PcapNg;

/// One frame of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was seen.
    pub at: Instant<Capture>,
    /// The analyser's port (pcapng), 0 in pcap.
    pub interface: u32,
    /// From the destination address on, without FCS, as much as was captured.
    pub frame: &'a [u8],
    /// True if the frame was longer on the wire.
    pub cut: bool,
}

/// Delivers the frames of a capture, one after the other.
#[derive(Debug)]
pub struct CaptureReader<R> {
    buffer: Buffer<R>,
    variant: Variant,
    notes: Notes,
    /// The coarsest resolution of the frames delivered.
    resolution_ns: i64,
    ended: bool,
}

#[derive(Debug)]
enum Variant {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl<R: Read> CaptureReader<R> {
    /// Reads the header and knows the format.
    ///
    /// # Errors
    /// [`CaptureError`] if the file is empty, cut in its header, compressed, or neither pcap nor
    /// pcapng.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        let mut buffer = Buffer::new(source);
        let Some(magic) = buffer.array::<4>()? else {
            let empty = buffer.fill(1)? == 0;
            let truncated = CaptureError::Truncated { offset: 0, what: "its header" };
            return Err(if empty { CaptureError::Empty } else { truncated });
        };
        let variant = match magic {
            [0x0A, 0x0D, 0x0D, 0x0A] => Variant::PcapNg(PcapNg::new(&mut buffer)?),
            [0x1F, 0x8B, ..] => return Err(CaptureError::Compressed { program: "gzip" }),
            [0x28, 0xB5, 0x2F, 0xFD] => return Err(CaptureError::Compressed { program: "zstd" }),
            [0xFD, b'7', b'z', b'X'] => return Err(CaptureError::Compressed { program: "xz" }),
            [0x04, 0x22, 0x4D, 0x18] => return Err(CaptureError::Compressed { program: "lz4" }),
            _ => Variant::Pcap(Pcap::new(&mut buffer, magic)?),
        };
        Ok(Self { buffer, variant, notes: Notes::default(), resolution_ns: 1, ended: false })
    }

    /// The next frame; `None` at the end of the file. After an error there is
    /// nothing more.
    ///
    /// # Errors
    /// [`CaptureError`] if the file cannot be read, or is damaged or cut in the middle of a block.
    #[inline]
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        let found = match &mut self.variant {
            Variant::Pcap(pcap) => pcap.next(&mut self.buffer),
            Variant::PcapNg(pcapng) => pcapng.next(&mut self.buffer, &mut self.notes),
        };
        match found {
            Ok(Some(found)) => {
                self.resolution_ns = self.resolution_ns.max(found.resolution_ns);
                let frame = self.buffer.consume(found.len, found.from, found.to);
                let Found { at, interface, cut, .. } = found;
                Ok(Some(Packet { at, interface, frame, cut }))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        match &self.variant {
            Variant::Pcap(pcap) => pcap.format(),
            Variant::PcapNg(_) => Format::PcapNg,
        }
    }

    /// The coarsest resolution of the stamps delivered so far.
    pub fn resolution(&self) -> Span {
        Span::from_ns(self.resolution_ns)
    }

    /// What was left out so far.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
