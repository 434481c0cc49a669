//! What is sent: flows and round trips, and the wire they take.

use super::{Section, key};

/// A wire.
pub const WIRE: Section = Section {
    header: "[wires.NAME]",
    keys: &[
        key("between", "list of two names", "required", "the two hosts it joins"),
        key(
            "nic",
            "`\"e1000e\"`, `\"igb\"`, `\"rtl8139\"` or `\"vtsn\"`",
            "`\"igb\"`",
            "the card the laboratory puts at both ends; `--on local` uses veth (for `vtsn` a vtsn pair) or your interfaces instead",
        ),
        key(
            "rate",
            "`\"10Mbit/s\"`, `\"100Mbit/s\"`, `\"1Gbit/s\"`, `\"2.5Gbit/s\"` or `\"10Gbit/s\"`",
            "`\"1Gbit/s\"`",
            "vtsn: bits per second on the wire, both ways",
        ),
        key(
            "delay",
            "duration",
            "`\"500ns\"`",
            "vtsn: propagation from one end to the other; 5 ns a metre of cable",
        ),
    ],
};

/// A flow.
pub const FLOW: Section = Section {
    header: "[flows.NAME]",
    keys: &[
        key("from", "name", "required", "the sending host"),
        key("to", "name", "required", "the receiving host: a neighbour, or beyond bridges"),
        key("wire", "name", "the only one that leads there", "the wire it leaves by"),
        key("period", "duration", "required", "distance between two departures"),
        key("frames", "whole number, 1 …", "required", "how many frames are sent"),
        key(
            "offset",
            "duration",
            "`0`",
            "its departures are this much later than those of a flow without; all flows begin together",
        ),
        key(
            "payload",
            "whole number, 24 … 1500",
            "`64`",
            "bytes behind the UDP or Ethernet header: at least the 24 of the test header, at most 1472 (udp4), 1452 (udp6) or 1500 (ethernet)",
        ),
        key(
            "transport",
            "`\"udp4\"`, `\"udp6\"` or `\"ethernet\"`",
            "`\"udp4\"`",
            "how the frame is built",
        ),
        key(
            "port",
            "whole number, 1 … 65535",
            "`7788`, one more for each flow before it",
            "udp4, udp6: destination port",
        ),
        key("vlan", "table `{ pcp, id }`", "untagged", "ethernet: 802.1Q tag"),
        key(
            "mode",
            "`\"on-wake-up\"`, `\"back-to-back\"` or `\"launch-time\"`",
            "`\"on-wake-up\"`",
            "send when the thread wakes; or one send after the other, none sooner than its period says and none late; or hand over one margin earlier with the departure time (`SO_TXTIME`)",
        ),
        key(
            "margin",
            "duration",
            "required for launch-time",
            "launch-time: how long before departure the thread wakes; longer than ETF's `delta`, may be longer than the period",
        ),
        key(
            "deadline",
            "true or false",
            "`false`",
            "launch-time: send as soon as possible, at the latest at the launch time",
        ),
        key("priority", "whole number, 0 … 15", "`0`", "`SO_PRIORITY`: selects the class"),
        key(
            "dscp",
            "whole number, 0 … 63",
            "`0`",
            "udp4, udp6: differentiated services code point, in every frame; prioflow's level is a quarter of it",
        ),
        key(
            "realtime",
            "whole number, 1 … 99",
            "ordinary scheduling",
            "`SCHED_FIFO` priority of the sending thread",
        ),
        key(
            "listener-realtime",
            "whole number, 1 … 99",
            "ordinary scheduling",
            "`SCHED_FIFO` priority of the receiving thread",
        ),
        key(
            "listener-busy-poll",
            "duration",
            "none",
            "the receiving thread polls the card for this long before it waits, whole microseconds (`SO_BUSY_POLL`)",
        ),
        key(
            "listener-pause",
            "duration",
            "none",
            "a slow reader: the receiving program rests for this long after each look at its socket, which takes 32 frames at most",
        ),
        key(
            "listener-pause-random",
            "true or false",
            "false",
            "the rests are random, exponentially distributed with `listener-pause` as their mean; the same ones in each run",
        ),
        key(
            "listener-buffer",
            "whole number, 2048 … 1073741824",
            "plenty: 4 194 304",
            "bytes of the receiving socket's buffer (`SO_RCVBUF`; the kernel doubles it); with 106 496 a program has what it has by default",
        ),
        key(
            "listener-trace",
            "true or false",
            "`false`",
            "follow each frame through the receiving kernel, by its tracepoints: interrupt, softirq, wake-up; costs time at each of them; with `flow-control` note when its port asks for silence, too",
        ),
        key(
            "flow-control",
            "whole number, 0 … 14",
            "none",
            "udp4, udp6: both ends take part in prioflow at this level: a send waits where there is no room, and the listener has its peer wait before its buffer overflows; all ports on the way need the qdisc `prioflow` with a `link`, and over a bridge a level that the frame carries (`dscp`)",
        ),
        key("cpu", "whole number", "any", "CPU of the sending thread, if it is not its host's"),
        key(
            "tx-stamps",
            "true or false",
            "`false`",
            "ask the kernel when each frame was sent; costs time between two frames",
        ),
        key(
            "background",
            "true or false",
            "`false`",
            "it is background load: one line per case; late or failed sends of it do not fail the run",
        ),
    ],
};

/// The VLAN tag of a flow.
pub const VLAN: Section = Section {
    header: "vlan = { … } of a flow",
    keys: &[
        key("pcp", "whole number, 0 … 7", "`0`", "priority code point"),
        key("id", "whole number, 0 … 4094", "`0`", "VLAN identifier; 0 is a priority tag only"),
    ],
};

/// Round trips.
pub const ROUND_TRIPS: Section = Section {
    header: "[round-trips.NAME]",
    keys: &[
        key("from", "name", "required", "the asking host"),
        key("to", "name", "required", "the answering host: a neighbour, or beyond bridges"),
        key("wire", "name", "the only one that leads there", "the wire they leave by"),
        key("count", "whole number, 1 …", "required", "how many requests"),
        key(
            "period",
            "duration",
            "none",
            "distance between two requests; without it the next one follows the reply, or the time-out",
        ),
        key(
            "timeout",
            "duration",
            "`\"1s\"`, or the period if that is shorter",
            "how long a reply is waited for; a lost one costs this, is counted, and ends nothing",
        ),
        key(
            "payload",
            "whole number, 48 … 1472",
            "`64`",
            "bytes behind the UDP header, of request and reply: at least the 48 of their headers, at most 1472 (udp4) or 1452 (udp6)",
        ),
        key("transport", "`\"udp4\"` or `\"udp6\"`", "`\"udp4\"`", "how the frames are built"),
        key(
            "port",
            "whole number, 1 … 65535",
            "`8788`, one more for each table before it",
            "UDP port of the responder",
        ),
        key(
            "priority",
            "whole number, 0 … 15",
            "`0`",
            "`SO_PRIORITY` of requests and replies: selects the class",
        ),
        key(
            "dscp",
            "whole number, 0 … 63",
            "`0`",
            "differentiated services code point of requests and replies; prioflow's level is a quarter of it",
        ),
        key(
            "realtime",
            "whole number, 1 … 99",
            "ordinary scheduling",
            "`SCHED_FIFO` priority of the asking thread",
        ),
        key(
            "responder-realtime",
            "whole number, 1 … 99",
            "ordinary scheduling",
            "`SCHED_FIFO` priority of the answering thread",
        ),
        key(
            "responder-busy-poll",
            "duration",
            "none",
            "the answering thread polls the card for this long before it waits, whole microseconds (`SO_BUSY_POLL`)",
        ),
        key(
            "responder-trace",
            "true or false",
            "`false`",
            "follow each request through the responder's kernel, as `listener-trace` of a flow does",
        ),
    ],
};
