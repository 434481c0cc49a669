//! `teiji check`: every mistake in an experiment file, explained.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use teiji_experiment::reader::NicSource;
use teiji_experiment::{Case, Experiment, Mistakes};
use teiji_net::{Binding, Plan};
use teiji_run::experiment_file;
use teiji_run::measure::ptp;
use teiji_sys::sched::{self, Capability};

use crate::exit::Exit;
use crate::output;
use crate::overrides::Overrides;

/// Check experiment files and explain every mistake, with file, line and fix.
///
/// With `--on local` also check what this machine lacks to run them: privileges, qdiscs and links
/// of its kernel, ptp4l and phc2sys. Exits with 2 for a mistake in a file, and with 1 if this
/// machine lacks something.
#[derive(clap::Args)]
pub struct Args {
    /// The experiment files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the experiment will run.
    #[arg(long, value_enum, default_value_t = On::Lab)]
    on: On,
    #[command(flatten)]
    overrides: Overrides,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    /// In the laboratory, on emulated NICs.
    Lab,
    /// On this machine; the run checks the capabilities of real NICs.
    Local,
}

/// What was found in a file, and of this machine.
#[derive(Serialize)]
struct Checked {
    #[serde(flatten)]
    findings: Mistakes,
    /// What this machine lacks, with the cases that need it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_here: Vec<Missing>,
    /// Its mistakes are those of the laboratory alone.
    #[serde(skip)]
    fits_real_nics: bool,
}

/// Something that this machine lacks.
#[derive(Serialize)]
struct Missing {
    what: String,
    cases: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let nics = match args.on {
        On::Lab => NicSource::Emulated,
        On::Local => NicSource::Own,
    };
    let mut exit = Exit::Success;
    let mut all = Vec::new();
    for file in &args.files {
        let text = experiment_file::text(file)?;
        let name = file.display().to_string();
        let read = |nics| experiment_file::reader(&name, args.overrides.pairs(), nics).read(&text);
        let reading = read(nics);
        let missing_here = match &reading.experiment {
            Some(experiment) if args.on == On::Local => missing_here(experiment),
            _ => Vec::new(),
        };
        if reading.experiment.is_none() {
            exit = Exit::Usage;
        } else if !missing_here.is_empty() && exit == Exit::Success {
            exit = Exit::Failure;
        }
        let fits_real_nics = args.on == On::Lab
            && reading.experiment.is_none()
            && read(NicSource::Own).experiment.is_some();
        all.push(Checked { findings: reading.findings, missing_here, fits_real_nics });
    }
    if args.json {
        output::json(&all)?;
        return Ok(exit);
    }
    for Checked { findings, missing_here, fits_real_nics } in &all {
        if findings.is_empty() {
            output::line(format_args!("{}: no mistakes", findings.file))?;
        } else {
            output::text(findings)?;
        }
        if *fits_real_nics {
            output::line(format_args!(
                "{0}: no mistakes for real NICs (`teiji check {0} --on local`, `teiji run {0} --bind …`), only for \
                 the laboratory",
                findings.file
            ))?;
        }
        for Missing { what, cases } in missing_here {
            let cases = cases.join(", ");
            output::line(format_args!(
                "{}: this machine lacks for {cases}: {what}",
                findings.file
            ))?;
        }
    }
    Ok(exit)
}

/// What this machine lacks for an experiment.
fn missing_here(experiment: &Experiment) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for case in &experiment.cases {
        for what in missing_for(case) {
            match missing.iter_mut().find(|missing| missing.what == what) {
                Some(known) => known.cases.push(case.name.clone()),
                None => missing.push(Missing { what, cases: vec![case.name.clone()] }),
            }
        }
    }
    missing
}

fn missing_for(case: &Case) -> Vec<String> {
    let scenario = &case.scenario;
    let mut missing = match Plan::compile(scenario, &Binding::veth()) {
        Ok(plan) => plan.missing_here(),
        Err(error) => vec![error.to_string()],
    };
    missing.extend(ptp::missing_programs(scenario, &Binding::veth(), false));
    let flows = &scenario.flows;
    let realtime = flows.iter().any(|f| f.realtime.is_some() || f.listener_realtime.is_some());
    if realtime && !sched::has(Capability::SysNice) {
        missing.push("CAP_SYS_NICE (real-time priorities) is missing: run it with sudo".to_owned());
    }
    missing
}
