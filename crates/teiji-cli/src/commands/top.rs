//! `teiji top`: what happens on interfaces now, as a screen, as lines, or as metrics.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, IsTerminal};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use clap::ValueEnum;
use teiji::StopFlag;
use teiji_core::time::{Monotonic, Span};
use teiji_live::{Reader, Sample, Watched, openmetrics, screen, serve, table};
use teiji_net::nic;
use teiji_remote::{Program, follow, last_words};
use teiji_sys::clock;

use super::quantity::span;
use super::remote::On;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// How often a screen changes, and metrics.
const SCREEN_EVERY: Span = Span::from_secs(1);
const METRICS_EVERY: Span = Span::from_secs(15);
/// How long Ctrl-C waits to be seen.
const LOOK_EVERY: Span = Span::from_millis(50);
/// Samples that wait for a reader that is slow for a moment.
const WAITING: usize = 1;

/// Show what happens on interfaces now: flows, qdiscs, flow control, clocks, drops.
///
/// Changes nothing. In a terminal it is a screen (q quits), elsewhere lines. Flows are test frames of
/// `teiji talk` and of experiments, in both directions, seen by a packet socket behind the qdiscs; for
/// those that leave, the margin left is the time from the driver's call to the schedule. See
/// docs/top.md.
#[derive(clap::Args)]
pub struct Args {
    /// Interfaces. Default: all NICs of this network namespace.
    #[arg(value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// Look at this interval. Default: 1s, with --metrics 15s.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    every: Option<Span>,
    /// End after so many intervals.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Which frames are looked at. All of them cost this program time.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Flows::Test)]
    flows: Flows,
    /// Print each look as a line of JSON, the first at once.
    #[arg(long, conflicts_with = "metrics")]
    json: bool,
    /// Serve the newest look to Prometheus, for example at 127.0.0.1:9470.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    remote: On,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Flows {
    /// Test frames.
    Test,
    /// All frames.
    All,
    /// None.
    None,
}

impl Flows {
    fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::All => "all",
            Self::None => "none",
        }
    }
}

/// Where samples come from.
struct Source {
    samples: Receiver<Sample>,
    /// Ends when nobody takes them, at the latest with the next one.
    sampler: JoinHandle<anyhow::Result<()>>,
    there: Option<There>,
}

/// This program on another machine.
struct There {
    ssh: Child,
    errors: JoinHandle<String>,
    program: Program,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let default = if args.metrics.is_some() { METRICS_EVERY } else { SCREEN_EVERY };
    let every = args.every.unwrap_or(default);
    if every <= Span::ZERO {
        mistake!("--every takes a time above zero, for example --every 1s");
    }
    let server = args.metrics.map(|address| {
        serve::Server::start(address).with_context(|| format!("cannot serve metrics at {address}"))
    });
    let server = server.transpose()?;
    // While it connects, Ctrl-C ends the command.
    let program = args.remote.on.as_ref().map(|host| args.remote.program(host)).transpose()?;
    let stop = interrupt::stop_flag();
    let source = match program {
        Some(program) => there(args, program, every, stop.clone())?,
        None => here(args, every, stop.clone())?,
    };
    if let Some(server) = &server {
        output::aside(format_args!(
            "metrics at http://{}/metrics; Ctrl-C ends it",
            server.address()
        ));
    }
    let shown = show(args, every, server.as_ref(), &source.samples, &stop);
    let interrupted = stop.is_stopped();
    let wanted = interrupted || !matches!(shown, Ok(screen::End::NoMore));
    // The sampler takes back what it has set up in the kernel.
    stop.stop();
    drop(source.samples);
    let there = source.there.map(|there| there.end(wanted));
    let Ok(ended) = source.sampler.join() else { bail!("the thread that looks has ended early") };
    shown?;
    if !wanted {
        ended?;
        there.transpose()?;
    }
    Ok(if interrupted { Exit::Interrupted } else { Exit::Success })
}

impl There {
    /// Waits until it has ended, or ends it. What it had to say is an error, unless somebody wanted
    /// the end.
    fn end(mut self, wanted: bool) -> anyhow::Result<()> {
        if wanted {
            // It may have ended.
            let _ = self.ssh.kill();
        }
        let status = self.ssh.wait().context("cannot wait for ssh")?;
        if wanted || status.success() {
            return Ok(());
        }
        let message = last_words(&self.errors.join().unwrap_or_default());
        let message = message.strip_prefix("teiji: ").unwrap_or(&message);
        let host = self.program.host();
        if status.code() == Some(2) {
            // A mistake there is one here: an interface that it does not have.
            mistake!("{host}: {message}");
        }
        bail!("{host}: {message}")
    }
}

/// Shows what comes.
fn show(
    args: &Args,
    every: Span,
    server: Option<&serve::Server>,
    samples: &Receiver<Sample>,
    stop: &StopFlag,
) -> anyhow::Result<screen::End> {
    if let Some(server) = server {
        for sample in until_stopped(samples, stop) {
            server.set(openmetrics::encode(&sample));
        }
    } else if args.json {
        for sample in until_stopped(samples, stop) {
            output::json_line(&sample)?;
        }
    } else if std::io::stdout().is_terminal() {
        let host = args.remote.on.as_ref().map(|host| format!(" {host}")).unwrap_or_default();
        let title = format!("teiji top{host}   every {every}");
        return Ok(screen::run(&title, samples)?);
    } else {
        let mut before: Option<Sample> = None;
        for sample in until_stopped(samples, stop) {
            if let Some(before) = before.replace(sample.clone()) {
                let lines = table::lines(&before, &sample);
                let text: String = lines.into_iter().map(|line| line.text + "\n").collect();
                output::line(text)?;
            }
        }
    }
    Ok(screen::End::NoMore)
}

/// The samples that come before a person wants the end: the next one may be far away.
fn until_stopped<'a>(
    samples: &'a Receiver<Sample>,
    stop: &'a StopFlag,
) -> impl Iterator<Item = Sample> + 'a {
    let look_every = LOOK_EVERY.to_std().unwrap_or_default();
    std::iter::from_fn(move || {
        while !stop.is_stopped() {
            match samples.recv_timeout(look_every) {
                Ok(sample) => return Some(sample),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    })
}

/// Samples of this machine.
fn here(args: &Args, every: Span, stop: StopFlag) -> anyhow::Result<Source> {
    let named = !args.interfaces.is_empty();
    let mut interfaces = if named { args.interfaces.clone() } else { nic::names()? };
    let mut seen = BTreeSet::new();
    interfaces.retain(|name| seen.insert(name.clone()));
    if interfaces.is_empty() {
        mistake!("there is no NIC here; name an interface (`ip link` lists them)");
    }
    let watched = match args.flows {
        Flows::Test => Watched::TestFrames,
        Flows::All => Watched::All,
        Flows::None => Watched::None,
    };
    let mut reader = Reader::open(&interfaces, watched)?;
    let count = args.count;
    let (sender, samples) = mpsc::sync_channel(WAITING);
    let looking = spawn(move || {
        let mut next = clock::now::<Monotonic>();
        for number in 0.. {
            while clock::now::<Monotonic>() < next {
                if stop.is_stopped() {
                    return Ok(());
                }
                let look = clock::now::<Monotonic>() + LOOK_EVERY;
                clock::sleep_until(look.min(next));
            }
            let closed = sender.send(reader.read()).is_err();
            if closed || stop.is_stopped() || count == Some(number) {
                break;
            }
            // Whoever was kept waiting does not hurry afterwards.
            next = (next + every).max(clock::now::<Monotonic>());
        }
        Ok(())
    })?;
    Ok(Source { samples, sampler: looking, there: None })
}

/// Samples of another machine, by this program there.
fn there(args: &Args, program: Program, every: Span, stop: StopFlag) -> anyhow::Result<Source> {
    let every = format!("--every={}ns", every.as_ns());
    let flows = format!("--flows={}", args.flows.word());
    let count = args.count.map(|count| format!("--count={count}"));
    let options = ["top", "--json", every.as_str(), flows.as_str()].into_iter();
    let words = options.chain(count.as_deref()).chain(["--"]);
    let words = words.chain(args.interfaces.iter().map(String::as_str));
    let mut command = program.last_command(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut ssh = command.spawn().context("cannot run ssh")?;
    let errors = follow(ssh.stderr.take());
    let lines = ssh.stdout.take().context("ssh has no output")?;
    let host = program.host().to_string();
    let (sender, samples) = mpsc::sync_channel(WAITING);
    let looking = spawn(move || {
        for line in BufReader::new(lines).lines() {
            // A connection that is lost has its own words.
            let Ok(line) = line else { break };
            let sample =
                serde_json::from_str(&line).with_context(|| format!("{host} gives no sample"))?;
            if sender.send(sample).is_err() || stop.is_stopped() {
                break;
            }
        }
        Ok(())
    })?;
    Ok(Source { samples, sampler: looking, there: Some(There { ssh, errors, program }) })
}

fn spawn(
    look: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<JoinHandle<anyhow::Result<()>>> {
    let thread = thread::Builder::new().name("sampler".to_owned());
    thread.spawn(look).context("cannot start a thread that looks")
}
