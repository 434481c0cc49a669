//! The top of the file, its `judge`, and `[cases.NAME]`.

use serde_json::{Value as Json, json};

use super::flow::FLOW;
use super::host::HOST;
use super::list::{Item, Items, Tables, list};
use super::round_trips::ROUND_TRIPS;
use super::value::{Choice, Keys, and, form, int, name, one_of, quoted, table, text};
use super::wire::WIRE;
use super::{Absent, Kind, Value, section};
use crate::fields::{Fields, Found};
use crate::scenario::{InstructionTime, JudgeBy};
use teiji_core::load::LoadKind;

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

impl Choice for &'static str {}

const PAPER_NAMES: [(&str, &str); 3] =
    [(PAPERS[0].0, PAPERS[0].0), (PAPERS[1].0, PAPERS[1].0), (PAPERS[2].0, PAPERS[2].0)];

const DIFFERENCES: &str = "[\"The NIC is vtsn, not an i210.\"]";
const QUESTION_EXAMPLE: &str = "\"Does a launch time make sending more regular?\"";
const REQUIREMENTS: &str = "[\"range <= 20us\", \"lost = 0\"]";

fn loads() -> Vec<&'static str> {
    LoadKind::ALL.map(LoadKind::name).to_vec()
}

section! {
    section FILE of "(top of the file)";
    keys {
        /// name of the run folders: lower-case letters, digits and `-`
        const NAME: String = "name", name("\"etf\""), Absent::Required("\"etf\"");
        /// the question of the experiment, one sentence; at the top of the report
        const QUESTION: String =
            "question", text(QUESTION_EXAMPLE), Absent::Required(QUESTION_EXAMPLE);
        /// the paper whose published figures the report shows beside the result (`papers/`)
        const PAPER: &'static str =
            "paper", one_of(&PAPER_NAMES), Absent::Means("none");
        /// differences between the set-up and the paper's, one sentence each; the report shows them
        /// beside the figures
        const PAPER_DIFFERENCES: Items =
            "paper-differences", list(Item::Text, DIFFERENCES), Absent::Means("`[]`");
        /// seed of the laboratory, if the command line gives none
        const SEED: u64 = "seed", int(0, u64::MAX), Absent::Default(1);
        /// the flow, and the figures of it, that answer the question
        const JUDGED: Keys = "judge",
            table(&JUDGE, "{ flow = \"cycle\", by = \"interval\" }"),
            Absent::Means("the intervals of the first flow");
        /// time per instruction of the laboratory's CPU; less than 1 ns only if all NICs are vtsn
        const INSTRUCTION: InstructionTime =
            "instruction", (), Absent::Default(InstructionTime::DEFAULT);
        /// the wires, `[wires.NAME]`
        const WIRES: Tables = "wires", &WIRE, Absent::Required("{}");
        /// settings of hosts, `[hosts.NAME]`; wires define the hosts by naming them
        const HOSTS: Tables = "hosts", &HOST, Absent::Means("`{}`");
        /// periodic flows, `[flows.NAME]`
        const FLOWS: Tables = "flows", &FLOW, Absent::Means("`{}`");
        /// request/response tests, `[round-trips.NAME]`; a case has flows, round trips, or both
        const ROUND_TRIP_TABLES: Tables = "round-trips", &ROUND_TRIPS, Absent::Means("`{}`");
        /// background loads, in ordinary threads
        const LOADS: Items = "loads", list(Item::OneOf(loads), "[\"cpu\"]"), Absent::Means("none");
        /// requirements of every case, such as `"range <= 20us"`; they determine the exit code
        const REQUIRE: Items = "require", list(Item::Text, REQUIREMENTS), Absent::Means("none");
        /// the cases to compare, `[cases.NAME]`
        const CASES: Tables = "cases", &CASE, Absent::Means("one case, `default`");
    }
}

impl Choice for JudgeBy {}

section! {
    section JUDGE of "judge = { … } of the file";
    keys {
        /// the flow, or the round trips, that answer the question
        const JUDGED_FLOW: String = "flow", name("\"cycle\""), Absent::Means(
            "interval, shaping: the first flow that is no background; schedule: all of these; \
             gates: all flows; round-trip: the first round trips"
        );
        /// interval, round-trip: the two cases to compare, the baseline first
        const COMPARED: Items = "cases",
            list(Item::Name, "[\"normal\", \"etf\"]").length(2, 2),
            Absent::Means("`normal` (or the first case), and the best of the others");
        /// `interval`: regularity of the intervals; `schedule`: deviation of the departures from
        /// the schedule; `gates`: frames within the gates of their class (taprio); `shaping`:
        /// bandwidth and burst of the class (cbs); `loss`: arrival of all frames; `round-trip`:
        /// duration of the round trips
        const BY: JudgeBy = "by",
            one_of(&[
                ("interval", JudgeBy::Interval),
                ("schedule", JudgeBy::Schedule),
                ("gates", JudgeBy::Gates),
                ("shaping", JudgeBy::Shaping),
                ("loss", JudgeBy::Loss),
                ("round-trip", JudgeBy::RoundTrip),
            ]),
            Absent::Described(
                JudgeBy::Interval,
                "`\"interval\"`; where there are no flows, `\"round-trip\"`"
            );
        /// the cases are remedies for one situation: rank them, and write the best one to a file
        const RANK: bool = "rank", (), Absent::Default(false);
    }
}

section! {
    section CASE of "[cases.NAME]";
    keys {
        /// description of the case, one line
        const ABOUT: String = "about", text("\"wake and send\""), Absent::Means("empty");
        /// key under `[result.…]` of the paper's figures that belong to this case
        const CASE_PAPER: String = "paper", text("\"normal\""), Absent::Means("none");
        /// the case to start from; its `about` and `paper` are not inherited
        const INHERITS: String = "inherits", name("\"normal\""), Absent::Means("the file itself");
        /// the laboratory's kernel for this case
        const KERNEL: String = "kernel",
            form(
                "`\"debian:VERSION\"` or `\"debian:VERSION-rt\"`, for ARM with `/arm64` or `/armhf`",
                "^debian:([0-9]+(\\.[0-9]+)+|newest)(-rt)?(/[a-z0-9]+)?$",
                "\"debian:6.12-rt\""
            ),
            Absent::Means("the command line's");
        /// replaces `instruction`
        const CASE_INSTRUCTION: InstructionTime =
            "instruction", (), Absent::Means("the file's");
        /// overrides `[wires.…]`
        const CASE_WIRES: Tables = "wires", &WIRE, Absent::Means("`{}`");
        /// overrides `[hosts.…]`
        const CASE_HOSTS: Tables = "hosts", &HOST, Absent::Means("`{}`");
        /// overrides `[flows.…]`
        const CASE_FLOWS: Tables = "flows", &FLOW, Absent::Means("`{}`");
        /// overrides `[round-trips.…]`
        const CASE_ROUND_TRIPS: Tables = "round-trips", &ROUND_TRIPS, Absent::Means("`{}`");
        /// replaces `loads`
        const CASE_LOADS: Items =
            "loads", list(Item::OneOf(loads), "[\"cpu\"]"), Absent::Means("the file's");
        /// replaces `require`
        const CASE_REQUIRE: Items =
            "require", list(Item::Text, REQUIREMENTS), Absent::Means("the file's");
    }
}

/// A time of an instruction as the file has it.
fn written(time: InstructionTime) -> String {
    time.to_string().replace(' ', "")
}

/// All times that an instruction may take, in words: `125 ps, 250 ps … or 16 ns`.
fn times() -> String {
    let times: Vec<String> = InstructionTime::all().map(|time| time.to_string()).collect();
    and(&times.iter().map(String::as_str).collect::<Vec<_>>(), "or")
}

/// All times that an instruction may take, as the file has them.
fn instruction_times() -> Vec<String> {
    InstructionTime::all().map(written).collect()
}

impl Kind for InstructionTime {
    type Limits = ();

    fn words((): &()) -> String {
        let times = instruction_times();
        and(&quoted(&times.iter().map(String::as_str).collect::<Vec<_>>()), "or")
    }

    fn schema((): &()) -> Json {
        json!({ "enum": instruction_times() })
    }

    fn toml(&self, (): &()) -> String {
        format!("{:?}", written(*self))
    }
}

impl Value for InstructionTime {
    fn read((): &(), key: &'static str, fields: &Fields<'_>) -> Found<Self> {
        fields.duration(key, "\"2ns\"").and_then(|text| {
            let time = Self::parse(text);
            if time.is_none() {
                fields.refuse(
                    key,
                    format!("{key} = \"{text}\" is not possible"),
                    format!("The laboratory's processor takes {} for an instruction.", times()),
                );
            }
            time
        })
    }
}
