//! Frames on the wire, byte by byte: Ethernet, VLAN, IPv4, IPv6, UDP and
//! Teiji's own test header.
//!
//! Two halves that hold each other: [`parse`] takes a captured frame apart
//! without ever panicking, the `emit` functions write one.

pub mod echo;
pub mod ethernet;
pub mod ip;
pub mod probe;

pub use echo::Echo;
pub use ethernet::{EtherType, EthernetHeader, MacAddr, Tci, VlanTag};
pub use probe::Probe;

use std::net::IpAddr;

/// Default UDP port of Teiji's test traffic (unassigned by IANA).
pub const TEIJI_UDP_PORT: u16 = 7788;

/// Default UDP port of the reflector that answers round-trip requests
/// (unassigned by IANA).
pub const TEIJI_ECHO_PORT: u16 = 7789;

/// Size of a listener's buffer in bytes, as `SO_RCVBUF` takes it, unless another is given.
pub const DEFAULT_RECEIVE_BUFFER: u32 = 4 << 20;

/// `EtherType` of raw test frames: IEEE 802 "Local Experimental Ethertype 2"
/// (IEEE 802-2014, table 8-2). 1 (0x88B5) is left to flow control.
pub const TEIJI_ETHERTYPE: EtherType = EtherType(0x88B6);

/// What a frame is, as far as Teiji needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedFrame<'a> {
    /// Link header, with the VLAN tag if there is one.
    pub ethernet: EthernetHeader,
    /// Addresses and ports, if the frame carries UDP over IP and is no
    /// fragment.
    pub udp: Option<UdpFlow>,
    /// What follows the headers that were understood.
    pub payload: &'a [u8],
}

/// The addresses and ports of a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UdpFlow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

impl ParsedFrame<'_> {
    /// The test header, if this is a frame of Teiji's own traffic.
    pub fn probe(&self) -> Option<Probe> {
        let ours = self.udp.is_some() || self.ethernet.ethertype == TEIJI_ETHERTYPE;
        if ours { Probe::parse(self.payload) } else { None }
    }

    /// True if this, the beginning of a frame that was cut short, ends before a
    /// test header would: whether it had one, and which number, is unknown.
    pub fn may_lack_probe(&self) -> bool {
        match (self.udp, self.ethernet.ethertype) {
            (Some(_), _) | (None, TEIJI_ETHERTYPE) => Probe::may_begin(self.payload),
            (None, ethertype) => ip::may_be_udp(ethertype, self.payload),
        }
    }
}

/// Takes a frame apart, beginning at the destination MAC address, without FCS.
/// `None` if it is too short to be an Ethernet frame; an unknown or damaged
/// inner protocol leaves `udp` empty and the rest in `payload`.
pub fn parse(frame: &[u8]) -> Option<ParsedFrame<'_>> {
    let (ethernet, rest) = EthernetHeader::parse(frame)?;
    let plain = ParsedFrame { ethernet, udp: None, payload: rest };
    Some(match ip::parse_udp(ethernet.ethertype, rest) {
        Some((udp, payload)) => ParsedFrame { ethernet, udp: Some(udp), payload },
        None => plain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(frame) = parse(&bytes) {
                let _ = frame.probe();
            }
        }
    }

    #[test]
    fn only_a_frame_cut_before_the_end_of_its_header_may_lack_it() {
        let ethernet = |ethertype| EthernetHeader {
            destination: MacAddr([2, 0, 0, 0, 0, 2]),
            source: MacAddr([2, 0, 0, 0, 0, 1]),
            vlan: None,
            ethertype,
        };
        let udp = |payload: &[u8]| {
            let mut frame = Vec::new();
            ethernet(EtherType::IPV4).emit(&mut frame);
            ip::emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 1, TEIJI_UDP_PORT, payload, &mut frame);
            frame
        };
        let may_lack = |frame: &[u8]| parse(frame).unwrap().may_lack_probe();
        let mut payload = [0; 64];
        let scheduled = crate::time::Instant::from_ns(5);
        Probe { flow: 1, seq: 2, scheduled }.emit(&mut payload);
        let frame = udp(&payload);
        for length in 14..frame.len() {
            assert_eq!(may_lack(&frame[..length]), length < 66, "{length}");
        }
        let other = udp(b"something else altogether");
        assert!(may_lack(&other[..42]) && !may_lack(&other[..43]));
        let mut tcp = other;
        tcp[23] = 6;
        assert!(may_lack(&tcp[..23]) && !may_lack(&tcp[..24]));
        let mut raw = Vec::new();
        ethernet(TEIJI_ETHERTYPE).emit(&mut raw);
        raw.extend_from_slice(&payload);
        assert!(may_lack(&raw[..37]) && !may_lack(&raw[..38]));
        raw[12..14].copy_from_slice(&[0x88, 0xf7]);
        assert!(!may_lack(&raw[..20]));
    }

    #[test]
    fn a_frame_with_vlan_ip_and_udp_is_taken_apart() {
        let probe = Probe { flow: 7, seq: 99, scheduled: crate::time::Instant::from_ns(123) };
        let mut frame = Vec::new();
        EthernetHeader {
            destination: MacAddr([2, 0, 0, 0, 0, 2]),
            source: MacAddr([2, 0, 0, 0, 0, 1]),
            vlan: VlanTag::new(10, 5).map(Tci::from),
            ethertype: EtherType::IPV4,
        }
        .emit(&mut frame);
        let mut payload = vec![0; 64];
        probe.emit(&mut payload);
        ip::emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 4000, TEIJI_UDP_PORT, &payload, &mut frame);
        let parsed = parse(&frame).unwrap();
        assert_eq!(parsed.ethernet.vlan, Some(Tci(0xA00A)));
        assert_eq!(parsed.udp.unwrap().destination_port, TEIJI_UDP_PORT);
        assert_eq!(parsed.payload.len(), 64);
        assert_eq!(parsed.probe(), Some(probe));
    }
}
