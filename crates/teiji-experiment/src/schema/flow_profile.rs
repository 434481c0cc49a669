//! Keys of a flow-control profile, a file of its own (docs/flow-profiles.md).

use super::{Section, key};

/// The top of the file.
pub const FLOW_PROFILE: Section = Section {
    header: "(top of the profile)",
    keys: &[&key("ports", "tables", "required", "the ports, `[ports.INTERFACE]`")],
};

/// A port of the machine: a `prioflow`, as an experiment's ports have it.
pub const FLOW_PORT: Section = Section {
    header: "[ports.INTERFACE]",
    keys: &[
        &key(
            "link",
            "`\"off\"`, `\"mac-control\"`, `\"experimental\"`, `\"pfc\"` or `\"pause\"`",
            "`\"mac-control\"`",
            "pause frame type, in both directions: level frames, PFC or PAUSE",
        ),
        &key(
            "by",
            "`\"dscp\"`, `\"tos\"`, `\"pcp\"` or `\"priority\"`",
            "`\"dscp\"`",
            "what a frame's level is taken from",
        ),
        &key(
            "table",
            "list of whole numbers 0 … 15",
            "the kernel module's",
            "the level of each value of that: 64 for dscp, 16 for tos and priority, 8 for pcp",
        ),
        &key("limit", "whole number, 1 …", "`1000`", "how many packets may wait"),
        &key("bytes", "whole number, 1514 …", "no limit", "how many bytes may wait"),
        &key(
            "storm",
            "duration, whole milliseconds",
            "`\"10s\"`",
            "pause-storm watchdog timeout: after a longer pause the peer's pause requests are ignored for as long; 0: no watchdog",
        ),
        &key(
            "reaction",
            "duration, 1us … 32ms",
            "`\"1ms\"`",
            "longest time from asking the peer for silence to its last frame, rings aside",
        ),
        &key(
            "ring",
            "whole number, 1 … 32000",
            "`64`",
            "most frames that wait in the peer's transmit ring and the own receive ring",
        ),
        &key(
            "room",
            "whole number, 1 … 32000",
            "as many as are needed",
            "frames of a level that came in by this port of a bridge and may wait in another",
        ),
    ],
};
