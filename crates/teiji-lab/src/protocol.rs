//! What the guest tells the host, through a virtio serial port into a file.
//!
//! The guest stays silent until it has measured.
//! Each is framed as magic `TJM1`, kind (1 byte), length (4 bytes, little
//! endian), payload. The host reads the file while it grows; a frame that was
//! cut off by the guest's death is simply never complete.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: [u8; 4] = *b"TJM1";
const HEADER: usize = 9;
/// No message is larger; more means that the stream is not ours.
const MAX_PAYLOAD: usize = 1 << 30;

/// The name of the port: `/sys/class/virtio-ports/*/name` in the guest.
pub const PORT_NAME: &str = "teiji.results";

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The measurement's result; payload: whatever the measuring program and
    /// its host agreed on.
    Result = 1,
    /// The guest could not go on; payload: one sentence.
    Failure = 2,
    /// Nothing more will come; the host may switch the machine off.
    End = 3,
    /// A file that the host asked for; payload: its number, then its contents.
    File = 4,
    /// A file that cannot be sent; payload: its number, then one sentence.
    NoFile = 5,
    /// The guest can be used; only boards say so.
    Ready = 6,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        let all = [Self::Result, Self::Failure, Self::End, Self::File, Self::NoFile, Self::Ready];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub kind: Kind,
    /// See [`Kind`].
    pub payload: Vec<u8>,
}

/// Writes one message to the guest's end of the port.
///
/// # Errors
/// If the port cannot be written, or the payload has 4 GiB or more.
pub fn send(port: &mut impl Write, kind: Kind, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "message over 4 GiB"))?;
    port.write_all(&MAGIC)?;
    port.write_all(&[kind as u8])?;
    port.write_all(&length.to_le_bytes())?;
    port.write_all(payload)?;
    port.flush()
}

/// Reads messages from the file behind the port while it grows.
#[derive(Debug)]
pub struct Reader {
    file: File,
    pending: Vec<u8>,
}

impl Reader {
    /// Opens the file that the machine writes.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { file, pending: Vec::new() })
    }

    /// The messages that have become complete since the last call.
    ///
    /// # Errors
    /// The file cannot be read, or does not hold frames of this protocol.
    pub fn poll(&mut self) -> io::Result<Vec<Message>> {
        self.file.read_to_end(&mut self.pending)?;
        let mut messages = Vec::new();
        while let Some(used) = self.take_one(&mut messages)? {
            self.pending.drain(..used);
        }
        Ok(messages)
    }

    fn take_one(&self, messages: &mut Vec<Message>) -> io::Result<Option<usize>> {
        let Some(header) = self.pending.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([header[5], header[6], header[7], header[8]]) as usize;
        let kind = Kind::from_byte(header[4]);
        let (Some(kind), true) = (kind, header[..4] == MAGIC && length <= MAX_PAYLOAD) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of this protocol"));
        };
        let Some(payload) = self.pending.get(HEADER..HEADER + length) else {
            return Ok(None);
        };
        messages.push(Message { kind, payload: payload.to_vec() });
        Ok(Some(HEADER + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_even_when_the_file_grows_in_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("port");
        let mut bytes = Vec::new();
        send(&mut bytes, Kind::Failure, b"6.12").unwrap();
        send(&mut bytes, Kind::Result, &[7; 1000]).unwrap();
        let mut file = File::create(&path).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let mut got = Vec::new();
        for piece in bytes.chunks(13) {
            file.write_all(piece).unwrap();
            got.extend(reader.poll().unwrap());
        }
        assert_eq!(got.len(), 2);
        assert_eq!(got[0], Message { kind: Kind::Failure, payload: b"6.12".to_vec() });
        assert_eq!(got[1].payload.len(), 1000);
    }

    #[test]
    fn a_stream_that_is_not_ours_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("port");
        std::fs::write(&path, b"Kernel panic - not syncing").unwrap();
        assert!(Reader::open(&path).unwrap().poll().is_err());
    }
}
