//! A frame is parsed, emitted, and what was emitted is parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use teiji_core::wire::{EtherType, EthernetHeader, Probe, ip, parse};

fuzz_target!(|frame: &[u8]| {
    let Some(parsed) = parse(frame) else { return };

    let mut header = Vec::new();
    parsed.ethernet.emit(&mut header);
    let (again, rest) = EthernetHeader::parse(&header).expect("an emitted header is complete");
    // A tag inside the tag is payload: emitted without it, it would be a tag.
    if parsed.ethernet.ethertype != EtherType::VLAN {
        assert_eq!((again, rest), (parsed.ethernet, &[][..]));
    }

    if let Some(udp) = parsed.udp {
        if let (IpAddr::V4(source), IpAddr::V4(destination)) = (udp.source, udp.destination) {
            if parsed.payload.len() < 1_500 {
                let mut packet = header.clone();
                ip::emit_udp4(
                    source.octets(),
                    destination.octets(),
                    udp.source_port,
                    udp.destination_port,
                    parsed.payload,
                    &mut packet,
                );
                let emitted = parse(&packet).expect("an emitted frame is complete");
                assert_eq!(emitted, parsed);
            }
        }
    }

    if let Some(probe) = parsed.probe() {
        let mut payload = [0; Probe::LEN];
        probe.emit(&mut payload);
        assert_eq!(Probe::parse(&payload), Some(probe));
    }
});
