//! Ethernet headers (IEEE 802.3) and VLAN tags (IEEE 802.1Q).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::{Pcp, VlanId};

/// Octets of the preamble with its start delimiter (IEEE 802.3, 3.2.1 and 3.2.2).
pub const PREAMBLE: u16 = 8;
/// Octets of addresses and type, without a tag (IEEE 802.3, 3.1.1).
pub const HEADER: u16 = 14;
/// Octets of a VLAN tag (IEEE 802.1Q, 9.3).
pub const TAG: u16 = 4;
/// Octets of the frame check sequence (IEEE 802.3, 3.2.9).
pub const FCS: u16 = 4;
/// Octets of the gap between two frames (IEEE 802.3, 4.4.2).
pub const GAP: u16 = 12;
/// The shortest frame, without FCS (IEEE 802.3, 4.4.2: `minFrameSize`); shorter ones are padded.
pub const SHORTEST: u16 = 64 - FCS;
/// The most octets after the header (IEEE 802.3, 3.2.7: `maxBasicDataSize`), without jumbo frames.
pub const MOST_DATA: u16 = 1500;
/// The longest frame, untagged and without FCS: the kernel's `ETH_FRAME_LEN`.
pub const LONGEST: u16 = HEADER + MOST_DATA;
/// What a frame without FCS occupies the wire for beyond its own octets.
pub const AROUND: u16 = PREAMBLE + FCS + GAP;

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MacAddr(pub [u8; 6]);

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for MacAddr {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a MAC address; write for example 02:00:00:00:00:01");
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|p| p.len() == 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

/// The type of what an Ethernet frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// IPv6.
    pub const IPV6: Self = Self(0x86DD);
    /// A customer VLAN tag follows (IEEE 802.1Q).
    pub const VLAN: Self = Self(0x8100);
}

/// The VLAN tag of frames that are sent: priority code point and VLAN identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VlanTag {
    /// Priority code point.
    pub pcp: Pcp,
    /// VLAN identifier.
    pub id: VlanId,
}

impl VlanTag {
    /// `None` if the identifier or the priority code point is out of range.
    pub const fn new(id: u16, pcp: u8) -> Option<Self> {
        match (VlanId::new(id), Pcp::new(pcp)) {
            (Some(id), Some(pcp)) => Some(Self { pcp, id }),
            _ => None,
        }
    }
}

/// The control information of a VLAN tag as a frame has it. A captured frame may have the identifier
/// 4095, too, which is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tci(pub u16);

impl Tci {
    /// The VLAN identifier.
    pub fn id(self) -> u16 {
        self.0 & 0x0FFF
    }
}

impl From<VlanTag> for Tci {
    fn from(tag: VlanTag) -> Self {
        Self((u16::from(tag.pcp.get()) << 13) | tag.id.get())
    }
}

/// Destination, source, optional VLAN tag and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Where the frame goes.
    pub destination: MacAddr,
    /// Where it comes from.
    pub source: MacAddr,
    /// The outermost 802.1Q tag.
    pub vlan: Option<Tci>,
    /// Type of the payload (after the tag).
    pub ethertype: EtherType,
}

impl EthernetHeader {
    /// The header and what follows it, or `None` if the bytes end too early.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (destination, rest) = frame.split_first_chunk::<6>()?;
        let (source, rest) = rest.split_first_chunk::<6>()?;
        let (kind, rest) = rest.split_first_chunk::<2>()?;
        let mut ethertype = EtherType(u16::from_be_bytes(*kind));
        let mut payload = rest;
        let mut vlan = None;
        if ethertype == EtherType::VLAN {
            let (tag, rest) = rest.split_first_chunk::<4>()?;
            vlan = Some(Tci(u16::from_be_bytes([tag[0], tag[1]])));
            ethertype = EtherType(u16::from_be_bytes([tag[2], tag[3]]));
            payload = rest;
        }
        let header =
            Self { destination: MacAddr(*destination), source: MacAddr(*source), vlan, ethertype };
        Some((header, payload))
    }

    /// Appends the header to `frame`.
    pub fn emit(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.destination.0);
        frame.extend_from_slice(&self.source.0);
        if let Some(Tci(tci)) = self.vlan {
            frame.extend_from_slice(&EtherType::VLAN.0.to_be_bytes());
            frame.extend_from_slice(&tci.to_be_bytes());
        }
        frame.extend_from_slice(&self.ethertype.0.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_emitted_parses_back(
            destination: [u8; 6], source: [u8; 6], vlan: Option<u16>,
            kind in (0x0600_u16..).prop_filter("a tag is not a payload type", |k| *k != 0x8100),
        ) {
            let header = EthernetHeader {
                destination: MacAddr(destination),
                source: MacAddr(source),
                vlan: vlan.map(Tci),
                ethertype: EtherType(kind),
            };
            let mut frame = Vec::new();
            header.emit(&mut frame);
            frame.push(0xAB);
            prop_assert_eq!(EthernetHeader::parse(&frame), Some((header, &[0xAB][..])));
        }

        #[test]
        fn a_tag_has_its_identifier_on_the_wire(id in 0_u16..4095, pcp in 0_u8..8) {
            let tci = Tci::from(VlanTag::new(id, pcp).unwrap());
            prop_assert_eq!((tci.id(), tci.0 >> 13), (id, u16::from(pcp)));
        }

        #[test]
        fn mac_addresses_print_and_parse(bytes: [u8; 6]) {
            let mac = MacAddr(bytes);
            prop_assert_eq!(mac.to_string().parse(), Ok(mac));
        }
    }
}
