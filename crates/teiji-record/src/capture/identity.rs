//! What makes two frames, captured at two points, the same frame.
//!
//! * Teiji's test frames: flow, sequence number and schedule.
//! * IP packets: what stays as it is on the way (the invariant fields of
//!   RFC 5475, section 6.2.1) and the payload. Not compared are MAC addresses
//!   and VLAN tags, DSCP, TTL and flow label, the checksums of IP, UDP and TCP,
//!   which NICs fill in after a sender's capture, and Ethernet's padding.
//! * All others: MAC addresses, type and payload, without zeros at the end.

use std::hash::{DefaultHasher, Hash, Hasher};

use teiji_core::wire::{EtherType, EthernetHeader, ParsedFrame, Probe, ip};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Equal for captures of the same frame; for others only by a chance of one in
/// 2⁶⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity(u64);

impl Identity {
    /// Of a frame that was taken apart: `content` is what follows its Ethernet
    /// header, `probe` its test header.
    pub(super) fn new(frame: &ParsedFrame<'_>, probe: Option<&Probe>, content: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        if let Some(probe) = probe {
            (0_u8, probe.flow, probe.seq, probe.scheduled.as_ns()).hash(&mut hasher);
            return Self(hasher.finish());
        }
        let EthernetHeader { ethertype, .. } = frame.ethernet;
        match ethertype {
            EtherType::IPV4 if content.len() >= ip::IPV4_HEADER => ipv4(content, &mut hasher),
            EtherType::IPV6 if content.len() >= ip::IPV6_HEADER => ipv6(content, &mut hasher),
            _ => {
                let EthernetHeader { destination, source, .. } = frame.ethernet;
                let padding = content.iter().rev().take_while(|byte| **byte == 0).count();
                (1_u8, destination, source, ethertype.0).hash(&mut hasher);
                content[..content.len() - padding].hash(&mut hasher);
            }
        }
        Self(hasher.finish())
    }
}

/// `packet` has at least a whole header.
fn ipv4(packet: &[u8], hasher: &mut DefaultHasher) {
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let header = usize::from(packet[0] & 0x0F) * 4;
    // A total length of 0 is what a sender's capture has before segmentation.
    let end = if total < header { packet.len() } else { packet.len().min(total) };
    // Length, identification, fragment; protocol; addresses.
    (2_u8, &packet[2..8], packet[9], &packet[12..20]).hash(hasher);
    // Only a first fragment, of offset 0, begins with a transport header.
    let offset = u16::from_be_bytes([packet[6], packet[7]]) & 0x1FFF;
    let protocol = if offset > 0 { 0 } else { packet[9] };
    transport(protocol, packet.get(header..end).unwrap_or_default(), hasher);
}

/// `packet` has at least a whole header.
fn ipv6(packet: &[u8], hasher: &mut DefaultHasher) {
    let length = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    let end = packet.len().min(ip::IPV6_HEADER + length);
    (3_u8, &packet[4..7], &packet[8..40]).hash(hasher);
    transport(packet[6], &packet[ip::IPV6_HEADER..end], hasher);
}

/// All but the checksum.
fn transport(protocol: u8, segment: &[u8], hasher: &mut DefaultHasher) {
    let checksum = match protocol {
        UDP => 6,
        TCP => 16,
        _ => return segment.hash(hasher),
    };
    let (before, rest) = segment.split_at(segment.len().min(checksum));
    (before, rest.get(2..).unwrap_or_default()).hash(hasher);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use teiji_core::time::Instant;
    use teiji_core::wire::{self, MacAddr, Tci};

    fn identity(frame: &[u8]) -> Identity {
        let parsed = wire::parse(frame).unwrap();
        let (_, content) = EthernetHeader::parse(frame).unwrap();
        Identity::new(&parsed, parsed.probe().as_ref(), content)
    }

    fn ethernet(station: u8, vlan: Option<u16>, ethertype: EtherType, content: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        EthernetHeader {
            destination: MacAddr([2, 0, 0, 0, 0, 99]),
            source: MacAddr([2, 0, 0, 0, 0, station]),
            vlan: vlan.map(Tci),
            ethertype,
        }
        .emit(&mut frame);
        frame.extend_from_slice(content);
        frame
    }

    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        ip::emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 4_000, 5_000, payload, &mut packet);
        packet
    }

    #[test]
    fn a_packet_is_the_same_after_bridges_routers_and_nics() {
        let sent = ethernet(1, Some(10), EtherType::IPV4, &packet(b"one"));
        let mut changed = packet(b"one");
        // DSCP, TTL, both checksums; then padding, no tag, another sender.
        (changed[1], changed[8], changed[10], changed[27]) = (0xB8, 63, 0x77, 0x55);
        changed.resize(46, 0);
        assert_eq!(identity(&sent), identity(&ethernet(7, None, EtherType::IPV4, &changed)));
        let mut other = packet(b"one");
        other[5] = 1;
        let other = ethernet(1, Some(10), EtherType::IPV4, &other);
        assert_ne!(identity(&sent), identity(&other), "another identification");
        let other = ethernet(1, Some(10), EtherType::IPV4, &packet(b"two"));
        assert_ne!(identity(&sent), identity(&other));
    }

    #[test]
    fn an_ipv6_packet_is_the_same_with_another_hop_limit() {
        let mut packet = vec![0x60, 0, 0, 1, 0, 12, UDP, 64];
        packet.extend([1; 16]);
        packet.extend([2; 16]);
        packet.extend([0, 1, 0, 2, 0, 12, 9, 9, 1, 2, 3, 4]);
        let sent = identity(&ethernet(1, None, EtherType::IPV6, &packet));
        (packet[1], packet[7], packet[46]) = (0xE0, 63, 8);
        assert_eq!(identity(&ethernet(2, None, EtherType::IPV6, &packet)), sent);
        packet[51] = 5;
        assert_ne!(identity(&ethernet(1, None, EtherType::IPV6, &packet)), sent);
    }

    #[test]
    fn other_frames_keep_their_addresses_and_lose_their_padding() {
        let profinet = EtherType(0x8892);
        let frame = identity(&ethernet(1, None, profinet, &[0x80, 0, 7, 0]));
        let padded = ethernet(1, Some(3), profinet, &[0x80, 0, 7, 0, 0, 0, 0]);
        assert_eq!(identity(&padded), frame);
        assert_ne!(identity(&ethernet(2, None, profinet, &[0x80, 0, 7])), frame);
        assert_ne!(identity(&ethernet(1, None, EtherType(0x88f7), &[0x80, 0, 7])), frame);
    }

    #[test]
    fn test_frames_are_matched_by_number_in_each_encapsulation() {
        let payload = |seq| {
            let mut payload = [0; 46];
            Probe { flow: 1, seq, scheduled: Instant::from_ns(5) }.emit(&mut payload);
            payload
        };
        let raw = ethernet(1, None, wire::TEIJI_ETHERTYPE, &payload(7));
        let udp = |seq| ethernet(2, Some(1), EtherType::IPV4, &packet(&payload(seq)));
        assert_eq!(identity(&raw), identity(&udp(7)));
        assert_ne!(identity(&raw), identity(&udp(8)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 14..120), v4: bool) {
            let ethertype = if v4 { EtherType::IPV4 } else { EtherType::IPV6 };
            identity(&ethernet(1, None, ethertype, &bytes));
            identity(&bytes);
        }
    }
}
