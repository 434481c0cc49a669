//! Cases: each one the file itself, overridden by its ancestors and by what it
//! says.

use crate::fields::{Fields, Named};
use crate::keys::file::{self as keys, CASE};
use crate::log::{CaseLabel, Log};
use crate::suggest::{did_you_mean, list};
use crate::tree::{Entry, Origin, Table};

/// The keys of a file that a case may override.
pub(crate) const PER_CASE: [&str; 7] =
    ["instruction", "wires", "hosts", "flows", "round-trips", "loads", "require"];

/// What a case resolves to: complete tables, nothing left to inherit.
pub(crate) struct ResolvedCase {
    pub label: CaseLabel,
    pub about: String,
    pub paper: Option<String>,
    /// Where `paper` was written.
    pub paper_at: Origin,
    pub kernel: Option<String>,
    /// The keys of [`PER_CASE`].
    pub table: Table,
}

/// The file's cases in its order; one called `default` if it has none.
pub(crate) fn resolve(
    file: &Fields<'_>,
    root: &Table,
    shared: &Table,
    log: &Log,
) -> Vec<ResolvedCase> {
    let base = scenario_part(root);
    let cases = file.tables("cases", "a case");
    if cases.is_empty() {
        if let Some(node) = file.node("cases") {
            // Cases that cannot be read were reported; an empty table was not.
            if !log.is_fatal() {
                log.mistake(
                    node.at,
                    "[cases] is empty",
                    "Leave it out for a single case, or write [cases.NAME].",
                );
            }
        }
        let label = CaseLabel { name: "default".to_owned(), ..CaseLabel::default() };
        let paper_at = file.at();
        return vec![ResolvedCase {
            label,
            about: String::new(),
            paper: None,
            paper_at,
            kernel: None,
            table: base,
        }];
    }
    let parents: Vec<Option<usize>> = cases.iter().map(|case| parent(case, &cases, log)).collect();
    report_cycles(&cases, &parents, log);
    (0..cases.len())
        .map(|index| {
            let case = &cases[index];
            let fields = fields(case, log);
            let mut table = base.clone();
            for ancestor in lineage(index, &parents).into_iter().rev() {
                table.merge(&scenario_part(cases[ancestor].table));
            }
            table.merge(shared);
            let mut label = CaseLabel { name: case.name.to_owned(), ..CaseLabel::default() };
            own_origins(case, &mut label);
            ResolvedCase {
                label,
                about: fields.take(&keys::ABOUT).value().unwrap_or_default(),
                paper: fields.take(&keys::CASE_PAPER).value(),
                paper_at: fields.place("paper"),
                kernel: kernel(&fields, log),
                table,
            }
        })
        .collect()
}

/// The case's own kernel. Whether there is such a one is seen when it is
/// fetched.
fn kernel(fields: &Fields<'_>, log: &Log) -> Option<String> {
    let name = fields.take(&keys::KERNEL).value()?;
    let (series, processor) = name.split_once('/').unwrap_or((&name, "amd64"));
    let version = series.strip_prefix("debian:").map(|v| v.strip_suffix("-rt").unwrap_or(v));
    let good = version.is_some_and(|version| {
        let number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
        let numbered = version.contains('.') && version.split('.').all(number);
        numbered || version == "newest"
    }) && !processor.is_empty()
        && processor.bytes().all(|b| b.is_ascii_alphanumeric());
    if !good {
        log.mistake(
            fields.place("kernel"),
            format!("kernel = \"{name}\" names no kernel of Debian"),
            "Write for example kernel = \"debian:6.12-rt\", \"debian:6.12\" for the ordinary one, or \
             \"debian:6.12-rt/arm64\" for ARM.",
        );
    }
    good.then_some(name)
}

fn fields<'a>(case: &Named<'a>, log: &'a Log) -> Fields<'a> {
    Fields::new(case.table, case.at, &CASE, format!("[cases.{}]", case.name), log)
}

fn scenario_part(table: &Table) -> Table {
    let part = |e: &&Entry| PER_CASE.contains(&e.key.as_str());
    Table { entries: table.entries.iter().filter(part).cloned().collect() }
}

fn own_origins(case: &Named<'_>, label: &mut CaseLabel) {
    label.own.insert(case.at);
    for entry in &case.table.entries {
        label.own.insert(entry.key_at);
        entry.node.collect_origins(&mut label.own);
    }
}

/// The case this one inherits from.
fn parent(case: &Named<'_>, cases: &[Named<'_>], log: &Log) -> Option<usize> {
    let fields = fields(case, log);
    let name = fields.take(&keys::INHERITS).value()?;
    let found = cases.iter().position(|c| c.name == name);
    if found.is_none() {
        let names: Vec<&str> = cases.iter().map(|c| c.name).filter(|n| *n != case.name).collect();
        let guess = did_you_mean(&name, names.iter().copied());
        log.mistake(
            fields.place("inherits"),
            format!("there is no case `{name}` to inherit from{guess}"),
            format!(
                "There is {}. Without `inherits` a case starts from the file itself.",
                list(&names)
            ),
        );
    }
    found
}

/// The case and its ancestors, nearest first. A cycle ends where it closes.
fn lineage(index: usize, parents: &[Option<usize>]) -> Vec<usize> {
    let mut line = vec![index];
    let mut next = parents[index];
    while let Some(ancestor) = next.filter(|a| !line.contains(a)) {
        line.push(ancestor);
        next = parents[ancestor];
    }
    line
}

/// Reports each cycle once, at the member that comes first in the file.
fn report_cycles(cases: &[Named<'_>], parents: &[Option<usize>], log: &Log) {
    for index in 0..cases.len() {
        let line = lineage(index, parents);
        let closes = line.last().and_then(|last| parents[*last]) == Some(index);
        if closes && line.iter().min() == Some(&index) {
            let names: Vec<&str> = line.iter().chain([&index]).map(|i| cases[*i].name).collect();
            let at = cases[index].table.get("inherits").map_or(cases[index].at, |n| n.at);
            log.mistake(
                at,
                format!("`{}` inherits from itself: {}", cases[index].name, names.join(" → ")),
                "Let one of them start from the file itself, without `inherits`.",
            );
        }
    }
}
