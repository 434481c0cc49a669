//! `teiji run`: runs an experiment and reports.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use teiji_core::quantity::parse_span;
use teiji_core::time::Span;
use teiji_experiment::reader::NicSource;
use teiji_lab::kernel::KernelSpec;
use teiji_record::summary::Testbed;
use teiji_record::{Manifest, RunFolder};
use teiji_remote::SshOptions;
use teiji_run::Progress as _;
use teiji_run::machines::Places;
use teiji_run::measure::kernel_trace::Why;
use teiji_run::run::{self, Finished, On, Request};
use teiji_run::{causes, experiment_file, replay, report};

use super::bind::Bind;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;
use crate::overrides::{self, Overrides};
use crate::progress::Progress;
use crate::terminal;

/// Run an experiment and report the result.
///
/// In the laboratory (the default) each case runs on a real PREEMPT_RT kernel in a virtual machine
/// with virtual time: the same program, kernel and seed give the same records, bit for bit, on
/// every machine. With `--on local` it runs on this machine, over a veth pair. With `--bind` it
/// runs over real NICs, of this machine and of others that are reached by SSH.
#[derive(clap::Args)]
pub struct Args {
    /// The experiment file.
    #[arg(required_unless_present = "replay")]
    file: Option<PathBuf>,
    /// Where to run. Default: in the laboratory, or with --bind, local.
    #[arg(long, value_enum)]
    on: Option<Place>,
    #[command(flatten)]
    bind: Bind,
    /// Use this configuration of ssh instead of yours.
    #[arg(long, value_name = "FILE", requires = "bind")]
    ssh_config: Option<PathBuf>,
    /// Take NICs that are in use, too (addresses, routes, a bridge, this SSH connection), and
    /// restore all of that at the end.
    #[arg(long)]
    take: bool,
    /// Run only this case; may be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    #[command(flatten)]
    overrides: Overrides,
    /// The seed. Default: the experiment's.
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run every case with each of these seeds (an ensemble), and report the spread.
    #[arg(long, value_name = "FIRST..LAST", value_parser = parse_seeds)]
    seeds: Option<Seeds>,
    /// Repeat this run, and check whether the records are identical.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["file", "on", "bind", "set", "source"])]
    replay: Option<PathBuf>,
    /// The guest's kernel: debian:6.12-rt (the default), debian:6.1-rt,
    /// debian:6.12, …, for ARM with /arm64 or /armhf, as debian:6.12-rt/arm64; or the path of an
    /// image, with --modules.
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// The modules of a kernel image: a folder like /lib/modules/6.12.1-rt.
    #[arg(long, value_name = "DIR")]
    modules: Option<PathBuf>,
    /// Build the kernel module in this folder, and load it in the guest; the folder has the module's
    /// name. Replaces Teiji's module of that name. May be given several times.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Virtual machines that run at the same time. Default: the number of CPUs.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Longest real time of one virtual machine, for example 10min.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wall_limit: Option<Duration>,
    /// The folder for the run's folder.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    #[arg(
        long,
        value_name = "FILE",
        help = "Write JUnit XML: a test for each requirement of each case"
    )]
    junit: Option<PathBuf>,
    /// On real machines: trace the kernel meanwhile, and show what delays the frames (docs/why.md). With a
    /// LIMIT, for example 100us, tracing ends at the first frame that is handed over later than that.
    #[arg(long, value_name = "LIMIT", value_parser = parse_limit, num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "not given, without a limit, with one")]
    why: Option<Option<Span>>,
    /// Print the summary as JSON, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
}

/// Where an experiment runs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Place {
    /// The virtual laboratory.
    Lab,
    /// This machine.
    Local,
}

/// `--take` without a NIC to take.
pub(super) const TAKE_WITHOUT_BIND: &str =
    "--take allows the NICs of --bind to be in use: it goes with --on local --bind";

impl Args {
    fn place(&self) -> Place {
        let bound = if self.bind.is_empty() { Place::Lab } else { Place::Local };
        self.on.unwrap_or(bound)
    }
}

impl Place {
    fn nics(self) -> NicSource {
        match self {
            Self::Lab => NicSource::Emulated,
            Self::Local => NicSource::Own,
        }
    }
}

/// Seeds from first to last, both included.
#[derive(Clone, Debug)]
struct Seeds(Vec<u64>);

/// More members than is practical; most likely a typing mistake.
const MOST_SEEDS: u64 = 10_000;

fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("`{text}` is no range of seeds; write for example 1..16");
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let first: u64 = first.parse().map_err(|_| wrong())?;
    let last: u64 = last.trim_start_matches('=').parse().map_err(|_| wrong())?;
    if last < first {
        return Err(format!("{first}..{last} ends before it begins"));
    }
    if last - first >= MOST_SEEDS {
        return Err(format!("{first}..{last} are more than {MOST_SEEDS} seeds"));
    }
    Ok(Seeds((first..=last).collect()))
}

fn parse_limit(text: &str) -> Result<Span, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    if span <= Span::ZERO { Err(format!("{text} is not a limit")) } else { Ok(span) }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let span = parse_span(text).map_err(|error| error.to_string())?;
    span.to_std().filter(|d| !d.is_zero()).ok_or_else(|| format!("{text} is not a time to wait"))
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let progress = Progress::new(args.json);
    let (request, original) = match &args.replay {
        Some(path) => {
            let (folder, manifest) = RunFolder::open(path)?;
            (replay_request(args, &folder, &manifest)?, Some((folder, manifest)))
        }
        None => (request(args, &progress)?, None),
    };
    let Finished { folder, ended } = run::run(&request, &interrupt::stop_flag(), &progress)?;
    let exit = Exit::from(ended);
    let (_, manifest) = RunFolder::open(folder.path())?;
    let summary = folder.read_summary()?;
    report::write(&folder, &manifest, &summary)?;
    if let Some(path) = &args.junit {
        std::fs::write(path, teiji_report::junit::junit(&summary))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let verdict = match &original {
        Some((original, before)) => {
            Some(replay::compare(original, &folder, &summary, (before, &manifest))?)
        }
        None => None,
    };
    if args.json {
        output::json(&summary)?;
    } else {
        let mut table = terminal::table(&summary);
        for found in &causes::of(&folder)?.flows {
            table.push_str(&teiji_report::terminal::causes(found, &terminal::glyphs()));
        }
        let report = report::shown(&folder.report_path());
        let replay = match &verdict {
            Some(verdict) => verdict.sentence.clone(),
            None => format!(
                "teiji run --replay {}{}",
                report::shown(folder.path()),
                replay_note(summary.testbed)
            ),
        };
        output::line(format_args!("{table}\nReport   {report}\nReplay   {replay}"))?;
    }
    Ok(match verdict {
        Some(verdict)
            if !verdict.identical && matches!(exit, Exit::Success | Exit::Unfulfilled) =>
        {
            Exit::Failure
        }
        _ => exit,
    })
}

fn replay_note(testbed: Testbed) -> &'static str {
    if testbed == Testbed::Lab { "     (identical to the last bit)" } else { "" }
}

fn request(args: &Args, progress: &Progress) -> anyhow::Result<Request> {
    let file = args.file.as_deref().context("no experiment file")?;
    let (mut experiment, text) = overrides::load(file, &args.overrides, args.place().nics())?;
    experiment.cases = experiment_file::choose_cases(&experiment, &args.case)?;
    let bind = args.bind.interfaces()?;
    let testbed = match args.place() {
        Place::Lab if !args.bind.is_empty() => {
            mistake!("--bind names NICs of real machines: leave --on lab out")
        }
        Place::Lab if args.why.is_some() => {
            mistake!(
                "--why traces real machines: it needs --on local or --bind; for a run in the laboratory use `teiji why RUN` afterwards"
            )
        }
        Place::Lab if args.take => mistake!("{TAKE_WITHOUT_BIND}"),
        Place::Local if args.take && args.bind.is_empty() => mistake!("{TAKE_WITHOUT_BIND}"),
        Place::Lab => lab(args)?,
        Place::Local if args.kernel.is_some() || args.modules.is_some() => {
            mistake!("--kernel names the guest's kernel: it goes with --on lab")
        }
        Place::Local if !args.source.is_empty() => {
            mistake!("--source is a module for the guest's kernel: it goes with --on lab")
        }
        Place::Local => local(args, &bind)?,
    };
    let seeds = seeds(args, experiment.seed);
    if args.place() == Place::Local && seeds.len() > 1 {
        progress.line("  in real time a seed only shifts the start; the members repeat the case");
    }
    Ok(Request {
        arguments: repeat_arguments(args, &bind),
        experiment,
        text,
        set: args.overrides.pairs().to_vec(),
        testbed,
        loads: Vec::new(),
        seeds,
        jobs: jobs(args),
        out: args.out.clone(),
        replay_of: None,
    })
}

/// On this machine, or where the bindings say.
fn local(args: &Args, bind: &str) -> anyhow::Result<On> {
    let take = args.take;
    let Some(places) = Places::parse(bind)? else {
        return Ok(On::Local { bind: bind.to_owned(), take, why: why(args) });
    };
    let ssh = SshOptions { config: args.ssh_config.clone() };
    Ok(On::Machines { places, take, why: why(args), ssh })
}

fn why(args: &Args) -> Option<Why> {
    args.why.map(|limit| Why { limit })
}

fn lab(args: &Args) -> anyhow::Result<On> {
    let kernel = KernelSpec::from_options(args.kernel.as_deref(), args.modules.as_deref())?;
    Ok(On::Lab { kernel, sources: args.source.clone(), wall_limit: args.wall_limit })
}

fn seeds(args: &Args, default: u64) -> Vec<u64> {
    match (&args.seeds, args.seed) {
        (Some(Seeds(seeds)), _) => seeds.clone(),
        (None, Some(seed)) => vec![seed],
        (None, None) => vec![default],
    }
}

fn jobs(args: &Args) -> usize {
    args.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Options, besides the experiment file, that repeat the run.
fn repeat_arguments(args: &Args, bind: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut pair = |key: &str, value: &str| words.extend([key.to_owned(), value.to_owned()]);
    for (path, value) in args.overrides.pairs() {
        pair("--set", &format!("{path}={value}"));
    }
    if let Some(kernel) = &args.kernel {
        pair("--kernel", kernel);
    }
    if let Some(modules) = &args.modules {
        pair("--modules", &modules.to_string_lossy());
    }
    for source in &args.source {
        // `teiji why` may be called from another folder.
        let source = std::path::absolute(source).unwrap_or_else(|_| source.clone());
        pair("--source", &source.to_string_lossy());
    }
    if !bind.is_empty() {
        pair("--bind", bind);
    }
    words
}

/// The request that repeats a run: its experiment, cases, seeds and kernel.
fn replay_request(args: &Args, folder: &RunFolder, manifest: &Manifest) -> anyhow::Result<Request> {
    let (experiment, job) = replay::recorded(folder, manifest, &args.case)?;
    let recorded = |key: &str| experiment_file::recorded_argument(manifest, key);
    let testbed = match manifest.testbed {
        Testbed::Lab => {
            let kernel = args.kernel.clone().or_else(|| recorded("--kernel"));
            let modules = args.modules.clone().or_else(|| recorded("--modules").map(PathBuf::from));
            let kernel = KernelSpec::from_options(kernel.as_deref(), modules.as_deref())?;
            let sources = experiment_file::recorded_sources(manifest);
            On::Lab { kernel, sources, wall_limit: args.wall_limit }
        }
        Testbed::Local | Testbed::Machine | Testbed::Machines => {
            let bind = recorded("--bind").unwrap_or_default();
            local(args, &bind)?
        }
        Testbed::Capture => bail!("an analysed capture cannot be run again; `teiji analyze` it"),
    };
    let seeds = if args.seed.is_some() || args.seeds.is_some() {
        seeds(args, experiment.seed)
    } else {
        manifest.seeds.clone()
    };
    let arguments = manifest.replay.as_ref().map(|r| r.arguments.clone()).unwrap_or_default();
    Ok(Request {
        experiment,
        text: job.text,
        set: job.set,
        testbed,
        loads: job.loads,
        seeds,
        jobs: jobs(args),
        out: args.out.clone(),
        arguments,
        replay_of: Some(folder.path().to_string_lossy().into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_seeds_include_both_ends() {
        assert_eq!(parse_seeds("1..3").unwrap().0, [1, 2, 3]);
        assert_eq!(parse_seeds("5..=5").unwrap().0, [5]);
        assert_eq!(parse_seeds("4").unwrap().0, [4]);
        for wrong in ["3..1", "a..b", "1..99999999", "..", "1..", ""] {
            assert!(parse_seeds(wrong).is_err(), "{wrong}");
        }
    }
}
