//! What is sent: flows and round trips, and the wire they take.

use super::{Section, key};

/// A wire.
pub const WIRE: Section = Section {
    header: "[wires.NAME]",
    keys: &[
        &key("between", "list of two names", "required", "the two hosts it joins"),
        &key(
            "nic",
            "`\"e1000e\"`, `\"igb\"`, `\"rtl8139\"` or `\"vtsn\"`",
            "`\"igb\"`",
            "the card the laboratory puts at both ends; `--on local` uses veth (for `vtsn` a vtsn pair) or your interfaces instead",
        ),
        &key(
            "rate",
            "`\"10Mbit/s\"`, `\"100Mbit/s\"`, `\"1Gbit/s\"`, `\"2.5Gbit/s\"` or `\"10Gbit/s\"`",
            "`\"1Gbit/s\"`",
            "vtsn: bits per second on the wire, both ways",
        ),
        &key(
            "delay",
            "duration",
            "`\"500ns\"`",
            "vtsn: propagation from one end to the other; 5 ns a metre of cable",
        ),
    ],
};
