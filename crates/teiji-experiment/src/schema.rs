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
        key(
            "judge",
            "table `{ flow, cases, by }`",
            "the intervals of the first flow",
            "whose figures, and which, answer the question",
        ),
        key("wires", "tables", "required", "the wires, `[wires.NAME]`"),
        key(
            "hosts",
            "tables",
            "`{}`",
            "what is special about a host, `[hosts.NAME]`; hosts exist by being named in a wire",
        ),
        key("flows", "tables", "`{}`", "what is sent, `[flows.NAME]`"),
        key(
            "round-trips",
            "tables",
            "`{}`",
            "what is asked and answered, `[round-trips.NAME]`; a case has flows, round trips, or both",
        ),
        key(
            "loads",
            "list of `\"cpu\"`, `\"timer\"`, `\"memory\"`, `\"udp-tx\"`, `\"udp-rx\"`, `\"tcp-tx\"`, `\"tcp-rx\"`",
            "none",
            "what the machine does beside, in ordinary threads",
        ),
        key(
            "require",
            "list of text",
            "none",
            "what every case must fulfil, such as `\"range <= 20us\"`; decides over the exit code",
        ),
        key("cases", "tables", "one case, `default`", "what is compared, `[cases.NAME]`"),
    ],
};

/// What answers the question.
pub const JUDGE: Section = Section {
    header: "judge = { … } of the file",
    keys: &[
        key(
            "flow",
            "name",
            "interval, shaping: the first flow that is no background; schedule: all of these; gates: all flows; round-trip: the first round trips",
            "the flow that decides, or the round trips",
        ),
        key(
            "cases",
            "list of two names",
            "`normal` (or the first case), and the best of the others",
            "interval, round-trip: the two cases that the answer compares, the baseline first",
        ),
        key(
            "by",
            "`\"interval\"`, `\"schedule\"`, `\"gates\"`, `\"shaping\"` or `\"round-trip\"`",
            "`\"interval\"`; where there are no flows, `\"round-trip\"`",
            "how regular its intervals are, how close its departures are to the planned ones, whether its frames leave within their class's gates (taprio), whether its class keeps to bandwidth and burst (cbs), or how long round trips take",
        ),
    ],
};

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

/// A host.
pub const HOST: Section = Section {
    header: "[hosts.NAME]",
    keys: &[
        key(
            "cpu",
            "whole number",
            "any",
            "the CPU of its threads, interrupts and timers; the laboratory has as many as are named (virtual ones)",
        ),
        key("ports", "tables", "`{}`", "its end of each wire, `[hosts.NAME.ports.WIRE]`"),
        key(
            "ptp",
            "table `{ role, profile, system-clock }`",
            "none: its clocks run free",
            "its part in clock synchronisation",
        ),
        key(
            "system",
            "table",
            "the kernel as it is",
            "threads, budgets and limits of its kernel, `[hosts.NAME.system]`",
        ),
    ],
};

/// What a host's kernel does for all its ports.
pub const SYSTEM: Section = Section {
    header: "[hosts.NAME.system]",
    keys: &[
        key(
            "ksoftirqd",
            "table `{ policy, priority }`",
            "as it is: not real-time",
            "the threads `ksoftirqd/N`, which take over softirqs that nobody finishes; of the host's CPU, or of all",
        ),
        key(
            "ktimers",
            "table `{ policy, priority }`",
            "as it is: `fifo`, 1",
            "the threads `ktimers/N`, which run timers with PREEMPT_RT; likewise",
        ),
        key(
            "netdev-budget",
            "whole number, 1 …",
            "as it is: 300",
            "frames that one receive softirq takes before `ksoftirqd` goes on (`net.core.netdev_budget`)",
        ),
        key(
            "netdev-budget-time",
            "duration",
            "as it is: `\"8ms\"`",
            "for how long it does, whole microseconds; newer kernels take two ticks at least (`net.core.netdev_budget_usecs`)",
        ),
        key(
            "dev-weight",
            "whole number, 1 …",
            "as it is: 64",
            "frames that it takes from the backlog, and hands to the card, in one go (`net.core.dev_weight`)",
        ),
        key(
            "rt-runtime",
            "duration or `\"unlimited\"`",
            "as it is: `\"950ms\"`",
            "how long real-time threads may run of each second, whole microseconds (`kernel.sched_rt_runtime_us`)",
        ),
    ],
};

/// How a thread of the kernel is scheduled.
pub const THREAD: Section = Section {
    header: "ksoftirqd, ktimers = { … } of a system",
    keys: &[
        key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"`",
            "its scheduling policy; `other` is not real-time. A case that changes it starts from an empty table",
        ),
        key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "its real-time priority",
        ),
    ],
};

/// A host's part in clock synchronisation.
pub const PTP: Section = Section {
    header: "ptp = { … } of a host",
    keys: &[
        key(
            "role",
            "`\"grandmaster\"`, `\"slave\"` or `\"boundary\"`",
            "required",
            "its clock is the time of all, follows, or follows on one port and leads on the others",
        ),
        key(
            "profile",
            "`\"default\"` or `\"gptp\"`",
            "`\"default\"`",
            "IEEE 1588's default profile (end-to-end delay, once a second) or IEEE 802.1AS (peer delay, eight times a second)",
        ),
        key(
            "system-clock",
            "true or false",
            "`false`",
            "the system's clock, which all hosts share, follows this host's card (`phc2sys`)",
        ),
    ],
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
        key(
            "ring",
            "table `{ tx, rx }`",
            "the driver's choice",
            "vtsn: sizes of the descriptor rings",
        ),
        key(
            "moderation",
            "table `{ rx, tx }`",
            "the driver's choice",
            "vtsn: how long interrupts wait for further frames",
        ),
        key(
            "pause",
            "true or false",
            "the driver's choice",
            "vtsn: send and obey 802.3x PAUSE (`ethtool -A`)",
        ),
        key(
            "phc",
            "table `{ offset, drift, … }`",
            "like true time",
            "vtsn: how the port's hardware clock starts and runs",
        ),
        key(
            "launch-resolution",
            "duration",
            "`\"1ns\"`",
            "vtsn: the card keeps launch times to this; the i210 to 32 ns",
        ),
        key(
            "stamp-slots",
            "whole number, 0 …",
            "`0`, any number",
            "vtsn: how many transmit stamps may be under way; real cards have 1 to 4",
        ),
        key(
            "irq",
            "table `{ policy, priority, cpus }`",
            "as they are",
            "its interrupts and their threads",
        ),
        key(
            "napi",
            "table `{ threaded, … }`",
            "as it is",
            "how the kernel polls it: in threads or softirqs, with interrupts or without",
        ),
        key(
            "rps",
            "list of CPUs",
            "none",
            "the CPUs that process what any receive queue got (`rps_cpus`)",
        ),
        key(
            "xps",
            "list of lists of CPUs",
            "the driver's choice",
            "for each transmit queue from the first on, the CPUs that choose it (`xps_cpus`)",
        ),
        key(
            "bql",
            "whole number, 1 … 2000000000",
            "as it is",
            "most bytes that lie in the ring of each transmit queue (`byte_queue_limits/limit_max`)",
        ),
        key("qdisc", "table", "the kernel's default", "the queueing discipline, `[….qdisc]`"),
    ],
};

/// A port's interrupts.
pub const IRQ: Section = Section {
    header: "irq = { … } of a port",
    keys: &[
        key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"` with a priority",
            "scheduling of the threads `irq/NUMBER-…`; with PREEMPT_RT every interrupt has one",
        ),
        key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "their real-time priority; 50 unless somebody changed it",
        ),
        key(
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
        key(
            "threaded",
            "true or false",
            "`true` with one of the next three",
            "poll in threads `napi/PORT-NUMBER` instead of in softirqs",
        ),
        key(
            "policy",
            "`\"fifo\"`, `\"rr\"` or `\"other\"`",
            "`\"fifo\"` with a priority",
            "scheduling of these threads",
        ),
        key(
            "priority",
            "whole number, 1 … 99",
            "required for fifo and rr",
            "their real-time priority",
        ),
        key("cpus", "list of CPUs", "any", "where they run"),
        key(
            "defer-hard-irqs",
            "whole number, 0 …",
            "as it is: 0",
            "poll this often without finding frames before interrupts come on again (`napi_defer_hard_irqs`)",
        ),
        key(
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
        key(
            "tx",
            "whole number, 4 … 4096",
            "the driver's choice",
            "frames that may wait in each transmit queue; the driver rounds up to a power of two",
        ),
        key(
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
        key("rx", "duration", "the driver's choice", "after a received frame, whole microseconds"),
        key("tx", "duration", "the driver's choice", "after a sent frame, whole microseconds"),
    ],
};

/// A port's hardware clock.
pub const PHC: Section = Section {
    header: "phc = { … } of a port",
    keys: &[
        key("offset", "duration", "`0`", "it starts this much ahead of `CLOCK_TAI`"),
        key("drift", "`\"20ppm\"`, `\"-500ppb\"`", "`0`", "it runs this much too fast"),
        key("wander", "as drift", "`0`", "its rate swings up and down by this much …"),
        key(
            "wander-period",
            "duration",
            "the driver's choice",
            "… once within this time, whole milliseconds",
        ),
    ],
};

/// A root queueing discipline.
pub const QDISC: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc]",
    keys: &[
        key(
            "kind",
            "`\"cbs\"`, `\"default\"`, `\"etf\"`, `\"mqprio\"`, `\"pfifo\"`, `\"prio\"` or `\"taprio\"`",
            "required",
            "which one; `default` leaves or restores the kernel's own. A case that changes the kind starts from an empty table",
        ),
        key(
            "map",
            "list of 16 whole numbers",
            "required for mqprio and taprio; prio: the kernel's",
            "mqprio, prio, taprio: the class (or band) of each priority 0 … 15",
        ),
        key(
            "queues",
            "list of `\"COUNT@OFFSET\"`",
            "required for mqprio and taprio",
            "mqprio, taprio: the transmit queues of each class",
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
            "mqprio, prio, taprio: what hangs below a class or band, `[….qdisc.classes.NUMBER]`",
        ),
        key(
            "entries",
            "list of tables `{ open, interval }`",
            "required for taprio",
            "taprio: the gates, one after the other",
        ),
        key(
            "mode",
            "`\"software\"`, `\"txtime-assist\"` or `\"offload\"`",
            "`\"software\"`",
            "taprio: who opens the gates: the kernel's timer, launch times that an ETF below keeps, or the card",
        ),
        key(
            "base-time",
            "duration",
            "`0`",
            "taprio: cycles begin at this time of TAI and whole cycles before and after; the first departure of the flows falls onto the beginning of a cycle",
        ),
        key(
            "cycle",
            "duration",
            "the sum of the intervals",
            "taprio: length of the cycle; a shorter one cuts the last entries",
        ),
        key(
            "extension",
            "duration",
            "`0`",
            "taprio: how much longer the last cycle may become before a new table takes over",
        ),
        key(
            "txtime-delay",
            "duration",
            "required for txtime-assist",
            "taprio: how long a frame may take from the qdisc to the card",
        ),
        key("delta", "duration", "required for etf", "etf: as below"),
        key("clock", "`\"tai\"`", "`\"tai\"`", "etf: as below"),
        key("offload", "true or false", "`false`", "etf, cbs: as below"),
        key("deadline", "true or false", "`false`", "etf: as below"),
        key("skip-sock-check", "true or false", "`false`", "etf: as below"),
        key("limit", "whole number, 1 …", "`1000`", "pfifo: as below"),
        key("bandwidth", "rate such as `\"20Mbit/s\"`", "as below", "cbs: as below"),
        key("max-frame", "whole number, 64 …", "`1538`", "cbs: as below"),
        key("idleslope", "whole number", "as below", "cbs: as below"),
        key("sendslope", "whole number", "as below", "cbs: as below"),
        key("hicredit", "whole number", "as below", "cbs: as below"),
        key("locredit", "whole number", "as below", "cbs: as below"),
    ],
};

/// A queueing discipline below a class.
pub const CLASS: Section = Section {
    header: "[hosts.NAME.ports.WIRE.qdisc.classes.NUMBER]",
    keys: &[
        key(
            "kind",
            "`\"cbs\"`, `\"etf\"` or `\"pfifo\"`",
            "required",
            "which one; on mqprio and taprio it hangs below each queue of the class",
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
            "etf, cbs: the card keeps the launch time, or counts the credit; of the laboratory's cards only vtsn can",
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
        key(
            "bandwidth",
            "rate such as `\"20Mbit/s\"`",
            "required for cbs, or the four below",
            "cbs: the share of the wire it is meant to have; slopes and credits follow from it and the wire's rate, with one largest frame of others in the way",
        ),
        key(
            "max-frame",
            "whole number, 64 …",
            "`1538`",
            "cbs: with bandwidth: bytes of the largest frame of the class, with preamble, FCS and gap",
        ),
        key(
            "idleslope",
            "whole number",
            "from `bandwidth`",
            "cbs: credit gained while waiting, in kbit/s",
        ),
        key(
            "sendslope",
            "whole number",
            "from `bandwidth`",
            "cbs: credit spent while sending, in kbit/s, negative",
        ),
        key("hicredit", "whole number", "from `bandwidth`", "cbs: most credit, in bytes"),
        key(
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
        key(
            "open",
            "list of whole numbers",
            "required",
            "the traffic classes that may send; the others wait",
        ),
        key("interval", "duration", "required", "for how long"),
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
        key(
            "listener-busy-poll",
            "duration",
            "none",
            "the receiving thread polls the card for this long before it waits, whole microseconds (`SO_BUSY_POLL`)",
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
            "it is load: told in one line a case; late or failed sends of it are no shortfall",
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
        key("to", "name", "required", "the answering host, on the same wire"),
        key("wire", "name", "the only wire between the two", "the wire they take"),
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
        key(
            "kernel",
            "`\"debian:VERSION\"` or `\"debian:VERSION-rt\"`",
            "the command line's",
            "the kernel it runs on in the laboratory",
        ),
        key("wires", "tables", "`{}`", "overrides `[wires.…]`"),
        key("hosts", "tables", "`{}`", "overrides `[hosts.…]`"),
        key("flows", "tables", "`{}`", "overrides `[flows.…]`"),
        key("round-trips", "tables", "`{}`", "overrides `[round-trips.…]`"),
        key("loads", "as above", "the file's", "replaces `loads`"),
        key("require", "as above", "the file's", "replaces `require`"),
    ],
};

/// All sections, in the order of the documentation.
pub const SECTIONS: [&Section; 20] = [
    &FILE,
    &JUDGE,
    &WIRE,
    &HOST,
    &PTP,
    &SYSTEM,
    &THREAD,
    &PORT,
    &RING,
    &MODERATION,
    &PHC,
    &IRQ,
    &NAPI,
    &QDISC,
    &CLASS,
    &GATE,
    &FLOW,
    &VLAN,
    &ROUND_TRIPS,
    &CASE,
];

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
