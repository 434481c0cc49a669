//! What can be wrong with a capture.

use std::io;

use thiserror::Error;

/// The largest frame that is believed, as in Wireshark: 256 KiB. A larger
/// length is damage, and not worth the memory.
pub const MAX_FRAME: u64 = 256 << 10;

/// The largest pcapng block that is believed, as in Wireshark: 16 MiB.
pub const MAX_BLOCK: u64 = 16 << 20;

/// Why a capture, or the rest of it, could not be read. What was delivered
/// before is good.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system refused.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("the file is empty; was the capture stopped before it began?")]
    Empty,
    /// The beginning is that of no capture.
    #[error(
        "neither pcap nor pcapng (it begins with {}); \
         save the capture in one of these formats, e.g. with `tcpdump -w` or in Wireshark",
        hexadecimal(*.0)
    )]
    NotACapture([u8; 4]),
    /// A compressed file.
    #[error("compressed with {program}; unpack it first: {program} -dc FILE | teiji analyze -")]
    Compressed {
        /// What packs and unpacks it.
        program: &'static str,
    },
    /// A variant of the format that is not read.
    #[error("{0}; convert it: editcap -F pcapng OLD NEW")]
    Variant(String),
    /// Not recorded on Ethernet.
    #[error(
        "recorded with link type {0}{name}, not Ethernet (1); \
         record on one wired interface (tcpdump -i eth0), not on `any`",
        name = link_type_name(*.0)
    )]
    LinkType(u16),
    /// The file ends in the middle of something.
    #[error(
        "the file ends in the middle of {what} at byte {offset}; everything before it was read"
    )]
    Truncated {
        /// Where the unfinished thing begins.
        offset: u64,
        /// What it is.
        what: &'static str,
    },
    /// A length that cannot be true.
    #[error(
        "{what} at byte {offset} claims to be {length} bytes long, which cannot be; \
         the file is damaged there, everything before it was read"
    )]
    Length {
        /// Where it begins.
        offset: u64,
        /// What it is.
        what: &'static str,
        /// The length it claims.
        length: u64,
    },
    /// Something else that cannot be.
    #[error("{what} at byte {offset}; the file is damaged there, everything before it was read")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong, as the beginning of a sentence.
        what: &'static str,
    },
}

fn hexadecimal(bytes: [u8; 4]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(" ")
}

/// Names of link types people meet (`https://www.tcpdump.org/linktypes.html`).
fn link_type_name(link_type: u16) -> &'static str {
    match link_type {
        0 => " (BSD loopback)",
        101 => " (raw IP)",
        105 => " (Wi-Fi)",
        113 => " (Linux cooked, `any`)",
        127 => " (Wi-Fi with radiotap)",
        195 => " (IEEE 802.15.4)",
        220 | 189 => " (USB)",
        227 => " (CAN)",
        274 => " (Ethernet mPacket)",
        276 => " (Linux cooked v2, `any`)",
        _ => "",
    }
}
