//! What decides about the question.

use crate::fields::{Fields, Found};
use crate::log::Log;
use crate::scenario::{Judge, JudgeBy};
use crate::schema;
use crate::tree::{Node, Origin, Value};

const BY: [(&str, JudgeBy); 6] = [
    ("interval", JudgeBy::Interval),
    ("schedule", JudgeBy::Schedule),
    ("gates", JudgeBy::Gates),
    ("shaping", JudgeBy::Shaping),
    ("loss", JudgeBy::Loss),
    ("round-trip", JudgeBy::RoundTrip),
];

const PAIR: &str = "[\"normal\", \"etf\"]";

/// As written, with the places for what is found wrong later.
pub(crate) struct JudgeDraft {
    pub judge: Judge,
    pub flow_at: Origin,
    pub cases_at: Origin,
    pub by_at: Origin,
    pub rank_at: Origin,
}

/// The file's `judge`; the default where it has none.
pub(crate) fn read(file: &Fields<'_>, log: &Log) -> Option<JudgeDraft> {
    let example = "{ flow = \"cycle\", by = \"interval\" }";
    let found = file.table("judge", example).and_then(|table| {
        let fields = Fields::new(table, file.place("judge"), &schema::JUDGE, "`judge`", log);
        let flow = fields.text("flow", "\"cycle\"").map(str::to_owned).settle().ok()?;
        let by = fields.choice("by", &BY).or_default(JudgeBy::Interval)?;
        let cases = fields.array("cases", PAIR).and_then(|nodes| pair(nodes, &fields, log));
        let rank = fields.flag("rank").or_default(false)?;
        let judge = Judge { flow, cases: cases.settle().ok()?, by, rank };
        let (flow_at, by_at) = (fields.place("flow"), fields.place("by"));
        let (cases_at, rank_at) = (fields.place("cases"), fields.place("rank"));
        Some(JudgeDraft { judge, flow_at, cases_at, by_at, rank_at })
    });
    match found {
        Found::Value(draft) => Some(draft),
        Found::Wrong => None,
        Found::Absent => {
            let at = file.at();
            let judge = Judge::default();
            Some(JudgeDraft { judge, flow_at: at, cases_at: at, by_at: at, rank_at: at })
        }
    }
}

/// Two different names; whether there are such cases is seen later.
fn pair(nodes: &[Node], fields: &Fields<'_>, log: &Log) -> Option<[String; 2]> {
    let names: Vec<&str> = nodes
        .iter()
        .filter_map(|node| match &node.value {
            Value::Text(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        [one, other] if nodes.len() == 2 && one != other => {
            Some([(*one).to_owned(), (*other).to_owned()])
        }
        _ => {
            log.mistake(
                fields.place("cases"),
                "`cases` of `judge` is a list of two different cases",
                format!("Write the baseline first, for example cases = {PAIR}"),
            );
            None
        }
    }
}
