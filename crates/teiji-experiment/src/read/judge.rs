//! Reads `judge`: what answers the question.

use crate::fields::{Fields, Found};
use crate::keys::file as keys;
use crate::log::Log;
use crate::scenario::Judge;
use crate::tree::{Node, Origin, Value};

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
    let found = file.below(&keys::JUDGED, "`judge`").and_then(|fields| {
        let flow = fields.take(&keys::JUDGED_FLOW).settle().ok()?;
        let by = fields.settled(&keys::BY)?;
        let cases = fields.items(&keys::COMPARED).and_then(|nodes| pair(nodes, &fields, log));
        let rank = fields.settled(&keys::RANK)?;
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
                format!(
                    "Write the baseline first, for example cases = {}",
                    keys::COMPARED.limits.example
                ),
            );
            None
        }
    }
}
