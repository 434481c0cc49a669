//! Captures of every make, whole and damaged.

use super::super::blocks::Blocks;
use super::super::{PcapWriter, Precision};
use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

type Frames = Vec<(i64, u32, Vec<u8>)>;

/// All frames, and how the file ended.
fn read(bytes: &[u8]) -> (Frames, Option<CaptureError>) {
    let mut frames = Vec::new();
    let mut reader = match CaptureReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (frames, Some(error)),
    };
    loop {
        match reader.next_packet() {
            Ok(Some(p)) => frames.push((p.at.as_ns(), p.interface, p.frame.to_vec())),
            Ok(None) => return (frames, None),
            Err(error) => {
                assert!(matches!(reader.next_packet(), Ok(None)), "nothing follows an error");
                return (frames, Some(error));
            }
        }
    }
}

fn whole(bytes: &[u8]) -> Frames {
    let (frames, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    frames
}

fn complaint(bytes: &[u8]) -> String {
    read(bytes).1.map(|e| e.to_string()).unwrap_or_default()
}

fn pcap(precision: Precision, frames: &[(i64, &[u8])]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), precision).unwrap();
    for (at, frame) in frames {
        writer.write(Instant::from_ns(*at), frame).unwrap();
    }
    writer.into_inner()
}

/// The same file in the other byte order.
fn swapped(pcap: &[u8]) -> Vec<u8> {
    let mut bytes = pcap.to_vec();
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes[8..24].chunks_mut(4).for_each(<[u8]>::reverse);
    let mut at = 24;
    while at < bytes.len() {
        let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        bytes[at..at + 16].chunks_mut(4).for_each(<[u8]>::reverse);
        at += 16 + captured as usize;
    }
    bytes
}

proptest! {
    #[test]
    fn pcap_in_both_precisions_and_byte_orders_reads_back(
        frames in proptest::collection::vec(
            (0_i64..4_000_000_000_000_000_000, proptest::collection::vec(any::<u8>(), 0..2_000)), 0..30),
    ) {
        let borrowed: Vec<(i64, &[u8])> = frames.iter().map(|(at, f)| (*at, &f[..])).collect();
        for (precision, unit) in [(Precision::Micros, 1_000), (Precision::Nanos, 1)] {
            let file = pcap(precision, &borrowed);
            let expected: Frames =
                frames.iter().map(|(at, f)| (at / unit * unit, 0, f.clone())).collect();
            prop_assert_eq!(&whole(&file), &expected);
            prop_assert_eq!(&whole(&swapped(&file)), &expected);
        }
    }

    #[test]
    fn pcapng_in_both_byte_orders_reads_back(
        frames in proptest::collection::vec(
            (any::<u32>(), proptest::collection::vec(any::<u8>(), 0..200)), 0..30),
        big_endian: bool,
    ) {
        let mut file = Blocks::new(big_endian).interface(1, &[(9, &[9]), (0, &[])]);
        for (at, frame) in &frames {
            file = file.packet(0, u64::from(*at), frame);
        }
        let expected: Frames = frames.into_iter().map(|(at, f)| (i64::from(at), 0, f)).collect();
        prop_assert_eq!(whole(&file.bytes), expected);
    }

    #[test]
    fn cut_anywhere_a_file_gives_all_frames_before_the_cut(cut in 0_usize..1_000, ng: bool) {
        let frame = [0xAB; 61];
        let file = if ng {
            let file = Blocks::new(false).interface(1, &[]);
            (0..8).fold(file, |file, i| file.packet(0, i, &frame)).bytes
        } else {
            pcap(Precision::Nanos, &[(5, &frame[..]); 8])
        };
        let all = whole(&file);
        let cut = cut.min(file.len());
        let (frames, error) = read(&file[..cut]);
        prop_assert_eq!(&frames[..], &all[..frames.len()]);
        let (head, each) = if ng { (28 + 20, 32 + 64) } else { (24, 16 + 61) };
        prop_assert_eq!(frames.len(), cut.saturating_sub(head) / each);
        if cut == file.len() {
            prop_assert!(error.is_none());
        } else if cut > head && (cut - head) % each != 0 {
            prop_assert!(matches!(error, Some(CaptureError::Truncated { .. })), "{:?}", error);
        }
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20),
        big_endian: bool, ng: bool,
    ) {
        let frame = [0xAB; 61];
        let mut file = if ng {
            Blocks::new(big_endian)
                .interface(1, &[(9, &[0x86]), (14, &[0, 0, 0, 0, 0, 0, 0, 7]), (13, &[4])])
                .interface(113, &[])
                .packet(0, 1, &frame)
                .packet(1, 2, &frame)
                .block(5, &[0; 40])
                .block(3, &frame)
                .section()
                .interface(1, &[])
                .packet(0, 3, &frame)
                .bytes
        } else {
            pcap(Precision::Micros, &[(5, &frame[..]); 4])
        };
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        drop(read(&file));
    }
}

#[test]
fn stamps_are_read_in_every_resolution() {
    let at = |options: &[(u16, &[u8])], ticks| {
        let file = Blocks::new(true).interface(1, options).packet(0, ticks, b"x");
        let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
        let ns = reader.next_packet().unwrap().unwrap().at.as_ns();
        (ns, reader.resolution().as_ns())
    };
    assert_eq!(at(&[], 5), (5_000, 1_000), "microseconds unless told");
    assert_eq!(at(&[(9, &[0])], 5), (5_000_000_000, 1_000_000_000));
    assert_eq!(at(&[(9, &[8])], 5), (50, 10));
    assert_eq!(at(&[(9, &[12])], 5_999), (5, 1));
    assert_eq!(at(&[(9, &[0x8A])], 1_024 + 512), (1_500_000_000, 976_563));
    let eighth_byte_is_last = [0, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!(at(&[(9, &[9]), (14, &eighth_byte_is_last)], 7).0, 2_000_000_007);
    let minus_one = [0xFF; 8];
    assert_eq!(at(&[(14, &minus_one)], 1_000_000).0, 0);
}

#[test]
fn sections_and_interfaces_keep_their_own_settings() {
    let first = Blocks::new(false)
        .interface(1, &[(9, &[6])])
        .interface(1, &[(9, &[9])])
        .packet(1, 7, b"one")
        .packet(0, 7, b"two")
        .bytes;
    let second = Blocks::new(true).interface(1, &[(9, &[3])]).packet(0, 7, b"three").bytes;
    let frames = whole(&[first, second].concat());
    let expected =
        [(7, 1, b"one".to_vec()), (7_000, 0, b"two".to_vec()), (7_000_000, 0, b"three".to_vec())];
    assert_eq!(frames, expected);
}

#[test]
fn the_obsolete_packet_block_is_read() {
    // Interface 0, 3 drops, ticks 9, 2 bytes captured of 2.
    let body = [0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 2, b'h', b'i'];
    let file = Blocks::new(true).interface(1, &[]).block(2, &body);
    assert_eq!(whole(&file.bytes), [(9_000, 0, b"hi".to_vec())]);
}

#[test]
fn frames_without_stamp_or_of_other_links_are_noted() {
    let file = Blocks::new(false)
        .interface(1, &[])
        .interface(113, &[])
        .block(3, &[1, 0, 0, 0, b'x'])
        .packet(1, 5, b"cooked")
        .packet(0, 6, b"ethernet");
    let mut reader = CaptureReader::new(&file.bytes[..]).unwrap();
    assert_eq!(reader.next_packet().unwrap().unwrap().frame, b"ethernet");
    assert!(reader.next_packet().unwrap().is_none());
    assert_eq!(reader.notes().without_stamp, 1);
    assert_eq!(reader.notes().other_links, BTreeMap::from([(113, 1)]));
}

#[test]
fn a_frame_check_sequence_is_no_part_of_the_frame() {
    let mut file = pcap(Precision::Nanos, &[(0, b"frame+FCS!")]);
    // Bit 26: the length is given; bits 28-31: 2 pairs of bytes.
    file[20..24].copy_from_slice(&(1_u32 | (1 << 26) | (2 << 28)).to_le_bytes());
    assert_eq!(whole(&file)[0].2, b"frame+");
    // 8 of 10 bytes captured: two of the four are there.
    file[24 + 8..24 + 12].copy_from_slice(&8_u32.to_le_bytes());
    file.truncate(24 + 16 + 8);
    assert_eq!(whole(&file)[0].2, b"frame+");
    let ng = Blocks::new(false).interface(1, &[(13, &[4])]).packet(0, 0, b"frame+FCS!");
    assert_eq!(whole(&ng.bytes)[0].2, b"frame+");
}

#[test]
fn each_thing_that_is_no_capture_gets_its_own_sentence() {
    assert!(complaint(b"").starts_with("the file is empty"));
    assert!(complaint(b"\xD4\xC3").contains("middle of its header"));
    assert!(complaint(b"\xD4\xC3\xB2\xA1\x02\x00").contains("middle of its header"));
    assert!(complaint(b"PK\x03\x04 zipped").contains("begins with 50 4b 03 04"));
    assert!(complaint(&[0x1F, 0x8B, 8, 0]).contains("gzip -dc"));
    let mut cooked = pcap(Precision::Nanos, &[]);
    cooked[20] = 113;
    assert!(complaint(&cooked).contains("link type 113 (Linux cooked, `any`)"));
    let mut version = pcap(Precision::Nanos, &[]);
    version[4] = 3;
    assert!(complaint(&version).contains("version 3"));
}

#[test]
fn a_length_that_cannot_be_is_refused_without_taking_the_memory() {
    let mut file = pcap(Precision::Nanos, &[(0, b"good"), (1, b"bad")]);
    file[24 + 20 + 8..24 + 20 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (frames, error) = read(&file);
    assert_eq!(frames.len(), 1);
    assert!(matches!(error, Some(CaptureError::Length { offset: 44, length: 0xFFFF_FFFF, .. })));
    let mut file = Blocks::new(false).bytes;
    file.extend([6, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
    assert!(matches!(read(&file).1, Some(CaptureError::Length { offset: 28, .. })));
}

#[test]
fn blocks_that_contradict_themselves_are_damage() {
    let good = Blocks::new(false).interface(1, &[]).packet(0, 0, b"good").bytes;
    let mut lengths_differ = good.clone();
    *lengths_differ.last_mut().unwrap() ^= 1;
    assert!(complaint(&lengths_differ).contains("two lengths differ at byte 48"));
    let no_interface = Blocks::new(false).packet(0, 0, b"lost").bytes;
    assert!(complaint(&no_interface).contains("not described"));
    let mut too_long = good;
    too_long[48 + 20] = 200;
    assert!(complaint(&too_long).contains("the frame in a block at byte 48 claims to be 200"));
}

/// A source that hands out one byte at a time and is interrupted in between.
struct Trickle<'a>(&'a [u8], bool);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let (Some(byte), Some(space)) = (self.0.first(), into.first_mut()) else { return Ok(0) };
        *space = *byte;
        self.0 = &self.0[1..];
        Ok(1)
    }
}

#[test]
fn a_slow_source_gives_the_same_frames() {
    let file = pcap(Precision::Nanos, &[(1, b"first"), (2, &[7; 3_000]), (3, b"")]);
    let mut reader = CaptureReader::new(Trickle(&file, false)).unwrap();
    let mut lengths = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        lengths.push(packet.frame.len());
    }
    assert_eq!(lengths, [5, 3_000, 0]);
}
