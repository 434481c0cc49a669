//! A port: its card, and who processes its frames.

use super::{Section, key};

/// A host's end of a wire.
pub const PORT: Section = Section {
    header: "[hosts.NAME.ports.WIRE]",
    keys: &[
        &key(
            "mac",
            "MAC address",
            "`02:74:65:6a:WIRE:END`",
            "its MAC address; a real card keeps its own",
        ),
        &key(
            "ipv4",
            "IPv4 address",
            "`10.NETWORK.0.END`",
            "its address in a /24; a wire is a network, and so is what bridges join, with the number of its first wire; wires and ends count from 1; the ports of a bridge have none",
        ),
        &key("ipv6", "IPv6 address", "`fd74:656a:NETWORK::END`", "its address in a /64"),
        &key(
            "queues",
            "whole number, 1 …",
            "what `qdisc` needs, else the driver's choice",
            "number of transmit queues (`ethtool -L`)",
        ),
        &key(
            "ring",
            "table `{ tx, rx }`",
            "the driver's choice",
            "vtsn: sizes of the descriptor rings",
        ),
        &key(
            "moderation",
            "table `{ rx, tx }`",
            "the driver's choice",
            "vtsn: interrupt moderation (coalescing)",
        ),
        &key(
            "pause",
            "true or false",
            "the driver's choice",
            "vtsn: send and obey 802.3x PAUSE (`ethtool -A`)",
        ),
        &key(
            "phc",
            "table `{ offset, drift, … }`",
            "like true time",
            "vtsn: how the port's hardware clock starts and runs",
        ),
        &key(
            "launch-resolution",
            "duration",
            "`\"1ns\"`",
            "vtsn: the card keeps launch times to this; the i210 to 32 ns",
        ),
        &key(
            "stamp-slots",
            "whole number, 0 …",
            "`0`, any number",
            "vtsn: how many transmit stamps may be under way; real cards have 1 to 4",
        ),
        &key(
            "dies-after",
            "duration",
            "never",
            "vtsn: from so long after the flows' start on, nothing that it sends arrives, as when its host dies; what is sent to it still does",
        ),
        &key(
            "irq",
            "table `{ policy, priority, cpus }`",
            "as they are",
            "its interrupts and their threads",
        ),
        &key(
            "napi",
            "table `{ threaded, … }`",
            "as it is",
            "how the kernel polls it: in threads or softirqs, with interrupts or without",
        ),
        &key(
            "rps",
            "list of CPUs",
            "none",
            "the CPUs that process what any receive queue got (`rps_cpus`)",
        ),
        &key(
            "xps",
            "list of lists of CPUs",
            "the driver's choice",
            "for each transmit queue from the first on, the CPUs that choose it (`xps_cpus`)",
        ),
        &key(
            "bql",
            "whole number, 1 … 2000000000",
            "as it is",
            "BQL limit of each transmit queue (`byte_queue_limits/limit_max`)",
        ),
        &key(
            "gso-max-size",
            "whole number, 2000 … 65536",
            "as it is",
            "most bytes that TCP hands over in one piece, which may keep the wire until its end (`ip link set gso_max_size`)",
        ),
        &key("qdisc", "table", "the kernel's default", "the queueing discipline, `[….qdisc]`"),
    ],
};

/// A port's interrupts.
pub const IRQ: Section = Section {
    header: "irq = { … } of a port",
    keys: &[
        &key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"` with a priority",
            "scheduling of the threads `irq/NUMBER-…`; with PREEMPT_RT every interrupt has one",
        ),
        &key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "their real-time priority; 50 unless somebody changed it",
        ),
        &key(
            "cpus",
            "list of CPUs",
            "the CPU of its host in the laboratory",
            "where they are handled (`/proc/irq/NUMBER/smp_affinity_list`); their threads go with them",
        ),
    ],
};

/// How a port is polled.
pub const NAPI: Section = Section {
    header: "napi = { … } of a port",
    keys: &[
        &key(
            "threaded",
            "true or false",
            "`true` with one of the next three",
            "poll in threads `napi/PORT-NUMBER` instead of in softirqs",
        ),
        &key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"` with a priority",
            "scheduling of these threads",
        ),
        &key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "their real-time priority",
        ),
        &key("cpus", "list of CPUs", "any", "where they run"),
        &key(
            "defer-hard-irqs",
            "whole number, 0 …",
            "as it is: 0",
            "poll this often without finding frames before interrupts come on again (`napi_defer_hard_irqs`)",
        ),
        &key(
            "gro-flush-timeout",
            "duration",
            "as it is: `0`",
            "distance of these polls (`gro_flush_timeout`)",
        ),
    ],
};

/// Descriptor rings of a port.
pub const RING: Section = Section {
    header: "ring = { … } of a port",
    keys: &[
        &key(
            "tx",
            "whole number, 4 … 4096",
            "the driver's choice",
            "frames that may wait in each transmit queue; the driver rounds up to a power of two",
        ),
        &key(
            "rx",
            "whole number, 4 … 4096",
            "the driver\'s choice",
            "frames that may wait to be received",
        ),
    ],
};

/// Interrupt moderation of a port.
pub const MODERATION: Section = Section {
    header: "moderation = { … } of a port",
    keys: &[
        &key("rx", "duration", "the driver's choice", "after a received frame, whole microseconds"),
        &key("tx", "duration", "the driver's choice", "after a sent frame, whole microseconds"),
    ],
};

/// A port's hardware clock.
pub const PHC: Section = Section {
    header: "phc = { … } of a port",
    keys: &[
        &key("offset", "duration", "`0`", "it starts this much ahead of `CLOCK_TAI`"),
        &key("drift", "`\"20ppm\"`, `\"-500ppb\"`", "`0`", "it runs this much too fast"),
        &key("wander", "as drift", "`0`", "its rate swings up and down by this much …"),
        &key(
            "wander-period",
            "duration",
            "the driver's choice",
            "… once within this time, whole milliseconds",
        ),
    ],
};
