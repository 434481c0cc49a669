//! `teiji apply`, `teiji diff` and `teiji revert`: profiles of this machine (docs/profiles.md).

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use teiji_core::quantity::format_span;
use teiji_core::time::Span;
use teiji_experiment::reader::NicSource;
use teiji_experiment::{Experiment, Profile, Reader};
use teiji_net::SshConnection;
use teiji_net::in_place::InPlace;
use teiji_profile::machine::{self, Reverted};
use teiji_profile::{Applied, Options, Source, Store, at_boot};
use teiji_run::experiment_file::toml_text;

use super::quantity::span;
use super::remote::On;
use crate::exit::{Exit, mistake};
use crate::output;

/// Give this machine the settings of a profile: all of them, or none.
///
/// A profile has the settings that an experiment can have for a host: qdiscs, queues, priorities of interrupts and threads, polling,
/// interrupt moderation, Energy Efficient Ethernet, idle states, settings of the kernel, and PTP (ptp4l and phc2sys as units of systemd). What was there before is kept, and
/// put back by `teiji revert`, if a step fails, and if teiji is killed meanwhile. Prints the equivalent commands. See
/// docs/profiles.md.
#[derive(clap::Args)]
pub struct ApplyArgs {
    /// The profile; `-` for standard input.
    #[arg(value_name = "FILE", required_unless_present = "confirmed")]
    file: Option<PathBuf>,
    /// Put everything back after this time, for example 60s, unless `teiji apply --confirmed` is given before.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    confirm: Option<Span>,
    /// Confirm the profile that was applied with --confirm.
    #[arg(long, conflicts_with_all = ["file", "confirm", "at_boot"])]
    confirmed: bool,
    /// Apply it at each start of the machine, too, by a unit of systemd; with --confirm once it is confirmed.
    #[arg(long)]
    at_boot: bool,
    #[command(flatten)]
    remote: On,
    #[command(flatten)]
    named: Named,
}

/// What the file is called where it comes from.
#[derive(clap::Args)]
struct Named {
    #[arg(long, hide = true, value_name = "NAME")]
    named: Option<String>,
}

/// Show where this machine differs from a profile. Changes nothing.
///
/// Exits with 4 if there is a difference.
#[derive(clap::Args)]
pub struct DiffArgs {
    /// The profile; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the commands that `teiji apply` is equivalent to instead.
    #[arg(long)]
    commands: bool,
    #[command(flatten)]
    remote: On,
    #[command(flatten)]
    named: Named,
}

/// Put back what this machine had before a profile was applied.
#[derive(clap::Args)]
pub struct RevertArgs {
    #[command(flatten)]
    remote: On,
}

pub fn apply(args: &ApplyArgs) -> anyhow::Result<Exit> {
    let store = Store::of_machine();
    let Some(file) = &args.file else {
        if let Some(exit) = args.remote.run(&["apply", "--confirmed"], Stdio::null())? {
            return Ok(exit);
        }
        let journal = machine::confirm(&store)?;
        output::line(format_args!(
            "{} is confirmed{}",
            journal.profile.file,
            starts(journal.at_boot)
        ))?;
        return Ok(Exit::Success);
    };
    if args.confirm.is_some_and(|time| time < Span::from_secs(1)) {
        mistake!("--confirm gives less than 1s to confirm; 60s is usual");
    }
    let Some((source, plan)) = read(file, &args.named)? else { return Ok(Exit::Usage) };
    let confirm = args.confirm.map(|time| format!("--confirm={}ns", time.as_ns()));
    let more = confirm.as_deref().into_iter().chain(args.at_boot.then_some("--at-boot"));
    if let Some(exit) = there(&args.remote, "apply", &source, more)? {
        return Ok(exit);
    }
    let options = Options {
        confirm: args.confirm.map(|time| Duration::from_nanos(time.as_ns().unsigned_abs())),
        at_boot: args.at_boot,
        ssh: SshConnection::current(),
    };
    let applied = machine::apply(&store, &source, &plan, &options)?;
    let name = &source.file;
    if applied == Applied::Already {
        output::line(format_args!(
            "{name} is applied already, and the machine has its settings{}",
            starts(args.at_boot)
        ))?;
        return Ok(Exit::Success);
    }
    if let Applied::Now { replaced: Some(before) } = applied {
        output::line(format_args!("# {before} was put back"))?;
    }
    for command in plan.commands() {
        output::line(command)?;
    }
    match args.confirm {
        Some(time) => output::line(format_args!(
            "{name} is applied; everything is put back in {} unless you confirm: teiji apply --confirmed",
            format_span(time)
        ))?,
        None => output::line(format_args!(
            "{name} is applied, and the kernel reports the same settings{}; `teiji revert` puts everything back",
            starts(args.at_boot)
        ))?,
    }
    Ok(Exit::Success)
}

fn starts(at_boot: bool) -> &'static str {
    if at_boot { ", and applied at each start (teiji-profile.service)" } else { "" }
}

pub fn diff(args: &DiffArgs) -> anyhow::Result<Exit> {
    let Some((source, plan)) = read(&args.file, &args.named)? else { return Ok(Exit::Usage) };
    if args.commands {
        for command in plan.commands() {
            output::line(command)?;
        }
        return Ok(Exit::Success);
    }
    if let Some(exit) = there(&args.remote, "diff", &source, [])? {
        return Ok(exit);
    }
    let differences = plan.differences()?;
    for difference in &differences {
        output::line(difference)?;
    }
    if differences.is_empty() {
        output::line(format_args!("this machine has the settings of {}", source.file))?;
        return Ok(Exit::Success);
    }
    Ok(Exit::Unfulfilled)
}

pub fn revert(args: &RevertArgs) -> anyhow::Result<Exit> {
    if let Some(exit) = args.remote.run(&["revert"], Stdio::null())? {
        return Ok(exit);
    }
    let was_at_boot = at_boot::is_installed();
    let Reverted { file, missing } = machine::revert(&Store::of_machine())?;
    for missing in missing {
        output::line(format_args!("# {missing} is not there any more"))?;
    }
    match file {
        Some(file) => {
            let no_more =
                if was_at_boot { ", and is no longer applied at the machine's start" } else { "" };
            output::line(format_args!(
                "{file} was put back: everything is as it was before it{no_more}"
            ))?;
        }
        None => output::line("no profile is applied here")?,
    }
    Ok(Exit::Success)
}

/// Runs a command with a profile on another machine; `None` if it is for this one.
fn there<'a>(
    remote: &On,
    command: &'a str,
    source: &'a Source,
    more: impl IntoIterator<Item = &'a str>,
) -> anyhow::Result<Option<Exit>> {
    if remote.on.is_none() {
        return Ok(None);
    }
    let mut file = tempfile::tempfile()?;
    file.write_all(source.text.as_bytes())?;
    file.rewind()?;
    let words = [command, "-", "--named", &source.file].into_iter().chain(more);
    remote.run(&words.collect::<Vec<&str>>(), file.into())
}

/// What to do with an experiment, such as a run's `recommended.toml`.
fn is_experiment(name: &str, experiment: &Experiment) -> String {
    let case = match &experiment.cases[..] {
        [_] => String::new(),
        cases => {
            let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            format!(" --case {}", names.join("|"))
        }
    };
    let hosts = experiment.cases.first().map_or(&[][..], |case| &case.scenario.hosts);
    let hosts: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    format!(
        "{name} is an experiment, which does not say which of its hosts ({}) this machine is: make a profile of it with \
         `teiji plan {name}{case} --profile HOST=INTERFACE >profile.toml`, then apply that",
        hosts.join(", ")
    )
}

/// Reads a profile and compiles its changes; `None` after printing its mistakes.
fn read(file: &Path, named: &Named) -> anyhow::Result<Option<(Source, InPlace)>> {
    // Not by /dev/stdin, which small systems do not have.
    let text = if file == Path::new("-") {
        io::read_to_string(io::stdin()).context("cannot read the profile from standard input")?
    } else {
        toml_text(file, "a profile")?
    };
    let name = named.named.clone().unwrap_or_else(|| file.display().to_string());
    let profile = match Profile::parse(&text, &name) {
        Ok(profile) => profile,
        Err(mistakes) => {
            if let Some(experiment) = Reader::new(&name).nics(NicSource::Own).read(&text).experiment
            {
                mistake!("{}", is_experiment(&name, &experiment));
            }
            output::aside(mistakes.to_string().trim_end());
            return Ok(None);
        }
    };
    let plan = InPlace::compile(&profile)?;
    Ok(Some((Source { file: name, text }, plan)))
}
