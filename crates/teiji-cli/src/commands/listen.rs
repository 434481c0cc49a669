//! `teiji listen`: receives test frames and reports what arrived, without an experiment.

mod csv;
mod live;
mod report;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use anyhow::bail;
use teiji::listener::{ListenerConfig, Pause, Source};
use teiji::{Deadline, Listener, Scheduling};
use teiji_core::domain::{DomainError, Level, RtPriority};
use teiji_core::time::{Span, Tai};
use teiji_core::wire::{Probe, TEIJI_UDP_PORT};
use teiji_sys::clock;

pub(super) use self::csv::HEADER;
use self::live::{Form, Live};
use self::report::Report;
use super::quantity::span;
use super::ranges;
use super::synchronised::Sync;
use crate::exit::{Exit, mistake};
use crate::interrupt;
use crate::output;

/// Receive test frames and report arrivals, losses and intervals.
///
/// Ends with Ctrl-C (exit code 130), or after `--for`; exits with 1 if nothing arrived. Prints a
/// line per second (`--every`), and a summary at the end. Timestamps are the receiving kernel's,
/// and the NIC's if it has them.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command")]
pub struct Args {
    /// The receiving interface. Default: all interfaces.
    interface: Option<String>,
    /// UDP port.
    #[arg(long, value_name = "PORT", default_value_t = TEIJI_UDP_PORT)]
    port: u16,
    /// UDP address to bind. Default: all addresses, IPv4 and IPv6.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Receive raw Ethernet frames instead of UDP.
    #[arg(long, conflicts_with_all = ["port", "address"], requires = "interface")]
    ethernet: bool,
    /// Opt in to flow control: pause this level at the peer before the socket's buffer overflows
    /// (`teiji flow`). With `scope below` on the link, the lower levels pause, too.
    #[arg(long, value_name = "LEVEL", conflicts_with = "ethernet",
          value_parser = paused_level)]
    flow_control: Option<Level>,
    /// Simulate a slow reader: wait this long after each read of the socket, which takes 32 frames
    /// at most.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pause: Option<Span>,
    /// Wait at random, exponentially distributed with the mean `--pause`.
    #[arg(long, requires = "pause")]
    pause_random: bool,
    #[command(flatten)]
    sync: Sync,
    /// End after this time.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    duration: Option<Span>,
    #[arg(long, value_name = "PRIORITY", help = ranges::realtime_only())]
    realtime: Option<RtPriority>,
    /// CPU of the receiving thread.
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
    /// Print a line per flow at this interval: frames, lost frames, range of the intervals,
    /// latency. 0: only the summary.
    #[arg(long, value_name = "DURATION", value_parser = span, default_value = "1s")]
    every: Span,
    /// Count arrivals later than this after their schedule.
    #[arg(long, value_name = "DURATION", value_parser = span)]
    deadline: Option<Span>,
    /// Print one line of CSV per arrival, at once, instead of the summary.
    #[arg(long)]
    csv: bool,
    /// Print intervals and summary as JSON, one object per line.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
}

/// A level that a receiver can pause.
pub fn paused_level(text: &str) -> Result<Level, DomainError> {
    let level: Level = text.parse()?;
    let (least, most) = (Level::LEAST, Level::HIGHEST_PAUSED);
    let range = DomainError::Range { number: level.into(), least: least.into(), most: most.into() };
    if level <= most { Ok(level) } else { Err(range) }
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.duration.is_some_and(|d| d.as_ns() <= 0) {
        mistake!("--for takes a time above zero, for example --for 10s");
    }
    if args.pause.is_some_and(|pause| pause.as_ns() <= 0) {
        mistake!("--pause takes a time above zero, for example --pause 5ms");
    }
    if args.every.is_negative() {
        mistake!("--every takes a time, for example --every 1s, or 0 for the summary alone");
    }
    if args.deadline.is_some_and(Span::is_negative) {
        mistake!("--deadline takes a time after the schedule, for example --deadline 500us");
    }
    let source = if args.ethernet {
        Source::Ethernet { tagged: true }
    } else {
        // An IPv6 socket on :: takes IPv4 as well.
        let address = args.address.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        Source::Udp(SocketAddr::new(address, args.port))
    };
    let config = ListenerConfig {
        interface: args.interface.clone(),
        hardware_stamps: args.interface.is_some(),
        // Of whatever size they come.
        flow_control: args
            .flow_control
            .map(|level| (level, u16::try_from(Probe::LEN).unwrap_or(u16::MAX))),
        pause: args.pause.map(|pause| Pause::new(pause, args.pause_random)),
        scheduling: Scheduling {
            realtime: args.realtime,
            cpu: args.cpu,
            lock_memory: args.realtime.is_some(),
        },
        ..ListenerConfig::new(source)
    };
    let stop = interrupt::stop_flag();
    if !args.sync.wait(args.interface.as_deref(), &stop)? {
        return Ok(Exit::Interrupted);
    }
    let listener = Listener::open(&config)?;
    if let Some(address) = listener.local_address() {
        output::aside(format_args!("listening on {address}; Ctrl-C ends it"));
    }
    let deadline = match args.duration {
        Some(duration) => Deadline::at(clock::now::<Tai>() + duration),
        None => Deadline::never(),
    };
    let form = match (args.csv, args.json) {
        (true, _) => Form::Csv,
        (_, true) => Form::Json,
        _ => Form::Text,
    };
    let every = (args.every > Span::ZERO).then_some(args.every);
    let mut live = Live::start(form, every, args.deadline, stop.clone())?;
    let log = listener.run_watched(&deadline, &stop, |arrivals| live.take(arrivals));
    live.finish()?;
    let log = log?;
    let report = Report::of(&log, args.deadline, stop.is_stopped());
    match form {
        Form::Csv => {}
        Form::Json => output::json_line(&report)?,
        Form::Text => output::text(report.text())?,
    }
    if stop.is_stopped() {
        return Ok(Exit::Interrupted);
    }
    if log.arrivals.is_empty() {
        bail!(
            "no test frames arrived: does `teiji talk` send to this {}, and does no firewall drop \
             them?",
            if args.ethernet { "interface" } else { "address and port" }
        );
    }
    Ok(Exit::Success)
}
