//! The verdicts on a machine and its interfaces, from facts alone.

use serde::Serialize;

use crate::facts::Facts;
use crate::finding::{Feature, Finding, Weight};
use crate::probe::Probe;
use crate::rules;

/// What was found, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// One for each interface and feature; without interfaces the machine's for priorities.
    pub verdicts: Vec<Verdict>,
    /// The findings, those that matter most first.
    pub findings: Vec<Finding>,
}

/// Whether something is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
    /// It works; findings may make it worse than it could be.
    Ready,
    /// Something has to be changed before.
    NotReady,
    /// It has no meaning here: the interface can do without, or cannot have it.
    NotApplicable,
}

/// Whether an interface, or the machine, is ready for a feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The interface; `None`: the machine, whatever interface is used.
    pub interface: Option<String>,
    /// For what.
    pub feature: Feature,
    /// The verdict.
    pub readiness: Readiness,
    /// How many findings cost time or block, those about the machine included.
    pub findings: usize,
}

impl Diagnosis {
    /// Judges a machine by what was read of it.
    pub fn of(facts: &Facts) -> Self {
        let mut findings = rules::all(facts);
        // Stable: within one weight in the order of the rules.
        findings.sort_by_key(|finding| (finding.interface.is_some(), finding.weight));
        let mut verdicts = Vec::new();
        if facts.nics.is_empty() {
            verdicts.push(verdict(&findings, None, Feature::Priorities, true));
        }
        for nic in &facts.nics {
            for feature in Feature::ALL {
                let applies = rules::applies(nic, feature);
                verdicts.push(verdict(&findings, Some(&nic.name), feature, applies));
            }
        }
        Self { verdicts, findings }
    }

    /// Adds what was measured to the findings that it is about.
    pub fn add_measured(&mut self, probe: &Probe) {
        for finding in &mut self.findings {
            let measured = match (finding.id, &probe.awake) {
                ("idle-states", Some(awake)) => format!(
                    "a thread woke {} late at most, {} in the median; with idle states held off {} and {}",
                    probe.as_is.max, probe.as_is.median, awake.max, awake.median
                ),
                ("clocksource", _) => format!("one reading takes {}", probe.clock_reading),
                _ => continue,
            };
            finding.seen = format!("{} (measured: {measured})", finding.seen);
        }
    }

    /// True if each feature is ready on each interface that was looked at.
    pub fn is_ready(&self, features: &[Feature]) -> bool {
        let wanted = |verdict: &&Verdict| features.contains(&verdict.feature);
        let mut wanted = self.verdicts.iter().filter(wanted).peekable();
        wanted.peek().is_some() && wanted.all(|verdict| verdict.readiness == Readiness::Ready)
    }
}

fn verdict(
    findings: &[Finding],
    interface: Option<&str>,
    feature: Feature,
    applies: bool,
) -> Verdict {
    let about = |finding: &&Finding| {
        finding.affects.contains(&feature)
            && finding.weight < Weight::Note
            && (finding.interface.is_none() || finding.interface.as_deref() == interface)
    };
    let about: Vec<&Finding> = findings.iter().filter(about).collect();
    let readiness = if !applies {
        Readiness::NotApplicable
    } else if about.iter().any(|finding| finding.weight == Weight::Blocks) {
        Readiness::NotReady
    } else {
        Readiness::Ready
    };
    Verdict { interface: interface.map(str::to_owned), feature, readiness, findings: about.len() }
}
