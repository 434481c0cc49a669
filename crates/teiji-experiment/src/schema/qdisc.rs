//! Queueing disciplines.

use super::{Section, key};

/// A root queueing discipline.
pub const QDISC: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc]",
    keys: &[
        &key(
            "kind",
            "`\"cbs\"`, `\"default\"`, `\"etf\"`, `\"mqprio\"`, `\"pfifo\"`, `\"prio\"`, `\"prioflow\"` or `\"taprio\"`",
            "required",
            "which one; `default` leaves or restores the kernel's own. A case that changes the kind starts from an empty table",
        ),
        &key(
            "map",
            "list of 16 whole numbers",
            "required for mqprio and taprio; prio: the kernel's",
            "mqprio, prio, taprio: the class (or band) of each priority 0 … 15",
        ),
        &key(
            "queues",
            "list of `\"COUNT@OFFSET\"`",
            "required for mqprio and taprio",
            "mqprio, taprio: the transmit queues of each class",
        ),
        &key("hw", "true or false", "`false`", "mqprio: let the card do it"),
        &key(
            "bands",
            "whole number, 2 … 16",
            "as many as `map` uses, at least 3",
            "prio: number of bands; band 0 is served first",
        ),
        &key(
            "classes",
            "tables",
            "`{}`",
            "mqprio, prio, taprio: what hangs below a class or band, `[….qdisc.classes.NUMBER]`",
        ),
        &key(
            "entries",
            "list of tables `{ open, interval }`",
            "required for taprio",
            "taprio: the gates, one after the other",
        ),
        &key(
            "mode",
            "`\"software\"`, `\"txtime-assist\"` or `\"offload\"`",
            "`\"software\"`",
            "taprio: who opens the gates: the kernel's timer, launch times that an ETF below keeps, or the card",
        ),
        &key(
            "base-time",
            "duration",
            "`0`",
            "taprio: cycles begin at this time of TAI and whole cycles before and after; the first departure of the flows falls onto the beginning of a cycle",
        ),
        &key(
            "cycle",
            "duration",
            "the sum of the intervals",
            "taprio: length of the cycle; a shorter one cuts the last entries",
        ),
        &key(
            "extension",
            "duration",
            "`0`",
            "taprio: how much longer the last cycle may become before a new table takes over",
        ),
        &key(
            "txtime-delay",
            "duration",
            "required for txtime-assist",
            "taprio: how long a frame may take from the qdisc to the card",
        ),
        &key("delta", "duration", "required for etf", "etf: as below"),
        &key("clock", "`\"tai\"`", "`\"tai\"`", "etf: as below"),
        &key("offload", "true or false", "`false`", "etf, cbs: as below"),
        &key("deadline", "true or false", "`false`", "etf: as below"),
        &key("skip-sock-check", "true or false", "`false`", "etf: as below"),
        &key("limit", "whole number, 1 …", "`1000`", "pfifo, prioflow: as below"),
        &key("bytes", "whole number, 1514 …", "no limit", "prioflow: as below"),
        &key("by", "as below", "`\"dscp\"`", "prioflow: as below"),
        &key("table", "list of whole numbers 0 … 15", "the kernel module's", "prioflow: as below"),
        &key("link", "as below", "`\"off\"`", "prioflow: as below"),
        &key("storm", "duration", "`\"10s\"`", "prioflow: as below"),
        &key("reaction", "duration", "`\"1ms\"`", "prioflow: as below"),
        &key("ring", "whole number, 1 …", "`64`", "prioflow: as below"),
        &key("room", "whole number, 1 …", "as many as are needed", "prioflow: as below"),
        &key("bandwidth", "rate such as `\"20Mbit/s\"`", "as below", "cbs: as below"),
        &key("max-frame", "whole number, 64 …", "`1538`", "cbs: as below"),
        &key("idleslope", "whole number", "as below", "cbs: as below"),
        &key("sendslope", "whole number", "as below", "cbs: as below"),
        &key("hicredit", "whole number", "as below", "cbs: as below"),
        &key("locredit", "whole number", "as below", "cbs: as below"),
    ],
};

/// A queueing discipline below a class.
pub const CLASS: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc.classes.NUMBER]",
    keys: &[
        &key(
            "kind",
            "`\"cbs\"`, `\"etf\"`, `\"pfifo\"` or `\"prioflow\"`",
            "required",
            "which one; on mqprio and taprio it hangs below each queue of the class",
        ),
        &key(
            "delta",
            "duration",
            "required for etf",
            "etf: a frame goes to the card this long before its launch time. Without offload it *leaves* that early",
        ),
        &key(
            "clock",
            "`\"tai\"`",
            "`\"tai\"`",
            "etf: the clock of launch times; the kernel accepts TAI only",
        ),
        &key(
            "offload",
            "true or false",
            "`false`",
            "etf, cbs: the card keeps the launch time, or counts the credit; of the laboratory's cards only vtsn can",
        ),
        &key(
            "deadline",
            "true or false",
            "`false`",
            "etf: launch times are deadlines; must agree with the flow's `deadline`",
        ),
        &key(
            "skip-sock-check",
            "true or false",
            "`false`",
            "etf: do not compare the frame's socket with these settings (`skip_sock_check`)",
        ),
        &key("limit", "whole number, 1 …", "`1000`", "pfifo, prioflow: how many packets may wait"),
        &key("bytes", "whole number, 1514 …", "no limit", "prioflow: how many bytes may wait"),
        &key(
            "by",
            "`\"dscp\"`, `\"tos\"`, `\"pcp\"` or `\"priority\"`",
            "`\"dscp\"`",
            "prioflow: what a frame's level is taken from",
        ),
        &key(
            "table",
            "list of whole numbers 0 … 15",
            "the kernel module's",
            "prioflow: the level of each value of that: 64 for dscp, 16 for tos and priority, 8 for pcp",
        ),
        &key(
            "link",
            "`\"off\"`, `\"mac-control\"`, `\"experimental\"`, `\"pfc\"` or `\"pause\"`",
            "`\"off\"`",
            "prioflow: pause frame type, in both directions: level frames, PFC or PAUSE",
        ),
        &key(
            "storm",
            "duration",
            "`\"10s\"`",
            "prioflow: pause-storm watchdog timeout: after a longer pause the peer's pause requests are ignored for as long; 0: no watchdog",
        ),
        &key(
            "reaction",
            "duration, 1us … 32ms",
            "`\"1ms\"`",
            "prioflow: longest time from asking the peer for silence to its last frame, rings aside",
        ),
        &key(
            "ring",
            "whole number, 1 … 32000",
            "`64`",
            "prioflow: most frames that wait in the peer's transmit ring and the own receive ring",
        ),
        &key(
            "room",
            "whole number, 1 … 32000",
            "as many as are needed",
            "prioflow: frames of a level that came in by this port of a bridge and may wait in another",
        ),
        &key(
            "bandwidth",
            "rate such as `\"20Mbit/s\"`",
            "required for cbs, or the four below",
            "cbs: the share of the wire it is meant to have; slopes and credits follow from it and the wire's rate, with one largest frame of others in the way",
        ),
        &key(
            "max-frame",
            "whole number, 64 …",
            "`1538`",
            "cbs: with bandwidth: bytes of the largest frame of the class, with preamble, FCS and gap",
        ),
        &key(
            "idleslope",
            "whole number",
            "from `bandwidth`",
            "cbs: credit gained while waiting, in kbit/s",
        ),
        &key(
            "sendslope",
            "whole number",
            "from `bandwidth`",
            "cbs: credit spent while sending, in kbit/s, negative",
        ),
        &key("hicredit", "whole number", "from `bandwidth`", "cbs: most credit, in bytes"),
        &key(
            "locredit",
            "whole number",
            "from `bandwidth`",
            "cbs: least credit, in bytes, negative",
        ),
    ],
};

/// One line of a gate table.
pub const GATE: Section = Section {
    header: "entries = [{ … }] of taprio",
    keys: &[
        &key(
            "open",
            "list of whole numbers",
            "required",
            "the traffic classes that may send; the others wait",
        ),
        &key("interval", "duration", "required", "for how long"),
    ],
};
