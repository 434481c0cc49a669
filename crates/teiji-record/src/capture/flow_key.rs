//! What makes frames of a capture belong to one flow, and choosing among
//! flows.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use teiji_core::wire::{MacAddr, ParsedFrame, Probe, Tci, UdpFlow};

/// What all frames of a flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// The analyser's port.
    pub interface: u32,
    /// Sending station.
    pub source: MacAddr,
    /// Receiving station or group.
    pub destination: MacAddr,
    /// VLAN identifier of the outermost tag.
    pub vlan: Option<u16>,
    /// Type of the frame.
    pub ethertype: u16,
    /// Addresses and ports, of UDP datagrams.
    pub udp: Option<UdpFlow>,
    /// Flow identifier in Teiji's test header.
    pub probe: Option<u16>,
}

impl FlowKey {
    /// The options of `teiji analyze` that select this flow, no more than it
    /// takes to tell it from the others `among` which it is.
    pub fn options_among(&self, among: &[Self]) -> String {
        let (source, destination) = match &self.udp {
            Some(udp) => (
                Endpoint::Socket(SocketAddr::new(udp.source, udp.source_port)),
                Endpoint::Socket(SocketAddr::new(udp.destination, udp.destination_port)),
            ),
            None => (Endpoint::Mac(self.source), Endpoint::Mac(self.destination)),
        };
        let mut filter = Filter::default();
        let mut options = Vec::new();
        let alone =
            |filter: &Filter| !among.iter().any(|other| other != self && filter.matches(other));
        if let Some(flow) = self.probe {
            filter.flow = Some(flow);
            options.push(format!("--flow {flow}"));
        }
        if self.probe.is_none() || !alone(&filter) {
            (filter.source, filter.destination) = (Some(source), Some(destination));
            options.push(format!("--src {source} --dst {destination}"));
        }
        if let Some(vlan) = self.vlan.filter(|_| !alone(&filter)) {
            filter.vlan = Some(vlan);
            options.push(format!("--vlan {vlan}"));
        }
        if !alone(&filter) {
            filter.ethertype = Some(self.ethertype);
            options.push(format!("--ethertype 0x{:04x}", self.ethertype));
        }
        if !alone(&filter) {
            options.push(format!("--interface {}", self.interface));
        }
        options.join(" ")
    }

    /// The flow that a frame belongs to.
    pub fn new(interface: u32, frame: &ParsedFrame<'_>, probe: Option<&Probe>) -> Self {
        Self {
            interface,
            source: frame.ethernet.source,
            destination: frame.ethernet.destination,
            vlan: frame.ethernet.vlan.map(Tci::id),
            ethertype: frame.ethernet.ethertype.0,
            udp: frame.udp,
            probe: probe.map(|p| p.flow),
        }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(flow) = self.probe {
            write!(f, "test flow {flow}, ")?;
        }
        match &self.udp {
            Some(udp) => {
                let source = SocketAddr::new(udp.source, udp.source_port);
                let destination = SocketAddr::new(udp.destination, udp.destination_port);
                write!(f, "UDP {source} → {destination}")?;
            }
            None => {
                write!(f, "{} → {}, type 0x{:04x}", self.source, self.destination, self.ethertype)?;
            }
        }
        if let Some(vlan) = self.vlan {
            write!(f, ", VLAN {vlan}")?;
        }
        if self.interface > 0 {
            write!(f, ", interface {}", self.interface)?;
        }
        Ok(())
    }
}

/// One end of a flow, as far as the user named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A MAC address.
    Mac(MacAddr),
    /// An IP address, any port.
    Ip(IpAddr),
    /// An IP address and a UDP port.
    Socket(SocketAddr),
}

impl FromStr for Endpoint {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let socket = text.parse().map(Self::Socket).ok();
        socket
            .or_else(|| text.parse().map(Self::Ip).ok())
            .or_else(|| text.parse().map(Self::Mac).ok())
            .ok_or_else(|| {
                format!(
                    "`{text}` is no address; write for example \
                     02:00:00:00:00:01, 10.0.0.1, 10.0.0.1:7788 or [fd00::1]:7788"
                )
            })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => mac.fmt(f),
            Self::Ip(ip) => ip.fmt(f),
            Self::Socket(socket) => socket.fmt(f),
        }
    }
}

impl Endpoint {
    fn matches(&self, mac: MacAddr, ip: Option<(IpAddr, u16)>) -> bool {
        match self {
            Self::Mac(wanted) => *wanted == mac,
            Self::Ip(wanted) => ip.is_some_and(|(ip, _)| ip == *wanted),
            Self::Socket(wanted) => ip == Some((wanted.ip(), wanted.port())),
        }
    }
}

/// Which flows are considered: those that match all that is given. IP
/// addresses match UDP datagrams only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The analyser's port (pcapng), from 0.
    pub interface: Option<u32>,
    /// Flow identifier in Teiji's test header.
    pub flow: Option<u16>,
    /// Where it comes from.
    pub source: Option<Endpoint>,
    /// Where it goes.
    pub destination: Option<Endpoint>,
    /// VLAN identifier.
    pub vlan: Option<u16>,
    /// Type of the frame.
    pub ethertype: Option<u16>,
}

impl Filter {
    /// True if nothing is requested.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if the flow has all that is requested.
    pub fn matches(&self, key: &FlowKey) -> bool {
        let source = key.udp.map(|u| (u.source, u.source_port));
        let destination = key.udp.map(|u| (u.destination, u.destination_port));
        self.interface.is_none_or(|interface| key.interface == interface)
            && self.flow.is_none_or(|flow| key.probe == Some(flow))
            && self.vlan.is_none_or(|vlan| key.vlan == Some(vlan))
            && self.ethertype.is_none_or(|ethertype| key.ethertype == ethertype)
            && self.source.is_none_or(|end| end.matches(key.source, source))
            && self.destination.is_none_or(|end| end.matches(key.destination, destination))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FlowKey {
        FlowKey {
            interface: 0,
            source: MacAddr([2, 0, 0, 0, 0, 1]),
            destination: MacAddr([2, 0, 0, 0, 0, 2]),
            vlan: Some(10),
            ethertype: 0x0800,
            udp: Some(UdpFlow {
                source: IpAddr::from([10, 0, 0, 1]),
                destination: IpAddr::from([10, 0, 0, 2]),
                source_port: 4_000,
                destination_port: 7_788,
            }),
            probe: Some(3),
        }
    }

    #[test]
    fn a_flow_is_described_as_people_speak_of_it() {
        let udp = "test flow 3, UDP 10.0.0.1:4000 → 10.0.0.2:7788, VLAN 10";
        assert_eq!(key().to_string(), udp);
        let raw = FlowKey { udp: None, probe: None, vlan: None, interface: 2, ..key() };
        let text = "02:00:00:00:00:01 → 02:00:00:00:00:02, type 0x0800, interface 2";
        assert_eq!(raw.to_string(), text);
    }

    #[test]
    fn every_criterion_of_a_filter_must_match() {
        let end = |text: &str| Some(text.parse::<Endpoint>().unwrap());
        let matches = |filter: Filter| filter.matches(&key());
        assert!(matches(Filter::default()));
        assert!(matches(Filter { source: end("02:00:00:00:00:01"), ..Filter::default() }));
        assert!(matches(Filter { source: end("10.0.0.1"), vlan: Some(10), ..Filter::default() }));
        assert!(matches(Filter { destination: end("10.0.0.2:7788"), ..Filter::default() }));
        assert!(!matches(Filter { destination: end("10.0.0.2:7789"), ..Filter::default() }));
        assert!(!matches(Filter { source: end("10.0.0.1"), vlan: Some(1), ..Filter::default() }));
        assert!(!matches(Filter { flow: Some(1), ..Filter::default() }));
        assert!(!matches(Filter { ethertype: Some(0x88B6), ..Filter::default() }));
    }

    #[test]
    fn the_shortest_options_that_select_a_flow_are_found() {
        let options = |others: &[FlowKey]| key().options_among(others);
        let socket = "--src 10.0.0.1:4000 --dst 10.0.0.2:7788";
        assert_eq!(options(&[key()]), "--flow 3");
        let plain = FlowKey { probe: None, ..key() };
        assert_eq!(plain.options_among(&[plain]), socket);
        let same_flow = FlowKey { vlan: Some(11), ..key() };
        assert_eq!(options(&[same_flow]), format!("--flow 3 {socket} --vlan 10"));
        let tapped = FlowKey { interface: 1, ..key() };
        assert_eq!(
            options(&[same_flow, tapped]),
            format!("--flow 3 {socket} --vlan 10 --ethertype 0x0800 --interface 0")
        );
        let raw = FlowKey { udp: None, probe: None, vlan: None, ..key() };
        let stations = "--src 02:00:00:00:00:01 --dst 02:00:00:00:00:02";
        assert_eq!(raw.options_among(&[raw]), stations);
        let other = FlowKey { ethertype: 0x88f7, ..raw };
        assert_eq!(raw.options_among(&[other]), format!("{stations} --ethertype 0x0800"));
    }

    #[test]
    fn what_is_no_address_is_explained() {
        let error = "eth0".parse::<Endpoint>().unwrap_err();
        assert!(error.starts_with("`eth0` is no address; write for example"), "{error}");
        assert!("[fd00::1]:80".parse::<Endpoint>().is_ok());
    }
}
