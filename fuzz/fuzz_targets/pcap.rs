//! Whatever follows a pcap magic number is read, counted and analysed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use teiji_record::capture::{CaptureReader, Options, PcapCounter, analyze};

const MAGICS: [[u8; 4]; 4] = [
    [0xD4, 0xC3, 0xB2, 0xA1],
    [0xA1, 0xB2, 0xC3, 0xD4],
    [0x4D, 0x3C, 0xB2, 0xA1],
    [0xA1, 0xB2, 0x3C, 0x4D],
];

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (make, piece, rest) = input;
    let mut file = MAGICS[usize::from(make % 4)].to_vec();
    // Version 2.4 in either byte order; the fuzzer need not find it.
    file.extend(if make % 2 == 0 { [2, 0, 4, 0] } else { [0, 2, 0, 4] });
    file.extend_from_slice(rest);

    let mut read = 0;
    let mut whole = false;
    if let Ok(mut reader) = CaptureReader::new(&file[..]) {
        while let Ok(Some(packet)) = reader.next_packet() {
            assert!(packet.frame.len() <= file.len());
            read += 1;
        }
        whole = true;
    }
    let mut counter = PcapCounter::default();
    let mut in_pieces = PcapCounter::default();
    let at_once = counter.feed(&file).is_ok();
    let pieces = file.chunks(usize::from(piece) + 1).try_for_each(|p| in_pieces.feed(p)).is_ok();
    assert_eq!((at_once, counter.frames()), (pieces, in_pieces.frames()));
    // A frame counts when its header is there; the last may be unfinished.
    assert!(!whole || counter.frames() == read || counter.frames() == read + 1);
    drop(analyze(&file[..], &Options::default()));
});
