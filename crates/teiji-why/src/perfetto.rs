//! Traces for ui.perfetto.dev: a track for each processor and each flow, as messages of
//! `perfetto/trace/trace_packet.proto`, of which those fields are written that are needed.

use std::io::{self, Write};

use crate::path::{Finder, Path};
use crate::stream::Ps;

/// The fields' numbers.
mod field {
    pub const PACKET: u64 = 1;
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const EVENT: u64 = 11;
    pub const DESCRIPTOR: u64 = 60;
    pub const TRACK_UUID: u64 = 1;
    pub const TRACK_NAME: u64 = 2;
    pub const TRACK_PARENT: u64 = 5;
    pub const EVENT_TYPE: u64 = 9;
    pub const EVENT_TRACK: u64 = 11;
    pub const EVENT_NAME: u64 = 23;
}

/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;

/// A flow's name, and its frames: number and path.
pub type FlowPaths<'a> = (&'a str, &'a [(u64, Option<Path>)]);

/// Writes what all processors did, and the frames' paths, in the time of the guest's TSC in ns.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut impl Write, finder: &Finder<'_>, flows: &[FlowPaths<'_>]) -> io::Result<()> {
    let mut to = Trace { out, tracks: 0 };
    for (cpu, segments) in finder.timeline.cpus.iter().enumerate() {
        let track = to.track(None, &format!("CPU {cpu}"))?;
        for segment in segments {
            if let Some(context) = finder.context(segment) {
                to.slice(track, &context, segment.start, segment.end)?;
            }
        }
    }
    for (name, frames) in flows {
        let flow = to.track(None, &format!("flow {name}"))?;
        // The slices of a track are nested: frames that overlap need several.
        let mut lanes: Vec<(u64, Ps)> = Vec::new();
        let known = frames.iter().filter_map(|(seq, path)| Some((seq, path.as_ref()?)));
        for (seq, path) in known {
            let free = lanes.iter().position(|(_, until)| *until <= path.from);
            let lane = free.unwrap_or(lanes.len());
            if free.is_none() {
                lanes.push((to.track(Some(flow), name)?, 0));
            }
            lanes[lane].1 = path.to;
            to.frame(lanes[lane].0, &format!("{name}:{seq}"), path)?;
        }
    }
    Ok(())
}

struct Trace<'a, W> {
    out: &'a mut W,
    tracks: u64,
}

impl<W: Write> Trace<'_, W> {
    fn track(&mut self, parent: Option<u64>, name: &str) -> io::Result<u64> {
        self.tracks += 1;
        let mut track = Message::default();
        track.number(field::TRACK_UUID, self.tracks);
        track.bytes(field::TRACK_NAME, name.as_bytes());
        if let Some(parent) = parent {
            track.number(field::TRACK_PARENT, parent);
        }
        let mut packet = Message::default();
        packet.bytes(field::DESCRIPTOR, &track.0);
        self.packet(packet)?;
        Ok(self.tracks)
    }

    fn frame(&mut self, track: u64, name: &str, path: &Path) -> io::Result<()> {
        self.event(track, path.from, Some(name))?;
        let mut at = path.from;
        for (cause, time) in &path.parts {
            self.slice(track, &cause.to_string(), at, at + time)?;
            at += time;
        }
        self.event(track, path.to, None)
    }

    fn slice(&mut self, track: u64, name: &str, from: Ps, to: Ps) -> io::Result<()> {
        self.event(track, from, Some(name))?;
        self.event(track, to, None)
    }

    /// The beginning of a slice, with its name, or the end of the innermost one.
    fn event(&mut self, track: u64, at: Ps, name: Option<&str>) -> io::Result<()> {
        let mut event = Message::default();
        event.number(field::EVENT_TYPE, if name.is_some() { BEGIN } else { END });
        event.number(field::EVENT_TRACK, track);
        if let Some(name) = name {
            event.bytes(field::EVENT_NAME, name.as_bytes());
        }
        let mut packet = Message::default();
        packet.number(field::TIMESTAMP, u64::try_from(at / 1000).unwrap_or(0));
        packet.bytes(field::EVENT, &event.0);
        self.packet(packet)
    }

    fn packet(&mut self, mut packet: Message) -> io::Result<()> {
        packet.number(field::SEQUENCE, 1);
        let mut message = Message::default();
        message.bytes(field::PACKET, &packet.0);
        self.out.write_all(&message.0)
    }
}

/// Fields of a protobuf message, <https://protobuf.dev/programming-guides/encoding/>.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let [low, ..] = (value & 0x7f).to_le_bytes();
            value >>= 7;
            if value == 0 {
                return self.0.push(low);
            }
            self.0.push(low | 0x80);
        }
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint((field << 3) | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_encoded_as_protobuf() {
        let mut message = Message::default();
        // The example of the format's documentation.
        message.number(1, 150);
        message.bytes(2, b"testing");
        assert_eq!(message.0, b"\x08\x96\x01\x12\x07testing");
    }
}
