//! A window that slides over whatever is read.

use std::io::{self, Read};

/// Bytes read at once: large enough that system calls do not matter, small
/// enough for the processor's cache.
const INITIAL: usize = 256 << 10;

/// Reads ahead from `source` and hands out contiguous bytes.
#[derive(Debug)]
pub(super) struct Buffer<R> {
    source: R,
    bytes: Vec<u8>,
    /// First byte not consumed yet, and end of those read.
    start: usize,
    end: usize,
    /// Position of `start` in the source.
    offset: u64,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: vec![0; INITIAL], start: 0, end: 0, offset: 0 }
    }

    /// Position of the next byte in the source.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes are at hand, up to `wanted`; fewer only at the end of
    /// the source.
    #[inline]
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        if self.end - self.start >= wanted { Ok(wanted) } else { self.refill(wanted) }
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> io::Result<usize> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted.next_power_of_two(), 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(wanted.min(self.end))
    }

    /// The next `len` bytes, which [`Buffer::fill`] said are there.
    #[inline]
    pub(super) fn peek(&self, len: usize) -> &[u8] {
        &self.bytes[self.start..self.start + len]
    }

    /// The next `N` bytes, or `None` if the source ends before.
    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        self.fill(N)?;
        Ok(self.bytes[self.start..self.end].first_chunk().copied())
    }

    /// Passes over `len` bytes and hands out `from..to` of them. They must be
    /// at hand.
    #[inline]
    pub(super) fn consume(&mut self, len: usize, from: usize, to: usize) -> &[u8] {
        let slice = &self.bytes[self.start + from..self.start + to];
        self.start += len;
        self.offset += len as u64;
        slice
    }
}
