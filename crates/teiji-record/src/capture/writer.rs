//! Writes a pcap file.

use std::io::{self, Write};

use teiji_core::time::{Capture, Instant};

/// Resolution of the stamps in a pcap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 1 µs, which every program reads.
    Micros,
    /// 1 ns.
    Nanos,
}

/// Writes frames to a pcap file (little-endian, Ethernet). Flushing and
/// buffering are the sink's affair.
#[derive(Debug)]
pub struct PcapWriter<W> {
    sink: W,
    precision: Precision,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// If the sink cannot be written.
    pub fn new(mut sink: W, precision: Precision) -> io::Result<Self> {
        let magic: u32 = match precision {
            Precision::Micros => 0xA1B2_C3D4,
            Precision::Nanos => 0xA1B2_3C4D,
        };
        sink.write_all(&magic.to_le_bytes())?;
        // Version 2.4, two reserved words, snap length, link type Ethernet.
        sink.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
        sink.write_all(&(256_u32 << 10).to_le_bytes())?;
        sink.write_all(&1_u32.to_le_bytes())?;
        Ok(Self { sink, precision })
    }

    /// Writes one frame, complete, without FCS. A time before 1970 or after
    /// 2106, which the format cannot hold, is an error.
    ///
    /// # Errors
    /// If the time or the frame's length does not fit the format, or the sink cannot be written.
    pub fn write(&mut self, at: Instant<Capture>, frame: &[u8]) -> io::Result<()> {
        let unfit = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let seconds = u32::try_from(at.as_ns().div_euclid(1_000_000_000))
            .map_err(|_| unfit("pcap holds times from 1970 to 2106 only"))?;
        let ns = u32::try_from(at.as_ns().rem_euclid(1_000_000_000)).unwrap_or(0);
        let fraction = match self.precision {
            Precision::Micros => ns / 1_000,
            Precision::Nanos => ns,
        };
        let length = u32::try_from(frame.len()).map_err(|_| unfit("a frame above 4 GiB"))?;
        let mut header = [0; 16];
        for (field, value) in header.chunks_exact_mut(4).zip([seconds, fraction, length, length]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        self.sink.write_all(&header)?;
        self.sink.write_all(frame)
    }

    /// The sink, with everything written to it.
    pub fn into_inner(self) -> W {
        self.sink
    }
}
