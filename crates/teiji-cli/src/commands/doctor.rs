//! `teiji doctor`: what keeps this machine from sending on time and without loss.

use clap::ValueEnum;
use serde::Serialize;
use teiji_core::time::Span;
use teiji_doctor::probe::{Probe, ProbeError};
use teiji_doctor::{Diagnosis, Facts, Feature, NicError};
use teiji_net::nic;

use super::quantity::span;
use crate::exit::{Exit, mistake};
use crate::output;
use crate::terminal;

/// Check whether this machine and its interfaces are ready, and say what to change.
///
/// Reads the kernel, clocks, NICs, PTP programs, interrupts, threads and qdiscs of this machine, and
/// judges whether it is ready for launch times, for priorities and for flow control: first the
/// verdicts, then each finding with the value seen, why it matters and the command that changes it.
/// Changes nothing. Works without root as far as the kernel lets it. See docs/doctor.md.
#[derive(clap::Args)]
pub struct Args {
    /// Interfaces. Default: all NICs of this network namespace.
    #[arg(value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// Also measure for this time how late a real-time thread wakes, with idle states and without,
    /// for example 2s.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    probe: Option<Span>,
    /// Exit with 4 unless every interface is ready for these; several with commas.
    #[arg(long, value_name = "FEATURES", value_enum, value_delimiter = ',')]
    require: Vec<Required>,
    /// Print verdicts, findings and everything that was read as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Required {
    /// Frames are transmitted at the time that their sender states.
    LaunchTimes,
    /// Threads and interrupts run in the order of their priorities.
    Priorities,
    /// Nothing is dropped between sockets.
    FlowControl,
}

impl From<Required> for Feature {
    fn from(required: Required) -> Self {
        match required {
            Required::LaunchTimes => Self::LaunchTimes,
            Required::Priorities => Self::Priorities,
            Required::FlowControl => Self::FlowControl,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<&'a Probe>,
    facts: &'a Facts,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let named = !args.interfaces.is_empty();
    let interfaces = if named { args.interfaces.clone() } else { nic::names()? };
    let facts = match Facts::read(&interfaces) {
        Ok(facts) => facts,
        Err(error @ NicError::NoInterface { .. }) if named => mistake!("{error}"),
        Err(error) => return Err(error.into()),
    };
    let diagnosis = Diagnosis::of(&facts);
    let probe = match args.probe.map(Probe::run).transpose() {
        Err(error @ ProbeError::TooShort(_)) => mistake!("{error}"),
        probe => probe?,
    };
    if args.json {
        let (diagnosis, probe, facts) = (&diagnosis, probe.as_ref(), &facts);
        output::json(&Document { version: 1, diagnosis, probe, facts })?;
    } else {
        output::text(terminal::diagnosis(&facts, &diagnosis, probe.as_ref()))?;
    }
    let required: Vec<Feature> = args.require.iter().map(|one| (*one).into()).collect();
    let fulfilled = required.is_empty() || diagnosis.is_ready(&required);
    Ok(if fulfilled { Exit::Success } else { Exit::Unfulfilled })
}
