//! `teiji plan`: prints what a run would change, as commands.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use teiji_experiment::Case;
use teiji_experiment::reader::NicSource;
use teiji_net::NO_VTSN;
use teiji_net::real_nic::{self, Refusal};
use teiji_net::{Binding, Plan, SshConnection};
use teiji_run::experiment_file;
use teiji_run::machines::Places;

use super::bind::Bind;
use crate::exit::{Exit, mistake};
use crate::output;
use crate::overrides::{self, Overrides};
use crate::plan_text;

/// Print what a run would change, as plain commands.
///
/// The output is a shell script. In a root shell it makes the same set-up, with ptp4l and phc2sys
/// if the experiment synchronises clocks. It undoes each case before the next; the last case stays,
/// and the last lines, as comments, undo it.
#[derive(clap::Args)]
pub struct Args {
    /// The experiment file.
    file: PathBuf,
    /// Only this case.
    #[arg(long)]
    case: Option<String>,
    #[command(flatten)]
    bind: Bind,
    /// Print what a host gets as a profile for `teiji apply` instead, for this interface of this machine:
    /// HOST=INTERFACE, or HOST.WIRE=INTERFACE,…
    #[arg(long, value_name = "BINDINGS", conflicts_with = "bind")]
    profile: Option<String>,
    #[command(flatten)]
    overrides: Overrides,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (experiment, _) = overrides::load(&args.file, &args.overrides, NicSource::Own)?;
    let cases = experiment_file::choose_cases(&experiment, args.case.as_slice())?;
    if let Some(bindings) = &args.profile {
        return profile(args, bindings, &cases);
    }
    let bind = args.bind.interfaces()?;
    if let Some(places) = Places::parse(&bind)? {
        return on_machines(&places, &cases);
    }
    let plans = cases.iter().map(|case| plan_of(case, &bind));
    let plans = plans.collect::<anyhow::Result<Vec<(Binding, Plan)>>>()?;
    if cases.len() > 1 {
        output::line(format_args!(
            "# {} cases; each is undone before the next, --case NAME prints one alone",
            cases.len()
        ))?;
    }
    let last = cases.len() - 1;
    for (index, (case, (binding, plan))) in cases.iter().zip(&plans).enumerate() {
        output::line(format_args!("# case {}", case.name))?;
        for refusal in refusals(binding)? {
            output::line(format_args!("# a run refuses this: {refusal}"))?;
        }
        if plan.needs_vtsn() && !Path::new("/sys/module/vtsn").exists() {
            output::line(format_args!("# {NO_VTSN}"))?;
        }
        if plan.needs_vtsn() {
            output::line("# (ip makes vtsn pairs with its plug-in, kernel/vtsn/README.md)")?;
        }
        output::line(plan_text::script(case, plan, index < last, false))?;
    }
    Ok(Exit::Success)
}

/// The part of each machine; none is connected.
fn on_machines(places: &Places, cases: &[Case]) -> anyhow::Result<Exit> {
    let parts = cases.iter().map(|case| Ok((case, places.parts(&case.scenario)?)));
    let parts: Vec<_> = parts.collect::<anyhow::Result<_>>()?;
    for (case, parts) in parts {
        for (name, binding) in parts {
            let plan = Plan::compile(&case.scenario, &binding)
                .with_context(|| format!("case `{}`", case.name))?;
            output::line(format_args!("# case {} on {name}", case.name))?;
            output::line(
                "# (MAC-of-HOST.WIRE: the machines exchange the addresses of their ports)",
            )?;
            output::line(plan_text::script(case, &plan, false, true))?;
        }
    }
    Ok(Exit::Success)
}

/// What a host gets, for good.
fn profile(args: &Args, bindings: &str, cases: &[Case]) -> anyhow::Result<Exit> {
    let [case] = cases else {
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        mistake!("a profile is of one case: --case with one of {}", names.join(", "));
    };
    let binding = Binding::parse_ends(bindings, &case.scenario)?;
    let hosts = Vec::from_iter(binding.hosts());
    let [host] = hosts[..] else {
        mistake!("a profile is of one host, not of {}: write HOST=INTERFACE", hosts.join(", "));
    };
    let name = args.file.display().to_string();
    let reader = experiment_file::reader(&name, args.overrides.pairs(), NicSource::Own);
    let text = experiment_file::text(&args.file)?;
    let found = reader.host_profile(&text, &case.name, host, |wire| binding.interface(host, wire));
    let Some(found) = found else {
        mistake!("{name} sets nothing of `{host}` in the case `{}`", case.name);
    };
    let found = found.map_err(|mistakes| anyhow!("{}", mistakes.to_string().trim_end()))?;
    output::line(format_args!("# What {name} gives `{host}` in the case `{}`.", case.name))?;
    if !found.left_out.is_empty() {
        output::line(format_args!("# Not in a profile: {}.", found.left_out.join(", ")))?;
    }
    output::text(format_args!("\n{}", found.text))?;
    Ok(Exit::Success)
}

fn plan_of(case: &Case, bind: &str) -> anyhow::Result<(Binding, Plan)> {
    let binding = Binding::parse(bind, &case.scenario)?;
    let plan =
        Plan::compile(&case.scenario, &binding).with_context(|| format!("case `{}`", case.name))?;
    // Before anything is printed.
    refusals(&binding)?;
    Ok((binding, plan))
}

/// Reasons why a run would refuse the interfaces; an interface that is no NIC is an error.
fn refusals(binding: &Binding) -> Result<Vec<Refusal>, Refusal> {
    let ssh = SshConnection::current();
    let mut refusals = Vec::new();
    for interface in binding.interfaces() {
        match real_nic::look(interface, false, ssh.as_ref()) {
            Ok(()) => {}
            Err(error) if error.is_unusable() => return Err(error),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Ok(refusals)
}
