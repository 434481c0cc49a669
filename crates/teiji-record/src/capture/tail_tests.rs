//! Counting while the file grows.

use std::io::Write;

use super::super::{PcapWriter, Precision};
use super::*;
use proptest::prelude::*;
use teiji_core::time::Instant;

fn capture(sizes: &[usize]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), Precision::Micros).unwrap();
    for size in sizes {
        writer.write(Instant::from_ns(0), &vec![0; *size]).unwrap();
    }
    writer.into_inner()
}

proptest! {
    #[test]
    fn the_count_does_not_depend_on_the_pieces(
        sizes in proptest::collection::vec(0_usize..300, 0..30), piece in 1_usize..400,
    ) {
        let mut counter = PcapCounter::default();
        for piece in capture(&sizes).chunks(piece) {
            counter.feed(piece).unwrap();
        }
        prop_assert_eq!(counter.frames(), sizes.len() as u64);
    }
}

#[test]
fn a_growing_file_is_counted_from_before_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wire.pcap");
    let mut tail = CaptureTail::new(&path);
    assert_eq!(tail.poll().unwrap(), 0);
    let bytes = capture(&[60, 1_514, 100_000]);
    let mut file = File::create(&path).unwrap();
    let mut counts = Vec::new();
    for range in [0..10, 10..24 + 20, 24 + 20..24 + 76 + 17, 24 + 76 + 17..bytes.len()] {
        file.write_all(&bytes[range]).unwrap();
        counts.push(tail.poll().unwrap());
    }
    assert_eq!(counts, [0, 1, 2, 3]);
}

#[test]
fn what_is_no_capture_is_an_error_and_not_a_count() {
    let mut counter = PcapCounter::default();
    assert!(matches!(counter.feed(&[b'x'; 24]), Err(CaptureError::NotACapture(_))));
}
