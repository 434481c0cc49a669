//! The test frames in a capture: what the analyser adds to the records.

use std::io::Read;

use teiji_core::time::Span;
use teiji_core::wire;

use super::{CaptureError, CaptureReader};
use crate::Sighting;

/// All test frames of a capture.
#[derive(Debug)]
pub struct WireImport {
    /// In the capture's order, copies included.
    pub sightings: Vec<Sighting>,
    /// Frames of any kind.
    pub frames: u64,
    /// Resolution of the stamps.
    pub resolution: Span,
    /// Why the rest of the file could not be read, if it could not.
    pub damage: Option<CaptureError>,
}

/// Collects the test frames of a capture. Damage after the header is reported
/// beside what was read before it; memory grows with the test frames.
///
/// # Errors
/// [`CaptureError`] if the header cannot be read or is not a capture's.
pub fn sightings(source: impl Read) -> Result<WireImport, CaptureError> {
    let mut reader = CaptureReader::new(source)?;
    let (mut sightings, mut frames) = (Vec::new(), 0);
    let damage = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => {
                frames += 1;
                if let Some(probe) = wire::parse(packet.frame).and_then(|f| f.probe()) {
                    sightings.push(Sighting { flow: probe.flow, seq: probe.seq, at: packet.at });
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Ok(WireImport { sightings, frames, resolution: reader.resolution(), damage })
}
