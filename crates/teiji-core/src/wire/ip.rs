//! UDP over IPv4 (RFC 791, RFC 768) and IPv6 (RFC 8200).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{EtherType, UdpFlow};

const PROTOCOL_UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: usize = 20;
/// Bytes of an IPv6 header without extensions.
pub const IPV6_HEADER: usize = 40;
/// Bytes of a UDP header.
pub const UDP_HEADER_LEN: usize = UDP_HEADER;

/// The UDP flow and datagram in the payload of an Ethernet frame. `None` for
/// anything else, for fragments and for IPv6 extension headers. A datagram
/// that a capture cut short gives what is there of its payload.
pub fn parse_udp(ethertype: EtherType, packet: &[u8]) -> Option<(UdpFlow, &[u8])> {
    let (source, destination, datagram) = match ethertype {
        EtherType::IPV4 => parse_ipv4(packet)?,
        EtherType::IPV6 => parse_ipv6(packet)?,
        _ => return None,
    };
    let (header, payload) = datagram.split_first_chunk::<UDP_HEADER>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let payload = &payload[..payload.len().min(length.checked_sub(UDP_HEADER)?)];
    let flow = UdpFlow {
        source,
        destination,
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
    };
    Some((flow, payload))
}

/// True if `packet`, which was cut short, ends before a UDP header would, and
/// what is there of it speaks for one.
pub fn may_be_udp(ethertype: EtherType, packet: &[u8]) -> bool {
    let (header, protocol) = match ethertype {
        EtherType::IPV4 => (IPV4_HEADER, 9),
        EtherType::IPV6 => (IPV6_HEADER, 6),
        _ => return false,
    };
    packet.len() < header + UDP_HEADER
        && packet.get(protocol).is_none_or(|protocol| *protocol == PROTOCOL_UDP)
}

fn parse_ipv4(packet: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let (fixed, _) = packet.split_first_chunk::<IPV4_HEADER>()?;
    let header_len = usize::from(fixed[0] & 0x0F) * 4;
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3FFF;
    if fixed[0] >> 4 != 4 || header_len < IPV4_HEADER || fragment != 0 || fixed[9] != PROTOCOL_UDP {
        return None;
    }
    let source = Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]);
    let destination = Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]);
    Some((source.into(), destination.into(), packet.get(header_len..)?))
}

fn parse_ipv6(packet: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let (fixed, rest) = packet.split_first_chunk::<IPV6_HEADER>()?;
    if fixed[0] >> 4 != 6 || fixed[6] != PROTOCOL_UDP {
        return None;
    }
    let address = |at: usize| -> Option<IpAddr> {
        Some(Ipv6Addr::from(*fixed.get(at..)?.first_chunk::<16>()?).into())
    };
    Some((address(8)?, address(24)?, rest))
}

/// Appends an IPv4 packet with a UDP datagram to `frame`, checksums included
/// (the UDP one as 0, which RFC 768 reads as "none").
pub fn emit_udp4(
    source: [u8; 4],
    destination: [u8; 4],
    source_port: u16,
    destination_port: u16,
    payload: &[u8],
    frame: &mut Vec<u8>,
) {
    let udp_len = u16::try_from(UDP_HEADER + payload.len()).unwrap_or(u16::MAX);
    let total = udp_len.saturating_add(20);
    let mut header = [0_u8; IPV4_HEADER];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[6] = 0x40;
    header[8] = 64;
    header[9] = PROTOCOL_UDP;
    header[12..16].copy_from_slice(&source);
    header[16..20].copy_from_slice(&destination);
    let checksum = internet_checksum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(&header);
    frame.extend_from_slice(&source_port.to_be_bytes());
    frame.extend_from_slice(&destination_port.to_be_bytes());
    frame.extend_from_slice(&udp_len.to_be_bytes());
    frame.extend_from_slice(&[0, 0]);
    frame.extend_from_slice(payload);
}

/// The Internet checksum (RFC 1071) of `bytes`.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_header_with_its_checksum_is_zero() {
        let mut frame = Vec::new();
        emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"hello", &mut frame);
        assert_eq!(internet_checksum(&frame[..IPV4_HEADER]), 0);
    }

    #[test]
    fn fragments_and_foreign_protocols_are_not_udp() {
        let mut frame = Vec::new();
        emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"hello", &mut frame);
        assert!(parse_udp(EtherType::IPV4, &frame).is_some());
        let mut fragment = frame.clone();
        fragment[6] |= 0x20;
        assert!(parse_udp(EtherType::IPV4, &fragment).is_none());
        let mut tcp = frame.clone();
        tcp[9] = 6;
        assert!(parse_udp(EtherType::IPV4, &tcp).is_none());
        assert!(parse_udp(EtherType::IPV6, &frame).is_none());
    }

    #[test]
    fn ethernet_padding_is_not_payload() {
        let mut frame = Vec::new();
        emit_udp4([10, 0, 0, 1], [10, 0, 0, 2], 1, 2, b"hi", &mut frame);
        frame.resize(46, 0);
        let (_, payload) = parse_udp(EtherType::IPV4, &frame).unwrap();
        assert_eq!(payload, b"hi");
    }
}
