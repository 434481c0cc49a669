//! Captures are read as Wireshark's tools read them, and those they write are
//! read as well.
//!
//! Needs `editcap` and `tshark`.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use teiji_core::time::Instant;
use teiji_record::capture::{CaptureReader, Format, PcapWriter, Precision};

const FRAMES: i64 = 500;

/// Frames of all lengths at times that use every digit of a nanosecond.
fn write(path: &Path) {
    let mut writer = PcapWriter::new(File::create(path).unwrap(), Precision::Nanos).unwrap();
    for i in 0..FRAMES {
        let at = 1_700_000_000_123_456_789 + i * 1_000_000_007;
        let length = 60 + usize::try_from(i).unwrap() * 3;
        let mut frame = vec![0; length];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        frame[12..14].copy_from_slice(&[0x88, 0xB6]);
        writer.write(Instant::from_ns(at), &frame).unwrap();
    }
}

/// Nanoseconds and length of each frame, as we read them.
fn ours(path: &Path) -> (Format, Vec<(i64, usize)>) {
    let mut reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        frames.push((packet.at.as_ns(), packet.frame.len()));
    }
    (reader.format(), frames)
}

/// The same, as tshark reads them.
fn theirs(path: &Path) -> Vec<(i64, usize)> {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len"];
    let output = Command::new("tshark").arg("-n").arg("-r").arg(path).args(fields).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let line = |line: &str| {
        let (time, length) = line.split_once('\t').unwrap();
        let (seconds, fraction) = time.split_once('.').unwrap();
        let ns: i64 = format!("{fraction:0<9}").parse().unwrap();
        (seconds.parse::<i64>().unwrap() * 1_000_000_000 + ns, length.parse().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn every_format_editcap_writes_is_read_as_tshark_reads_it() {
    for tool in ["editcap", "tshark"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return println!("SKIP: {tool} is not installed (Debian package tshark)");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source.pcap");
    write(&source);
    let formats =
        [("pcap", Format::PcapMicros), ("nsecpcap", Format::PcapNanos), ("pcapng", Format::PcapNg)];
    for (name, expected) in formats {
        let path = folder.path().join(name);
        let edited = Command::new("editcap").args(["-F", name]).arg(&source).arg(&path).status();
        assert!(edited.unwrap().success());
        let (format, frames) = ours(&path);
        assert_eq!(format, expected);
        assert_eq!(frames.len(), usize::try_from(FRAMES).unwrap());
        assert_eq!(frames, theirs(&path), "{name}");
    }
    // Two sections, one after the other, and a snap length.
    let path = folder.path().join("short.pcapng");
    let edited =
        Command::new("editcap").args(["-F", "pcapng", "-s", "64"]).arg(&source).arg(&path).status();
    assert!(edited.unwrap().success());
    let twice = folder.path().join("twice.pcapng");
    fs::write(&twice, [fs::read(&path).unwrap(), fs::read(&path).unwrap()].concat()).unwrap();
    let (_, frames) = ours(&twice);
    assert_eq!(frames.len(), 2 * usize::try_from(FRAMES).unwrap());
    assert_eq!(frames, theirs(&twice));
    assert!(frames.iter().all(|(_, length)| *length <= 64));
}
