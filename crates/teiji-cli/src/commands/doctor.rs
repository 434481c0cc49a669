//! `teiji doctor`: what keeps a machine from sending on time and without loss.

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use teiji_core::time::Span;
use teiji_doctor::probe::{Probe, ProbeError};
use teiji_doctor::{Diagnosis, Examination, Facts, Feature};
use teiji_net::nic;
use teiji_remote::{Destination, RemoteError};

use super::quantity::span;
use super::remote::On;
use crate::exit::{Exit, mistake};
use crate::output;
use crate::terminal;

/// Check whether a machine and its interfaces are ready, and say what to change.
///
/// Reads the kernel, clocks, NICs, PTP programs, interrupts, threads and qdiscs of the machine, and
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
    #[command(flatten)]
    remote: On,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    #[serde(flatten)]
    seen: &'a Examination,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let seen = match &args.remote.on {
        Some(destination) => look_at(args, destination)?,
        None => look_here(args)?,
    };
    let host = args.remote.on.as_ref().map(Destination::to_string);
    let host = host.as_deref();
    let mut diagnosis = Diagnosis::of(&seen.facts);
    if let Some(probe) = &seen.probe {
        diagnosis.add_measured(probe);
    }
    if args.json {
        output::json(&Document { version: 1, host, diagnosis: &diagnosis, seen: &seen })?;
    } else {
        output::text(terminal::diagnosis(&seen, &diagnosis, host))?;
    }
    let required: Vec<Feature> = args.require.iter().map(|one| (*one).into()).collect();
    let fulfilled = required.is_empty() || diagnosis.is_ready(&required);
    Ok(if fulfilled { Exit::Success } else { Exit::Unfulfilled })
}

fn look_here(args: &Args) -> anyhow::Result<Examination> {
    let facts = if args.interfaces.is_empty() {
        Facts::read_those_there(&nic::names()?)?
    } else {
        Facts::read(&args.interfaces)?
    };
    let probe = match args.probe.map(Probe::run).transpose() {
        Err(error @ ProbeError::TooShort(_)) => mistake!("{error}"),
        probe => probe?,
    };
    Ok(Examination { probe, facts })
}

/// The same on another machine, by this program; it is judged here.
fn look_at(args: &Args, destination: &Destination) -> anyhow::Result<Examination> {
    let probe = args.probe.map(|time| format!("--probe={}ns", time.as_ns()));
    let words = ["doctor", "--json"].into_iter().chain(probe.as_deref()).chain(["--"]);
    let words = words.chain(args.interfaces.iter().map(String::as_str));
    let program = args.remote.program(destination)?;
    let output_text = match program.run(words) {
        // A mistake there is one here: an interface that it does not have.
        Err(error @ RemoteError::Failed { code: 2, .. }) => mistake!("{error}"),
        output_text => output_text?,
    };
    serde_json::from_str(&output_text)
        .with_context(|| format!("{} gives no examination", program.host()))
}
