//! Whatever blocks follow a pcapng section header are read and analysed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use teiji_record::capture::{CaptureReader, Options, analyze};

/// One block: a kind most often known, a body, and whether its lengths lie.
type Block<'a> = (u8, u8, &'a [u8]);

fuzz_target!(|input: (bool, Vec<Block<'_>>, &[u8])| {
    let (big_endian, blocks, tail) = input;
    let word = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = Vec::new();
    let mut block = |kind: u32, lie: u8, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let length = word(padded as u32 + 12 + u32::from(if lie > 250 { lie } else { 0 }));
        file.extend(word(kind));
        file.extend(length);
        file.extend_from_slice(body);
        file.extend(vec![0; padded - body.len()]);
        file.extend(length);
    };
    let mut header = word(0x1A2B_3C4D).to_vec();
    header.extend(if big_endian { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
    header.extend([0xFF; 8]);
    block(0x0A0D_0D0A, 0, &header);
    for (kind, lie, body) in blocks {
        match kind {
            0x0A => block(0x0A0D_0D0A, lie, &header),
            0x0B => block(0x0A0D_0D0A, lie, body),
            _ => block(u32::from(kind % 8), lie, body),
        }
    }
    file.extend_from_slice(tail);

    if let Ok(mut reader) = CaptureReader::new(&file[..]) {
        while let Ok(Some(packet)) = reader.next_packet() {
            assert!(packet.frame.len() <= file.len());
        }
        assert!(reader.next_packet().is_ok_and(|packet| packet.is_none()));
    }
    drop(analyze(&file[..], &Options::default()));
});
