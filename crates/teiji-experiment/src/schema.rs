//! Every key of an experiment file, by section. The reader accepts exactly
//! these; docs/experiments.md prints exactly these.

mod flow_profile;
mod host;
mod port;
mod qdisc;
mod traffic;

pub use flow_profile::{FLOW_PORT, FLOW_PROFILE};
pub use host::{HOST, PTP, SYSTEM, THREAD};
pub use port::{IRQ, MODERATION, NAPI, PHC, PORT, RING};
pub use qdisc::{CLASS, GATE, QDISC};
pub use traffic::WIRE;

pub use crate::keys::flow::{FLOW, VLAN};
pub use crate::keys::round_trips::ROUND_TRIPS;
pub use crate::keys::{Declared, Section};

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

impl Declared for Key {
    fn name(&self) -> &'static str {
        self.name
    }
    fn kind(&self) -> String {
        self.kind.to_owned()
    }
    fn default(&self) -> String {
        self.default.to_owned()
    }
    fn meaning(&self) -> &'static str {
        self.meaning
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
        &key("name", "name", "required", "names run folders: lower-case letters, digits and `-`"),
        &key(
            "question",
            "text",
            "required",
            "what the experiment asks, one sentence; stands at the top of the report",
        ),
        &key(
            "paper",
            "`\"etf\"`, `\"ksoftirqd\"` or `\"prioflow\"`",
            "none",
            "whose published figures stand beside the result (`papers/`)",
        ),
        &key(
            "paper-differences",
            "list of texts",
            "`[]`",
            "in what the set-up differs from the paper's, one sentence each; beside the figures in the report",
        ),
        &key(
            "seed",
            "whole number",
            "`1`",
            "seed of the laboratory when the command line gives none",
        ),
        &key(
            "judge",
            "table `{ flow, cases, by, rank }`",
            "the intervals of the first flow",
            "whose figures, and which, answer the question",
        ),
        &key(
            "instruction",
            "`\"125ps\"`, `\"250ps\"`, `\"500ps\"`, `\"1ns\"`, `\"2ns\"`, `\"4ns\"`, `\"8ns\"` or `\"16ns\"`",
            "`\"2ns\"`",
            "how long the laboratory's processor takes for an instruction; less than 1 ns only where all cards are vtsn",
        ),
        &key("wires", "tables", "required", "the wires, `[wires.NAME]`"),
        &key(
            "hosts",
            "tables",
            "`{}`",
            "what is special about a host, `[hosts.NAME]`; hosts exist by being named in a wire",
        ),
        &key("flows", "tables", "`{}`", "what is sent, `[flows.NAME]`"),
        &key(
            "round-trips",
            "tables",
            "`{}`",
            "request/response tests, `[round-trips.NAME]`; a case has flows, round trips, or both",
        ),
        &key(
            "loads",
            "list of `\"cpu\"`, `\"timer\"`, `\"memory\"`, `\"disk\"`, `\"udp-tx\"`, `\"udp-rx\"`, `\"tcp-tx\"`, `\"tcp-rx\"`",
            "none",
            "background load, in ordinary threads",
        ),
        &key(
            "require",
            "list of text",
            "none",
            "what every case must fulfil, such as `\"range <= 20us\"`; decides over the exit code",
        ),
        &key("cases", "tables", "one case, `default`", "what is compared, `[cases.NAME]`"),
    ],
};

/// What answers the question.
pub const JUDGE: Section = Section {
    header: "judge = { … } of the file",
    keys: &[
        &key(
            "flow",
            "name",
            "interval, shaping: the first flow that is no background; schedule: all of these; gates: all flows; round-trip: the first round trips",
            "the flow that decides, or the round trips",
        ),
        &key(
            "cases",
            "list of two names",
            "`normal` (or the first case), and the best of the others",
            "interval, round-trip: the two cases that the answer compares, the baseline first",
        ),
        &key(
            "by",
            "`\"interval\"`, `\"schedule\"`, `\"gates\"`, `\"shaping\"`, `\"loss\"` or `\"round-trip\"`",
            "`\"interval\"`; where there are no flows, `\"round-trip\"`",
            "how regular its intervals are, how close its departures are to the planned ones, whether its frames leave within their class's gates (taprio), whether its class keeps to bandwidth and burst (cbs), whether all frames arrive, or how long round trips take",
        ),
        &key(
            "rank",
            "true or false",
            "`false`",
            "the cases are remedies for one situation: rank them, and give the best one as a file",
        ),
    ],
};

/// A case.
pub const CASE: Section = Section {
    header: "[cases.NAME]",
    keys: &[
        &key("about", "text", "empty", "one line for people"),
        &key(
            "paper",
            "text",
            "none",
            "the key under `[result.…]` of the paper's figures this case stands beside",
        ),
        &key(
            "inherits",
            "name",
            "the file itself",
            "another case to start from; its `about` and `paper` are not inherited",
        ),
        &key(
            "kernel",
            "`\"debian:VERSION\"` or `\"debian:VERSION-rt\"`",
            "the command line's",
            "the kernel it runs on in the laboratory",
        ),
        &key("instruction", "as above", "the file's", "replaces `instruction`"),
        &key("wires", "tables", "`{}`", "overrides `[wires.…]`"),
        &key("hosts", "tables", "`{}`", "overrides `[hosts.…]`"),
        &key("flows", "tables", "`{}`", "overrides `[flows.…]`"),
        &key("round-trips", "tables", "`{}`", "overrides `[round-trips.…]`"),
        &key("loads", "as above", "the file's", "replaces `loads`"),
        &key("require", "as above", "the file's", "replaces `require`"),
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

/// The papers whose figures exist (`papers/<name>.toml`), and what a case may stand beside.
pub const PAPERS: [(&str, &[&str]); 3] = [
    ("etf", &["etf", "normal"]),
    (
        "ksoftirqd",
        &[
            "jitter.none.not_rt",
            "jitter.none.rt1",
            "jitter.tcp_transmit.not_rt",
            "jitter.tcp_transmit.rt1",
            "jitter.tcp_receive.not_rt",
            "jitter.tcp_receive.rt1",
            "rtt.none.not_rt",
            "rtt.none.rt1",
            "rtt.tcp_transmit.not_rt",
            "rtt.tcp_transmit.rt1",
            "rtt.tcp_receive.not_rt",
            "rtt.tcp_receive.rt1",
        ],
    ),
    ("prioflow", &["baseline_loss", "xoff", "loss", "rtt_under_saturation", "bandwidth"]),
];

/// The section as the table of docs/experiments.md.
pub fn markdown(section: &Section) -> String {
    let mut text = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in section.keys {
        let name = format!("`{}`", key.name());
        let row = ["", &name, &key.kind(), &key.default(), key.meaning(), ""];
        text.push_str(row.join(" | ").trim());
        text.push('\n');
    }
    text
}
