//! Where findings gather while a file is read, once per case, and become one
//! list without repetitions.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::mistake::{Mistake, Mistakes, Place, Severity};
use crate::tree::Origin;

/// A case as far as the log needs it: a name, and where its own table is.
#[derive(Debug, Default)]
pub(crate) struct CaseLabel {
    pub name: String,
    /// Origins of everything written in the case's own table.
    pub own: BTreeSet<Origin>,
}

#[derive(Debug)]
struct Finding {
    at: Origin,
    severity: Severity,
    message: String,
    help: Option<String>,
    case: Option<usize>,
    /// Dropped if the value at this place turns out to be used in some case.
    unless_used: bool,
}

/// Collects findings. Interior mutability, because every reader of a part of
/// the file holds it at the same time.
#[derive(Debug, Default)]
pub(crate) struct Log {
    findings: RefCell<Vec<Finding>>,
    used: RefCell<BTreeSet<Origin>>,
    case: Cell<Option<usize>>,
}

impl Log {
    /// From here on, findings belong to the case with this index.
    pub fn enter_case(&self, case: Option<usize>) {
        self.case.set(case);
    }

    fn push(&self, at: Origin, severity: Severity, message: String, help: &str, unless_used: bool) {
        let help = (!help.is_empty()).then(|| help.to_owned());
        let case = self.case.get();
        self.findings.borrow_mut().push(Finding { at, severity, message, help, case, unless_used });
    }

    /// A fatal finding. An empty `help` is left out.
    pub fn mistake(&self, at: Origin, message: impl Into<String>, help: impl AsRef<str>) {
        self.push(at, Severity::Mistake, message.into(), help.as_ref(), false);
    }

    /// A finding that does not stop the experiment.
    pub fn warning(&self, at: Origin, message: impl Into<String>, help: impl AsRef<str>) {
        self.push(at, Severity::Warning, message.into(), help.as_ref(), false);
    }

    /// A value that means nothing in this case. Reported only if no other case
    /// [uses](Self::used) it: a base may well hold what one case needs.
    pub fn unused(&self, at: Origin, severity: Severity, message: String, help: &str) {
        self.push(at, severity, message, help, true);
    }

    /// The value at `at` means something in this case.
    pub fn used(&self, at: Origin) {
        self.used.borrow_mut().insert(at);
    }

    /// True if anything fatal was found so far.
    pub fn is_fatal(&self) -> bool {
        let used = self.used.borrow();
        self.findings
            .borrow()
            .iter()
            .any(|f| f.severity == Severity::Mistake && !(f.unless_used && used.contains(&f.at)))
    }

    /// The list: sorted by place, each finding once, with the cases it is
    /// limited to.
    pub fn finish(
        self,
        file: &str,
        text: &str,
        overrides: &[(String, String)],
        cases: &[CaseLabel],
    ) -> Mistakes {
        let used = self.used.into_inner();
        let mut merged: BTreeMap<(Origin, String), (Finding, BTreeSet<usize>)> = BTreeMap::new();
        let mut order = Vec::new();
        for finding in self.findings.into_inner() {
            if finding.unless_used && used.contains(&finding.at) {
                continue;
            }
            let case = finding.case;
            let key = (finding.at, finding.message.clone());
            let entry = merged.entry(key.clone()).or_insert_with(|| {
                order.push(key);
                (finding, BTreeSet::new())
            });
            entry.1.extend(case);
        }
        // Stable: at one place, what was found first is reported first.
        order.sort_by_key(|(at, _)| *at);
        let findings = order
            .into_iter()
            .filter_map(|key| merged.remove(&key))
            .map(|(finding, in_cases)| Mistake {
                place: place(text, overrides, finding.at),
                severity: finding.severity,
                message: finding.message,
                help: finding.help,
                cases: limited_to(finding.at, &in_cases, cases),
            })
            .collect();
        Mistakes { file: file.to_owned(), findings }
    }
}

/// The names worth mentioning: none if all cases are concerned, or if the
/// place is in the table of the only one that is.
fn limited_to(at: Origin, in_cases: &BTreeSet<usize>, cases: &[CaseLabel]) -> Vec<String> {
    let named: Vec<&CaseLabel> = in_cases.iter().filter_map(|i| cases.get(*i)).collect();
    match named.as_slice() {
        [only] if only.own.contains(&at) => Vec::new(),
        all if all.len() == cases.len() => Vec::new(),
        some => some.iter().map(|c| c.name.clone()).collect(),
    }
}

fn place(text: &str, overrides: &[(String, String)], at: Origin) -> Place {
    match at {
        Origin::Set(index) => {
            let set = overrides.get(index).map(|(path, value)| format!("{path}={value}"));
            Place::CommandLine { set: set.unwrap_or_default() }
        }
        Origin::File { start, .. } => {
            let before = text.get(..start).unwrap_or(text);
            let line_start = before.rfind('\n').map_or(0, |i| i + 1);
            Place::File {
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
            }
        }
    }
}
