//! The loads of a case.

use teiji_core::load::LoadKind;

use crate::fields::Fields;
use crate::keys::file::LOADS;
use crate::log::Log;
use crate::suggest::{did_you_mean, list};
use crate::tree::{Node, Value};

/// None if `loads` was wrong.
pub(super) fn read(file: &Fields<'_>, log: &Log) -> Option<Vec<LoadKind>> {
    let found = file.items(&LOADS).and_then(|items| {
        // All are looked at, so that all mistakes are reported.
        let read: Vec<Option<LoadKind>> = items.iter().map(|item| read_one(item, log)).collect();
        let loads: Option<Vec<LoadKind>> = read.into_iter().collect();
        let twice = |loads: &Vec<LoadKind>| {
            (0..loads.len()).find(|index| loads[..*index].contains(&loads[*index]))
        };
        if let Some(index) = loads.as_ref().and_then(twice) {
            log.mistake(
                items[index].at,
                "this load is there twice",
                "A load runs once per case; name each once.",
            );
            return None;
        }
        loads
    });
    found.or_default(Vec::new())
}

fn read_one(item: &Node, log: &Log) -> Option<LoadKind> {
    let names = LoadKind::ALL.map(LoadKind::name);
    let text = match &item.value {
        Value::Text(text) => text.as_str(),
        Value::Broken => return None,
        other => {
            let message = format!("a load is named by text, not by {}", other.kind());
            log.mistake(
                item.at,
                message,
                format!("Write for example loads = {}", LOADS.limits.example),
            );
            return None;
        }
    };
    let found = text.parse().ok();
    if found.is_none() {
        let guess = did_you_mean(text, names.iter().copied());
        log.mistake(
            item.at,
            format!("there is no load `{text}`{guess}"),
            format!("There is {}.", list(&names)),
        );
    }
    found
}
