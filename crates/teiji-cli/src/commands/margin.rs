//! `teiji margin`: time before its departure at which a frame must be ready.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use teiji::load::LoadKind;
use teiji::margin::Calibration;
use teiji_core::domain::{RtPriority, SocketPriority};
use teiji_core::time::Span;
use teiji_experiment::reader::NicSource;
use teiji_run::machines::Places;
use teiji_run::margin::{self, Bench, Findings, FlowBench, InterfaceBench, Wanted};
use teiji_stats::margin::supported_by;

use super::bind::Bind;
use super::quantity::span;
use super::ranges;
use super::run::{Place, TAKE_WITHOUT_BIND};
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;
use crate::overrides::{self, Overrides};
use crate::progress::Progress;

/// Measure the transmission margin and ETF delta that a miss probability needs.
///
/// Sends frames with a long margin and measures each part of their path: wake-up, hand-over to the
/// qdisc, qdisc and driver. Then it recommends a margin and a delta, checks them in another run,
/// tries a longer margin if they do not hold, and shows how many frames are late with shorter ones.
/// TARGET is an experiment file with a launch-time flow, or an interface of this machine, which is
/// used as it is set up: its frames go to the other end of the cable only. Exits with 1 if no
/// margin held, with 3 if the frames do not support the probability or a load did not run. See
/// docs/margin.md.
#[derive(clap::Args)]
pub struct Args {
    /// An experiment file, or an interface of this machine.
    target: String,
    /// Share of frames that may miss their time. Default: the least power of ten that the frames
    /// support: 0.001 with 60 000.
    #[arg(long, value_name = "P")]
    probability: Option<f64>,
    #[arg(long, value_name = "LOADS", value_delimiter = ',', help = format!(
        "Background load: {}; udp or tcp for both directions; several with commas",
        LoadKind::names("or")
    ))]
    load: Vec<String>,
    /// Frames per run, divided among its members. Default for an interface: 60 000.
    #[arg(long, value_name = "N")]
    frames: Option<u64>,
    /// Where to run an experiment file.
    #[arg(long, value_enum, default_value_t = Place::Lab)]
    on: Place,
    #[command(flatten)]
    bind: Bind,
    /// Take NICs that are in use, too (addresses, routes, a bridge, this SSH connection), and
    /// restore all of that at the end.
    #[arg(long)]
    take: bool,
    /// The case. Default: the first with a launch-time flow.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// The flow. Default: the first with a launch time.
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    #[command(flatten)]
    overrides: Overrides,
    /// Seeds, separated by commas: one member per seed; the worst member determines the margin.
    /// Default: four, from the experiment's seed on.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    seed: Vec<u64>,
    /// The guest's kernel, as in `teiji run`.
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// The folder for the runs' folders.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Interface: interval between two frames.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "1ms")]
    period: Span,
    #[arg(long, value_name = "N", default_value = "3", help = format!(
        "Interface: {}", ranges::socket_priority("")
    ))]
    priority: SocketPriority,
    #[arg(long, value_name = "PRIORITY", default_value = "80", help = format!(
        "Interface: {}", ranges::priority(" of the sending thread")
    ))]
    realtime: RtPriority,
    /// Interface: the delta of the etf qdisc of this priority. Without it frames have no launch
    /// times, as an interface without ETF needs.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    delta: Option<Span>,
    /// File for the margin, which `Margin::calibrated` reads. With --bind a profile for `teiji apply`
    /// is written beside it (teiji-margin.profile.toml): what the sender's machine had, with the
    /// measured delta.
    #[arg(long, value_name = "FILE", default_value = "teiji-margin.json")]
    save: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(wrong) = args.probability.filter(|p| !(*p > 0.0 && *p < 0.5)) {
        mistake!("a miss probability of {wrong} makes no sense; write for example 1e-3");
    }
    let loads = loads(&args.load)?;
    let progress = Progress::new(args.json);
    let (findings, profile) = if is_file(Path::new(&args.target)) {
        of_file(args, loads, &progress)?
    } else {
        (of_interface(args, loads, &progress)?, None)
    };
    let saved = calibration(&findings).write(&args.save);
    let profile = profile.map(|text| write_profile(args, &text)).transpose()?;
    margin::publish(&findings)?;
    if args.json {
        output::json(&findings)?;
    } else {
        output::text(margin::text(
            &findings,
            saved.is_ok().then_some(args.save.as_path()),
            profile.as_deref(),
        ))?;
    }
    saved?;
    Ok(exit(&findings))
}

/// Writes the profile beside the margin, and gives its path.
fn write_profile(args: &Args, text: &str) -> anyhow::Result<PathBuf> {
    let path = args.save.with_extension("profile.toml");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Distinguishes a file from an interface: an interface has no extension and is not in the file
/// system.
fn is_file(target: &Path) -> bool {
    target.is_file() || target.extension().is_some_and(|extension| extension == "toml")
}

fn exit(findings: &Findings) -> Exit {
    if interrupt::stop_flag().is_stopped() {
        Exit::Interrupted
    } else if !findings.confirmed {
        Exit::Failure
    } else if !findings.problems.is_empty() || !findings.recommendation.reached {
        Exit::Incomplete
    } else {
        Exit::Success
    }
}

/// What was found, and the profile of what was measured.
fn of_file(
    args: &Args,
    loads: Vec<LoadKind>,
    progress: &Progress,
) -> anyhow::Result<(Findings, Option<String>)> {
    let local = args.on == Place::Local;
    if !local && !args.bind.is_empty() {
        mistake!("--bind names interfaces of this machine: it goes with --on local");
    }
    if args.take && args.bind.is_empty() {
        mistake!("{TAKE_WITHOUT_BIND}");
    }
    let nics = if local { NicSource::Own } else { NicSource::Emulated };
    let (experiment, text) = overrides::load(Path::new(&args.target), &args.overrides, nics)?;
    let bind = args.bind.interfaces()?;
    if Places::parse(&bind)?.is_some() {
        mistake!(
            "a margin is measured on one machine: call teiji margin there, or --bind NICs of this one"
        );
    }
    let wanted = Wanted {
        name: args.target.clone(),
        text,
        overrides: args.overrides.pairs().to_vec(),
        case: args.case.clone(),
        flow: args.flow.clone(),
        frames: args.frames,
        bind: local.then_some(bind),
        take: args.take,
        kernel: args.kernel.clone(),
        seeds: args.seed.clone(),
        loads,
        out: args.out.clone(),
        stop: interrupt::stop_flag(),
        progress,
    };
    let bench = FlowBench::new(wanted, &experiment)?;
    let findings = measure(
        &bench,
        bench.subject(),
        if local { "local" } else { "lab" },
        bench.frames(),
        args,
        progress,
    )?;
    // A margin that did not hold is not to be kept.
    let held = matches!(exit(&findings), Exit::Success | Exit::Incomplete);
    let profile = if held { bench.profile(&findings, &args.save)? } else { None };
    Ok((findings, profile))
}

fn of_interface(
    args: &Args,
    loads: Vec<LoadKind>,
    progress: &Progress,
) -> anyhow::Result<Findings> {
    if let Some(load) = loads.iter().find(|load| load.needs_a_wire()) {
        mistake!(
            "the load `{load}` needs a host at the other end: measure an experiment with \
             `--on local --bind …` instead of an interface"
        );
    }
    if args.period <= Span::ZERO {
        mistake!("a period of {} sends nothing; write for example --period 1ms", args.period);
    }
    teiji_sys::interface::index(&args.target)?;
    let frames = args.frames.unwrap_or(60_000);
    let ns = args.period.as_ns().saturating_mul(i64::try_from(frames).unwrap_or(i64::MAX));
    output::aside(format_args!(
        "  each run takes {}; there are 2 to {} of them",
        Span::from_ns(ns),
        margin::MOST_RUNS
    ));
    let bench = InterfaceBench {
        interface: args.target.clone(),
        to: margin::NEAREST_BRIDGE,
        period: args.period,
        frames,
        priority: args.priority,
        realtime: args.realtime,
        delta: args.delta,
        loads,
        stop: interrupt::stop_flag(),
    };
    measure(
        &bench,
        format!("{}, every {}", args.target, args.period),
        "local",
        frames,
        args,
        progress,
    )
}

fn measure(
    bench: &dyn Bench,
    subject: String,
    testbed: &'static str,
    frames: u64,
    args: &Args,
    progress: &Progress,
) -> anyhow::Result<Findings> {
    let probability = args.probability.unwrap_or_else(|| supported_by(frames));
    margin::measure(bench, subject, testbed, probability, progress)
}

/// The loads by name; `udp` and `tcp` are both directions.
fn loads(names: &[String]) -> anyhow::Result<Vec<LoadKind>> {
    let mut loads = Vec::new();
    for name in names {
        match name.as_str() {
            "udp" => loads.extend([LoadKind::UdpTx, LoadKind::UdpRx]),
            "tcp" => loads.extend([LoadKind::TcpTx, LoadKind::TcpRx]),
            name => match name.parse() {
                Ok(load) => loads.push(load),
                Err(error) => mistake!("{error}"),
            },
        }
    }
    loads.sort_unstable();
    loads.dedup();
    Ok(loads)
}

fn calibration(findings: &Findings) -> Calibration {
    let found = &findings.recommendation;
    Calibration {
        schema: teiji::margin::SCHEMA.to_owned(),
        testbed: findings.testbed.to_owned(),
        kernel: findings.kernel.clone(),
        subject: findings.subject.clone(),
        loads: findings.loads.iter().map(|load| load.kind.name().to_owned()).collect(),
        margin_ns: findings.check.margin_ns,
        delta_ns: found.delta_ns,
        probability: found.probability,
        samples: found.to_qdisc.samples,
        worst_ns: found.to_qdisc.worst_ns,
        confirmed: findings.confirmed && findings.problems.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_means_both_directions_once() {
        let names = ["udp", "cpu", "udp-rx"].map(str::to_owned);
        assert_eq!(loads(&names).unwrap(), [LoadKind::Cpu, LoadKind::UdpTx, LoadKind::UdpRx]);
        assert!(loads(&["network".to_owned()]).is_err());
    }
}
