//! The pcapng format (draft-ietf-opsawg-pcapng): sections of blocks.

use std::io::Read;

use teiji_core::time::Instant;

use super::buffer::Buffer;
use super::error::{CaptureError, MAX_BLOCK};
use super::format::{ETHERNET, Found, Notes, without_fcs, word};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
/// The obsolete Packet Block, which old analysers still write.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;

const OPTION_END: u16 = 0;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_FCS_LENGTH: u16 = 13;
const OPTION_TIME_OFFSET: u16 = 14;

/// Interfaces of a section, at most.
const MAX_INTERFACES: usize = 1 << 16;

/// Bytes before and after a block's body.
const BLOCK_FRAME: usize = 12;

/// Where in the file the reader is.
#[derive(Debug)]
pub(super) struct PcapNg {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

/// What the Interface Description Block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interface {
    link_type: u16,
    ticks: Ticks,
    offset_s: i64,
    fcs: usize,
}

/// Units of an interface's time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticks {
    /// Each is this many nanoseconds.
    Nanoseconds(u32),
    /// This many are one nanosecond.
    PerNanosecond(u64),
    /// 2 to the power of this many are one second.
    PerSecondLog2(u32),
}

impl Ticks {
    /// The value of `if_tsresol`; `None` if it is finer than anything real.
    fn new(resolution: u8) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7F);
        if resolution & 0x80 != 0 {
            return (exponent <= 64).then_some(Self::PerSecondLog2(exponent));
        }
        match exponent {
            0..=9 => Some(Self::Nanoseconds(10_u32.pow(9 - exponent))),
            10..=27 => Some(Self::PerNanosecond(10_u64.pow(exponent - 9))),
            _ => None,
        }
    }

    fn to_ns(self, ticks: u64) -> Option<i64> {
        let ns = match self {
            Self::Nanoseconds(unit) => u128::from(ticks) * u128::from(unit),
            Self::PerNanosecond(unit) => u128::from(ticks / unit),
            Self::PerSecondLog2(shift) => (u128::from(ticks) * 1_000_000_000) >> shift,
        };
        i64::try_from(ns).ok()
    }

    /// Resolution in nanoseconds, rounded up.
    fn resolution_ns(self) -> i64 {
        match self {
            Self::Nanoseconds(unit) => i64::from(unit),
            Self::PerNanosecond(_) => 1,
            Self::PerSecondLog2(shift) => {
                1_000_000_000_i64.checked_shr(shift).unwrap_or(0).saturating_add(1)
            }
        }
    }
}

impl PcapNg {
    /// Checks the first section's header, which the first block then delivers.
    pub(super) fn new<R: Read>(buffer: &mut Buffer<R>) -> Result<Self, CaptureError> {
        let mut this = Self { big_endian: false, interfaces: Vec::new() };
        let len = this.block(buffer)?.map_or(0, |(_, len)| len);
        this.section(buffer.peek(len), 0)?;
        buffer.consume(len, 0, 0);
        Ok(this)
    }

    /// Makes the next block available: its type and length. `None` at the end.
    #[inline]
    fn block<R: Read>(
        &mut self,
        buffer: &mut Buffer<R>,
    ) -> Result<Option<(u32, usize)>, CaptureError> {
        const WHAT: &str = "a block";
        let offset = buffer.offset();
        let truncated = CaptureError::Truncated { offset, what: WHAT };
        let Some(head) = buffer.array::<12>()? else {
            return if buffer.fill(1)? == 0 { Ok(None) } else { Err(truncated) };
        };
        // The same in both byte orders.
        if word(&head, 0, true) == SECTION_HEADER {
            self.big_endian = match word(&head, 8, true) {
                BYTE_ORDER_MAGIC => true,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => false,
                _ => {
                    let what = "a section header without byte order";
                    return Err(CaptureError::Damaged { offset, what });
                }
            };
        }
        let length = word(&head, 4, self.big_endian);
        let len = length as usize;
        if len < BLOCK_FRAME || len % 4 != 0 || u64::from(length) > MAX_BLOCK {
            return Err(CaptureError::Length { offset, what: WHAT, length: u64::from(length) });
        }
        if buffer.fill(len)? < len {
            return Err(truncated);
        }
        if word(buffer.peek(len), len - 4, self.big_endian) != length {
            let what = "a block whose two lengths differ";
            return Err(CaptureError::Damaged { offset, what });
        }
        Ok(Some((word(&head, 0, self.big_endian), len)))
    }

    #[inline]
    pub(super) fn next<R: Read>(
        &mut self,
        buffer: &mut Buffer<R>,
        notes: &mut Notes,
    ) -> Result<Option<Found>, CaptureError> {
        while let Some((kind, len)) = self.block(buffer)? {
            let offset = buffer.offset();
            let block = buffer.peek(len);
            match kind {
                ENHANCED_PACKET | PACKET => {
                    if let Some(found) = self.packet(kind, block, offset, notes)? {
                        return Ok(Some(found));
                    }
                }
                SIMPLE_PACKET => notes.without_stamp += 1,
                INTERFACE_DESCRIPTION => self.interface(block, offset)?,
                SECTION_HEADER => self.section(block, offset)?,
                _ => {}
            }
            buffer.consume(len, 0, 0);
        }
        Ok(None)
    }

    fn section(&mut self, block: &[u8], offset: u64) -> Result<(), CaptureError> {
        // Type, length, magic, version, section length, length.
        if block.len() < 28 {
            return Err(CaptureError::Damaged { offset, what: "a section header cut short" });
        }
        let major = self.half(block, 12);
        if major != 1 {
            return Err(CaptureError::Variant(format!("a pcapng file of version {major}, not 1")));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, block: &[u8], offset: u64) -> Result<(), CaptureError> {
        let damaged = |what| CaptureError::Damaged { offset, what };
        if block.len() < 20 {
            return Err(damaged("an interface description cut short"));
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(damaged("more interfaces than can be"));
        }
        let mut interface = Interface {
            link_type: self.half(block, 8),
            ticks: Ticks::Nanoseconds(1_000),
            offset_s: 0,
            fcs: 0,
        };
        let mut options = &block[16..block.len() - 4];
        while options.len() >= 4 {
            let (code, length) = (self.half(options, 0), usize::from(self.half(options, 2)));
            let Some(value) = options.get(4..4 + length).filter(|_| code != OPTION_END) else {
                break;
            };
            match (code, value) {
                (OPTION_TIME_RESOLUTION, [resolution]) => {
                    interface.ticks = Ticks::new(*resolution)
                        .ok_or_else(|| damaged("an interface with an impossible resolution"))?;
                }
                (OPTION_TIME_OFFSET, [_, _, _, _, _, _, _, _]) => {
                    let mut eight: [u8; 8] = value.try_into().unwrap_or_default();
                    if !self.big_endian {
                        eight.reverse();
                    }
                    interface.offset_s = i64::from_be_bytes(eight);
                }
                // The draft says bits, Wireshark writes bytes.
                (OPTION_FCS_LENGTH, [4 | 32]) => interface.fcs = 4,
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// The frame in an Enhanced Packet Block or Packet Block, if it is
    /// Ethernet.
    #[inline]
    fn packet(
        &self,
        kind: u32,
        block: &[u8],
        offset: u64,
        notes: &mut Notes,
    ) -> Result<Option<Found>, CaptureError> {
        const DATA: usize = 28;
        let damaged = |what| CaptureError::Damaged { offset, what };
        if block.len() < DATA + 4 {
            return Err(damaged("a packet block cut short"));
        }
        let number = |at| word(block, at, self.big_endian);
        let interface_id = if kind == PACKET { u32::from(self.half(block, 8)) } else { number(8) };
        let captured = number(20);
        let to = DATA + captured as usize;
        if to > block.len() - 4 {
            let length = u64::from(captured);
            return Err(CaptureError::Length { offset, what: "the frame in a block", length });
        }
        let interface = self
            .interfaces
            .get(interface_id as usize)
            .ok_or_else(|| damaged("a frame of an interface that was not described"))?;
        if interface.link_type != ETHERNET {
            *notes.other_links.entry(interface.link_type).or_default() += 1;
            return Ok(None);
        }
        let ticks = (u64::from(number(12)) << 32) | u64::from(number(16));
        let at = interface
            .ticks
            .to_ns(ticks)
            .and_then(|ns| ns.checked_add(interface.offset_s.checked_mul(1_000_000_000)?))
            .ok_or_else(|| damaged("a time stamp out of range"))?;
        Ok(Some(Found {
            at: Instant::from_ns(at),
            interface: interface_id,
            resolution_ns: interface.ticks.resolution_ns(),
            len: block.len(),
            from: DATA,
            to: DATA + without_fcs(captured, number(24), interface.fcs),
            cut: captured < number(24),
        }))
    }

    /// The 16-bit number at `offset`, which must be inside `bytes`.
    #[inline]
    fn half(&self, bytes: &[u8], offset: usize) -> u16 {
        let two = [bytes[offset], bytes[offset + 1]];
        if self.big_endian { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
    }
}
