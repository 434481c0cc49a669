//! `--set PATH=VALUE`: overrides from the command line, laid over the file.

use crate::cases::PER_CASE;
use crate::keys::file::FILE;
use crate::keys::flow::FLOW;
use crate::log::Log;
use crate::suggest::did_you_mean;
use crate::syntax::parse_value;
use crate::tree::{Entry, Node, Origin, Table, Value};

/// The overrides as a table to be merged over the file, and again over each
/// case, so that `flows.cycle.frames` wins over every case's own.
pub(crate) fn overlay(file: &Table, overrides: &[(String, String)], log: &Log) -> Table {
    let mut overlay = Table::default();
    for (index, (path, value)) in overrides.iter().enumerate() {
        let at = Origin::Set(index);
        let segments: Vec<&str> = path.split('.').map(str::trim).collect();
        if refused(file, &segments, at, log) {
            continue;
        }
        let mut node = parse_value(value, at);
        for segment in segments.iter().rev() {
            let entry = Entry { key: (*segment).to_owned(), key_at: at, node };
            node = Node { at, value: Value::Table(Table { entries: vec![entry] }) };
        }
        if let Value::Table(chain) = node.value {
            overlay.merge(&chain);
        }
    }
    overlay
}

/// The part of an overlay that concerns every case.
pub(crate) fn for_cases(overlay: &Table) -> Table {
    let shared = |e: &&Entry| PER_CASE.contains(&e.key.as_str());
    Table { entries: overlay.entries.iter().filter(shared).cloned().collect() }
}

/// Reports a path that leads nowhere. Keys further down are checked with the
/// file's own, when it is read.
fn refused(file: &Table, path: &[&str], at: Origin, log: &Log) -> bool {
    let (first, rest) = match path {
        [first, rest @ ..] if !path.iter().any(|s| s.is_empty()) => (*first, rest),
        _ => {
            log.mistake(at, "this is not a path", "Write for example flows.cycle.frames=1000.");
            return true;
        }
    };
    if FILE.key(first).is_none() {
        let flow = names(file, "flows").into_iter().next();
        let guess = match flow {
            Some(flow) if rest.is_empty() && FLOW.key(first).is_some() => {
                format!("; did you mean `flows.{flow}.{first}`?")
            }
            _ => did_you_mean(first, FILE.names()),
        };
        log.mistake(at, format!("the file has no `{first}`{guess}"), "");
        return true;
    }
    let what = match first {
        "flows" => "flow",
        "round-trips" => "table of round trips",
        "wires" => "wire",
        "cases" => "case",
        _ => return false,
    };
    let Some(name) = rest.first() else {
        log.mistake(
            at,
            format!("`{first}` as a whole cannot be set"),
            format!("Name one value, for example {first}.NAME.KEY=VALUE."),
        );
        return true;
    };
    let known = names(file, first);
    if known.contains(name) {
        return false;
    }
    let guess = did_you_mean(name, known.iter().copied());
    let help = match known.as_slice() {
        [] => String::new(),
        known => format!("There is {}.", crate::suggest::list(known)),
    };
    log.mistake(at, format!("there is no {what} `{name}`{guess}"), help);
    true
}

/// The names below `kind` in the file or in any of its cases.
fn names<'a>(file: &'a Table, kind: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = file.table(kind).map(|t| t.keys().collect()).unwrap_or_default();
    let cases = file.table("cases");
    for case in cases.iter().flat_map(|t| &t.entries) {
        if let Value::Table(case) = &case.node.value {
            let more = case.table(kind).into_iter().flat_map(Table::keys);
            names.extend(more.filter(|n| !names.contains(n)).collect::<Vec<_>>());
        }
    }
    names
}
