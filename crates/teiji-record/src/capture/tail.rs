//! Counts the frames of a pcap file that somebody is still writing: the
//! progress of a run in the laboratory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::CaptureError;
use super::pcap::{HEADER, Pcap, RECORD};

/// Counts frames in the bytes of a pcap file, fed in pieces of any size.
#[derive(Debug, Default)]
pub struct PcapCounter {
    file: Option<Pcap>,
    /// Bytes of the header that is being read.
    header: Vec<u8>,
    /// Bytes of the current frame still to come.
    skip: u64,
    frames: u64,
}

impl PcapCounter {
    /// Takes the next bytes. A frame counts once its header is complete.
    ///
    /// # Errors
    /// [`CaptureError`] if the bytes are not a pcap file's.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), CaptureError> {
        while !bytes.is_empty() {
            let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            self.skip -= skipped as u64;
            bytes = &bytes[skipped..];
            let wanted = if self.file.is_some() { RECORD } else { HEADER } - self.header.len();
            let (head, rest) = bytes.split_at(bytes.len().min(wanted));
            self.header.extend_from_slice(head);
            bytes = rest;
            self.take_header()?;
        }
        Ok(())
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn take_header(&mut self) -> Result<(), CaptureError> {
        match self.file {
            None => {
                if let Some(header) = self.header.first_chunk::<HEADER>() {
                    self.file = Some(Pcap::parse(header)?);
                    self.header.clear();
                }
            }
            Some(file) => {
                if let Some(header) = self.header.first_chunk::<RECORD>() {
                    let what = "a frame of impossible length in a growing capture";
                    let record =
                        file.record(header).ok_or(CaptureError::Damaged { offset: 0, what })?;
                    self.skip = u64::from(record.captured);
                    self.frames += 1;
                    self.header.clear();
                }
            }
        }
        Ok(())
    }
}

/// Follows a growing pcap file. Each [`CaptureTail::poll`] reads only what is
/// new.
#[derive(Debug)]
pub struct CaptureTail {
    path: PathBuf,
    file: Option<File>,
    counter: PcapCounter,
}

impl CaptureTail {
    /// Follows `path`, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, counter: PcapCounter::default() }
    }

    /// How many frames the file holds now.
    ///
    /// # Errors
    /// [`CaptureError`] if the file cannot be read or is not a pcap file; one that does not exist
    /// has 0 frames.
    pub fn poll(&mut self) -> Result<u64, CaptureError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => match File::open(&self.path) {
                Ok(file) => self.file.insert(file),
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
                Err(e) => return Err(e.into()),
            },
        };
        let mut piece = vec![0; 64 << 10];
        loop {
            let read = match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            };
            self.counter.feed(&piece[..read])?;
        }
        Ok(self.counter.frames())
    }
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
