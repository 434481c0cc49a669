//! Every key of an experiment file, by section. The reader accepts exactly
//! these; docs/experiments.md prints exactly these.

/// One key of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// What its value is, in words.
    pub kind: &'static str,
    /// What holds when it is left out; `required` if it must not be.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A table of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its header, with placeholders in capitals.
    pub header: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

impl Section {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
}

const fn key(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { name, kind, default, meaning }
}

/// The top of the file.
pub const FILE: Section = Section {
    header: "(top of the file)",
    keys: &[
        key("name", "name", "required", "names run folders: lower-case letters, digits and `-`"),
        key(
            "question",
            "text",
            "required",
            "what the experiment asks, one sentence; stands at the top of the report",
        ),
        key(
            "paper",
            "`\"etf\"`, `\"ksoftirqd\"` or `\"prioflow\"`",
            "none",
            "whose published figures stand beside the result (`papers/`)",
        ),
        key(
            "seed",
            "whole number",
            "`1`",
            "seed of the laboratory when the command line gives none",
        ),
        key("wires", "tables", "required", "the wires, `[wires.NAME]`"),
        key(
            "hosts",
            "tables",
            "`{}`",
            "what is special about a host, `[hosts.NAME]`; hosts exist by being named in a wire",
        ),
        key("flows", "tables", "required", "what is sent, `[flows.NAME]`"),
        key("cases", "tables", "one case, `default`", "what is compared, `[cases.NAME]`"),
    ],
};

/// A wire.
pub const WIRE: Section = Section {
    header: "[wires.NAME]",
    keys: &[
        key("between", "list of two names", "required", "the two hosts it joins"),
        key(
            "nic",
            "`\"e1000e\"`, `\"igb\"` or `\"rtl8139\"`",
            "`\"igb\"`",
            "the card the laboratory puts at both ends; `--on local` uses veth or your interfaces instead",
        ),
    ],
};

/// A host.
pub const HOST: Section = Section {
    header: "[hosts.NAME]",
    keys: &[key("ports", "tables", "`{}`", "its end of each wire, `[hosts.NAME.ports.WIRE]`")],
};

/// A host's end of a wire.
pub const PORT: Section = Section {
    header: "[hosts.NAME.ports.WIRE]",
    keys: &[
        key(
            "mac",
            "MAC address",
            "`02:74:65:6a:WIRE:END`",
            "its MAC address; a real card keeps its own",
        ),
        key(
            "ipv4",
            "IPv4 address",
            "`10.WIRE.0.END`",
            "its address in a /24; wires and ends count from 1",
        ),
        key("ipv6", "IPv6 address", "`fd74:656a:WIRE::END`", "its address in a /64"),
        key(
            "queues",
            "whole number, 1 …",
            "what `qdisc` needs, else the driver's choice",
            "number of transmit queues (`ethtool -L`)",
        ),
        key("qdisc", "table", "the kernel's default", "the queueing discipline, `[….qdisc]`"),
    ],
};

/// A root queueing discipline.
pub const QDISC: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc]",
    keys: &[
        key(
            "kind",
            "`\"default\"`, `\"etf\"`, `\"mqprio\"`, `\"pfifo\"` or `\"prio\"`",
            "required",
            "which one; `default` leaves or restores the kernel's own. A case that changes the kind starts from an empty table",
        ),
        key(
            "map",
            "list of 16 whole numbers",
            "required for mqprio; prio: the kernel's",
            "mqprio, prio: the class (or band) of each priority 0 … 15",
        ),
        key(
            "queues",
            "list of `\"COUNT@OFFSET\"`",
            "required for mqprio",
            "mqprio: the transmit queues of each class",
        ),
        key("hw", "true or false", "`false`", "mqprio: let the card do it"),
        key(
            "bands",
            "whole number, 2 … 16",
            "as many as `map` uses, at least 3",
            "prio: number of bands; band 0 is served first",
        ),
        key(
            "classes",
            "tables",
            "`{}`",
            "mqprio, prio: what hangs below a class or band, `[….qdisc.classes.NUMBER]`",
        ),
        key("delta", "duration", "required for etf", "etf: as below"),
        key("clock", "`\"tai\"`", "`\"tai\"`", "etf: as below"),
        key("offload", "true or false", "`false`", "etf: as below"),
        key("deadline", "true or false", "`false`", "etf: as below"),
        key("skip-sock-check", "true or false", "`false`", "etf: as below"),
        key("limit", "whole number, 1 …", "`1000`", "pfifo: as below"),
    ],
};

/// A queueing discipline below a class.
pub const CLASS: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc.classes.NUMBER]",
    keys: &[
        key(
            "kind",
            "`\"etf\"` or `\"pfifo\"`",
            "required",
            "which one; on mqprio it hangs below each queue of the class",
        ),
        key(
            "delta",
            "duration",
            "required for etf",
            "etf: a frame goes to the card this long before its launch time. Without offload it *leaves* that early",
        ),
        key(
            "clock",
            "`\"tai\"`",
            "`\"tai\"`",
            "etf: the clock of launch times; the kernel accepts TAI only",
        ),
        key(
            "offload",
            "true or false",
            "`false`",
            "etf: the card keeps the launch time; none of the laboratory's cards can",
        ),
        key(
            "deadline",
            "true or false",
            "`false`",
            "etf: launch times are deadlines; must agree with the flow's `deadline`",
        ),
        key(
            "skip-sock-check",
            "true or false",
            "`false`",
            "etf: do not compare the frame's socket with these settings (`skip_sock_check`)",
        ),
        key("limit", "whole number, 1 …", "`1000`", "pfifo: how many packets may wait"),
    ],
};

/// A flow.
pub const FLOW: Section = Section {
    header: "[flows.NAME]",
    keys: &[
        key("from", "name", "required", "the sending host"),
        key("to", "name", "required", "the receiving host, on the same wire"),
        key("wire", "name", "the only wire between the two", "the wire it takes"),
        key("period", "duration", "required", "distance between two departures"),
        key("frames", "whole number, 1 …", "required", "how many frames are sent"),
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
        key("port", "whole number, 1 … 65535", "`7788`", "udp4, udp6: destination port"),
        key("vlan", "table `{ pcp, id }`", "untagged", "ethernet: 802.1Q tag"),
        key(
            "mode",
            "`\"on-wake-up\"` or `\"launch-time\"`",
            "`\"on-wake-up\"`",
            "send when the thread wakes, or hand over one margin earlier with the departure time (`SO_TXTIME`)",
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
        key("cpu", "whole number", "any", "CPU of the sending thread"),
        key(
            "tx-stamps",
            "true or false",
            "`false`",
            "ask the kernel when each frame was sent; costs time between two frames",
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

/// A case.
pub const CASE: Section = Section {
    header: "[cases.NAME]",
    keys: &[
        key("about", "text", "empty", "one line for people"),
        key(
            "paper",
            "text",
            "none",
            "the key under `[result.…]` of the paper's figures this case stands beside",
        ),
        key(
            "inherits",
            "name",
            "the file itself",
            "another case to start from; its `about` and `paper` are not inherited",
        ),
        key("wires", "tables", "`{}`", "overrides `[wires.…]`"),
        key("hosts", "tables", "`{}`", "overrides `[hosts.…]`"),
        key("flows", "tables", "`{}`", "overrides `[flows.…]`"),
    ],
};

/// All sections, in the order of the documentation.
pub const SECTIONS: [&Section; 9] =
    [&FILE, &WIRE, &HOST, &PORT, &QDISC, &CLASS, &FLOW, &VLAN, &CASE];

/// The papers whose figures exist (`papers/<name>.toml`).
pub const PAPERS: [&str; 3] = ["etf", "ksoftirqd", "prioflow"];

/// The section as the table of docs/experiments.md.
pub fn markdown(section: &Section) -> String {
    let mut text = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for Key { name, kind, default, meaning } in section.keys {
        let row = ["", &format!("`{name}`"), kind, default, meaning, ""];
        text.push_str(row.join(" | ").trim());
        text.push('\n');
    }
    text
}
