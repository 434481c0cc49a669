//! One thing that was found: the value seen, why it matters, and how to change it.

use serde::Serialize;

use crate::facts::Daemon;

/// What a machine can be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Frames are transmitted at the time that their sender states (`SO_TXTIME`, ETF).
    LaunchTimes,
    /// Real-time threads, interrupts and packet processing run in the order of their priorities.
    Priorities,
    /// Nothing is dropped between sockets (`prioflow`).
    FlowControl,
}

impl Feature {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 3] = [Self::LaunchTimes, Self::Priorities, Self::FlowControl];

    /// Its name in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LaunchTimes => "launch times",
            Self::Priorities => "priorities",
            Self::FlowControl => "flow control",
        }
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Without a change it does not work.
    Blocks,
    /// It works, later or less regularly than it could.
    Costs,
    /// Good to know.
    Note,
}

/// How to change what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// By this command, as root.
    Command(String),
    /// As this sentence says.
    Advice(String),
    /// Not with this hardware.
    NotOnThisHardware,
}

impl Fix {
    pub(crate) fn command(command: impl Into<String>) -> Self {
        Self::Command(command.into())
    }

    /// Ends a program that systemd started, or says what to end.
    pub(crate) fn stop(daemon: &Daemon) -> Self {
        match &daemon.unit {
            Some(unit) => Self::command(format!("systemctl disable --now {unit}")),
            None => Self::advice(format!(
                "end {} (process {}), and whatever starts it",
                daemon.name, daemon.pid
            )),
        }
    }

    pub(crate) fn advice(advice: impl Into<String>) -> Self {
        Self::Advice(advice.into())
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name, the same in every version: `eee`, `phc-offset`.
    pub id: &'static str,
    /// The interface that it is about; `None`: the machine.
    pub interface: Option<String>,
    /// What it matters for.
    pub affects: &'static [Feature],
    /// How much.
    pub weight: Weight,
    /// The value seen, and why it matters: one sentence or two without a full stop at the end.
    pub seen: String,
    /// How to change it.
    pub fix: Fix,
}

pub(crate) const LAUNCH: &[Feature] = &[Feature::LaunchTimes];
pub(crate) const PRIORITIES: &[Feature] = &[Feature::Priorities];
pub(crate) const FLOW: &[Feature] = &[Feature::FlowControl];
pub(crate) const LINK: &[Feature] = &[Feature::LaunchTimes, Feature::FlowControl];
pub(crate) const TIMING: &[Feature] = &[Feature::LaunchTimes, Feature::Priorities];

/// A finding without interface.
pub(crate) fn finding(
    id: &'static str,
    affects: &'static [Feature],
    weight: Weight,
    seen: impl Into<String>,
    fix: Fix,
) -> Finding {
    Finding { id, interface: None, affects, weight, seen: seen.into(), fix }
}

impl Finding {
    pub(crate) fn on(self, interface: &str) -> Self {
        Self { interface: Some(interface.to_owned()), ..self }
    }
}
